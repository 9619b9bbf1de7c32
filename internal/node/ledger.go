package node

import (
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/vault"
)

// accounts is what the jobs at this node have told of its rows, by the ledger and by the jobs.
type accounts struct {
	config     *Config
	member     *member
	algorithms *algorithms
	roster     *roster
	ledger     *ledger.Ledger // set once
}

// openLedger reads the node's ledger.
func (n *accounts) openLedger() (err error) {
	n.ledger, err = ledger.Open(filepath.Join(n.config.Dir, ledger.Folder), vault.Options{
		Fault: n.config.DiskFault, Damaged: func(text string) {
			n.config.Log.Warn("a damaged part of the ledger is not used: what jobs told is counted by their contracts, for "+
				"every row", "what", text)
		},
	})
	return err
}

// completeLedger books what the folders of jobs say was consented to and the ledger lacks: their rows are not known,
// and count for all. It strikes what a crash came before.
func (n *accounts) completeLedger() error {
	var errs []error
	for _, s := range n.roster.allJobs() {
		h := s.Contract().Hash()
		at, opens := n.opensAt(s)
		switch {
		case opens && !n.ledger.Has(h):
			if by := s.Record().Consent; by != nil {
				at = by.At
			}
			errs = append(errs, n.ledger.Enter(n.roster.whole(s), s.Self(), ledger.Holding{Unknown: true}, at))
		case !opens && s.State().Final():
			errs = append(errs, n.ledger.Strike(h))
		}
	}
	return errors.Join(errs...)
}

// counted is what the ledger says of one job, kept while it has not changed.
type counted struct {
	mu      sync.Mutex
	holding *ledger.Holding // nil: not worked out yet
	told    *consent.Told
	asked   time.Time // as of when told is
	changes int       // of the ledger, when it was asked
}

// forget drops what a job that has ended no longer needs.
func (c *counted) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.holding, c.told = nil, nil
}

// holding returns what this node brings to a job, which is worked out once. s.counted is locked.
func (n *accounts) holding(s *jobState) (ledger.Holding, error) {
	if s.counted.holding != nil {
		return *s.counted.holding, nil
	}
	t, err := n.algorithms.newTask(s.Contract().Job)
	if err != nil {
		return ledger.Holding{}, err
	}
	var h ledger.Holding
	if rows, ok := t.(jobs.Holder); ok {
		if h, err = rows.Holding(); err != nil {
			return h, err
		}
	}
	s.counted.holding = &h
	return h, nil
}

// toldBefore returns what was told of a job's rows by the consents before its own or, of a job that nobody has
// consented to, by all.
func (n *accounts) toldBefore(s *jobState) (consent.Told, error) {
	var before time.Time
	now := n.config.Now().Truncate(time.Minute)
	if own := s.Record().Consent; own != nil {
		before, now = own.At, own.At
	}
	c, changes := &s.counted, n.ledger.Changes()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.told != nil && c.asked.Equal(now) && c.changes == changes {
		return *c.told, nil
	}
	h, err := n.holding(s)
	if err != nil {
		return consent.Told{}, err
	}
	t, err := n.ledger.Told(ledger.Question{
		Contract: s.Contract(), Self: s.Self(), Rows: h.Rows, Before: before, Since: now.Add(-consent.Span),
		At: func(e *ledger.Entry) time.Time {
			if other, ok := n.roster.job(e.Contract); ok {
				if at, opens := n.opensAt(other); opens {
					return at
				}
			}
			return e.At
		},
	})
	if err != nil {
		return consent.Told{}, err
	}
	t.Entropy = h.Entropy
	c.told, c.asked, c.changes = &t, now, changes
	return t, nil
}

// Ledger is what a node has told, over all its jobs.
type Ledger struct {
	Self    string         `json:"self"`
	Entries []ledger.Entry `json:"entries"`
	Lines   []ledger.Line  `json:"lines"`
}

// Ledger returns what this node has told.
func (n *accounts) Ledger() (*Ledger, error) {
	lines, err := n.ledger.Lines()
	return &Ledger{Self: n.member.name(), Entries: n.ledger.Entries(), Lines: lines}, err
}

// strike takes a job out of the ledger that ended before its first session.
func (n *accounts) strike(s *jobState) {
	if _, opens := n.opensAt(s); opens {
		return
	}
	if err := n.ledger.Strike(s.Contract().Hash()); err != nil {
		n.config.Log.Error("a job that told nothing could not be taken out of the ledger, and counts", "job",
			s.Contract().Job.Name, "error", err)
	}
}

// has reports whether the ledger has a job.
func (n *accounts) has(s *jobState) bool { return n.ledger.Has(s.Contract().Hash()) }

// enter books what a job tells of this node's rows.
func (n *accounts) enter(s *jobState, h ledger.Holding, at time.Time) error {
	return n.ledger.Enter(s.Contract(), s.Self(), h, at)
}

// opensAt says when something of a job that this member consented to may open, or may have opened, at the latest: now,
// while the job has not ended, and else when it ended. A job that ended before its first session opened nothing. A
// consent whose record was damaged counts as one of this moment.
func (n *accounts) opensAt(s *jobState) (at time.Time, ok bool) {
	r := s.Record()
	switch {
	case r.Consent == nil && r.Damaged:
		return n.config.Now(), true
	case r.Consent == nil || r.State.Final() && r.Session == 0 && !r.Damaged && !r.Renewed:
		return at, false
	case r.Ended.After(r.Consent.At):
		return r.Ended, true
	case r.State.Final():
		return r.Consent.At, true
	}
	return n.config.Now(), true
}
