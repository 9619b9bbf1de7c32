package node

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// roster is the jobs at this node, and who hears of them.
type roster struct {
	config     *Config
	disk       *folder
	waits      *waits
	member     *member
	algorithms *algorithms
	asker      *asker

	mu      sync.Mutex
	jobs    map[keys.Hash]*jobState
	unread  map[keys.Hash]JobInfo // of other versions of the program; does not change once New has returned
	hearers map[keys.Hash]func(jobs.Event)
}

// job finds a job by its contract.
func (n *roster) job(h keys.Hash) (*jobState, bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	s, ok := n.jobs[h]
	return s, ok
}

// allJobs lists the node's jobs.
func (n *roster) allJobs() []*jobState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.jobs))
}

// openJobs lists the jobs that have not ended.
func (n *roster) openJobs() []*jobState {
	n.mu.Lock()
	all := slices.Collect(maps.Values(n.jobs))
	n.mu.Unlock()
	return slices.DeleteFunc(all, func(s *jobState) bool { return s.Ending() != nil })
}

// finished lists the jobs of a task that are done and that somebody who types which can mean, all where which is empty;
// the newest first.
func (n *roster) finished(task, which string) []jobs.Finished {
	var list []jobs.Finished
	for _, s := range n.allJobs() {
		r, j := s.Record(), s.Contract().Job
		meant := j.Task == task && (which == "" || Means(which, j.Name, s.Contract().Hash().String()))
		if meant && r.State == job.Done && r.Removed.IsZero() {
			list = append(list, jobs.Finished{Contract: s.Contract(), Ended: r.Ended})
		}
	}
	slices.SortFunc(list, func(a, b jobs.Finished) int { return b.Ended.Compare(a.Ended) })
	return list
}

// leastDigits is how many digits of a contract's hash stand for a job at least.
const leastDigits = 4

// Means reports whether somebody who types which can mean a job: it is the job's name, or the first digits of its
// contract's hash, as lists print them.
func Means(which, name, contract string) bool {
	return which == name || len(which) >= leastDigits && strings.HasPrefix(contract, which)
}

// find returns the one job of that name, or whose contract hash starts with these digits. Of several those count that
// the command can be about, if there are any.
func (n *roster) find(which string, fits func(job.State) bool) (keys.Hash, error) {
	n.mu.Lock()
	all := maps.Clone(n.jobs)
	n.mu.Unlock()
	var whole keys.Hash
	if whole.UnmarshalText([]byte(which)) == nil && all[whole] != nil { // whatever another's job is called
		if !all[whole].Record().Removed.IsZero() {
			return keys.Hash{}, all[whole].Removable()
		}
		return whole, nil
	}
	var found, fitting []keys.Hash
	var removed *jobState
	for h, s := range all {
		if Means(which, s.Contract().Job.Name, h.String()) {
			if !s.Record().Removed.IsZero() {
				removed = s
				continue
			}
			found = append(found, h)
			if fits(s.State()) {
				fitting = append(fitting, h)
			}
		}
	}
	if len(fitting) > 0 {
		found = fitting
	}
	switch len(found) {
	case 0:
		if removed != nil {
			return keys.Hash{}, removed.Removable()
		}
		for _, j := range n.unread {
			if Means(which, j.Name, j.Contract) {
				return keys.Hash{}, errors.New(j.Reason)
			}
		}
		var names []string
		for _, s := range all {
			names = append(names, s.Contract().Job.Name)
		}
		return keys.Hash{}, fmt.Errorf("this node has no job %q; hanse jobs lists them%s", which,
			wording.DidYouMean(which, slices.Sorted(slices.Values(names))))
	case 1:
		return found[0], nil
	}
	var each []string
	for _, h := range found {
		each = append(each, fmt.Sprintf("%.8s (%s)", h, all[h].State()))
	}
	slices.Sort(each)
	return keys.Hash{}, fmt.Errorf("there are %d jobs %q: give the first digits of the contract in its place, %s",
		len(found), which, wording.List(each, "or"))
}

// jobOf finds the job that a party asks about. Who is no party of it learns no more than who asks for one that is not
// there.
func (n *roster) jobOf(from keys.ID, h keys.Hash) (*jobState, error) {
	s, ok := n.job(h)
	if !ok {
		return nil, faults.Errorf(fault.CodeUnknown, "has no job with contract %s", h.Short())
	}
	return s, n.concerns(s, from)
}

// concerns refuses to speak of a job to who is no party of it.
func (n *roster) concerns(s *jobState, from keys.ID) error {
	if partyWith(s.Contract(), from) < 0 {
		return faults.Errorf(fault.CodeUnknown, "has no job with contract %s", s.Contract().Hash().Short())
	}
	return nil
}

// keep adds a job.
func (n *roster) keep(s *jobState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.jobs[s.Contract().Hash()] = s
}

// leave notes a job of another version of the program, which stays as it is.
func (n *roster) leave(h keys.Hash, j JobInfo) { n.unread[h] = j }

// unreadJobs lists the jobs of other versions of the program.
func (n *roster) unreadJobs() []JobInfo { return slices.Collect(maps.Values(n.unread)) }

// drop forgets a job.
func (n *roster) drop(h keys.Hash) {
	n.mu.Lock()
	delete(n.jobs, h)
	n.mu.Unlock()
	n.waits.forget(h.String())
}

// alive returns once the lock of the jobs is free: a node that stands still with it is no live one.
func (n *roster) alive() {
	n.mu.Lock()
	defer n.mu.Unlock()
}

// notify passes an event outside of sessions on to whoever listens, and counts what is waited.
func (n *roster) notify(h keys.Hash, e jobs.Event) {
	n.waits.note(n.pass(h, e))
}

// pass hands an event on to whoever listens, the node's own log and the person who proposed, and returns it as told.
func (n *roster) pass(h keys.Hash, e jobs.Event) jobs.Event {
	e.Time = time.Now()
	e.Job = h.String()
	e.Clean()
	n.mu.Lock()
	listen, s := n.hearers[h], n.jobs[h]
	n.mu.Unlock()
	if s != nil {
		s.watched.keep(e)
	}
	if n.config.Told != nil {
		n.config.Told(e)
	}
	if listen != nil {
		listen(e)
	}
	return e
}

// listen sets who hears a job's events; nil ends it. listen may be called from several goroutines.
func (n *roster) listen(h keys.Hash, listen func(jobs.Event)) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if listen == nil {
		delete(n.hearers, h)
		return
	}
	n.hearers[h] = listen
}

// openJob makes the folder of a job. It is there as a whole or not at all: it is written under another name first.
func (n *roster) openJob(c *contract.Contract, record job.Record) (*jobState, error) {
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
func (n *roster) jobConfig(c *contract.Contract) job.Config {
	self := strings.Clone(n.member.nameIn(c)) // the contract's text does not stay for it
	return job.Config{Self: self, Part: jobs.PartFile(c.Job), Program: n.config.Version}
}

// vaultOptions are those of the folder of a contract's job.
func (n *roster) vaultOptions(contract keys.Hash) vault.Options {
	return vault.Options{
		Owner: contract, Rebuildable: columns.Rebuildable, Fault: n.config.DiskFault, Reserve: n.disk.reserve,
		Damaged: func(text string) {
			n.config.Log.Warn("a damaged file is not used", "job", contract.Short(), "what", text)
			n.notify(contract, jobs.Event{Kind: jobs.EventWarning, Text: text})
		},
	}
}

// jobsDir is where a node's folder has the folders of jobs, each named by its contract's hash.
const jobsDir = "jobs"

// JobFolder is where the node with its own folder dir keeps a job.
func JobFolder(dir string, contract keys.Hash) string {
	return filepath.Join(dir, jobsDir, contract.String())
}

// jobFolder is where a job is kept.
func (n *roster) jobFolder(contract keys.Hash) string { return JobFolder(n.config.Dir, contract) }

// whole returns a job's contract, of one that is shed from its disk. Where it cannot be read there, it is the brief
// one.
func (n *roster) whole(s *jobState) *contract.Contract {
	c, err := s.Whole()
	if err != nil {
		n.config.Log.Warn("a contract cannot be read, and little of it is shown", "job", c.Job.Name, "error", err)
	}
	return c
}
