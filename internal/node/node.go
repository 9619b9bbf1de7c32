package node

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/memory"
	"github.com/hanse-project/hanse/internal/owner"
	"github.com/hanse-project/hanse/internal/reference"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/workerkeys"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Config is what a node is made of.
type Config struct {
	Key       *keys.PrivateKey
	KeyFile   string // where Key was read, noted in Dir for hanse audit; may be empty
	Charter   keys.InForce
	Transport protocol.Transport
	Tables    map[string]jobs.TableSpec
	Policy    *consent.Policy // nil asks about everything
	Dir       string          // the node's own folder
	Workers   int             // goroutines for arithmetic; 0 means all cores
	Parts     string          // where parts of rows lie for workers of shards; empty: in Dir
	// WorkerKeys are those of this node's workers; nil: whoever comes is served.
	WorkerKeys *workerkeys.Register
	// RecordLimit is the most bytes of payloads kept of a job that asks for them; 0 means
	// DefaultRecordLimit.
	RecordLimit int64
	// Quota is the most bytes that Dir may come to; 0 means the policy's, or a default; see docs/life.md.
	Quota int64
	// Memory is the most bytes of memory that all sessions together are to take; 0 means what the machine, its control
	// groups and GOMEMLIMIT leave this program.
	Memory int64
	Log    *slog.Logger
	// References keeps the full text of faults that others are told a code of; nil: a register of its own in Dir.
	References *reference.Log
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
	Told func(jobs.Event)
	// Extra answers control methods that are not about jobs, such as "charter/…"; it may be nil.
	Extra protocol.Handler
	// Network says how the network stands, for Status; it may be nil.
	Network func() Network
	Version string // of the program, for Status
	Pages   Pages  // nil: this node has no page
	// Speeds are those of this machine, for forecasts; nil: there are no seconds in them.
	Speeds func() (*forecast.Speeds, error)
	// Lines are what the lines to other members carry, for the same; nil: nobody knows.
	Lines *forecast.Lines
	// Doctor looks for what keeps the node, or the ways to these members, from working; its report is for JSON.
	Doctor func(ctx context.Context, members []string) (any, error)
}

// Node is one member's daemon.
type Node struct {
	config  Config
	tables  *jobs.Tables
	started time.Time
	peer    reader // who sends a command
	columns *columns.Jobs
	shards  *shards.Service
	ledger  *ledger.Ledger
	disk    *folder
	memory  int64                // bytes that sessions may take together; 0: nobody knows
	kinds   map[string]jobs.Kind // by algorithm

	resumed    []*jobState   // what this node coordinated when it was stopped; of later jobs Launch takes care
	answering  sync.RWMutex  // held for reading by whoever answers a call
	consenting sync.Mutex    // one proposal is looked at at a time
	forgetting sync.Mutex    // held by whoever removes old jobs
	rates      *rates        // what the other members may ask
	asking     chan struct{} // slots of the calls of ask
	judging    sync.Mutex    // one consent is given at a time
	traffic    traffic
	waits      waits
	began      atomic.Int64 // sessions since the node started

	mu       sync.Mutex // a jobState's is never held while this one is taken
	charter  *keys.SignedCharter
	lastName string // of this member in a charter
	jobs     map[keys.Hash]*jobState
	unread   map[keys.Hash]JobInfo // of other versions of the program; does not change once New has returned
	sessions map[keys.Hash]*activeSession
	hearers  map[keys.Hash]func(jobs.Event)
	refusals map[keys.ID]int  // to speak of tables, by who asked
	asked    map[question]int // how often
	ctx      context.Context  // ends with Run; sessions hang from it
	stop     context.CancelFunc
	work     sync.WaitGroup
}

// activeSession is a session that is on.
type activeSession struct {
	cancel context.CancelFunc
	done   chan struct{}
	memory int64  // bytes that it takes, about
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
	if c.Charter.Charter() == nil {
		return nil, errors.New("a node needs a charter in force")
	}
	n := &Node{
		config: c, tables: jobs.NewTables(c.Tables), started: time.Now(), peer: owner.Peer, charter: c.Charter.Charter(),
		asking: make(chan struct{}, askedAtOnce),
		jobs:   make(map[keys.Hash]*jobState), unread: make(map[keys.Hash]JobInfo),
		sessions: make(map[keys.Hash]*activeSession),
		hearers:  make(map[keys.Hash]func(jobs.Event)),
		refusals: make(map[keys.ID]int), asked: make(map[question]int), memory: cmp.Or(c.Memory, memory.Limit()),
		disk: newFolder(c.Dir, cmp.Or(c.Quota, c.Policy.Quota()), c.Log),
	}
	n.register()
	n.shards = n.newShards()
	if err := c.Policy.Check(&c.Charter.Charter().Charter); err != nil {
		return nil, err
	}
	if err := checkApprovers(c.Policy, c); err != nil {
		return nil, err
	}
	n.rates = newRates(c.Now, func(from keys.ID, refused int) {
		c.Log.Warn("a member asks too much of this node, and its calls are refused for a while",
			"member", n.memberName(from), "refused", refused)
	})
	if err := owner.Folder(c.Dir); err != nil {
		return nil, err
	}
	if err := alone(c.Dir); err != nil { // before anything there changes
		return nil, err
	}
	if err := errors.Join(keepIdentity(c.Dir, c.Key.ID(), c.KeyFile),
		keepCharter(c.Dir, c.Charter.Charter())); err != nil {
		return nil, err
	}
	var err error
	if n.disk.own, err = os.Stat(c.Dir); err != nil {
		return nil, err
	}
	if err := n.disk.setDefault(); err != nil {
		return nil, err
	}
	if err := n.openLedger(); err != nil {
		return nil, err
	}
	if err := n.loadJobs(); err != nil {
		return nil, err
	}
	if err := n.completeLedger(); err != nil {
		return nil, err
	}
	for _, s := range n.openJobs() {
		if n.isOurs(s.Contract()) && s.Contract().Job.Proposer == s.Self() {
			n.resumed = append(n.resumed, s)
		}
	}
	n.ctx, n.stop = context.WithCancel(context.Background())
	n.tables.Life, n.tables.Clock, n.tables.Log = n.ctx, c.Now, c.Log
	c.Transport.Handle(n.handle)
	return n, nil
}

// Run goes on with the jobs this node coordinates, and looks after the others, until ctx ends or the node's folder is
// not its own any more, which is an error. It returns when every session has ended.
func (n *Node) Run(ctx context.Context) error {
	defer n.work.Wait()
	defer n.answering.Lock() // what is being answered is answered, and nothing after it
	defer n.stop()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, s := range n.resumed {
		r := s.Record()
		switch {
		case r.Consent != nil:
			n.drive(ctx, s)
		case !r.Damaged && r.Pending == nil: // nobody else knows of it
			if err := n.conclude(s, abandoned(), ""); err != nil {
				n.config.Log.Error("a proposal could not be withdrawn", "job", s.Contract().Job.Name, "error", err)
			}
		}
	}
	n.work.Go(func() { n.tend(ctx, cmp.Or(n.config.TendEvery, tendEvery)) })
	return n.disk.watch(ctx, cmp.Or(n.config.TendEvery, lookEvery))
}

// drive coordinates a job that no command waits for.
func (n *Node) drive(ctx context.Context, s *jobState) {
	n.work.Go(func() {
		if _, err := n.coordinate(ctx, s); err != nil && ctx.Err() == nil {
			n.config.Log.Error("job ended", "job", s.Contract().Job.Name, "error", err)
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
	n.jobs[s.Contract().Hash()] = s
}

// notify passes an event outside of sessions on to whoever listens, and counts what is waited.
func (n *Node) notify(h keys.Hash, e jobs.Event) {
	n.waits.note(n.pass(h, e))
}

// pass hands an event on to whoever listens, the node's own log and the person who proposed, and returns it as told.
func (n *Node) pass(h keys.Hash, e jobs.Event) jobs.Event {
	e.Time = time.Now()
	e.Job = h.String()
	e.Clean()
	n.mu.Lock()
	listen, s := n.hearers[h], n.jobs[h]
	n.mu.Unlock()
	if s != nil {
		s.watched.keep(e)
	}
	if n.config.Told != nil {
		n.config.Told(e)
	}
	if listen != nil {
		listen(e)
	}
	return e
}

// listen sets who hears a job's events; nil ends it. listen may be called from several goroutines.
func (n *Node) listen(h keys.Hash, listen func(jobs.Event)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if listen == nil {
		delete(n.hearers, h)
		return
	}
	n.hearers[h] = listen
}
