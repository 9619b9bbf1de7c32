package node

import (
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/fault"
)

// enoughMemory refuses a job that takes more memory than this node has, or has left beside the sessions that are on.
// Its session waits, unless its owner has it start all the same. The error is for the owner: others learn the code.
func (n *sessions) enoughMemory(s *jobState) error {
	if s.Record().Anyway {
		return nil
	}
	m, h := n.algorithms.memoryOf(s.Contract()), s.Contract().Hash()
	var others int64
	n.mu.Lock()
	for other, active := range n.on {
		if other != h {
			others += active.memory
		}
	}
	n.mu.Unlock()
	name := s.Contract().Job.Name
	switch {
	case m.Has == 0 || m.Takes+others <= m.Has:
		return nil
	case m.Takes <= m.Has:
		return faults.Errorf(fault.CodeMemory, "job %q takes about %s of memory here, and this node has %s, of which other "+
			"sessions take %s: it starts when one of them has ended", name, wording.Size(m.Takes), wording.Size(m.Has),
			wording.Size(others))
	}
	return faults.Errorf(fault.CodeMemory, "job %q takes about %s of memory here, and this node has %s: start the node "+
		"with more, have it start all the same with hanse resume %[1]s, or end it with hanse cancel %[1]s", name,
		wording.Size(m.Takes), wording.Size(m.Has))
}

// short reports whether a job takes more memory than this node has, whatever else it does.
func (n *sessions) short(s *jobState) bool {
	m := n.algorithms.memoryOf(s.Contract())
	return m.Has > 0 && m.Takes > m.Has && !s.Record().Anyway
}

// heldBack reports whether a job that has not ended waits for hanse resume.
func (n *sessions) heldBack(s *jobState) bool {
	r := s.Record()
	return !r.State.Final() && r.State != job.Proposed && (r.Deaths.Hold() || n.short(s))
}

// mayStart refuses a session of a job that this node holds back, or has no memory for now.
func (n *sessions) mayStart(s *jobState) error {
	if err := s.Deadly(); err != nil {
		return err
	}
	return n.enoughMemory(s)
}
