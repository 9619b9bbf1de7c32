package node

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// Audited is the note that an audit by the node's owner leaves with a job: what was audited, and the verdict. It is for
// who looks at the list of jobs, and proves nothing: a report that hanse audit signs does.
type Audited struct {
	Contract    keys.Hash           `json:"contract"`
	Verdict     string              `json:"verdict"` // a word of package audit/finding
	Findings    int                 `json:"findings"`
	Program     string              `json:"program"`          // that audited, with its version
	Transcripts []AuditedTranscript `json:"transcripts"`      // this party's among them
	At          time.Time           `json:"at"`               // when the note came, by the node's clock
	Unread      []string            `json:"unread,omitempty"` // parties whose transcripts were not read
	Person      string              `json:"person,omitempty"` // the user who audited; empty where the system does not tell
	// Changed says that this party's transcript is another by now than the one that was audited, or is gone.
	Changed bool `json:"changed,omitempty"`
}

// AuditedTranscript is one transcript that was audited.
type AuditedTranscript struct {
	Party  string    `json:"party"`
	SHA256 keys.Hash `json:"sha256"` // of the file
}

// String says it in a sentence.
func (a *Audited) String() string {
	var parties []string
	for _, t := range a.Transcripts {
		parties = append(parties, t.Party)
	}
	text := fmt.Sprintf("audited %s: %s", wording.Time(a.At), a.Verdict)
	if a.Findings > 0 {
		text += ", " + wording.Count(a.Findings, "finding")
	}
	text += ", by the transcripts of " + wording.Several(parties)
	if len(parties) == 1 {
		text = strings.Replace(text, "transcripts", "transcript", 1)
	}
	if len(a.Unread) > 0 {
		text += "; not read: " + wording.Several(a.Unread)
	}
	if a.Changed {
		text += "; the transcript has changed since: audit it again"
	}
	return text
}

// Limits of a note, which the owner's command sends.
const (
	maxAudited     = 4 << 20
	maxTranscripts = 1 << 14
)

// check refuses a note that no audit leaves.
func (a *Audited) check() error {
	switch {
	case !wording.IsWord(a.Verdict):
		return fmt.Errorf("the verdict %q is no word", wording.Clip(a.Verdict))
	case a.Findings < 0:
		return fmt.Errorf("%d findings", a.Findings)
	case a.Program != wording.Line(a.Program, 256):
		return errors.New("the program's name does not print")
	case slices.ContainsFunc(a.Unread, func(name string) bool { return name != wording.Line(name, 256) }):
		return errors.New("the name of a party does not print")
	case len(a.Transcripts) == 0 || len(a.Transcripts) > maxTranscripts:
		return fmt.Errorf("%d transcripts, want 1 to %d", len(a.Transcripts), maxTranscripts)
	}
	return nil
}

// auditNote is a job's Audited as the node has it in memory, with what its transcript's file is now. The transcript is
// read whole when it is first compared, and again when its size or its time is another than then.
type auditNote struct {
	mu       sync.Mutex
	read     bool     // the note was read from the disk
	note     *Audited // nil: there is none
	size     int64
	modified time.Time
	sum      keys.Hash
}

// settledAfter is how old a file's time must be for a change to show in it.
const settledAfter = 2 * time.Second

// sumOf returns the SHA-256 of a file. The lock is held.
func (a *auditNote) sumOf(path string) (keys.Hash, error) {
	f, err := os.Open(path)
	if err != nil {
		return keys.Hash{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return keys.Hash{}, err
	}
	if info.Size() == a.size && info.ModTime().Equal(a.modified) {
		return a.sum, nil
	}
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return keys.Hash{}, err
	}
	var sum keys.Hash
	h.Sum(sum[:0])
	a.modified = time.Time{}
	if time.Since(info.ModTime()) > settledAfter {
		a.size, a.modified, a.sum = info.Size(), info.ModTime(), sum
	}
	return sum, nil
}

// NoteAudit keeps what an audit by a person concluded of a job's transcripts, in place of an earlier note. The job has
// ended, and this party's transcript among those that were audited is the one that is kept here.
func (n *views) NoteAudit(a Audited, person string) error {
	if err := a.check(); err != nil {
		return fmt.Errorf("a note of an audit: %w", err)
	}
	s, ok := n.roster.job(a.Contract)
	if !ok {
		return fmt.Errorf("this node has no job with contract %s", a.Contract.Short())
	}
	name, self := s.Contract().Job.Name, s.Self()
	if s.Ending() == nil || n.sessions.inSession(s) {
		return fmt.Errorf("job %q has not ended yet, and its transcript grows: no note is kept of an audit before that", name)
	}
	own := slices.IndexFunc(a.Transcripts, func(t AuditedTranscript) bool { return t.Party == self })
	if own < 0 {
		return fmt.Errorf("the audit of job %q did not read the transcript of %s", name, self)
	}
	for _, t := range a.Transcripts {
		if s.Contract().Job.Index(t.Party) < 0 {
			return fmt.Errorf("%s is no party of job %q", wording.Clip(t.Party), name)
		}
	}
	a.At, a.Person, a.Changed = n.config.Now().UTC().Round(0), person, false
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	s.audit.mu.Lock()
	defer s.audit.mu.Unlock()
	sum, err := s.audit.sumOf(s.vault.Path(TranscriptFile))
	if err == nil && sum != a.Transcripts[own].SHA256 {
		err = fmt.Errorf("the audit of job %q read another transcript of %s than the one that is kept here", name, self)
	}
	if err == nil {
		err = s.vault.Save(auditedFile, text)
	}
	if err == nil {
		s.audit.read, s.audit.note = true, &a
	}
	return err
}

// audited returns what the latest audit of a job concluded, nil where there was none. A note that is damaged is none.
func (n *views) audited(s *jobState) *Audited {
	if s.Ending() == nil {
		return nil
	}
	s.audit.mu.Lock()
	defer s.audit.mu.Unlock()
	if !s.audit.read {
		text, err := s.vault.Load(auditedFile)
		if text != nil && err == nil {
			note := new(Audited)
			err = cmp.Or(json.Unmarshal(text, note), note.check())
			if err == nil {
				s.audit.note = note
			}
		}
		if err != nil && faults.IsDamage(err) {
			err = s.vault.SetAside(auditedFile, err)
		}
		if err != nil {
			n.config.Log.Warn("the note of a job's audit cannot be read", "job", s.Contract().Job.Name, "error", err)
		}
		s.audit.read = true
	}
	if s.audit.note == nil {
		return nil
	}
	a, self := *s.audit.note, s.Self()
	sum, err := s.audit.sumOf(s.vault.Path(TranscriptFile))
	a.Changed = err != nil || !slices.Contains(a.Transcripts, AuditedTranscript{self, sum})
	return &a
}

// NoteAudit leaves a note with the node of what an audit of one of its jobs concluded.
func (c *Client) NoteAudit(ctx context.Context, a Audited) error {
	text, err := json.Marshal(a)
	if err != nil {
		return err
	}
	body, err := c.do(ctx, http.MethodPost, "/audited", bytes.NewReader(text))
	if err != nil {
		return err
	}
	return body.Close()
}
