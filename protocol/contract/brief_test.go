package contract_test

import (
	"fmt"
	"testing"
)

// TestBrief keeps a contract's name, job, parties and openings, and nothing by which it could be signed or run.
func TestBrief(t *testing.T) {
	l := newMembers(t, "bank", "insurer", "shop")
	c, err := newDraft(t, l).contract()
	if err != nil {
		t.Fatal(err)
	}
	brief, err := c.Brief()
	if err != nil {
		t.Fatal(err)
	}
	if brief.Hash() != c.Hash() || fmt.Sprint(brief.Parties) != fmt.Sprint(c.Parties) || brief.Rows() != c.Rows() ||
		fmt.Sprint(brief.Openings) != fmt.Sprint(c.Openings) || fmt.Sprint(brief.Job) != fmt.Sprint(c.Job) {
		t.Errorf("in brief the contract is %+v, want %+v", brief, c)
	}
	if brief.Body != nil || len(brief.Operations) > 0 || brief.JobText != "" {
		t.Errorf("in brief the contract has %d operations and a text of %d bytes", len(brief.Operations), len(brief.Body))
	}
	if _, err := brief.InForce(); err == nil {
		t.Error("in brief a contract is in force")
	}
}
