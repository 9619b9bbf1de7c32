package node

import (
	"encoding/binary"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
)

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
	return columns.Rebuildable(name) || slices.Contains(ofClients, name) || strings.HasPrefix(name, job.Drafts)
}

// Resume lets a job go on that this node holds back: since the node died in its sessions, or since it takes more memory
// than the node has.
func (n *Node) Resume(h keys.Hash) error {
	s, ok := n.job(h)
	if !ok {
		return fmt.Errorf("this node has no job %s", h.Short())
	}
	if err := n.apply(s, job.Resumed{Short: n.short(s)}); err != nil {
		return err
	}
	n.config.Log.Info("a job is resumed by its owner", "job", s.Contract().Job.Name, "contract", h.Short())
	n.notify(h, jobs.Event{Kind: jobs.EventState, Text: "resumed by its owner"})
	return nil
}

// heldBack reports whether a job that has not ended waits for hanse resume.
func (n *Node) heldBack(s *jobState) bool {
	r := s.Record()
	return !r.State.Final() && r.State != job.Proposed && (r.Deaths.Hold() || n.short(s))
}

// mayStart refuses a session of a job that this node holds back, or has no memory for now.
func (n *Node) mayStart(s *jobState) error {
	if err := s.Deadly(); err != nil {
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
	if e := n.remark(s, err.Error()); e != nil {
		n.config.Log.Error("a job's state could not be stored", "job", s.Contract().Job.Name, "error", e)
	}
	return s.Ailing(time.Now())
}
