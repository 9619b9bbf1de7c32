package node

import (
	"fmt"

	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Decision is what a person says of a proposed job.
type Decision struct {
	Contract keys.Hash `json:"contract"` // of the contract that the person was shown
	Yes      bool      `json:"yes"`      // consent; else refusal
	// of a refusal: what the other parties are told, at most contract.MaxReason bytes
	Reason string `json:"reason,omitempty"`
	// a text of package consent: where the policy wants approvals, that of one person
	Approval string `json:"approval,omitempty"`
	Person   string `json:"-"` // the user of this machine who decides; empty where nobody can say
}

// Decided is how a job stands after a decision.
type Decided struct {
	Contract string    `json:"contract"`
	Name     string    `json:"name"`
	Self     string    `json:"self"` // this node's name
	State    job.State `json:"state"`
	// who has approved so far, and how many must
	Approved  []string `json:"approved,omitempty"`
	Approvals int      `json:"approvals,omitempty"`
}

// Decide takes a person's decision on a proposed job. A job of this node's own whose record was damaged goes on then.
func (n *proposer) Decide(d Decision) (Decided, error) {
	s, ok := n.roster.job(d.Contract)
	if !ok {
		return Decided{}, fmt.Errorf("this node has no job %s", d.Contract.Short())
	}
	if err := n.decide(s, d); err != nil {
		return Decided{}, err
	}
	decided := Decided{Contract: d.Contract.String(), Name: s.Contract().Job.Name, Self: s.Self(),
		State: s.State()}
	decided.Approved, decided.Approvals = n.consents.approvedBy(s), n.config.Policy.ApprovalsWanted()
	return decided, nil
}

// decide carries a decision out.
func (n *proposer) decide(s *jobState, d Decision) error {
	if d.Yes {
		idle, err := n.consents.consentHere(s, d)
		if idle && s.Contract().Job.Proposer == s.Self() {
			n.drive(n.life.ctx, s)
		}
		return err
	}
	if state := s.State(); state != job.Proposed {
		return fmt.Errorf("job %q is %s, not waiting for consent", s.Contract().Job.Name, state)
	}
	if err := CheckReason(d.Reason); err != nil {
		return err
	}
	return n.keeper.conclude(s, contract.Ending{Outcome: contract.OutcomeRefused, Reason: d.Reason}, "")
}
