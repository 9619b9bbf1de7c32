package node

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/internal/workerkeys"
	"github.com/hanse-project/hanse/keys"
)

// workers is what this node's workers are served by.
type workers struct {
	config   *Config
	columns  *columns.Jobs
	roster   *roster
	sessions *sessions
	shards   *shards.Service
}

// newShards makes what serves this node's workers.
func (n *workers) newShards() *shards.Service {
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
func (n *workers) ServeWorker(ctx context.Context, from keys.ID, f shards.Frames) {
	n.shards.Serve(ctx, from, f)
}

// HasShards reports whether a job in shards is agreed here and has not ended: so long workers have their places.
func (n *workers) HasShards() bool {
	return slices.ContainsFunc(n.roster.allJobs(), func(s *jobState) bool {
		if s.Contract().Job.Shards == 0 || s.Ending() != nil {
			return false
		}
		_, agreed := s.InForce()
		return agreed
	})
}

// workersJob finds the job that a worker names.
func (n *workers) workersJob(digits string) (shards.Job, error) {
	const least = 8
	if len(digits) < least || strings.Trim(digits, "0123456789abcdef") != "" {
		return shards.Job{}, fmt.Errorf("a worker names its job by the first %d digits of the contract's hash or more, not "+
			"by %q", least, wording.Clip(digits))
	}
	var found *jobState
	for _, s := range n.roster.allJobs() {
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

// describeShards says how the shards of a job stand here, and what its owner is to do.
func (n *workers) describeShards(s *jobState, info *JobInfo) {
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
func (n *workers) endWorkers(s *jobState) {
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
func (n *workers) removeParts(s *jobState) {
	if s.Contract().Job.Shards == 0 || s.Ending() == nil || n.sessions.inSession(s) {
		return
	}
	if err := n.columns.RemoveParts(s.Contract().Hash()); err != nil {
		n.config.Log.Error("the rows that were written for workers of a job that has ended could not be removed", "job",
			s.Contract().Job.Name, "error", err)
	}
}
