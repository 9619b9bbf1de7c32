package node

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// State is where a job stands at this node; the package comment draws the transitions.
type State string

// The states of a job.
const (
	StateProposed State = "proposed" // waits for a person's consent
	StateAgreed   State = "agreed"   // this node has signed
	StateRunning  State = "running"  // a session is on
	StatePaused   State = "paused"   // a session broke; the coordinator starts another
	StateDone     State = "done"
	StateRefused  State = "refused"
	StateFailed   State = "failed"
)

// Names inside a job's folder.
const (
	ContractFile = "contract.toml"
	statusFile   = "status.toml"
	phaseFile    = "phase"
	ModelFile    = "model.hanse"
	reportFile   = "report.json"
)

// jobState is one job at this node: its folder and what the folder says.
type jobState struct {
	vault    *vault.Vault
	contract *protocol.Contract

	over    chan struct{} // closed when the coordinator says that the job is done
	endOnce sync.Once

	mu     sync.Mutex
	record statusRecord
	sealed bool // the contract is kept with all signatures
}

// end notes that the job is done for its coordinator: no more rows are waited for.
func (s *jobState) end() { s.endOnce.Do(func() { close(s.over) }) }

// isOver reports whether the coordinator has said that the job is done.
func (s *jobState) isOver() bool {
	select {
	case <-s.over:
		return true
	default:
		return false
	}
}

// statusRecord is what is kept of a job beside its contract.
type statusRecord struct {
	State       State     `toml:"state"`
	Reason      string    `toml:"reason,omitempty"`
	Session     uint32    `toml:"session"`     // the number of the last session
	Data        keys.Hash `toml:"data"`        // SHA-256 of the data file that was consented to
	Coordinator bool      `toml:"coordinator"` // this node proposed the job
}

// openJob opens the folder of a job and stores its contract.
func (n *Node) openJob(c *protocol.Contract, record statusRecord) (*jobState, error) {
	v, err := vault.Open(filepath.Join(n.config.Dir, "jobs", c.Hash().String()))
	if err != nil {
		return nil, err
	}
	s := &jobState{vault: v, contract: c, over: make(chan struct{}), record: record}
	if err := v.Save(ContractFile, c.Text()); err != nil {
		return nil, err
	}
	return s, s.update(func(*statusRecord) {})
}

// loadJob reads a job's folder after a restart.
func loadJob(dir string) (*jobState, error) {
	v, err := vault.Open(dir)
	if err != nil {
		return nil, err
	}
	text, err := v.Load(ContractFile)
	if err != nil || text == nil {
		return nil, fmt.Errorf("%s: no contract: %v", dir, err)
	}
	c, err := protocol.ParseContract(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", dir, err)
	}
	s := &jobState{vault: v, contract: c, over: make(chan struct{}), sealed: c.Complete() == nil}
	status, err := v.Load(statusFile)
	if err != nil {
		return nil, err
	}
	return s, keys.DecodeStrict(filepath.Join(dir, statusFile), status, &s.record)
}

// loadJobs reads all job folders.
func (n *Node) loadJobs() error {
	dir := filepath.Join(n.config.Dir, "jobs")
	entries, err := os.ReadDir(dir)
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		s, err := loadJob(filepath.Join(dir, e.Name()))
		if err != nil {
			n.config.Log.Warn("a job's folder is unreadable and left alone", "error", err)
			continue
		}
		n.jobs[s.contract.Hash()] = s
	}
	return nil
}

// status returns the job's state.
func (s *jobState) status() State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record.State
}

// snapshot returns the job's record.
func (s *jobState) snapshot() statusRecord {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.record
}

// update changes the record and stores it.
func (s *jobState) update(change func(*statusRecord)) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	next := s.record
	change(&next)
	text, err := toml.Marshal(next)
	if err != nil {
		return err
	}
	if err := s.vault.Save(statusFile, text); err != nil {
		return err
	}
	s.record = next
	return nil
}

// set moves the job to a state.
func (s *jobState) set(state State, reason string) error {
	return s.update(func(r *statusRecord) { r.State, r.Reason = state, reason })
}

// seal stores the contract with its full set of signatures. The contract in memory stays as it is:
// several calls may read it at once, and nothing here asks it who has signed.
func (s *jobState) seal(c *protocol.Contract) error {
	if err := s.vault.Save(ContractFile, c.Text()); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sealed = true
	return nil
}

// isSealed reports whether the contract was kept with all parties' signatures.
func (s *jobState) isSealed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sealed
}

// unchanged refuses a data file that is not the one consented to.
func (s *jobState) unchanged(t *dataset.Table) error {
	if agreed := s.snapshot().Data; agreed != t.Sum {
		return &permanentError{fmt.Errorf("%s changed after consent: its SHA-256 was %s and is %s; put the old file back, or propose the job anew", t.Path, agreed.Short(), t.Sum.Short())}
	}
	return nil
}

// phase returns the party's secret phase seed for this job, drawn once and kept.
func (s *jobState) phase() (fdskl.PhaseSeed, error) {
	data, err := s.vault.Load(phaseFile)
	if err != nil {
		return fdskl.PhaseSeed{}, err
	}
	if data == nil {
		seed := fdskl.NewPhaseSeed()
		return seed, s.vault.Save(phaseFile, seed[:])
	}
	if len(data) != len(fdskl.PhaseSeed{}) {
		return fdskl.PhaseSeed{}, fmt.Errorf("%s has %d bytes, want %d", s.vault.Path(phaseFile), len(data), len(fdskl.PhaseSeed{}))
	}
	return fdskl.PhaseSeed(data), nil
}

// saveModel stores a finished model part and drops what only an unfinished job needs.
func (s *jobState) saveModel(m *fdskl.Model) error {
	data, err := m.Encode()
	if err != nil {
		return err
	}
	if err := s.vault.Save(ModelFile, data); err != nil {
		return err
	}
	return nil
}

// saveReport stores what this party says of the finished job.
func (s *jobState) saveReport(r *Report) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return s.vault.Save(reportFile, append(data, '\n'))
}

// clean removes what a finished job no longer needs: opened angles, solver states, requests and their scores, and shares.
func (s *jobState) clean() error {
	for _, name := range []string{"angles", "solver-0", "solver-1", "iteration-0", "iteration-1", requestsFile, answersFile} {
		if err := s.vault.Remove(name); err != nil {
			return err
		}
	}
	return s.vault.RemoveAll(sealed.FilePrefix)
}

// loadModel reads the finished model part, nil when there is none.
func (s *jobState) loadModel() (*fdskl.Model, error) {
	data, err := s.vault.Load(ModelFile)
	if err != nil || data == nil {
		return nil, err
	}
	return fdskl.DecodeModel(data)
}

// permanentError is a failure that another session would meet again.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }
