package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// keeper has events happen to jobs, carries out what follows, and brings jobs to the end that all sign.
type keeper struct {
	config     *Config
	life       *life
	tables     *jobs.Tables
	member     *member
	asker      *asker
	roster     *roster
	sessions   *sessions
	accounts   *accounts
	workers    *workers
	forgetting sync.Mutex // one removes old jobs at a time
}

// loadJobs sweeps up what a killed process left half written, and reads all job folders. One that is damaged beyond
// repair is set aside: its job is as if it had never been proposed. One of another version of the program stays as it
// is, and is listed.
func (n *keeper) loadJobs() error {
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
			j := unreadJob(n.roster.jobFolder(*h), *h, other)
			n.config.Log.Warn("a job was made by another version: "+j.Reason, "job", j.Name, "contract", h.Short())
			n.roster.leave(*h, j)
			continue
		}
		var damaged *vault.DamagedError
		if errors.As(err, &damaged) {
			aside := fmt.Sprintf("%s.damaged-%d", n.roster.jobFolder(*h), time.Now().Unix())
			n.config.Log.Warn("a job's folder cannot be read and was set aside", "folder", aside, "error", err)
			if err := os.Rename(n.roster.jobFolder(*h), aside); err != nil {
				return err
			}
			continue
		}
		if err != nil {
			return fmt.Errorf("job folder %s: %w", e.Name(), err)
		}
		n.roster.keep(s)
	}
	proposers := make(map[string]bool)
	for _, s := range n.roster.allJobs() {
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
func (n *keeper) loadJob(h keys.Hash) (*jobState, error) {
	dir := n.roster.jobFolder(h)
	if _, err := durable.Sweep(dir); err != nil {
		return nil, err
	}
	v, err := vault.Open(dir, n.roster.vaultOptions(h))
	if err != nil {
		return nil, err
	}
	j, effects, err := job.Open(job.Folder{Vault: v}, dir, n.roster.jobConfig)
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
	n.carryOut(s, effects) // what is left of a removed job is in the log
	return s, n.apply(s, job.Shed{})
}

// Resume lets a job go on that this node holds back: since the node died in its sessions, or since it takes more memory
// than the node has.
func (n *keeper) Resume(h keys.Hash) error {
	s, ok := n.roster.job(h)
	if !ok {
		return fmt.Errorf("this node has no job %s", h.Short())
	}
	if err := n.apply(s, job.Resumed{Short: n.sessions.short(s)}); err != nil {
		return err
	}
	n.config.Log.Info("a job is resumed by its owner", "job", s.Contract().Job.Name, "contract", h.Short())
	n.roster.notify(h, jobs.Event{Kind: jobs.EventState, Text: "resumed by its owner"})
	return nil
}

// mayStartFor is mayStart for a job that others ask about: what keeps it waiting is shown to the owner, and told by its
// code.
func (n *keeper) mayStartFor(s *jobState) error {
	err := n.sessions.mayStart(s)
	if err == nil {
		return nil
	}
	n.ail(s, err)
	if e := n.remark(s, err.Error()); e != nil {
		n.config.Log.Error("a job's state could not be stored", "job", s.Contract().Job.Name, "error", e)
	}
	return s.Ailing(time.Now())
}

// giveUp ends a job that cannot come right, at all its parties. An error says that its end could not be stored.
func (n *keeper) giveUp(s *jobState, reason error) error {
	if s.EndedError() != nil {
		return nil
	}
	n.config.Log.Error("a job failed", "job", s.Contract().Job.Name, "error", reason)
	word := contract.Ending{Outcome: contract.OutcomeFailed, Fault: n.toldOnce(s, reason)}
	return n.conclude(s, word, reason.Error())
}

// ail notes why a session ended: what the others are told who ask how the job stands, nothing where it is nobody's
// fault; and, of a fault of this node's own, that it comes to no other session for a while.
func (n *keeper) ail(s *jobState, err error) {
	broken := job.Broken{Now: time.Now()}
	var f *faults.Error
	own := faults.IsOwn(err)
	if own || errors.As(err, &f) && f.Remote {
		broken.Why = n.toldOnce(s, err)
	}
	if own {
		broken.Own = &faults.Error{Code: broken.Why.Code, Err: err, Said: broken.Why}
	}
	n.apply(s, broken) // no error: it is in memory alone
}

// remark changes what is said of a job that stands still.
func (n *keeper) remark(s *jobState, reason string) error {
	return n.apply(s, job.Remarked{Reason: reason})
}

// maxSaid is how many of a job's faults are remembered with what was told of them.
const maxSaid = 8

// toldOnce makes of an error of a job what all its parties are told of it. The same one, which every session meets
// until it is mended, keeps its reference.
func (n *keeper) toldOnce(s *jobState, err error) *fault.Fault {
	text := err.Error()
	s.said.mu.Lock()
	defer s.said.mu.Unlock()
	if told := s.said.of[text]; told != nil {
		return told
	}
	if s.said.of == nil || len(s.said.of) >= maxSaid {
		s.said.of = make(map[string]*fault.Fault)
	}
	told := n.member.inWords(err, "every party", "job "+s.Contract().Job.Name)
	s.said.of[text] = told
	return told
}
