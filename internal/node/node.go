package node

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
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
	// Algorithms are those that it takes part in; the zero value: those of this program.
	Algorithms registry.List
	Policy     *consent.Policy // nil asks about everything
	Dir        string          // the node's own folder
	Workers    int             // goroutines for arithmetic; 0 means all cores
	Parts      string          // where parts of rows lie for workers of shards; empty: in Dir
	// WorkerKeys are those of this node's workers; nil: whoever comes is served.
	WorkerKeys *workerkeys.Register
	// RecordLimit is the most bytes of payloads kept of a job that asks for them; 0 means
	// transcript.DefaultRecordLimit.
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

// Node is one member's daemon. Each of its parts owns a piece of its state, with a lock of its own, and calls only
// parts that stand above it here: it has no others.
type Node struct {
	config  *Config
	life    *life
	disk    *folder
	tables  *jobs.Tables
	columns *columns.Jobs
	shards  *shards.Service
	traffic *traffic
	waits   *waits
	rates   *rates

	*member
	*algorithms
	*asker
	*roster
	*sessions
	*accounts
	*workers
	*keeper
	*digests
	*consents
	*runner
	*proposer
	*answers
	*tender
	*views
	*socket
}

// life is how long the node runs, and what runs in it.
type life struct {
	started time.Time
	ctx     context.Context // ends with Run; sessions hang from it
	stop    context.CancelFunc
	work    sync.WaitGroup
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
	if err := c.Algorithms.Check(); err != nil {
		return nil, err
	}
	n := newParts(&c)
	if err := c.Policy.Check(&c.Charter.Charter().Charter); err != nil {
		return nil, err
	}
	if err := checkApprovers(c.Policy, c); err != nil {
		return nil, err
	}
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
	n.tables.Life, n.tables.Clock, n.tables.Log = n.life.ctx, c.Now, c.Log
	c.Transport.Handle(n.handle)
	return n, nil
}

// newParts puts the parts of a node together.
func newParts(c *Config) *Node {
	n := &Node{
		config: c, life: &life{started: time.Now()}, disk: newFolder(c.Dir, cmp.Or(c.Quota, c.Policy.Quota()), c.Log),
		tables: jobs.NewTables(c.Tables), traffic: new(traffic), waits: new(waits),
	}
	n.life.ctx, n.life.stop = context.WithCancel(context.Background())
	n.member = &member{config: c, charter: c.Charter.Charter()}
	n.rates = newRates(c.Now, func(from keys.ID, refused int) {
		c.Log.Warn("a member asks too much of this node, and its calls are refused for a while",
			"member", n.memberName(from), "refused", refused)
	})
	n.algorithms = &algorithms{config: c, tables: n.tables, member: n.member, questions: newQuestions(),
		memory: cmp.Or(c.Memory, memory.Limit())}
	n.asker = &asker{config: c, slots: make(chan struct{}, askedAtOnce)}
	n.roster = &roster{config: c, disk: n.disk, waits: n.waits, member: n.member, algorithms: n.algorithms,
		asker: n.asker, jobs: make(map[keys.Hash]*jobState), unread: make(map[keys.Hash]JobInfo),
		hearers: make(map[keys.Hash]func(jobs.Event))}
	n.sessions = &sessions{config: c, disk: n.disk, algorithms: n.algorithms, roster: n.roster,
		on: make(map[keys.Hash]*activeSession)}
	n.accounts = &accounts{config: c, member: n.member, algorithms: n.algorithms, roster: n.roster}
	n.register()
	n.workers = &workers{config: c, columns: n.columns, roster: n.roster, sessions: n.sessions}
	n.shards = n.newShards()
	n.workers.shards = n.shards
	n.keeper = &keeper{config: c, life: n.life, tables: n.tables, member: n.member, asker: n.asker, roster: n.roster,
		sessions: n.sessions, accounts: n.accounts, workers: n.workers}
	n.digests = &digests{config: c, tables: n.tables, member: n.member, algorithms: n.algorithms, roster: n.roster,
		accounts: n.accounts, keeper: n.keeper}
	n.consents = &consents{config: c, life: n.life, disk: n.disk, tables: n.tables, rates: n.rates,
		member: n.member, algorithms: n.algorithms, roster: n.roster, accounts: n.accounts, keeper: n.keeper,
		digests: n.digests}
	n.runner = &runner{config: c, life: n.life, disk: n.disk, tables: n.tables, shards: n.shards, traffic: n.traffic,
		waits: n.waits, member: n.member, algorithms: n.algorithms, asker: n.asker, roster: n.roster,
		sessions: n.sessions, workers: n.workers, keeper: n.keeper}
	n.proposer = &proposer{config: c, life: n.life, disk: n.disk, member: n.member, algorithms: n.algorithms,
		asker: n.asker, roster: n.roster, sessions: n.sessions, workers: n.workers, keeper: n.keeper, consents: n.consents,
		runner: n.runner}
	n.answers = &answers{config: c, life: n.life, disk: n.disk, rates: n.rates, shards: n.shards,
		member: n.member, algorithms: n.algorithms, roster: n.roster, sessions: n.sessions, keeper: n.keeper,
		consents: n.consents, runner: n.runner}
	n.tender = &tender{config: c, life: n.life, disk: n.disk, tables: n.tables, member: n.member,
		algorithms: n.algorithms, asker: n.asker, roster: n.roster, sessions: n.sessions, keeper: n.keeper,
		proposer: n.proposer}
	n.views = &views{config: c, life: n.life, disk: n.disk, tables: n.tables, columns: n.columns, traffic: n.traffic,
		waits: n.waits, member: n.member, roster: n.roster, sessions: n.sessions, workers: n.workers,
		keeper: n.keeper, digests: n.digests, consents: n.consents}
	n.socket = &socket{config: c, life: n.life, tables: n.tables, columns: n.columns, peer: owner.Peer,
		algorithms: n.algorithms, roster: n.roster, accounts: n.accounts, keeper: n.keeper, digests: n.digests,
		consents: n.consents, proposer: n.proposer, sessions: n.sessions, views: n.views}
	return n
}

// Run goes on with the jobs this node coordinates, and looks after the others, until ctx ends or the node's folder is
// not its own any more, which is an error. It returns when every session has ended.
func (n *Node) Run(ctx context.Context) error {
	defer n.life.work.Wait()
	defer n.answering.Lock() // what is being answered is answered, and nothing after it
	defer n.life.stop()
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
	n.life.work.Go(func() { n.tend(ctx, cmp.Or(n.config.TendEvery, tendEvery)) })
	return n.disk.watch(ctx, cmp.Or(n.config.TendEvery, lookEvery))
}
