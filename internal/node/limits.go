package node

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// How many jobs of others a node keeps that have not begun here: they wait for a decision or, agreed to by a person or
// a rule, for their first session. A job that has begun has a place of its own.
const (
	maxWaitingEach = 8  // of one member
	maxWaiting     = 64 // of all
	maxOpenEach    = 64 // jobs of one member that have not ended, those that have begun among them
	maxEndedEach   = 64 // jobs of one proposer that ended before their first session; the oldest go
)

// spaceFor refuses another proposal of a member of whom as many wait here as may. Its node waits and asks again.
func (n *Node) spaceFor(proposer string) error {
	all, its, open := 0, 0, 0
	for _, s := range n.openJobs() {
		by := s.Contract().Job.Proposer
		if by == s.Self() {
			continue
		}
		if by == proposer {
			open++
		}
		if r := s.Record(); !r.Unbegun() {
			continue
		}
		all++
		if by == proposer {
			its++
		}
	}
	full := func(limit int, what string) error {
		return &faults.Error{Code: fault.CodeLimit, Numbers: []int64{int64(limit)}, Err: fmt.Errorf(
			"%d %s, the most that may: it takes another when one is refused, begins or ends", limit, what)}
	}
	switch {
	case its >= maxWaitingEach:
		return full(maxWaitingEach, "jobs of "+proposer+" wait for a decision or their first session here")
	case all >= maxWaiting:
		return full(maxWaiting, "jobs wait for a decision or their first session here")
	case open >= maxOpenEach:
		return full(maxOpenEach, "jobs of "+proposer+" have not ended here")
	}
	return nil
}

// neverStarted is what a job's owner reads that ended since nobody started it.
const neverStarted = "no session of it began by %s, and it ended by itself; propose it anew"

// expireUnbegun ends a job that was agreed to and never started, and reports whether it has. One over clients may run
// without this party, so that its proposer is asked first, and while that is away the job stays.
func (n *Node) expireUnbegun(ctx context.Context, s *jobState) (bool, error) {
	at := s.StartBy()
	if at.IsZero() || !n.config.Now().After(at) || !n.expired(s) {
		return false, nil
	}
	if c := s.Contract(); c.Job.OverClients() && c.Job.Proposer != n.nameIn(c) {
		var r standing
		proposer := c.Members()[c.Job.Index(c.Job.Proposer)]
		err := n.atParty(ctx, s, proposer, methodStanding, standingRequest{c.Hash()}, &r, nil)
		switch {
		case err != nil && !faults.WithCode(fault.CodeUnknown)(err):
			return false, nil
		case err == nil && r.Ending != nil:
			return true, n.adoptText(s, r.Ending)
		case err == nil && r.Session > 0:
			return false, nil
		}
	}
	cause := fmt.Sprintf(neverStarted, wording.Time(at))
	return true, n.conclude(s, contract.Ending{Outcome: contract.OutcomeExpired}, cause)
}

// forgettable reports whether a job is one of another member's that ended before its first session here, so that
// nothing of it counts for a bound, or could be audited. A job that is done elsewhere stays.
func (n *Node) forgettable(s *jobState) bool {
	r, e := s.Record(), s.Ending()
	return e != nil && e.Outcome != contract.OutcomeDone && r.Session == 0 && !r.Damaged && !r.Renewed &&
		s.Contract().Job.Proposer != s.Self()
}

// forgetOldest removes the oldest jobs of a proposer that ended before their first session, where they are too many.
func (n *Node) forgetOldest(proposer string) error {
	n.forgetting.Lock()
	defer n.forgetting.Unlock()
	n.mu.Lock()
	var its []*jobState
	for _, s := range n.jobs {
		if s.Contract().Job.Proposer == proposer {
			its = append(its, s)
		}
	}
	n.mu.Unlock()
	its = slices.DeleteFunc(its, func(s *jobState) bool { return !n.forgettable(s) || n.endsSeries(s) })
	slices.SortFunc(its, func(a, b *jobState) int { return a.endedAt().Compare(b.endedAt()) })
	var errs []error
	for _, s := range its[:max(0, len(its)-maxEndedEach)] {
		h := s.Contract().Hash()
		folder := n.jobFolder(h)
		old := folder + ".old" + durable.Suffix // a crash leaves the folder whole, or under a name that is swept up
		if err := os.Rename(folder, old); err != nil {
			errs = append(errs, err)
			continue
		}
		n.mu.Lock()
		delete(n.jobs, h)
		n.mu.Unlock()
		n.waits.forget(h.String())
		errs = append(errs, durable.SyncDir(filepath.Dir(folder)), s.vault.Close(), os.RemoveAll(old))
	}
	return errors.Join(errs...)
}

// endedAt is when a job's end was stored here, as its file says.
func (s *jobState) endedAt() time.Time { return job.Folder{Vault: s.vault}.Time(job.EndingFile) }
