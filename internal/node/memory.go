package node

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// memoryOf is what a contract's job takes of this node's memory, and what the node has.
func (n *Node) memoryOf(c *contract.Contract) consent.Memory {
	return consent.Memory{Takes: summary.Memory(c, n.nameIn(c)), Has: n.memory}
}

// enoughMemory refuses a job that takes more memory than this node has, or has left beside the sessions that are on.
// Its session waits, unless its owner has it start all the same. The error is for the owner: others learn the code.
func (n *Node) enoughMemory(s *jobState) error {
	if s.Record().Anyway {
		return nil
	}
	m, h := n.memoryOf(s.Contract()), s.Contract().Hash()
	var others int64
	n.mu.Lock()
	for other, active := range n.sessions {
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
func (n *Node) short(s *jobState) bool {
	m := n.memoryOf(s.Contract())
	return m.Has > 0 && m.Takes > m.Has && !s.Record().Anyway
}

// memoryNote is what this node's owner reads of a job's memory before consent, nothing where it is little.
func (n *Node) memoryNote(c *contract.Contract) string {
	m := n.memoryOf(c)
	text := fmt.Sprintf("Memory: the job takes about %s here, and this node has %s for all its jobs",
		wording.Size(m.Takes), wording.Size(m.Has))
	switch {
	case m.Has == 0 || m.Takes <= m.Has/2:
		return ""
	case m.Takes <= m.Has:
		text += ". It takes more than half, so that no rule without a max_memory of its own accepts it."
	default:
		text += fmt.Sprintf(". Who consents agrees to the job, and its sessions wait until the node has more, or until "+
			"hanse resume %s has them start all the same; they may kill the node.", c.Job.Name)
	}
	return "\n" + wording.Wrap(wording.Columns, "", text)
}
