package node

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/faults"
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
func (n *consents) spaceFor(proposer string) error {
	all, its, open := 0, 0, 0
	for _, s := range n.roster.openJobs() {
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
