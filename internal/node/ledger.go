package node

import (
	"errors"
	"path/filepath"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
)

// openLedger reads the node's ledger.
func (n *Node) openLedger() (err error) {
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
func (n *Node) completeLedger() error {
	var errs []error
	for _, s := range n.allJobs() {
		h := s.Contract().Hash()
		at, opens := n.opensAt(s)
		switch {
		case opens && !n.ledger.Has(h):
			if by := s.Record().Consent; by != nil {
				at = by.At
			}
			errs = append(errs, n.ledger.Enter(n.whole(s), s.Self(), ledger.Holding{Unknown: true}, at))
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
func (n *Node) holding(s *jobState) (ledger.Holding, error) {
	if s.counted.holding != nil {
		return *s.counted.holding, nil
	}
	t, err := n.newTask(s.Contract().Job)
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

// consented books a job in the ledger, and then records who consented to it.
func (n *Node) consented(s *jobState, by *job.Consent, data keys.Hash) error {
	s.counted.mu.Lock()
	h, err := n.holding(s)
	s.counted.mu.Unlock()
	if err == nil {
		err = n.ledger.Enter(s.Contract(), s.Self(), h, by.At)
	}
	if err != nil {
		return err
	}
	return n.apply(s, job.Consented{By: by, Data: data})
}

// toldBefore returns what was told of a job's rows by the consents before its own or, of a job that nobody has
// consented to, by all.
func (n *Node) toldBefore(s *jobState) (consent.Told, error) {
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
			if other, ok := n.job(e.Contract); ok {
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
func (n *Node) Ledger() (*Ledger, error) {
	lines, err := n.ledger.Lines()
	return &Ledger{Self: n.name(), Entries: n.ledger.Entries(), Lines: lines}, err
}

// strike takes a job out of the ledger that ended before its first session.
func (n *Node) strike(s *jobState) {
	if _, opens := n.opensAt(s); opens {
		return
	}
	if err := n.ledger.Strike(s.Contract().Hash()); err != nil {
		n.config.Log.Error("a job that told nothing could not be taken out of the ledger, and counts", "job",
			s.Contract().Job.Name, "error", err)
	}
}
