package node

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/internal/reference"
	"github.com/hanse-project/hanse/internal/shelf"
	"github.com/hanse-project/hanse/internal/stream"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Errors that no honest peer causes.
var (
	errUnprotected = errors.New("an unprotected sum in a masked job")
	errNoTurns     = errors.New("a sum of turns in a published job")
)

// Config is what a node is made of.
type Config struct {
	Key       *keys.PrivateKey
	KeyFile   string              // where Key was read, noted in Dir for hanse audit; may be empty
	Charter   *keys.SignedCharter // in force
	Transport protocol.Transport
	Tables    map[string]TableSpec
	Policy    *consent.Policy // nil asks about everything
	Dir       string          // the node's own folder
	Workers   int             // goroutines for arithmetic; 0 means all cores
	// RecordLimit is the most bytes of payloads kept of a job that asks for them; 0 means
	// DefaultRecordLimit.
	RecordLimit int64
	Log         *slog.Logger
	// References keeps the full text of faults that others are told a code of; nil: a book of its own in Dir.
	References *reference.Book
	// ReturnEvery is how often a server looks for clients that have come back; 0 means 3 s.
	ReturnEvery time.Duration
	// AwayTime is how long the end of a job over clients waits for a server that is away; 0 means a minute.
	AwayTime time.Duration
	// TendEvery is how often jobs that stand still are looked after; 0 means 1 s.
	TendEvery time.Duration
	// Now is the clock by which proposals expire; nil means time.Now.
	Now func() time.Time
	// DiskFault is for tests: see vault.Options.Fault.
	DiskFault func(path string) (stored bool, err error)
	// Told hears every event of every job; it may be nil.
	Told func(Event)
	// Extra answers control methods that are not about jobs, such as "charter/…"; it may be nil.
	Extra protocol.Handler
}

// Node is one member's daemon.
type Node struct {
	config  Config
	tables  *tables
	started time.Time
	peer    reader // who sends a command

	resumed    []*jobState  // what this node coordinated when it was stopped; of later jobs Launch takes care
	answering  sync.RWMutex // held for reading by whoever answers a call
	consenting sync.Mutex   // one proposal is looked at at a time
	forgetting sync.Mutex   // held by whoever removes old jobs
	rates      *rates       // what the other members may ask
	judging    sync.Mutex   // one consent is given at a time

	mu       sync.Mutex // a jobState's is never held while this one is taken
	charter  *keys.SignedCharter
	lastName string // of this member in a charter
	jobs     map[keys.Hash]*jobState
	sessions map[keys.Hash]*activeSession
	hearers  map[keys.Hash]func(Event)
	refusals map[keys.ID]int             // to speak of tables, by who asked
	requests map[keys.Hash]*requestQueue // of predictions that answer single rows
	input    *stream.Stream              // standard input, once a job has asked for it
	shelf    *shelf.Shelf                // of networks that travelled, once a job has asked for it
	ctx      context.Context             // ends with Run; sessions hang from it
	stop     context.CancelFunc
	work     sync.WaitGroup
}

// activeSession is a session that is on.
type activeSession struct {
	cancel context.CancelFunc
	done   chan struct{}
	pause  func() // ends a server's session in good order, before its next round; nil elsewhere
}

// New prepares a node, reads its jobs from its folder and answers the other members from now on.
// Run must follow.
func New(c Config) (*Node, error) {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.References == nil {
		c.References = reference.Open(c.Dir)
	}
	n := &Node{
		config: c, tables: newTables(c.Tables), started: time.Now(), peer: owner.Peer, charter: c.Charter,
		jobs: make(map[keys.Hash]*jobState), sessions: make(map[keys.Hash]*activeSession),
		hearers: make(map[keys.Hash]func(Event)), requests: make(map[keys.Hash]*requestQueue),
		refusals: make(map[keys.ID]int),
	}
	if err := c.Policy.Check(&c.Charter.Charter); err != nil {
		return nil, err
	}
	n.rates = newRates(c.Now, n.tellRefused)
	if err := owner.Folder(c.Dir); err != nil {
		return nil, err
	}
	if err := alone(c.Dir); err != nil { // before anything there changes
		return nil, err
	}
	if err := errors.Join(keepIdentity(c.Dir, c.Key.ID(), c.KeyFile), keepCharter(c.Dir, c.Charter)); err != nil {
		return nil, err
	}
	if err := n.loadJobs(); err != nil {
		return nil, err
	}
	for _, s := range n.openJobs() {
		if n.isOurs(s.contract) && s.contract.Job.Proposer == n.nameIn(s.contract) {
			n.resumed = append(n.resumed, s)
		}
	}
	n.ctx, n.stop = context.WithCancel(context.Background())
	c.Transport.Handle(n.handle)
	return n, nil
}

// Run goes on with the jobs this node coordinates, and looks after the others, until ctx ends. It returns when every
// session has ended.
func (n *Node) Run(ctx context.Context) error {
	defer n.work.Wait()
	defer n.answering.Lock() // what is being answered is answered, and nothing after it
	defer n.stop()
	for _, s := range n.resumed {
		r := s.snapshot()
		switch {
		case r.Consent != nil:
			n.drive(ctx, s)
		case !r.Damaged: // nobody else knows of it
			if err := n.conclude(s, abandoned()); err != nil {
				n.config.Log.Error("a proposal could not be withdrawn", "job", s.contract.Job.Name, "error", err)
			}
		}
	}
	n.work.Go(func() { n.tend(ctx, cmp.Or(n.config.TendEvery, tendEvery)) })
	<-ctx.Done()
	return nil
}

// drive coordinates a job that no command waits for.
func (n *Node) drive(ctx context.Context, s *jobState) {
	n.work.Go(func() {
		if _, err := n.coordinate(ctx, s); err != nil && ctx.Err() == nil {
			n.config.Log.Error("job ended", "job", s.contract.Job.Name, "error", err)
		}
	})
}

// job finds a job by its contract.
func (n *Node) job(h keys.Hash) (*jobState, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.jobs[h]
	return s, ok
}

// keep adds a job.
func (n *Node) keep(s *jobState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.jobs[s.contract.Hash()] = s
}

// tell passes an event on to whoever listens: the node's own log, and the person who proposed.
func (n *Node) tell(h keys.Hash, e Event) {
	e.Time = time.Now()
	e.Job = h.String()
	e.clean()
	if n.config.Told != nil {
		n.config.Told(e)
	}
	n.mu.Lock()
	hear := n.hearers[h]
	n.mu.Unlock()
	if hear != nil {
		hear(e)
	}
}

// hear sets who hears a job's events; nil ends it. hear may be called from several goroutines.
func (n *Node) hear(h keys.Hash, hear func(Event)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if hear == nil {
		delete(n.hearers, h)
		return
	}
	n.hearers[h] = hear
}
