package contract_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestBrief keeps a contract's name, job, parties, openings and the operations that open them, and nothing by which it
// could be signed or run.
func TestBrief(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop")
	c, err := newDraft(t, l).contract()
	must(t, err)
	brief, err := c.Brief()
	must(t, err)
	if brief.Hash() != c.Hash() || fmt.Sprint(brief.Parties) != fmt.Sprint(c.Parties) || brief.Rows() != c.Rows() ||
		fmt.Sprint(brief.Openings) != fmt.Sprint(c.Openings) || fmt.Sprint(brief.Job) != fmt.Sprint(c.Job) {
		t.Errorf("in brief the contract is %+v, want %+v", brief, c)
	}
	if brief.Body != nil || brief.JobText != "" || len(brief.Operations) == len(c.Operations) {
		t.Errorf("in brief the contract has %d operations and a text of %d bytes", len(brief.Operations), len(brief.Body))
	}
	for _, o := range c.Operations {
		opens := slices.ContainsFunc(c.Openings, func(opening contract.Opening) bool { return opening.Kind == o.Kind })
		kept := slices.ContainsFunc(brief.Operations, func(b contract.Operation) bool { return b.Kind == o.Kind })
		if opens != kept {
			t.Errorf("in brief the contract has the operation %s: %t, want %t", o.Kind, !opens, opens)
		}
	}
	if _, err := brief.InForce(); err == nil {
		t.Error("in brief a contract is in force")
	}
}
