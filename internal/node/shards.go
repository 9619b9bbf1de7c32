package node

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/internal/workerkeys"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// methodShards is how the proposer's node asks how a job's shards stand, and has them go on.
const methodShards = "job/shards"

// shardsRequest is about the shards of a job in one session of it.
type shardsRequest struct {
	Contract keys.Hash      `cbor:"1,keyasint"`
	Session  uint32         `cbor:"2,keyasint"`
	Request  shards.Request `cbor:"3,keyasint"`
}

// newShards makes what serves this node's workers.
func (n *Node) newShards() *shards.Service {
	c := shards.Config{
		Key: n.config.Key, Open: n.config.Transport.Open, Now: n.config.Now, Log: n.config.Log, Job: n.workersJob,
	}
	if register := n.config.WorkerKeys; register != nil {
		c.Worker = func(id keys.ID) (keys.Hash, int, bool) {
			at, standing := register.Find(id) // the end of a job is told to a worker that is there by other words
			return at.Contract, at.Shard, standing == workerkeys.Good
		}
	}
	return shards.New(c)
}

// ServeWorker serves a stream that a worker of this node has opened, until it or ctx ends.
func (n *Node) ServeWorker(ctx context.Context, from keys.ID, f shards.Frames) {
	n.shards.Serve(ctx, from, f)
}

// HasShards reports whether a job in shards is agreed here and has not ended: so long workers have their places.
func (n *Node) HasShards() bool {
	return slices.ContainsFunc(n.allJobs(), func(s *jobState) bool {
		if s.Contract().Job.Shards == 0 || s.Ending() != nil {
			return false
		}
		_, agreed := s.InForce()
		return agreed
	})
}

// workersJob finds the job that a worker names.
func (n *Node) workersJob(digits string) (shards.Job, error) {
	const least = 8
	if len(digits) < least || strings.Trim(digits, "0123456789abcdef") != "" {
		return shards.Job{}, fmt.Errorf("a worker names its job by the first %d digits of the contract's hash or more, not "+
			"by %q", least, wording.Clip(digits))
	}
	var found *jobState
	for _, s := range n.allJobs() {
		if !strings.HasPrefix(s.Contract().Hash().String(), digits) {
			continue
		}
		if found != nil {
			return shards.Job{}, fmt.Errorf("two jobs have contracts that begin with %s", digits)
		}
		found = s
	}
	if found == nil {
		return shards.Job{}, fmt.Errorf("%w: none has a contract that begins with %s", shards.ErrNoJob, digits)
	}
	j := shards.Job{Contract: found.Contract().Hash(), Shards: found.Contract().Job.Shards}
	if found.Ending() == nil {
		return j, nil
	}
	if err := found.EndedError(); err != nil {
		return j, err
	}
	j.Done = true
	return j, nil
}

// Shards implements jobs.Daemon.
func (a *attendant) Shards(ctx context.Context, w shards.Work) ([]shards.Session, error) {
	n, s := a.node, a.state
	f, agreed := s.InForce()
	if !agreed {
		return nil, faults.Errorf(fault.CodeUnsigned, "the contract of job %q is not in force", s.Contract().Job.Name)
	}
	c := f.Contract()
	w.Contract, w.Vault, w.Reserve = f, s.vault, n.disk.reserve
	w.Payloads = cmp.Or(n.config.RecordLimit, DefaultRecordLimit) / int64(len(w.Shards))
	w.Consent = s.Record().Consent.Digest(c.Hash())
	if c.Job.Proposer == n.nameIn(c) {
		w.Ask = func(ctx context.Context, party int, q shards.Request) (a2 shards.Response, err error) {
			return a2, n.call(ctx, c.Members()[party], methodShards, shardsRequest{c.Hash(), a.number, q}, &a2)
		}
	}
	w.Passed = func(t shards.Traffic) { n.countShard(s, t) }
	w.Alive = func(ctx context.Context) bool {
		return n.placeIn(ctx, s, c.Members()[c.Job.Index(c.Job.Proposer)], a.number) == placeOn
	}
	w.Waiting = func(shard int, names []string, since time.Time) {
		n.notify(c.Hash(), jobs.Event{Kind: jobs.EventWaiting, Who: names, Since: since, Text: fmt.Sprintf(
			"shard %d of %d has no worker at %s%s: %s, docs/shards.md", shard, len(w.Shards), wording.List(names, "and"),
			lasting(since), ownersRun(len(names)))})
	}
	return n.shards.Run(ctx, w)
}

// serveShards answers the proposer's node about the shards of a job whose session is under way.
func (n *Node) serveShards(from keys.ID, r shardsRequest) (a shards.Response, err error) {
	s, ok := n.job(r.Contract)
	if !ok {
		return a, faults.Errorf(fault.CodeUnknown, "has no job with contract %s", r.Contract.Short())
	}
	if err := n.concerns(s, from); err != nil {
		return a, err
	}
	if m, ok := n.currentCharter().Member(from); !ok || m.Name != s.Contract().Job.Proposer {
		return a, faults.Errorf(fault.CodeRequest, "the shards of job %q are begun by its proposer %s, not by %s",
			s.Contract().Job.Name, s.Contract().Job.Proposer, n.memberName(from))
	}
	if at := s.Record().Session; !n.inSession(s) || at != r.Session {
		return a, faults.Errorf(fault.CodeBusy, "session %d of job %q is not under way here; the last was %d", r.Session,
			s.Contract().Job.Name, at)
	}
	a, err = n.shards.Answer(r.Contract, r.Request)
	return a, faults.OrElse(fault.CodeBusy, err)
}

// ownersRun says what is to be done where so many members have no worker.
func ownersRun(members int) string {
	if members == 1 {
		return "its owner runs hanse worker there"
	}
	return "their owners run hanse worker there"
}

// describeShards says how the shards of a job stand here, and what its owner is to do.
func (n *Node) describeShards(s *jobState, info *JobInfo) {
	of := s.Contract().Job.Shards
	if of == 0 || info.State.Final() {
		return
	}
	p := n.shards.Progress(s.Contract().Hash(), of)
	info.Shards = &p
	if register := n.config.WorkerKeys; register != nil && register.Fault() != nil {
		info.Waiting = register.Fault().Error()
		return
	}
	if info.State != job.Running || info.Waiting != "" || len(p.Missing) == 0 {
		return
	}
	more := ""
	if others := len(p.Missing) - 1; others > 0 {
		more = fmt.Sprintf(", nor has %s", wording.Count(others, "other"))
	}
	info.Waiting = fmt.Sprintf("shard %d of %d has no worker here%s: run hanse worker, docs/shards.md", p.Missing[0], of,
		more)
}

// endWorkers tells the workers of a job that has ended that it has, and removes the rows that were written for them.
func (n *Node) endWorkers(s *jobState) {
	if s.Contract().Job.Shards == 0 {
		return
	}
	why := ""
	if err := s.EndedError(); err != nil {
		why = err.Error()
	}
	n.shards.End(s.Contract().Hash(), why)
	n.removeParts(s)
}

// removeParts removes the parts of a job that has ended, unless a session of it is on, which removes them when it ends.
func (n *Node) removeParts(s *jobState) {
	if s.Contract().Job.Shards == 0 || s.Ending() == nil || n.inSession(s) {
		return
	}
	if err := n.columns.RemoveParts(s.Contract().Hash()); err != nil {
		n.config.Log.Error("the rows that were written for workers of a job that has ended could not be removed", "job",
			s.Contract().Job.Name, "error", err)
	}
}
