package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol/fault"
)

// jobState is one job at this node: what has come of it, its folder, and what the node remembers of it while it runs,
// each with an owner of its own.
type jobState struct {
	*job.Job
	vault    *vault.Vault
	forecast *forecast.Forecast // what was expected of it when it came; nil: nobody knew. It does not change

	agreed    chan struct{}         // closed when this node's owner consents in this life of the node
	abandoned atomic.Bool           // its command could not consent to it
	spreading atomic.Bool           // others are being sent another end than before
	summary   atomic.Pointer[shown] // of a job that is shed, once somebody has asked for it
	decision  decision              // under consents.judging
	said      said
	looks     looks
	sourced   sourced
	watched   watched
	audit     auditNote
	counted   counted
}

// newJobState is a job with its folder.
func newJobState(j *job.Job, v *vault.Vault) *jobState {
	return &jobState{Job: j, vault: v, agreed: make(chan struct{})}
}

// decision is how far this node has come in deciding on a proposed job. consents.judging is held for it.
type decision struct {
	judged    string // why the policy leaves it to a person
	launching bool   // a command waits for approvals and will coordinate it
	// How the job, which a rule of the policy accepts, was held against its table.
	running, good bool
	times         int   // that the table had been read when it was found wrong
	err           error // what was wrong
}

// said is what all were told of the faults of a job, by the text of the error.
type said struct {
	mu sync.Mutex
	of map[string]*fault.Fault
}

// looks is when a node looks after a job that stands still.
type looks struct {
	mu    sync.Mutex
	on    bool          // it is looking
	asked time.Time     // when it last asked how the job stands elsewhere
	gap   time.Duration // until it asks again
}

// begin reports whether nobody looks after the job yet; then done must follow.
func (l *looks) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.on
	l.on = true
	return !was
}

func (l *looks) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = false
}

// due reports whether the others are to be asked: the longer a job has stood still, the more rarely.
func (l *looks) due(every time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) < l.gap {
		return false
	}
	l.asked, l.gap = time.Now(), min(max(2*l.gap, every), askAgain)
	return true
}

// hurry has the node ask at its next turn, however lately it has.
func (l *looks) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gap = 0
}

// sourced is when the source of a job's table was run last for a session, or will be.
type sourced struct {
	mu sync.Mutex
	at time.Time
}

// wait returns how long a session has to wait until the source may be run for it, and counts it as run then.
func (s *sourced) wait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := max(0, min(sourceGap, s.at.Add(sourceGap).Sub(now)))
	s.at = now.Add(wait)
	return wait
}

// reportText is what is kept of this party's report of a job.
func (s *jobState) reportText(r *jobs.Report) ([]byte, error) {
	s.compare(r)
	data, err := json.MarshalIndent(r, "", "  ")
	return append(data, '\n'), err
}

// loadReport returns this party's report, nil when there is none.
func (s *jobState) loadReport() (*jobs.Report, error) {
	data, err := s.vault.Load(job.ReportFile)
	if err != nil || data == nil {
		return nil, err
	}
	r := new(jobs.Report)
	return r, json.Unmarshal(data, r)
}

// endedAt is when a job's end was stored here, as its file says.
func (s *jobState) endedAt() time.Time { return job.Folder{Vault: s.vault}.Time(job.EndingFile) }

// RunAgain puts the folder of a finished job back to before its first session: contract, consent and phases stay, so
// that it runs again and, where it is to be repeatable, gives the same. No node may be running on it. Tests and trials
// use it.
func RunAgain(folder string) error {
	h, err := job.HashOf(folder)
	if err != nil {
		return err
	}
	v, err := vault.Open(folder, vault.Options{Owner: h})
	if err != nil {
		return err
	}
	if err := job.Again(job.Folder{Vault: v}); err != nil {
		return errors.Join(err, v.Close())
	}
	for _, name := range []string{jobs.ModelFile, jobs.AlignmentFile, columns.ScoredRowsFile, columns.KnownScoresFile,
		columns.DecisionFile, columns.DecisionRowsFile, columns.TrainedRowsFile, columns.AloneFile, auditedFile} {
		err = errors.Join(err, v.Remove(name))
	}
	return errors.Join(err, columns.Clean(v), v.Close())
}

// ReadModel returns the model part in a job's folder, which may be that of any node on this machine. The folder's
// name says which contract it must be of, and that is of an algorithm listed.
func ReadModel(l registry.List, folder string) (joint.Part, error) {
	data, err := readState(folder, jobs.ModelFile)
	if err != nil {
		return nil, err
	}
	h, err := job.HashOf(folder)
	if err != nil {
		return nil, err
	}
	c, err := job.ReadContract(folder, h)
	if err != nil {
		return nil, err
	}
	return l.Part(c, data)
}

// ReadAlignment returns the common rows in an alignment job's folder, which may be that of any node on this machine.
// The folder's name says which contract they must be of.
func ReadAlignment(folder string) (*alignment.Alignment, error) {
	data, err := readState(folder, jobs.AlignmentFile)
	if err != nil {
		return nil, err
	}
	a, err := alignment.Decode(data)
	if err == nil && a.Contract.String() != filepath.Base(folder) {
		return nil, fmt.Errorf("%s is of contract %s", filepath.Join(folder, jobs.AlignmentFile), a.Contract.Short())
	}
	return a, err
}

// readState reads a state from a job's folder, which the contract's hash names.
func readState(folder, name string) ([]byte, error) {
	h, err := job.HashOf(folder)
	if err != nil {
		return nil, err
	}
	return vault.ReadFile(filepath.Join(folder, name), h)
}

// endingOf returns the text of a job's ending, nil when it has none.
func endingOf(s *jobState) []byte {
	if e := s.Ending(); e != nil {
		return e.Text()
	}
	return nil
}

// because is a reason behind a state.
func because(reason string) string {
	if reason == "" {
		return ""
	}
	return ": " + reason
}
