// Package rehearsal is what a rehearsal of a job measured, and where a node keeps it: a file for each likeness of a
// contract. Package standin makes the tables that a rehearsal works on, package stage runs it.
package rehearsal

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Folder is where a node keeps rehearsals, in its own folder.
const Folder = "rehearsals"

// Limits of what is kept.
const (
	MaxResult = 1 << 20 // bytes of one
	mostKept  = 256     // the oldest go first
)

// Result is what a rehearsal measured. It says nothing of anybody's data but what the contract says.
type Result struct {
	Job       string    `json:"job"`
	Algorithm string    `json:"algorithm"`
	Task      string    `json:"task"`
	Privacy   string    `json:"privacy"`
	Rows      int       `json:"rows"`      // common to all, or of a client's stream
	Likeness  keys.Hash `json:"likeness"`  // of the contract that was rehearsed
	Rehearsed keys.Hash `json:"rehearsed"` // of the stand-ins' own contract; the same, or this is no rehearsal of it
	At        time.Time `json:"at"`        // when it was over, UTC
	Version   string    `json:"version"`   // of the program
	Cores     int       `json:"cores"`     // that all nodes shared
	Steps     []Step    `json:"steps"`
	Parties   []Party   `json:"parties"` // in the contract's order
	Seconds   float64   `json:"seconds"` // of the job's session, from all connected to its end
	Audit     Audit     `json:"audit"`
}

// Step is a part of a rehearsal.
type Step struct {
	Name    string  `json:"name"`
	Seconds float64 `json:"seconds"`
}

// Party is what a party's stand-in did.
type Party struct {
	Name     string `json:"name"`
	Sent     int64  `json:"sent"`             // bytes, in the job's session
	Received int64  `json:"received"`         // bytes
	Memory   int64  `json:"memory,omitempty"` // the most bytes that its process held; 0: unknown, or shared with others
}

// Audit is what came of the audit of all stand-ins' transcripts.
type Audit struct {
	Verdict     string   `json:"verdict"`
	Exit        int      `json:"exit_code"`
	Summary     string   `json:"summary"`
	NotLookedAt []string `json:"not_looked_at,omitempty"`
}

// Alike reports whether what ran is what was to be rehearsed.
func (r *Result) Alike() bool { return r.Likeness == r.Rehearsed }

// check refuses a result that no rehearsal made; it may come from a file.
func (r *Result) check() error {
	switch {
	case !wording.IsWord(r.Job) || !wording.IsWord(r.Audit.Verdict) && r.Audit.Verdict != "":
		return fmt.Errorf("the rehearsal of job %q with verdict %q: want words", wording.Clip(r.Job),
			wording.Clip(r.Audit.Verdict))
	case !r.Alike() || r.Likeness.IsZero():
		return fmt.Errorf("the rehearsal of job %q ran another contract, with likeness %s in place of %s: only one of the "+
			"same is kept", r.Job, r.Rehearsed.Short(), r.Likeness.Short())
	case !(r.Seconds >= 0) || r.At.IsZero():
		return fmt.Errorf("the rehearsal of job %q says neither when it was nor how long it took", r.Job)
	}
	for _, p := range r.Parties {
		if err := keys.CheckName(p.Name); err != nil || p.Sent < 0 || p.Received < 0 {
			return fmt.Errorf("the rehearsal of job %q has a party %q that no job has", r.Job, wording.Clip(p.Name))
		}
	}
	return nil
}

// Keep keeps a result in a node's folder, in the place of an earlier one of the same likeness.
func Keep(dir string, r *Result) error {
	if err := r.check(); err != nil {
		return err
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if len(data) > MaxResult {
		return fmt.Errorf("the rehearsal of job %q has %d bytes, at most %d are kept", r.Job, len(data), MaxResult)
	}
	folder := filepath.Join(dir, Folder)
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	if err := durable.WriteFile(pathOf(dir, r.Likeness), append(data, '\n')); err != nil {
		return err
	}
	return drop(folder, mostKept)
}

// drop removes the oldest results where there are more than most.
func drop(folder string, most int) error {
	entries, err := os.ReadDir(folder)
	if err != nil || len(entries) <= most {
		return err
	}
	type file struct {
		name string
		at   time.Time
	}
	var all []file
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			return err
		}
		all = append(all, file{e.Name(), info.ModTime()})
	}
	slices.SortFunc(all, func(a, b file) int { return a.at.Compare(b.at) })
	for _, f := range all[:len(all)-most] {
		if err := os.Remove(filepath.Join(folder, f.name)); err != nil {
			return err
		}
	}
	return nil
}

// Any reports whether a node has kept a rehearsal.
func Any(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, Folder))
	return err == nil
}

// Find returns the kept rehearsal of contracts of a likeness, nil where there is none.
func Find(dir string, likeness keys.Hash) (*Result, error) {
	f, err := os.Open(pathOf(dir, likeness))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	r, err := Read(f)
	if err == nil && r.Likeness != likeness {
		err = fmt.Errorf("it is of another likeness, %s", r.Likeness.Short())
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), err)
	}
	return r, nil
}

// Read reads a result and checks it.
func Read(in io.Reader) (*Result, error) {
	data, err := io.ReadAll(io.LimitReader(in, MaxResult+1))
	if err != nil {
		return nil, err
	}
	if len(data) > MaxResult {
		return nil, fmt.Errorf("more than %d bytes: this is no rehearsal", MaxResult)
	}
	r := new(Result)
	if err := json.Unmarshal(data, r); err != nil {
		return nil, err
	}
	return r, r.check()
}

// pathOf is where the rehearsal of a likeness is kept.
func pathOf(dir string, likeness keys.Hash) string {
	return filepath.Join(dir, Folder, likeness.String()+".json")
}

// Sentence says in a summary what was measured, for a person at the named party.
func (r *Result) Sentence(party string) string {
	text := fmt.Sprintf("rehearsed here on %s on made-up data of the same shape: %.1f s in the session",
		wording.Time(r.At), r.Seconds)
	for _, p := range r.Parties {
		if p.Name == party {
			text += fmt.Sprintf(", %s sent and %s received by %s", wording.Size(p.Sent), wording.Size(p.Received), party)
		}
	}
	return text + fmt.Sprintf("; %s shared one machine; audit %s", wording.Count(len(r.Parties), "node"), r.Audit.Verdict)
}
