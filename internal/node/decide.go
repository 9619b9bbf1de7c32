package node

import (
	"errors"
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
func (n *Node) Decide(d Decision) (Decided, error) {
	s, ok := n.job(d.Contract)
	if !ok {
		return Decided{}, fmt.Errorf("this node has no job %s", d.Contract.Short())
	}
	if err := n.decide(s, d); err != nil {
		return Decided{}, err
	}
	decided := Decided{Contract: d.Contract.String(), Name: s.Contract().Job.Name, Self: s.Self(),
		State: s.State()}
	decided.Approved, decided.Approvals = n.approvedBy(s), n.config.Policy.ApprovalsWanted()
	return decided, nil
}

// CheckReason refuses what is no reason to end a job: nothing, or more than the other parties are told.
func CheckReason(reason string) error {
	switch n := len(reason); {
	case contract.PlainReason(reason) == "":
		return errors.New("the reason is empty, and the other parties are told why: give one")
	case n > contract.MaxReason:
		return fmt.Errorf("the reason has %d bytes, at most %d are told: say it shorter", n, contract.MaxReason)
	}
	return nil
}

// decide carries a decision out.
func (n *Node) decide(s *jobState, d Decision) error {
	if d.Yes {
		idle, err := n.consentHere(s, d)
		if idle && s.Contract().Job.Proposer == s.Self() {
			n.drive(n.ctx, s)
		}
		return err
	}
	if state := s.State(); state != job.Proposed {
		return fmt.Errorf("job %q is %s, not waiting for consent", s.Contract().Job.Name, state)
	}
	if err := CheckReason(d.Reason); err != nil {
		return err
	}
	return n.conclude(s, contract.Ending{Outcome: contract.OutcomeRefused, Reason: d.Reason}, "")
}
