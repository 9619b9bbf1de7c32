package audit

import (
	"testing"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// newGraphs is newCohorts for sums along a graph: of five clients each has two neighbours.
func newGraphs(t testing.TB, sums int) *cohorts {
	t.Helper()
	c := newCohorts(t, 5, sums, cohort.Masked, contract.Star)
	c.spec.Complete = 4
	c.agree(c.contract.Job)
	return c
}

// kinds counts the records of a party's transcript by kind.
func (c *cohorts) kinds(party int) map[string]int {
	n := make(map[string]int)
	c.deviate(party, func(all []transcript.Record) []transcript.Record {
		for _, r := range all {
			if r.Type.Frame() {
				n[r.Kind]++
			}
		}
		return all
	})
	return n
}

// TestSumsAlongAGraphAreDeclared: the coin's messages are in the contract, and each goes once.
func TestSumsAlongAGraphAreDeclared(t *testing.T) {
	c := newGraphs(t, 3)
	must(t, c.federate())
	f := c.wantFederation(finding.Disclosed).Federations[0]
	if f.Sums != 3 || f.Opened != 3 || f.Fewest != 5 || len(f.Dropouts) != 0 {
		t.Errorf("%+v", f)
	}
	for party, want := range map[int]int{0: 15, 1: 3, 5: 3} {
		n := c.kinds(party)
		for _, kind := range []string{cohort.KindBegin, cohort.KindCommit, cohort.KindPledged, cohort.KindReveal,
			cohort.KindNonces, cohort.KindDeposit} {
			if n[kind] != want {
				t.Errorf("p%d has %d of %s, want %d", party, n[kind], kind, want)
			}
		}
	}
}

// TestSumsWhoseCoinFailsAreRepeated: who leaves between commitment and nonce makes the sum begin anew.
func TestSumsWhoseCoinFailsAreRepeated(t *testing.T) {
	c := newGraphs(t, 3)
	c.leaves = map[int]leaving{4: {2, cohort.KindReveal}}
	for i, err := range c.federate() {
		if (err != nil) != (i == 4) {
			t.Errorf("p%d: error %v", i, err)
		}
	}
	f := c.wantFederation(finding.Disclosed).Federations[0]
	if f.Sums != 4 || f.Opened != 3 || f.Fewest != 4 || len(f.Dropouts) != 1 ||
		f.Dropouts[0] != (finding.Dropout{Client: "p4", Sums: 1}) {
		t.Errorf("%+v", f)
	}
}

// TestDeviationsOfCoinsAreFound: a coin's messages have their order, too.
func TestDeviationsOfCoinsAreFound(t *testing.T) {
	c := newGraphs(t, 2)
	must(t, c.federate())
	for _, d := range []deviation{
		{"commitment again", 0, twice(of(received, cohort.KindCommit, 2)), finding.CheckOperations,
			"(sum-commit) received from p2: it comes again in sum 1"},
		{"nonce before the commitments", 2, drop(of(received, cohort.KindPledged, 0)), finding.CheckOperations, "(sum-reveal) sent to p0: sum-pledged had to pass before it in sum 1"},
		{"nonces before the own", 3, drop(of(sent, cohort.KindReveal, 0)), finding.CheckOperations, "(sum-nonces) received from p0: sum-reveal had to pass before it in sum 1"},
		{"deposit before the coin", 1, drop(of(received, cohort.KindNonces, 0)), finding.CheckOperations, "(sum-deposit) sent to p0: sum-nonces had to pass before it in sum 1"},
	} {
		t.Run(d.name, func(t *testing.T) {
			all, _ := c.examined(source("forged", c.deviate(d.party, d.change)))
			wantCheck(t, all[0].Checks, d.check, verdictOf(d.check), d.detail)
		})
	}
}
