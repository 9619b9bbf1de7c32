package audit

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// wantFederation audits all transcripts and wants a verdict, without a check that found anything.
func (c *cohorts) wantFederation(v finding.Verdict) *finding.Report {
	c.t.Helper()
	r, err := Run(c.t.Context(), &evidence.Input{Contract: c.contract, Sources: c.sources()})
	if err != nil {
		c.t.Fatal(err)
	}
	for _, check := range r.Checks {
		if check.Name == finding.CheckComplete && check.Verdict == finding.Skipped &&
			c.leaves[slices.Index(c.names, check.Party)].kind != "" {
			continue // who left has not seen the end
		}
		if leaks := v == finding.Leak && check.Name == finding.CheckParameters; check.Verdict != finding.Passed &&
			check.Name != finding.CheckCharter && !leaks {
			c.t.Errorf("%s: %s %s: %s", check.Party, check.Name, check.Verdict, check.Detail)
		}
	}
	if r.Verdict != v {
		c.t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
	return r
}

func TestFederationsAreDisclosed(t *testing.T) {
	for _, topology := range []contract.Topology{contract.Star, contract.Tree, contract.Ring} {
		for _, backend := range []cohort.Backend{cohort.Masked, cohort.HE, cohort.Plain} {
			if backend == cohort.HE && topology != contract.Tree && !drawn.All {
				continue
			}
			t.Run(fmt.Sprintf("%s, %s", topology, backend), func(t *testing.T) {
				c := newCohorts(t, 5, 2, backend, topology)
				must(t, c.federate())
				want := finding.Disclosed
				if backend == cohort.Plain {
					want = finding.Leak
				}
				r := c.wantFederation(want)
				f := r.Federations
				if len(f) != 1 || f[0].Clients != 5 || f[0].Sums != 2 || f[0].Opened != 2 || f[0].Fewest != 5 ||
					f[0].Median != 5 || len(f[0].Dropouts) != 0 {
					t.Errorf("%+v", f)
				}
				t.Log(r.Summary)
				for _, l := range r.Ledger {
					if l.Count != l.Declared && (backend != cohort.Plain ||
						topology == contract.Star) || l.Unread || l.Party == "p0" && l.Contributors != 5 {
						t.Errorf("%+v", l)
					}
				}
			})
		}
	}
}

func TestClientsThatDropOutAreCounted(t *testing.T) {
	for _, topology := range []contract.Topology{contract.Star, contract.Tree} {
		for _, kind := range []string{cohort.KindDeposit, "updates", cohort.KindTags, cohort.KindShares} {
			t.Run(fmt.Sprintf("%s, %s", topology, kind), func(t *testing.T) {
				c := newCohorts(t, 5, 3, cohort.Masked, topology)
				c.leaves = map[int]leaving{4: {2, kind}}
				for i, err := range c.federate() {
					if (err != nil) != (i == 4) {
						t.Errorf("p%d: error %v", i, err)
					}
				}
				r := c.wantFederation(finding.Disclosed)
				f := r.Federations[0]
				if f.Opened != 3 || f.Fewest != 4 || len(f.Dropouts) != 1 ||
					f.Dropouts[0] != (finding.Dropout{Client: "p4", Sums: 1}) {
					t.Errorf("%+v", f)
				}
				for _, check := range r.Checks {
					if check.Name == finding.CheckCross && strings.Contains(check.Detail, "lost its end") {
						t.Error(check.Detail)
					}
				}
			})
		}
	}
}

// TestAClientsTranscriptAloneIsDisclosed: it tells of no total.
func TestAClientsTranscriptAloneIsDisclosed(t *testing.T) {
	c := newCohorts(t, 4, 1, cohort.Masked, contract.Star)
	must(t, c.federate())
	r, err := Run(t.Context(), &evidence.Input{Contract: c.contract, Sources: []evidence.Source{c.source(2)}})
	mustDo(t, err)
	want := "Not read: the transcripts of p0, p1, p3 and p4. P0 learns sums over clients of what their rows made of the model, round by round; of a part that few clients work on, " +
		"one client's alone, without its name, as the contract had announced. P1, p2, p3 and p4 learn the model as all clients' rows have made it so far. " +
		"Not looked at: the charter and 1 attack not tried."
	if r.Verdict != finding.Disclosed || !strings.HasPrefix(r.Summary, want) || len(r.Federations) != 0 ||
		len(r.Attacks) != 1 || r.Attacks[0].Verdict != finding.Skipped || r.Exit != ExitPartial {
		t.Errorf("%s: %s; %+v", r.Verdict, r.Summary, r.Attacks)
	}
}

func TestFederationsGoOnInAnotherSession(t *testing.T) {
	c := newCohorts(t, 5, 2, cohort.Masked, contract.Star)
	must(t, c.federate())
	must(t, c.federate())
	r := c.wantFederation(finding.Disclosed)
	if f := r.Federations[0]; f.Sums != 4 || f.Opened != 4 {
		t.Errorf("%+v", f)
	}
}
