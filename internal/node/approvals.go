package node

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/protocol/fault"
)

// approved adds one person's approval to those that a job has, and returns all that count. consents.judging is held.
func (n *consents) approved(s *jobState, d Decision) ([]string, error) {
	p := n.config.Policy
	if d.Approval == "" {
		return nil, fmt.Errorf("policy %s wants the approval of %d of %s for job %q: each of them runs hanse approve %[4]s "+
			"--as NAME --key NAME.key", p.File(), p.ApprovalsWanted(), p.ApproverNames(), s.Contract().Job.Name)
	}
	a, err := consent.ParseApproval([]byte(d.Approval), d.Contract, n.config.Key.ID())
	if err == nil {
		err = p.Listed(a)
	}
	if err != nil {
		return nil, err
	}
	var before []string
	for _, b := range n.standing(s) {
		if b.ID == a.ID {
			return nil, fmt.Errorf("%s has approved job %q already: another of %s must", a.Name, s.Contract().Job.Name,
				p.ApproverNames())
		}
		before = append(before, string(b.Text()))
	}
	return append(before, d.Approval), nil
}

// standing lists the approvals of a job, pending or in its consent, of those whom the policy lists now.
func (n *consents) standing(s *jobState) []*consent.Approval {
	r, p := s.Record(), n.config.Policy
	var texts []string
	switch {
	case p == nil:
		return nil
	case r.Consent != nil:
		texts = r.Consent.Approvals
	case r.Pending != nil:
		texts = r.Pending.Approvals
	}
	all, err := consent.Approvals(p, texts, s.Contract().Hash(), n.config.Key.ID())
	if err != nil { // nobody's word: they approve anew
		n.config.Log.Warn("approvals on this node's disk do not count", "job", s.Contract().Job.Name, "error", err)
		return nil
	}
	return all
}

// approvedBy names who has approved a job.
func (n *consents) approvedBy(s *jobState) []string {
	var names []string
	for _, a := range n.standing(s) {
		names = append(names, a.Name)
	}
	return names
}

// checkApprovals refuses to sign what too few have approved, whatever the record on the disk says. A job that all
// parties have signed goes on: the policy may have become another one since.
func (n *consents) checkApprovals(s *jobState) error {
	wanted, by := n.config.Policy.ApprovalsWanted(), s.Record().Consent
	if wanted == 0 {
		return nil
	}
	if _, agreed := s.InForce(); agreed {
		return nil
	}
	if by != nil && by.By == job.ByPolicy {
		c, err := n.caseOf(s)
		if err != nil {
			return err
		}
		if n.config.Policy.Judge(c).Verdict == consent.Accept {
			return nil // the rule says so now as well, not the record alone
		}
	}
	if got := len(n.standing(s)); got < wanted {
		return faults.Errorf(fault.CodeUnsigned, "job %q has %d approvals, and the policy wants %d: cancel it, and have it "+
			"proposed anew", s.Contract().Job.Name, got, wanted)
	}
	return nil
}

// awaitApprovals waits until the persons whom the policy wants have approved a job that this node proposes.
func (n *consents) awaitApprovals(ctx context.Context, s *jobState) error {
	n.judging.Lock()
	state := s.State()
	s.decision.launching = state == job.Proposed
	n.judging.Unlock()
	if state != job.Proposed {
		return fmt.Errorf("job %q is %s, not waiting for consent", s.Contract().Job.Name, state)
	}
	p := n.config.Policy
	n.roster.notify(s.Contract().Hash(), jobs.Event{Kind: jobs.EventWaiting, Text: fmt.Sprintf("waiting for the "+
		"approval of %d of %s: each runs hanse approve %s --as NAME", p.ApprovalsWanted(), p.ApproverNames(),
		s.Contract().Job.Name)})
	select {
	case <-s.agreed:
		return nil
	case <-s.Final():
		return s.EndedError()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// checkApprovers refuses a policy that lists the node's own key: whoever commands the node has that.
func checkApprovers(p *consent.Policy, c Config) error {
	if p == nil || !slices.ContainsFunc(p.Approvers, func(a consent.Approver) bool { return a.ID == c.Key.ID() }) {
		return nil
	}
	return fmt.Errorf("policy %s lists the node's own key %s as an approver's, which whoever runs the node has: make "+
		"each approver a key with hanse keys new", p.File(), c.Key.ID().Short())
}
