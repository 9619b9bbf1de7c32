package job

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Folder is the Disk of a node: a vault, and the copy of the contract, which people read.
type Folder struct{ *vault.Vault }

// Load implements Disk.
func (f Folder) Load(name string) ([]byte, error) {
	if name != ContractCopy {
		return f.Vault.Load(name)
	}
	text, err := os.ReadFile(f.Path(name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// Save implements Disk.
func (f Folder) Save(name string, data []byte) error {
	if name != ContractCopy {
		return f.Vault.Save(name, data)
	}
	return durable.WriteFile(f.Path(name), data)
}

// Time implements Disk.
func (f Folder) Time(name string) time.Time {
	info, err := os.Stat(f.Path(name))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// ReadRecord reads the record in a job's folder, which no node need run on.
func ReadRecord(folder string) (r Record, err error) {
	h, err := HashOf(folder)
	if err != nil {
		return r, err
	}
	path := filepath.Join(folder, RecordFile)
	text, err := vault.ReadFile(path, h)
	if err == nil {
		err = keys.DecodeStrict(path, text, &r)
	}
	return r, err
}

// ReadContract reads the contract in a job's folder: the envelope or, where that cannot be read, the copy.
func ReadContract(folder string, h keys.Hash) (*contract.Contract, error) {
	path := filepath.Join(folder, ContractFile)
	kept, err := vault.ReadFile(path, h)
	if other, ok := errors.AsType[*vault.VersionError](err); ok {
		return nil, other
	}
	copied, _ := os.ReadFile(filepath.Join(folder, ContractCopy))
	return parseKept(path, kept, copied, h)
}

// ReadStanding says how a job stands by its folder. An ending that cannot be read is none: its node asks for it again.
func ReadStanding(folder string, c *contract.Contract, self string) (State, string) {
	text, err := vault.ReadFile(filepath.Join(folder, EndingFile), c.Hash())
	if err == nil {
		e, err := contract.ParseEnding(c, text)
		if err == nil && e.InForce(c) == nil {
			return State(e.Outcome), Reason(c, e, self, "")
		}
	}
	r, err := ReadRecord(folder)
	if err != nil || r.State.Final() {
		return Paused, "its end cannot be read in its folder: start the node, which asks the other parties for it"
	}
	return r.State, r.Reason
}

// OtherContract is the error of the contract of a job, as it stands at path, that another version of the program wrote;
// nil of any other.
func OtherContract(path string, text []byte) error {
	other := otherFormat(path, text, contract.Format)
	if other == nil {
		return nil
	}
	other.By = WrittenBy(filepath.Dir(path))
	return other
}

// maxVersion is the longest version of a program that is shown, in characters.
const maxVersion = 40

// WrittenBy returns the version of the program that wrote a job's record last, empty where it does not say.
func WrittenBy(folder string) string {
	_, version, _ := strings.Cut(LineOf(filepath.Join(folder, RecordFile), `program = "`), `"`)
	version, _, _ = strings.Cut(version, `"`)
	for _, r := range version {
		if r <= ' ' || r > '~' {
			return ""
		}
	}
	return version[:min(len(version), maxVersion)]
}

// LineOf returns the first line of a file that begins with a text, empty where there is none. The file may be of any
// format, and has the line within the longest document.
func LineOf(path, begins string) string {
	f, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer f.Close()
	text, _ := io.ReadAll(io.LimitReader(f, keys.MaxDocument))
	_, after, found := strings.Cut("\n"+string(text), "\n"+begins)
	if !found {
		return ""
	}
	line, _, _ := strings.Cut(after, "\n")
	return begins + line
}

// Again puts a job that has ended back to before its first session: contract and consent stay. No node may be running
// on its folder.
func Again(d Disk) error {
	text, err := d.Load(RecordFile)
	if err != nil {
		return err
	}
	s := standing{config: new(Config)}
	if err := keys.DecodeStrict(RecordFile, text, &s.record); err != nil {
		return err
	}
	before := s
	s.record.State, s.record.Reason, s.record.Stored, s.record.Finished = Agreed, "", 0, 0
	record, err := s.written(&before)
	return cmp.Or(err, errors.Join(d.Remove(EndingFile), d.Remove(ReportFile), record(d)))
}
