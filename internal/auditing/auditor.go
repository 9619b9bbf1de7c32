package auditing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/audit/render"
	"github.com/hanse-project/hanse/internal/build"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/psi"
)

// Auditor is who makes a report.
type Auditor struct {
	Load func(keyFile string) (*keys.KeyFile, error) // reads the key that signs

	id      keys.ID // zero when nothing tells
	keyFile string  // signs; empty: nothing does
	given   bool    // the key file was named on the command line
	columns []string
}

// NewAuditor finds out who audits: by the key file that is given, or without one by the node's folder that the first
// transcript lies in; of a folder that no node has started on nothing is known.
func NewAuditor(keyFile string, load func(keyFile string) (*keys.KeyFile, error), in *audit.Input) (*Auditor, error) {
	a := &Auditor{Load: load, keyFile: keyFile, given: keyFile != ""}
	if a.given {
		key, err := load(keyFile)
		if err != nil {
			return nil, err
		}
		a.id = key.Key.ID()
		for i, p := range in.Contract.Parties { // only the party itself can make its commitment again
			if p.ID == a.id && i < len(in.IDs) && in.IDs[i] != nil {
				secret := key.Key.Secret(psi.DomainCommitment, []byte(in.Contract.Job.Nonce))
				in.IDs[i].Commitment = psi.Commit(secret, in.IDs[i].Lists, max(in.Workers, 1)).String()
			}
		}
	} else {
		who, err := node.ReadIdentity(nodeFolder(in.Sources[0]))
		if err == nil {
			a.keyFile = who.KeyFile
			a.id, err = keys.ParseID(who.ID)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	in.Auditor = a.id
	a.columns = ownColumns(in, a.id)
	return a, nil
}

// nodeFolder is the node's folder that a transcript lies in, if it lies in one.
func nodeFolder(s audit.Source) string { return filepath.Dir(filepath.Dir(filepath.Dir(s.Path))) }

// ownColumns names the auditor's own columns: those of its table where it is given, else those of its part of the
// model.
func ownColumns(in *audit.Input, id keys.ID) []string {
	self := slices.IndexFunc(in.Contract.Parties, func(f contract.Facts) bool { return f.ID == id })
	if self < 0 {
		return nil
	}
	if columns := in.Columns; columns != nil && columns[self] != nil {
		return columns[self].Names
	}
	for _, s := range in.Sources {
		part, err := node.ReadModel(in.Algorithms, filepath.Dir(s.Path))
		if err == nil && part.Model().Owner == id {
			return part.Model().Columns
		}
	}
	return nil
}

// Audit runs an audit and fills in who made it.
func (a *Auditor) Audit(ctx context.Context, in *audit.Input) (*audit.Report, error) {
	begun := time.Now()
	r, err := audit.Run(ctx, in)
	if err != nil {
		return nil, err
	}
	r.Seconds = time.Since(begun).Seconds()
	r.Origin = audit.Origin{Program: program(build.Read()), At: time.Now().UTC().Format(time.RFC3339), Columns: a.columns}
	if !a.id.IsZero() {
		r.Origin.ID = a.id.String()
		for _, p := range in.Contract.Parties {
			if p.ID == a.id {
				r.Origin.Member = p.Name
			}
		}
	}
	return r, nil
}

// Sign signs a report where there is a key. A key that only a node's folder names may be out of reach: then the report
// is not signed, and told is told.
func (a *Auditor) Sign(told io.Writer, r *audit.Report) error {
	if a.keyFile == "" {
		return nil
	}
	key, err := a.Load(a.keyFile)
	if err == nil && key.Key.ID() != a.id {
		err = fmt.Errorf("%s has the key %s, and the node's was %s", a.keyFile, key.Key.ID().Short(), a.id.Short())
	}
	if err == nil {
		err = render.Sign(r, key.Key)
	}
	if err != nil && !a.given {
		fmt.Fprintln(told, terminal.Printable(fmt.Sprintf("the report is not signed (give the key with --key FILE): %v",
			err)))
		return nil
	}
	return err
}

// WritePage writes a report as one HTML page.
func WritePage(path string, r *audit.Report) error {
	var page bytes.Buffer
	if err := render.HTML(&page, r); err != nil {
		return err
	}
	return os.WriteFile(path, page.Bytes(), 0o600)
}

// VerdictError says that a report's exit code is not 0.
type VerdictError struct{ Report *audit.Report }

// Error implements error.
func (e *VerdictError) Error() string {
	switch e.Report.Verdict {
	case audit.Leak:
		return "the audit found a leak; see its report"
	case audit.Unverifiable:
		return "the audit could not verify the transcripts; see its report"
	}
	return "the audit could not look at everything; its report lists what it did not see"
}

// Verdict returns a *VerdictError for a report whose exit code is not 0.
func Verdict(r *audit.Report) error {
	if r.Exit != audit.ExitClean {
		return &VerdictError{r}
	}
	return nil
}

// program says which program this is, of that build.
func program(of build.Info) string { return "hanse " + of.Version + ", " + of.Go }

// findCharter finds the charter that a job was agreed under in the nodes' folders that the transcripts lie in, or says
// why there is none.
func findCharter(in *audit.Input) (*keys.SignedCharter, string, error) {
	agreed, seen := in.Contract.Job.Charter, make(map[string]bool)
	var other *keys.SignedCharter
	for _, s := range in.Sources {
		dir := nodeFolder(s)
		if agreed == "" || seen[dir] {
			continue
		}
		seen[dir] = true
		charter, err := node.KeptCharter(dir, agreed)
		if err != nil || charter != nil {
			return charter, "", err
		}
		if other == nil {
			if other, err = node.LatestCharter(dir); err != nil {
				return nil, "", err
			}
		}
	}
	if other != nil {
		return nil, fmt.Sprintf("the job was agreed under the charter with digest %.8s, and the node has version %d of %q "+
			"with digest %s: give that of the job with --charter FILE",
			agreed, other.Version, other.Name, other.Digest().Short()), nil
	}
	return nil, "no charter was given (--charter FILE): that the parties' keys are those of the members was not checked",
		nil
}
