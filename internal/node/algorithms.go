package node

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/protocol/fault"

	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// register notes which package of jobs runs each algorithm. Those over columns, FDSKL and its scorecards, have their
// steps built into package columns. Those over clients are in the registry of package clients.
func (n *Node) register() {
	member := &jobs.Member{
		ID: n.config.Key.ID(), Name: n.name, Charter: n.currentCharter, Tables: n.tables, Workers: n.config.Workers,
		Dir: n.config.Dir, Parts: n.config.Parts, Now: n.config.Now, Finished: n.finished,
		Secret: n.config.Key.Secret, RowKey: func() keys.Hash { return n.ledger.Key() },
		Folder: func(h keys.Hash) (*vault.Vault, bool) {
			s, ok := n.job(h)
			if !ok || !s.Record().Removed.IsZero() {
				return nil, false
			}
			return s.vault, true
		},
		Signed: func(h keys.Hash, file string) error {
			s, ok := n.job(h) // it may have been forgotten since its folder was asked for
			if !ok {
				return faults.Errorf(fault.CodeUnknown, "has no job with contract %s", h.Short())
			}
			return n.checkPart(s, file)
		},
	}
	n.columns = columns.New(member)
	n.kinds = map[string]jobs.Kind{contract.FDSKL: n.columns, contract.GLM: n.columns, contract.PSI: n.columns}
	n.tables.Identify = func() []string { return alignment.Columns(n.currentCharter().Identifiers) }
	overClients := clients.New(member)
	for _, algorithm := range clients.Algorithms() {
		n.kinds[algorithm] = overClients
	}
}

// finished lists the jobs of a task that are done and that somebody who types which can mean, all where which is empty;
// the newest first.
func (n *Node) finished(task, which string) []jobs.Finished {
	var list []jobs.Finished
	for _, s := range n.allJobs() {
		r, j := s.Record(), s.Contract().Job
		meant := j.Task == task && (which == "" || Means(which, j.Name, s.Contract().Hash().String()))
		if meant && r.State == job.Done && r.Removed.IsZero() {
			list = append(list, jobs.Finished{Contract: s.Contract(), Ended: r.Ended})
		}
	}
	slices.SortFunc(list, func(a, b jobs.Finished) int { return b.Ended.Compare(a.Ended) })
	return list
}

// kindOf finds who runs a job's algorithm.
func (n *Node) kindOf(job *contract.Job) (jobs.Kind, error) {
	kind, ok := n.kinds[job.Algorithm]
	if !ok {
		known := slices.Sorted(maps.Keys(n.kinds))
		var names []string
		for _, name := range known {
			names = append(names, fmt.Sprintf("%q", name))
		}
		return nil, fmt.Errorf("job %q: algorithm is %q, this version runs %s%s", job.Name, wording.Clip(job.Algorithm),
			wording.List(names, "and"), wording.DidYouMean(job.Algorithm, known))
	}
	return kind, nil
}

// newTask returns this node's part of a job.
func (n *Node) newTask(job *contract.Job) (jobs.Task, error) {
	kind, err := n.kindOf(job)
	if err != nil {
		return nil, err
	}
	return kind.Task(job)
}
