package auditing

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/render"
	"github.com/hanse-project/hanse/internal/charterfile"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/textfile"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// maxReport is the longest report that is verified, in bytes.
const maxReport = 64 << 20

// ErrUnseen says that a report is as it was signed, as far as could be seen.
var ErrUnseen = errors.New("the report is as it was signed, and not everything that it says could be compared")

// Comparison is a signed report and what it is compared with.
type Comparison struct {
	Report      string    // its file
	Transcripts []string  // files that must be among those that it is about
	Dirs        []string  // nodes' folders
	Contract    string    // the contract's file; empty: the one in a folder
	Charter     string    // the charter's file; empty: the one in a folder
	Out         io.Writer // is told what was found
}

// Verify checks who signed a report, that nothing of it was changed, and which files it is about. ErrUnseen comes when
// not everything was there to tell.
func Verify(q Comparison) error {
	text, err := textfile.Read(q.Report, maxReport)
	if err != nil {
		return err
	}
	s, err := render.Read(text)
	if err != nil {
		return fmt.Errorf("%s is refused: %w", q.Report, err)
	}
	v := &verification{Comparison: q, statement: s}
	v.describe()
	contract, err := v.contract()
	if err != nil {
		return err
	}
	if err := errors.Join(v.member(), v.transcripts(contract)); err != nil {
		return err
	}
	if v.unseen {
		return ErrUnseen
	}
	return nil
}

// verification is a report's statement under comparison.
type verification struct {
	Comparison
	statement *render.Statement
	charter   *keys.SignedCharter // that the job was agreed under; nil when it is nowhere
	unseen    bool                // something could not be compared
}

// say prints a sentence, and add one that belongs to the one before.
func (v *verification) say(format string, args ...any) {
	terminal.Sentence(v.Out, "", fmt.Sprintf(format, args...))
}
func (v *verification) add(format string, args ...any) {
	terminal.Sentence(v.Out, "  ", fmt.Sprintf(format, args...))
}

// describe says what the statement says.
func (v *verification) describe() {
	s := v.statement
	v.say("the report is as it was signed, every byte of it")
	at := s.At
	if t, err := time.Parse(time.RFC3339, s.At); err == nil {
		at = wording.Time(t)
	}
	v.say("signed by %s", cmp.Or(s.Member, "an outsider of the job"))
	v.add("with the key %s", s.ID)
	v.add("on %s, by %s", at, s.Program)
	v.say("verdict %s, exit code %d, on the job %s", strings.ToUpper(s.Verdict), s.Exit, s.Job)
	v.add("contract %s", s.Contract)
	for _, t := range s.Tables {
		by := "nobody confirmed that it is that of the job"
		if t.Confirmed {
			by = "as that party's record of consent says"
		}
		v.add("table of %s with digest %s: %s", t.Party, cmp.Or(t.SHA256, "unknown"), by)
	}
}

// contract finds the contract of the job that the report is about, in the folders or given, nil when it is nowhere: its
// hash is what the signer and every transcript's header name. What the contract says the statement may not say
// otherwise: which charter the job was agreed under, and who its parties are.
func (v *verification) contract() (*contract.Contract, error) {
	s := v.statement
	paths := []string{v.Contract}
	if paths[0] == "" {
		paths = nil
		for _, dir := range v.Dirs {
			path := filepath.Join(dir, "jobs", s.Contract, job.ContractCopy)
			if _, err := os.Stat(path); err == nil {
				paths = append(paths, path)
			}
		}
	}
	if len(paths) == 0 {
		v.unseen = true
		v.say("the contract %.8s is not here: under which charter its job was agreed, and by whom, is the signer's "+
			"word alone; give it with --contract FILE, or a node's folder with --dir", s.Contract)
		return nil, nil
	}
	c, err := ReadContract(paths[0])
	if err != nil {
		return nil, err
	}
	if c.Hash().String() != s.Contract {
		return nil, fmt.Errorf("%s is the contract %s, and the report is about the job with contract %.8s",
			paths[0], c.Hash().Short(), s.Contract)
	}
	if _, err := c.InForce(); err != nil {
		v.unseen = true
		v.say("the contract %s is not in force: %v", paths[0], err)
	}
	return c, v.fits(c)
}

// fits refuses a statement that says otherwise than the contract of the job.
func (v *verification) fits(c *contract.Contract) error {
	s := v.statement
	signer := slices.IndexFunc(c.Parties, func(f contract.Facts) bool { return f.ID.String() == s.ID })
	name := ""
	if signer >= 0 {
		name = c.Parties[signer].Name
	}
	switch {
	case s.Charter != c.Job.Charter:
		return fmt.Errorf("the report says that the job was agreed under the charter with digest %.8s, and its contract "+
			"says %.8s", s.Charter, c.Job.Charter)
	case s.Job != c.Job.Name:
		return fmt.Errorf("the report calls the job %q, and its contract %q", s.Job, c.Job.Name)
	case s.Member != name:
		return fmt.Errorf("the report says that %s signed it, and by the job's contract its key is that of %s",
			cmp.Or(s.Member, "an outsider of the job"), cmp.Or(name, "no party"))
	}
	for _, t := range s.Transcripts {
		if t.Party != "" && c.Job.Index(t.Party) < 0 {
			return fmt.Errorf("the report names a transcript of %s, who is no party of the job", t.Party)
		}
	}
	return nil
}

// member says whether the signer is a member of the charter that the job was agreed under, and still is.
func (v *verification) member() error {
	s := v.statement
	charter, err := v.agreedUnder()
	if err != nil {
		return err
	}
	if charter == nil {
		v.unseen = true
		v.say("there is no charter with digest %.8s to say whether the signer is a member: give it with --charter FILE",
			s.Charter)
		return nil
	}
	v.charter = charter
	id, err := keys.ParseID(s.ID)
	if err != nil {
		return err
	}
	switch m, ok := charter.Member(id); {
	case !ok:
		return fmt.Errorf("the key %s, which signed the report, is no member's in charter %q, version %d",
			id.Short(), charter.Name, charter.Version)
	case m.Name != s.Member && s.Member != "":
		return fmt.Errorf("the report says that %s signed it, and in charter %q, version %d, its key is that of %s",
			s.Member, charter.Name, charter.Version, m.Name)
	default:
		v.say("the signer is %s, a member of charter %q, version %d", m.Name, charter.Name, charter.Version)
	}
	for _, dir := range v.Dirs {
		latest, err := node.LatestCharter(dir)
		if err != nil {
			return err
		}
		if latest == nil || latest.Name != v.charter.Name || latest.Version <= v.charter.Version {
			continue
		}
		gone := "does not have it any more"
		if r, ok := latest.RevokedID(id); ok {
			gone = fmt.Sprintf("has revoked it, as that of %s: %s", r.Name, r.Reason)
		} else if _, ok := latest.Member(id); ok {
			continue
		}
		v.unseen = true
		v.say("the key that signed the report was a member's, and version %d of charter %q in %s %s: whoever "+
			"has it may have signed after that", latest.Version, latest.Name, dir, gone)
		return nil
	}
	return nil
}

// agreedUnder finds the charter that the job was agreed under, nil when it is nowhere.
func (v *verification) agreedUnder() (*keys.SignedCharter, error) {
	s := v.statement
	if path := v.Charter; path != "" {
		charter, err := charterfile.ReadInForce(path)
		if err == nil && charter.Digest().String() != s.Charter {
			err = fmt.Errorf("%s has digest %s, and the job was agreed under the charter with digest %.8s",
				path, charter.Digest().Short(), s.Charter)
		}
		return charter, err
	}
	for _, dir := range v.Dirs {
		if s.Charter == "" {
			break
		}
		charter, err := node.KeptCharter(dir, s.Charter)
		if err != nil || charter != nil {
			return charter, err
		}
	}
	return nil, nil
}

// transcripts compares files with the fingerprints in the statement: those given, which must be among the audited, and
// those of the audited parties that the nodes' folders have of the job.
func (v *verification) transcripts(contract *contract.Contract) error {
	// Wants a statement that names transcripts, one of each party.
	if len(v.statement.Transcripts) == 0 {
		return errors.New("the report names no transcript: it is about nothing")
	}
	seen, files := make(map[string]bool), make(map[string]bool)
	for _, t := range v.statement.Transcripts {
		switch {
		case v.broken():
		case t.Party == "":
			return errors.New("the report names a transcript of nobody, and its verdict is not that of one that does not verify")
		case seen[t.Party]:
			return fmt.Errorf("the report names two transcripts of %s, want one of each party", t.Party)
		case files[t.SHA256]:
			return fmt.Errorf("the report names one file as the transcripts of two parties: SHA-256 %.8s", t.SHA256)
		}
		seen[t.Party], files[t.SHA256] = true, true
	}
	var faults []error
	found := make(map[string]string) // path by digest
	for _, path := range slices.Concat(v.Transcripts, v.kept()) {
		sum, err := fileDigest(path)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(v.statement.Transcripts, func(t render.Transcript) bool { return t.SHA256 == sum })
		if at < 0 {
			faults = append(faults, fmt.Errorf("%s is none of the transcripts that were audited: it was changed "+
				"or has grown since, or is another", path))
			continue
		}
		if err := v.owned(path, v.statement.Transcripts[at].Party, contract); err != nil {
			faults = append(faults, err)
			continue
		}
		found[sum] = path
	}
	for _, t := range v.statement.Transcripts {
		whose := "transcript of " + cmp.Or(t.Party, "nobody in the job")
		if path := found[t.SHA256]; path != "" {
			v.say("%s: %s is the one that was audited", whose, path)
			continue
		}
		v.unseen = true
		v.say("%s: the one that was audited is not here; its SHA-256 is %s", whose, t.SHA256)
	}
	return errors.Join(faults...)
}

// broken reports whether the audit found transcripts that are not what an honest run leaves: then it may name files
// that belong to nobody, and several of one party.
func (v *verification) broken() bool { return v.statement.Verdict == string(audit.Unverifiable) }

// owned wants that a file is the transcript of a party in the job that the report is about, as its header says. Any
// file can have the digest that a signer wrote down.
func (v *verification) owned(path, party string, contract *contract.Contract) error {
	if party == "" {
		return nil // the report says itself that it is nobody's
	}
	h, err := readHeader(path)
	if err != nil {
		return fmt.Errorf("%s, which the report names as the transcript of %s, cannot be read: %w", path, party, err)
	}
	if h.Contract.String() != v.statement.Contract {
		return fmt.Errorf("%s, which the report names as the transcript of %s, is of the job with contract %s, not %.8s",
			path, party, h.Contract.Short(), v.statement.Contract)
	}
	owner := ""
	switch {
	case contract != nil:
		if i := headerParty(contract, h); i >= 0 {
			owner = contract.Parties[i].Name
		}
	case v.charter != nil:
		m, _ := v.charter.Member(h.Party)
		owner = m.Name
	default:
		return nil // no name can be told, which has been said
	}
	if owner != party {
		return fmt.Errorf("%s, which the report names as the transcript of %s, is that of %s",
			path, party, cmp.Or(owner, "nobody in the job"))
	}
	return nil
}

// kept lists the transcripts of the audited parties in the nodes' folders.
func (v *verification) kept() []string {
	var paths []string
	for _, dir := range v.Dirs {
		folder := filepath.Join(dir, "jobs", v.statement.Contract)
		contract, err := ReadContract(filepath.Join(folder, job.ContractCopy))
		if err != nil {
			continue // no node's folder, or one without the job
		}
		path := filepath.Join(folder, node.TranscriptFile)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			v.unseen = true
			v.say("%s has the job and no transcript of it", folder)
			continue
		}
		h, err := readHeader(path)
		self := headerParty(contract, h)
		unreadable := err != nil || self < 0
		audited := func(t render.Transcript) bool { return t.Party == contract.Parties[self].Name }
		if unreadable || slices.ContainsFunc(v.statement.Transcripts, audited) {
			paths = append(paths, path)
		}
	}
	return paths
}
