package node

import (
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/protocol/contract"
)

// shed drops from memory what is large of the jobs that have ended, and on which nothing works any more: the contract's
// text, signatures and operations, and the open files. All of it is on the disk, and whole reads it when it is asked
// for.
func (n *Node) shed() {
	for _, s := range n.allJobs() {
		if s.Brief() || s.Ending() == nil || n.inSession(s) {
			continue
		}
		n.apply(s, job.Shed{}) // where no brief contract can be made, the job stays as it is
		if err := s.vault.Close(); err != nil {
			n.config.Log.Warn("the files of a job that has ended could not be closed", "job", s.Contract().Job.Name,
				"error", err)
		}
	}
}

// whole returns a job's contract, of one that is shed from its disk. Where it cannot be read there, it is the brief
// one.
func (n *Node) whole(s *jobState) *contract.Contract {
	c, err := s.Whole()
	if err != nil {
		n.config.Log.Warn("a contract cannot be read, and little of it is shown", "job", c.Job.Name, "error", err)
	}
	return c
}

// summaryFor is a job's summary. That of a job that is shed is made once, since lists have all of them.
func (n *Node) summaryFor(s *jobState) shown {
	if !s.Brief() {
		return n.summaryOf(s.Contract())
	}
	if made := s.summary.Load(); made != nil {
		return *made
	}
	made := n.summaryOf(n.whole(s))
	s.summary.Store(&made)
	return made
}
