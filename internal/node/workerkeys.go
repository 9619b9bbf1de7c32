package node

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/workerkeys"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/fault"
)

// IsWorker reports whether a key is that of a worker of this node, at this moment: of a job that has not ended here.
func (n *socket) IsWorker(id keys.ID) bool {
	at, standing := n.config.WorkerKeys.Find(id)
	if standing != workerkeys.Good {
		return false
	}
	s, ok := n.roster.job(at.Contract)
	return ok && s.Ending() == nil
}

// SpentKey says why a key that was made for a worker of this node lets nobody in, if it is one.
func (n *socket) SpentKey(id keys.ID) (why fault.Fault, ok bool) {
	at, standing := n.config.WorkerKeys.Find(id)
	spent := func(names ...string) (fault.Fault, bool) {
		return fault.Fault{Code: fault.CodeSpent, Names: names}, true
	}
	switch standing {
	case workerkeys.Unknown:
		return why, false
	case workerkeys.Revoked:
		return spent(fault.SpentRevoked)
	}
	// An end comes before the time of the key: a worker that hears that its job is done need not be started again.
	switch s, ok := n.roster.job(at.Contract); {
	case !ok:
		return spent(fault.SpentEnded)
	case s.Ending() != nil && s.EndedError() != nil:
		return spent(fault.SpentEnded, string(s.State()))
	case s.Ending() != nil:
		return spent(fault.SpentDone)
	case standing == workerkeys.Expired:
		return spent(fault.SpentExpired)
	}
	return why, false
}

// shardsOf reads a run of a job's shards as the command line has it, "0-15" or "3"; empty is all.
func shardsOf(text string, of int) (r workerkeys.Range, err error) {
	if text == "" {
		return workerkeys.Range{First: 0, Last: of - 1}, nil
	}
	first, last, several := strings.Cut(text, "-")
	if !several {
		last = first
	}
	if r.First, err = strconv.Atoi(first); err == nil {
		r.Last, err = strconv.Atoi(last)
	}
	if err != nil || r.First < 0 || r.Last < r.First || r.Last >= of {
		return r, fmt.Errorf("shards are %.40q: want one, or a run as 0-%d, of those that the job has, 0 to %d", text, of-1,
			of-1)
	}
	return r, nil
}

// workersOf finds a job in shards that has not ended, for a command about the keys of its workers.
func (n *socket) workersOf(h keys.Hash, q url.Values) (*jobState, workerkeys.Range, error) {
	s, ok := n.roster.job(h)
	switch {
	case n.config.WorkerKeys == nil:
		return nil, workerkeys.Range{}, errors.New("this node makes no keys for workers")
	case !ok:
		return nil, workerkeys.Range{}, fmt.Errorf("this node has no job with contract %s", h.Short())
	case s.Contract().Job.Shards == 0:
		return nil, workerkeys.Range{}, fmt.Errorf("job %q has no shards: its text does not say shards = S, and it wants no "+
			"workers", s.Contract().Job.Name)
	}
	r, err := shardsOf(q.Get("shards"), s.Contract().Job.Shards)
	return s, r, err
}

// makeWorkerKeys makes keys for workers of a job's shards, and returns the text of their file.
func (n *socket) makeWorkerKeys(q url.Values, h keys.Hash) (any, error) {
	s, shards, err := n.workersOf(h, q)
	if err != nil {
		return nil, err
	}
	if s.Ending() != nil {
		return nil, fmt.Errorf("job %q has ended here, and wants no workers", s.Contract().Job.Name)
	}
	length, err := time.ParseDuration(q.Get("for"))
	if err != nil {
		return nil, fmt.Errorf("the keys' time is %.40q: want the like of 48h", q.Get("for"))
	}
	made, err := n.config.WorkerKeys.Issue(workerkeys.Request{Contract: h, Job: s.Contract().Job.Name,
		Party: s.Self(), Of: s.Contract().Job.Shards, Shards: shards, For: length})
	if err != nil {
		return nil, err
	}
	return made.Text(), nil
}

// Revocation is what a command to revoke keys of workers has come to.
type Revocation struct {
	Keys int `json:"keys"` // so many were good, and are no more
}

// revokeWorkerKeys takes keys of workers back.
func (n *socket) revokeWorkerKeys(q url.Values, h keys.Hash) (any, error) {
	_, shards, err := n.workersOf(h, q)
	if err != nil {
		return nil, err
	}
	count, err := n.config.WorkerKeys.Revoke(h, shards)
	return Revocation{count}, err
}
