package node

import "github.com/hanse-project/hanse/protocol/contract"

// shed drops from memory what is large of the jobs that have ended, and on which nothing works any more: the contract's
// text, signatures and operations, and the open files. All of it is on the disk, and whole reads it when it is asked
// for.
func (n *Node) shed() {
	for _, s := range n.allJobs() {
		if s.brief || s.ended() == nil || n.inSession(s) {
			continue
		}
		short := s.shedded()
		h := short.contract.Hash()
		n.mu.Lock()
		if n.jobs[h] == s { // it may have been forgotten meanwhile
			n.jobs[h] = short
		}
		n.mu.Unlock()
		if err := s.vault.Close(); err != nil {
			n.config.Log.Warn("the files of a job that has ended could not be closed", "job", s.contract.Job.Name, "error", err)
		}
	}
}

// shedded is a job that has ended without what is large of it, or the job as it is where that cannot be made.
func (s *jobState) shedded() *jobState {
	c, err := s.contract.Brief()
	if err != nil {
		return s
	}
	s.mu.Lock()
	s.inForce = contract.InForce{}
	s.mu.Unlock()
	return &jobState{contract: c, brief: true, jobLife: s.jobLife}
}

// whole returns a job's contract, of one that is shed from its disk. Where it cannot be read there, it is the brief
// one.
func (n *Node) whole(s *jobState) *contract.Contract {
	if !s.brief {
		return s.contract
	}
	c, err := s.readContract(s.contract.Hash())
	if err != nil {
		n.config.Log.Warn("a contract cannot be read, and little of it is shown", "job", s.contract.Job.Name, "error", err)
		return s.contract
	}
	return c
}

// summaryFor is a job's summary. That of a job that is shed is made once, since lists have all of them.
func (n *Node) summaryFor(s *jobState) shown {
	if !s.brief {
		return n.summaryOf(s.contract)
	}
	s.mu.Lock()
	made := s.summary
	s.mu.Unlock()
	if made.text != "" {
		return made
	}
	made = n.summaryOf(n.whole(s))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.summary = made
	return made
}
