package jobs

import (
	"context"
	"math"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// WaitReport is after how long a blocked session says whom it waits for, and how often again.
const WaitReport = protocol.LongWait

// Session is one session of a job at this node, as a task sees it. Only NewSession makes one that runs, and it asks for
// the proof that all parties have signed.
type Session struct {
	Ground
	contract *contract.Contract
	began    time.Time

	mu     sync.Mutex
	opens  []Opened
	shards []shards.Traffic     // of shards, whose results this session takes in
	latest map[string]time.Time // when each step was told of
}

// Ground is what the daemon brings to a session. It opens the mesh, the budget and the transcript, and closes them when
// the task has run.
type Ground struct {
	Self   string // this party's name in the contract
	Closes uint32 // of a closing session: the session whose parts all keep; else 0
	Config protocol.SessionConfig
	Mesh   protocol.Mesh
	There  []keys.ID // the peers with a link
	Vault  *vault.Vault
	Data   keys.Hash       // digest of the table that was consented to; zero: none was
	Stored uint32          // the last session that made this party's part, which it keeps; 0: none
	Over   <-chan struct{} // closed when the job is done elsewhere: no more rows are waited for
	Life   context.Context // ends with the node
	Daemon Daemon
}

// NewSession begins a session of a contract in force.
func NewSession(c contract.InForce, g Ground) *Session {
	return &Session{Ground: g, contract: c.Contract(), began: time.Now(), latest: make(map[string]time.Time)}
}

// Contract is that of the session's job.
func (s *Session) Contract() *contract.Contract { return s.contract }

// Daemon is what a session asks of the daemon that runs it.
type Daemon interface {
	// Notify passes an event on to whoever follows the job.
	Notify(Event)
	// Fault makes of an error what all parties are told of it.
	Fault(error) *fault.Fault
	// Store keeps this party's part of the job, nil where it is a file of its own, and the session's report.
	Store(part []byte, r *Report) error
	// Keep makes the part of an earlier session that of this closing one, and returns its report.
	Keep() (*Report, error)
	// Known returns how many rows' scores the receiver of a sealed prediction had; SetKnown keeps it.
	Known() int64
	SetKnown(rows int64) error
	// Shards has workers make the results of the job's shards; the daemon fills in what of the work is its own.
	Shards(ctx context.Context, w shards.Work) ([]shards.Session, error)
	// Pausable notes how this session, a server's, is ended in good order: before its next round.
	Pausable(pause func())
	// WatchReturns looks from time to time whether a client that has no link has come back, and, at the proposer,
	// whether another server has left the session for a next one. Then it calls back, and returns.
	WatchReturns(ctx context.Context, away func() []int, back func())
}

// Number is the session's.
func (s *Session) Number() uint32 { return s.Config.Number }

// Unchanged refuses a table that is not the one consented to.
func (s *Session) Unchanged(path string, sum keys.Hash) error {
	return Unchanged(s.contract.Job, s.Data, path, sum)
}

// Unchanged refuses a table of which sum is not what was agreed.
func Unchanged(job *contract.Job, agreed keys.Hash, path string, sum keys.Hash) error {
	if agreed != sum {
		return faults.Errorf(fault.CodeData, "%s changed after consent: its digest was %s and is %s; put the old table back "+
			"and the job goes on, or end it with hanse cancel %s", path, agreed.Short(), sum.Short(), job.Name)
	}
	return nil
}

// Step tells how far a step has come: at most ten times a second for each step, and always the last. A metric of 0 or
// NaN is none.
func (s *Session) Step(step string, done, total int, metric float64) {
	s.mu.Lock()
	now := time.Now()
	skip := done < total && now.Sub(s.latest[step]) < 100*time.Millisecond
	if !skip {
		s.latest[step] = now
	}
	s.mu.Unlock()
	if skip {
		return
	}
	e := Event{Kind: EventProgress, Step: step, Done: int64(done), Total: int64(total)}
	if !math.IsNaN(metric) && metric != 0 {
		e.Metric = &metric
	}
	s.Daemon.Notify(e)
}

// Warn tells that something may go wrong.
func (s *Session) Warn(text string) { s.Daemon.Notify(Event{Kind: EventWarning, Text: text}) }

// Learned counts what this party learned.
func (s *Session) Learned(kind string, count int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.opens {
		if s.opens[i].Kind == kind {
			s.opens[i].Count += count
			return
		}
	}
	s.opens = append(s.opens, Opened{Party: s.Self, Kind: kind, Count: count})
}

// Report starts this party's report.
func (s *Session) Report(rows int) *Report {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.contract
	return &Report{
		Job: c.Job.Name, Contract: c.Hash().String(), Party: s.Self, Sessions: s.Number(),
		Openings: s.opens, Rows: rows, Aggregation: c.Job.Aggregation,
	}
}

// Sharded notes what passed in the sessions of shards whose results this session takes in: it counts as its own.
func (s *Session) Sharded(list []shards.Traffic) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shards = list
}

// Account adds to a report how long the session has taken, and what went over the links, by party, and between the
// job's workers.
func (s *Session) Account(r *Report, traffic func(party int) (sent, received int64)) {
	r.BytesOut, r.BytesIn = 0, 0
	for i := range s.contract.Parties {
		sent, received := traffic(i)
		r.BytesOut += sent
		r.BytesIn += received
	}
	r.Seconds, r.Waited = time.Since(s.began).Seconds(), s.Config.Waits.Seconds()
	lines := s.Config.Budget.Lines()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.shards) > 0 {
		for _, t := range s.shards {
			r.BytesOut += t.Sent
			r.BytesIn += t.Received
		}
		lines = append(lines, ShardLines(s.contract, s.contract.Job.Index(s.Self), s.shards...)...)
	}
	r.Egress = EgressOf(s.contract, lines)
}

// ShardLines are what a party may send in the sessions of all shards, each once, with what its workers sent in some.
func ShardLines(c *contract.Contract, party int, list ...shards.Traffic) []contract.Egress {
	lines, err := c.ShardEgress(party)
	if err != nil { // the contract was read with the same operations
		return nil
	}
	for _, t := range list {
		for _, f := range t.Flows {
			for i := range lines {
				if e := &lines[i]; e.To == f.Party && e.Kind == f.Kind {
					e.Frames, e.Bytes = e.Frames+f.Frames, e.Bytes+f.Sent
				}
			}
		}
	}
	return lines
}

// Finite returns x for JSON, which has no NaN and no Inf.
func Finite(x float64) *float64 {
	if math.IsNaN(x) || math.IsInf(x, 0) {
		return nil
	}
	return &x
}
