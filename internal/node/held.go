package node

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// How often a node may die in the sessions of a job before it comes to no other by itself. A node that dies takes its
// other jobs along, so a job that kills it is held back, whoever proposes it.
const (
	deathsInARow = 2 // without a checkpoint in between
	deathsInAll  = 8 // since the job began, or since its owner resumed it
)

// deaths is how often this node died in a job's sessions.
type deaths struct {
	InARow uint32    `toml:"in_a_row,omitzero"` // without a checkpoint in between
	InAll  uint32    `toml:"in_all,omitzero"`
	Last   uint32    `toml:"last,omitzero"` // the session of the latest
	Mark   keys.Hash `toml:"mark"`          // of the checkpoints that it left
}

// hold reports whether the node comes to no session of the job by itself.
func (d *deaths) hold() bool { return d.InARow >= deathsInARow || d.InAll >= deathsInAll }

// died looks, when the node starts, whether it was ended in the middle of a session of the job: then the record says
// that one is on, which ends of every other kind do not leave. A part that is stored is past what takes memory.
func (s *jobState) died() error {
	r := s.record
	inOne := r.State == StateRunning && s.ending == nil && r.Session > 0 && r.Session != r.Stored &&
		r.Session != r.Finished && r.Session != r.Deaths.Last
	if !inOne {
		return nil
	}
	mark, err := s.checkpoints()
	if err != nil {
		return err
	}
	return s.update(func(r *statusRecord) {
		if mark != r.Deaths.Mark {
			r.Deaths.InARow = 0
		}
		r.Deaths.InARow, r.Deaths.InAll, r.Deaths.Last, r.Deaths.Mark = r.Deaths.InARow+1, r.Deaths.InAll+1, r.Session, mark
		if r.Deaths.hold() {
			r.State, r.Reason = StatePaused, s.heldReason()
		}
	})
}

// heldReason is what the owner reads of a job in whose sessions the node died.
func (s *jobState) heldReason() string {
	return "this node died in this job's session; hanse resume " + s.contract.Job.Name
}

// deadly refuses a session of a job in whose sessions this node died.
func (s *jobState) deadly() error {
	if r := s.snapshot(); !r.Deaths.hold() {
		return nil
	}
	return faults.Errorf(fault.CodeHeld, "%s", s.heldReason())
}

// checkpoints is a digest of what the job's sessions have come to, by the files' names, sizes and times.
func (s *jobState) checkpoints() (keys.Hash, error) {
	var parts [][]byte
	for _, name := range s.vault.Names() {
		if !isCheckpoint(name) {
			continue
		}
		info, err := os.Stat(s.vault.Path(name))
		if err != nil {
			if skipGone(err) == nil {
				continue
			}
			return keys.Hash{}, err
		}
		parts = append(parts, []byte(name), binary.LittleEndian.AppendUint64(nil, uint64(info.Size())),
			binary.LittleEndian.AppendUint64(nil, uint64(info.ModTime().UnixNano())))
	}
	return keys.HashOf("hanse checkpoints v1", parts...), nil
}

// isCheckpoint tells the files that say how far a job has come: states that are computed again, what parties of a job
// over clients keep of their rounds, and parts of models.
func isCheckpoint(name string) bool {
	ofClients := []string{clients.ServerFile, clients.ClientFile, federated.ModelSlot}
	return columns.Rebuildable(name) || slices.Contains(ofClients, name) || strings.HasPrefix(name, jobs.ModelDrafts)
}

// Resume lets a job go on that this node holds back: since the node died in its sessions, or since it takes more memory
// than the node has.
func (n *Node) Resume(h keys.Hash) error {
	s, ok := n.job(h)
	if !ok {
		return fmt.Errorf("this node has no job %s", h.Short())
	}
	name := s.contract.Job.Name
	if e := s.ended(); e != nil {
		return fmt.Errorf("job %q is %s already: nothing is left to resume", name, e.Outcome)
	}
	if s.status() == StateProposed {
		return fmt.Errorf("job %q is %s: hanse approve %[1]s consents to it", name, StateProposed)
	}
	short := n.short(s)
	if s.deadly() == nil && !short {
		return fmt.Errorf("this node does not hold job %q back: it goes on by itself; hanse status %[1]s says what it "+
			"waits for", name)
	}
	err := s.update(func(r *statusRecord) {
		r.Deaths, r.Anyway = deaths{Last: r.Deaths.Last}, r.Anyway || short
		if r.State == StatePaused || r.State == StateAgreed {
			r.Reason = ""
		}
	})
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.why, s.ailment, s.ailFor = nil, nil, 0
	s.mu.Unlock()
	n.config.Log.Info("a job is resumed by its owner", "job", name, "contract", h.Short())
	n.notify(h, jobs.Event{Kind: jobs.EventState, Text: "resumed by its owner"})
	return nil
}

// heldBack reports whether a job that has not ended waits for hanse resume.
func (n *Node) heldBack(s *jobState) bool {
	r := s.snapshot()
	return !r.State.Final() && r.State != StateProposed && (r.Deaths.hold() || n.short(s))
}

// mayStart refuses a session of a job that this node holds back, or has no memory for now.
func (n *Node) mayStart(s *jobState) error {
	if err := s.deadly(); err != nil {
		return err
	}
	return n.enoughMemory(s)
}

// mayStartFor is mayStart for a job that others ask about: what keeps it waiting is shown to the owner, and told by its
// code.
func (n *Node) mayStartFor(s *jobState) error {
	err := n.mayStart(s)
	if err == nil {
		return nil
	}
	n.ail(s, err)
	if e := s.remark(err.Error()); e != nil {
		n.config.Log.Error("a job's state could not be stored", "job", s.contract.Job.Name, "error", e)
	}
	return s.ailing()
}
