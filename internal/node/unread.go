package node

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// maxVersion is the longest version of a program that is shown, in characters.
const maxVersion = 40

// OtherContract is the error of the contract of a job, as it stands at path, that another version of the program wrote;
// nil of any other.
func OtherContract(path string, text []byte) error {
	other := otherFormat(path, text, contract.Format)
	if other == nil {
		return nil
	}
	other.By = writtenBy(filepath.Dir(path))
	return other
}

// UnreadName is what a job is called, by its folder, whatever version of the program wrote it; zeros where that cannot
// be found.
func UnreadName(folder string) string {
	return unreadJob(folder, keys.Hash{}, new(vault.VersionError)).Name
}

// unreadJob is what can be said of a job that another version of the program made, by its folder: which program, and
// of its contract what every version writes so.
func unreadJob(folder string, h keys.Hash, other *vault.VersionError) JobInfo {
	j := JobInfo{Contract: h.String(), Name: h.String()[:8], State: StateUnread}
	var job struct {
		Name, Algorithm, Task, Proposer string
		Parties                         []string
	}
	var line struct{ Job string }
	text := lineOf(filepath.Join(folder, ContractFile), `job = "`)
	if _, err := toml.Decode(text, &line); err == nil {
		toml.Decode(line.Job, &job) // an error leaves what came before it
	}
	for to, word := range map[*string]string{&j.Name: job.Name, &j.Algorithm: job.Algorithm, &j.Task: job.Task,
		&j.Proposer: job.Proposer} {
		if wording.IsWord(word) {
			*to = word
		}
	}
	for _, p := range job.Parties {
		if wording.IsWord(p) {
			j.Parties = append(j.Parties, p)
		}
	}
	e := *other
	e.By = writtenBy(folder)
	j.Standing = "made by " + cmp.Or(e.By, "another version")
	j.Reason = fmt.Sprintf("job %s cannot be read: %v", j.Name, &e)
	return j
}

// writtenBy returns the version of the program that wrote a job's status last, empty where it does not say.
func writtenBy(folder string) string {
	_, version, _ := strings.Cut(lineOf(filepath.Join(folder, statusFile), `program = "`), `"`)
	version, _, _ = strings.Cut(version, `"`)
	for _, r := range version {
		if r <= ' ' || r > '~' {
			return ""
		}
	}
	return version[:min(len(version), maxVersion)]
}

// lineOf returns the first line of a file that begins with a text, empty where there is none. The file may be of any
// format, and has the line within the longest document.
func lineOf(path, begins string) string {
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
