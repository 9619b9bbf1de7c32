package node

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/durable"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/protocol/fault"
)

// How many jobs of others a node keeps that nobody here has consented to.
const (
	maxUndecidedEach = 8  // proposals of one member that wait for a decision
	maxUndecided     = 64 // of all
	maxEndedEach     = 64 // jobs of one proposer that ended before consent; the oldest go
)

// spaceFor refuses another proposal of a member whose earlier ones wait for a decision here. Its node waits and asks
// again.
func (n *Node) spaceFor(proposer string) error {
	all, its := 0, 0
	for _, s := range n.openJobs() {
		if s.contract.Job.Proposer == n.nameIn(s.contract) || s.status() != StateProposed {
			continue
		}
		all++
		if s.contract.Job.Proposer == proposer {
			its++
		}
	}
	switch {
	case its >= maxUndecidedEach:
		return &faults.Error{Code: fault.CodeLimit, Numbers: []int64{maxUndecidedEach}, Err: fmt.Errorf(
			"%d proposals of %s wait for a decision here, the most that may: "+
				"it takes another when one is decided", its, proposer)}
	case all >= maxUndecided:
		return &faults.Error{Code: fault.CodeLimit, Numbers: []int64{maxUndecided}, Err: fmt.Errorf(
			"%d proposals wait for a decision here, the most that may: "+
				"it takes another when one is decided", all)}
	}
	return nil
}

// forgettable reports whether a job is one of another member's that ended before anybody here consented.
func (n *Node) forgettable(s *jobState) bool {
	r := s.snapshot()
	return s.ended() != nil && r.Consent == nil && !r.Damaged && s.contract.Job.Proposer != n.nameIn(s.contract)
}

// forgetOldest removes the oldest jobs of a proposer that ended before consent, where they are too many.
func (n *Node) forgetOldest(proposer string) error {
	n.forgetting.Lock()
	defer n.forgetting.Unlock()
	n.mu.Lock()
	var its []*jobState
	for _, s := range n.jobs {
		if s.contract.Job.Proposer == proposer {
			its = append(its, s)
		}
	}
	n.mu.Unlock()
	its = slices.DeleteFunc(its, func(s *jobState) bool { return !n.forgettable(s) })
	slices.SortFunc(its, func(a, b *jobState) int { return a.endedAt().Compare(b.endedAt()) })
	var errs []error
	for _, s := range its[:max(0, len(its)-maxEndedEach)] {
		h := s.contract.Hash()
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
func (s *jobState) endedAt() time.Time {
	info, err := os.Stat(s.vault.Path(endingFile))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// The numbers of sessions. The coordinator has each on its disk before it tells it, so no other party's is higher
// unless the coordinator's record was damaged; then it comes up to the others' step by step. Sessions begin once all
// have consented, and an honest coordinator makes fewer than sessionRate a second, also with a party that claims more.
// So whoever claims what it likes needs two years to bring a job to the last number.
const (
	claimAhead   = 256     // by which another party's claim moves the coordinator's number, in each session
	sessionsFree = 1 << 16 // at once
	sessionRate  = 64      // a second since this party consented
)

// claimed is what the coordinator takes another party's last session for.
func claimed(own, other uint32) uint32 { return min(other, own+claimAhead) }

// plausible reports whether a job can have come to a session since this party consented to it.
func (c *Consent) plausible(number uint32, now time.Time) bool {
	return float64(number) <= sessionsFree+sessionRate*max(0, now.Sub(c.At).Seconds())
}
