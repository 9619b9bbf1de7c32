package node

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/alignment"
	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// jobsDir is where a node's folder has the folders of jobs, each named by its contract's hash.
const jobsDir = "jobs"

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
	decision  decision              // under Node.judging
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

// vaultOptions are those of the folder of a contract's job.
func (n *Node) vaultOptions(contract keys.Hash) vault.Options {
	return vault.Options{
		Owner: contract, Rebuildable: columns.Rebuildable, Fault: n.config.DiskFault, Reserve: n.disk.reserve,
		Damaged: func(text string) {
			n.config.Log.Warn("a damaged file is not used", "job", contract.Short(), "what", text)
			n.notify(contract, jobs.Event{Kind: jobs.EventWarning, Text: text})
		},
	}
}

// JobFolder is where the node with its own folder dir keeps a job.
func JobFolder(dir string, contract keys.Hash) string {
	return filepath.Join(dir, jobsDir, contract.String())
}

// jobFolder is where a job is kept.
func (n *Node) jobFolder(contract keys.Hash) string { return JobFolder(n.config.Dir, contract) }

// openJob makes the folder of a job. It is there as a whole or not at all: it is written under another name first.
func (n *Node) openJob(c *contract.Contract, record job.Record) (*jobState, error) {
	record.Made = n.config.Now().UTC().Round(0)
	h := c.Hash()
	folder := n.jobFolder(h)
	if j, ok := n.unread[h]; ok {
		return nil, faults.Errorf(fault.CodeBusy, "%s", j.Reason)
	}
	draft := folder + durable.Suffix
	expected := n.forecast(c)
	if err := os.RemoveAll(draft); err != nil {
		return nil, err
	}
	v, err := vault.Open(draft, n.vaultOptions(h))
	if err == nil {
		err = errors.Join(job.Create(job.Folder{Vault: v}, n.jobConfig(c), c, record), keepForecast(v, expected), v.Close())
	}
	if err == nil {
		v, err = vault.Adopt(draft, folder, n.vaultOptions(h))
	}
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(draft))
	}
	s := newJobState(job.New(job.Folder{Vault: v}, folder, n.jobConfig(c), c, record), v)
	s.forecast = expected
	return s, nil
}

// jobConfig says what a contract's job is at this node.
func (n *Node) jobConfig(c *contract.Contract) job.Config {
	self := strings.Clone(n.nameIn(c)) // the contract's text does not stay for it
	return job.Config{Self: self, Part: jobs.PartFile(c.Job), Program: n.config.Version}
}

// apply has an event happen to a job, and carries out what follows from it.
func (n *Node) apply(s *jobState, e job.Event) error {
	effects, err := s.Apply(e)
	n.carryOut(s, effects)
	return err
}

// carryOut does what follows from an event.
func (n *Node) carryOut(s *jobState, effects []job.Effect) {
	name := s.Contract().Job.Name
	for _, e := range effects {
		var err error
		switch e.Do {
		case job.Complain: // what is not in order yet comes into order when the node starts again
			n.config.Log.Error("not all of what came of a job could be stored; it stands all the same", "job", name,
				"error", e.Err)
		case job.Spread:
			n.spread(s)
		case job.Stop:
			n.stopSession(s)
		case job.Tidy:
			err = n.erase(s)
		case job.Announce:
			n.announce(s, e.Ending)
		case job.Forget:
			err = n.forgetOldest(s.Contract().Job.Proposer)
		case job.Clear:
			err = s.clearRemoved()
		}
		if err != nil {
			n.config.Log.Error("the folder of a job that has ended could not be put in order", "job", name, "error", err)
		}
	}
}

// loadJobs sweeps up what a killed process left half written, and reads all job folders. One that is damaged beyond
// repair is set aside: its job is as if it had never been proposed. One of another version of the program stays as it
// is, and is listed.
func (n *Node) loadJobs() error {
	dir := filepath.Join(n.config.Dir, jobsDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for _, swept := range []string{n.config.Dir, dir} {
		if _, err := durable.Sweep(swept); err != nil {
			return err
		}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		h := new(keys.Hash)
		if !e.IsDir() || h.UnmarshalText([]byte(e.Name())) != nil {
			continue
		}
		s, err := n.loadJob(*h)
		if other, ok := errors.AsType[*vault.VersionError](err); ok {
			j := unreadJob(n.jobFolder(*h), *h, other)
			n.config.Log.Warn("a job was made by another version: "+j.Reason, "job", j.Name, "contract", h.Short())
			n.unread[*h] = j
			continue
		}
		var damaged *vault.DamagedError
		if errors.As(err, &damaged) {
			aside := fmt.Sprintf("%s.damaged-%d", n.jobFolder(*h), time.Now().Unix())
			n.config.Log.Warn("a job's folder cannot be read and was set aside", "folder", aside, "error", err)
			if err := os.Rename(n.jobFolder(*h), aside); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("job folder %s: %w", e.Name(), err)
		}
		n.jobs[*h] = s
	}
	proposers := make(map[string]bool)
	for _, s := range n.jobs {
		proposers[s.Contract().Job.Proposer] = true
	}
	for p := range proposers {
		if err := n.forgetOldest(p); err != nil {
			n.config.Log.Error("an old job's folder could not be removed", "error", err)
		}
	}
	return nil
}

// loadJob reads a job's folder after a restart.
func (n *Node) loadJob(h keys.Hash) (*jobState, error) {
	dir := n.jobFolder(h)
	if _, err := durable.Sweep(dir); err != nil {
		return nil, err
	}
	v, err := vault.Open(dir, n.vaultOptions(h))
	if err != nil {
		return nil, err
	}
	j, effects, err := job.Open(job.Folder{Vault: v}, dir, n.jobConfig)
	if err != nil {
		return nil, err
	}
	s := newJobState(j, v)
	if err := s.loadForecast(); err != nil {
		return nil, err
	}
	if s.State() == job.Running {
		mark, err := s.checkpoints()
		if err == nil {
			err = n.apply(s, job.Died{Mark: mark})
		}
		if err != nil {
			return nil, err
		}
	}
	if s.Deadly() != nil && s.Ending() == nil {
		n.config.Log.Warn("a job is held back: "+s.HeldReason(), "job", s.Contract().Job.Name, "contract", h.Short(),
			"session", s.Record().Session)
	}
	n.carryOut(s, effects)
	return s, n.apply(s, job.Shed{})
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

// RunAgain puts the folder of a finished job back to before its first session: contract, consent and phases stay, so
// that it runs again and, where it is to be repeatable, gives the same. No node may be running on it. Tests and trials
// use it.
func RunAgain(folder string) error {
	if err := job.Again(folder); err != nil {
		return err
	}
	h, err := job.HashOf(folder)
	if err != nil {
		return err
	}
	v, err := vault.Open(folder, vault.Options{Owner: h})
	if err != nil {
		return err
	}
	for _, name := range []string{jobs.ModelFile, jobs.AlignmentFile, columns.ScoredRowsFile, columns.KnownScoresFile,
		columns.DecisionFile, columns.DecisionRowsFile, columns.TrainedRowsFile, columns.AloneFile, auditedFile} {
		err = errors.Join(err, v.Remove(name))
	}
	return errors.Join(err, columns.Clean(v), v.Close())
}

// SamePhase gives a training whose session was stopped the phase of another of the same party and takes back what that
// session had come to, so that both trainings come to the same model. The arguments are the jobs' folders. No node may
// be running on them. Tests and trials use it.
func SamePhase(from, to string) error {
	var vaults [2]*vault.Vault
	for i, folder := range []string{from, to} {
		h, err := job.HashOf(folder)
		if err != nil {
			return err
		}
		v, err := vault.Open(folder, vault.Options{Owner: h})
		if err != nil {
			return err
		}
		defer v.Close()
		vaults[i] = v
	}
	return errors.Join(columns.CopyPhase(vaults[0], vaults[1]), columns.Clean(vaults[1]))
}

// ReadModel returns the model part in a job's folder, which may be that of any node on this machine. The folder's
// name says which contract it must be of.
func ReadModel(folder string) (*fdskl.Model, error) {
	data, err := readState(folder, jobs.ModelFile)
	if err != nil {
		return nil, err
	}
	return fdskl.DecodeModel(data)
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
