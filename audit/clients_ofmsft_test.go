package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// TestJobsOfChoicesAreDisclosed in every mode but the published one, which leaks. Each network's steps are added
// among other clients, several sums in a round, and some never begin.
func TestJobsOfChoicesAreDisclosed(t *testing.T) {
	for mode, want := range map[string]finding.Verdict{"masked": finding.Disclosed, "tree": finding.Disclosed,
		"he": finding.Disclosed, "published": finding.Leak} {
		t.Run(mode, func(t *testing.T) {
			rounds, edit := 20, func(*ofmsft.Params) {}
			if mode == "he" {
				rounds, edit = 3, func(p *ofmsft.Params) { p.Bandwidth = 100 } // one group, so that some sum begins
			}
			c := newChoosers(t, 6, rounds, mode, edit)
			must(t, c.federate())
			r := c.wantFederation(want)
			f := r.Federations[0]
			if f.Questions != uint64(rounds) || f.Answers != uint64(6*rounds) || f.Silent != 0 || f.Sums == 0 ||
				f.Opened != f.Sums || f.Fewest < c.spec.MinContributors || len(f.Dropouts) != 0 {
				t.Errorf("%+v", f)
			}
			c.wantLedger(r, want)
		})
	}
}

// wantLedger wants the ledger to count what all parties learned, no more than the contract says.
func (c *choosers) wantLedger(r *finding.Report, verdict finding.Verdict) {
	c.t.Helper()
	for _, l := range r.Ledger {
		want := verdict
		if l.Count == 0 && l.Kind == "step" { // one that was never asked for any
			want = finding.Clean
		}
		if l.Unread || l.Count > l.Declared || l.Verdict != want {
			c.t.Errorf("%+v", l)
		}
		if l.Party == "p0" && l.Kind == "choice" && (l.Count != int64(6*c.params.Rounds) ||
			!strings.HasPrefix(l.Meaning, "which networks each client stores in each round")) {
			c.t.Errorf("%+v", l)
		}
	}
}

// TestServersOfChoicesAreHeardInWords says who learns what clients choose.
func TestServersOfChoicesAreHeardInWords(t *testing.T) {
	c := newChoosers(t, 4, 2, "masked", storeAll)
	must(t, c.federate())
	r := c.wantFederation(finding.Disclosed)
	want := "p0 began 8 sums over 4 clients; 8 opened, with 4 contributors at least and 4 in the median, counted by the vectors that came; " +
		"to 2 questions it heard 8 answers, each under its client's name"
	if !strings.Contains(r.Summary, want) {
		t.Errorf("the summary is %q, want %q in it", r.Summary, want)
	}
	r, err := Run(t.Context(), &evidence.Input{Contract: c.contract, Sources: []evidence.Source{c.source(2)}})
	mustDo(t, err)
	if want := "P0 learns which networks each single client stores, under the client's name"; r.Verdict != finding.Disclosed || !strings.Contains(r.Summary, want) {
		t.Errorf("%s: %q, want %q in it", r.Verdict, r.Summary, want)
	}
}

// storeAll has all clients store all networks in every round.
func storeAll(p *ofmsft.Params) { p.Budget, p.Bandwidth = 4, 100 }

// unmoved is storeAll where nothing is fine-tuned.
func unmoved(p *ofmsft.Params) {
	storeAll(p)
	p.Update = ofmsft.UpdateNone
}

// TestBroadcastsOfNetworksAreDisclosed: choices stay with the clients.
func TestBroadcastsOfNetworksAreDisclosed(t *testing.T) {
	c := newChoosers(t, 4, 3, "masked", func(p *ofmsft.Params) { p.Broadcast, p.Bandwidth = true, 0 })
	must(t, c.federate())
	r := c.wantFederation(finding.Disclosed)
	for _, l := range r.Ledger {
		if l.Kind == "choice" && !strings.HasPrefix(l.Meaning, "which networks a client says it lacks") {
			t.Errorf("%+v", l)
		}
	}
}

// TestClientsThatAreLostWhileTheyChooseAreCounted in questions and sums.
func TestClientsThatAreLostWhileTheyChooseAreCounted(t *testing.T) {
	for _, l := range []struct {
		at                    leaving
		answers, silent, lost uint64
	}{{leaving{6, "choice"}, 13, 1, 0}, {leaving{2, "updates"}, 13, 0, 1}, {leaving{8, cohort.KindShares}, 14, 0, 1}} {
		t.Run(l.at.kind, func(t *testing.T) {
			c := newChoosers(t, 5, 3, "masked", storeAll)
			c.leaves = map[int]leaving{4: l.at}
			c.federate()
			r := c.wantFederation(finding.Disclosed)
			f := r.Federations[0]
			lost := uint64(0)
			for _, d := range f.Dropouts {
				lost += d.Sums
			}
			if f.Questions != 3 || f.Answers != l.answers || f.Silent != l.silent || lost != l.lost || f.Sums != 12 {
				t.Errorf("%+v", f)
			}
		})
	}
}

// TestDeviationsOfChoosersAreFound plants each defect in the transcript of a run in which all went along. In its
// two rounds question 1 is followed by sums 2 to 5, question 6 by sums 7 to 10.
func TestDeviationsOfChoosersAreFound(t *testing.T) {
	c := choosersOf(t)
	number := func(n uint64) func(r *transcript.Record) { return func(r *transcript.Record) { r.Operation = n } }
	grow := func(by int) func(r *transcript.Record) {
		return func(r *transcript.Record) { r.Size, r.Bytes = r.Size+uint64(by), r.Bytes+uint64(by) }
	}
	for _, d := range []deviation{
		{"answer twice", 0, twice(of(received, "choice", 3)), finding.CheckOperations,
			"(choice) received from p3: it comes again in question 1"},
		{"answer twice, sent", 2, twice(of(sent, "choice", 0)), finding.CheckOperations,
			"(choice) sent to p0: it comes again in question 1"},
		{"answer twice is over the budget", 0, twice(of(received, "choice", 3)), finding.CheckEgress, "choice from p3 is over its budget in session 1: 3 frames of 6 bytes came, agreed are 2 frames of 4 bytes"},
		{"answer unasked", 0, drop(of(sent, "round", 2)), finding.CheckOperations, "(choice) received from p2: the server has not begun question 1 on this link"},
		{"answer unasked, sent", 2, drop(of(received, "round", 0)), finding.CheckOperations, "(choice) sent to p0: the server has not begun question 1 on this link"},
		{"answer in a sum", 0, alter(of(received, "choice", 2), 1, number(5)), finding.CheckOperations, "(choice) received from p2: round had to pass before it in question 5"},
		{"answer larger than agreed", 0, alter(of(received, "choice", 2), 0, grow(1)), finding.CheckOperations, "(choice) received from p2: an answer of 3 bytes, the contract says 2 at most"},
		{"answer larger than agreed, sent", 2, alter(of(sent, "choice", 0), 1, grow(2)), finding.CheckOperations, "(choice) sent to p0: an answer of 4 bytes, the contract says 2 at most"},
		{"answer to a client", 2, alter(of(sent, "choice", 0), 0, func(r *transcript.Record) { r.Peer = 3 }), finding.CheckOperations, "(choice) sent to p3: the contract has it go from clients to their server"},
		{"answer of another class", 0,
			alter(of(received, "choice", 2), 0, func(r *transcript.Record) { r.Class = contract.ClassControl }),
			finding.CheckOperations, "it is control bytes, the contract says opening bytes"},
		{"answer opened", 0, alter(of(opened, "updates", 0), 0, func(r *transcript.Record) { r.Kind = "choice" }), finding.CheckOpenings, "(choice) opened to p0, to whom the contract opens no such total"},
		{"question twice", 0, twice(of(sent, "round", 4)), finding.CheckOperations,
			"(round) sent to p4: it comes again in question 1"},
		{"question by a client", 2, alter(of(received, "round", 0), 0, func(r *transcript.Record) { r.Type = sent }), finding.CheckOperations, "(round) sent to p0: the contract has it go from a server to its clients"},
		{"question with a sum's number", 0, alter(of(sent, "round", 1), 1, number(5)), finding.CheckOperations,
			"(round) sent to p1: number 5 is that of a sum on this link"},
		{"sum with a question's number", 2, alter(of(received, cohort.KindBegin, 0), 0, number(1)), finding.CheckOperations, "(sum-begin) received from p0: number 1 is that of a question on this link"},
		{"question back in time", 0, alter(of(sent, "round", 3), 1, number(5)), finding.CheckOperations, "(round) sent to p3: it goes back to number 5 after number 6"},
		{"model too often", 0, twice(of(sent, "model", 1)), finding.CheckEgress,
			"model to p1 is over its budget in session 1: 9 frames"},
		{"step too often", 2, twice(of(received, "step", 0)), finding.CheckEgress,
			"step from p0 is over its budget in session 1: 9 frames"},
		{"sum of two", 0, drop(func(r *transcript.Record) bool { return of(received, "updates", r.Peer).ofSum(3)(r) && r.Peer > 2 }), finding.CheckContributors, "operation 3 (updates) opened with the vectors of 2 clients in it, at least 3 are wanted"},
		{"vector of another network", 0, func(all []transcript.Record) []transcript.Record {
			other := slices.IndexFunc(all, func(r transcript.Record) bool { return of(received, "updates", 2).ofSum(3)(&r) })
			return alter(of(received, "updates", 2), 0,
				func(r *transcript.Record) { r.Size, r.Bytes = all[other].Size, all[other].Bytes })(all)
		}, finding.CheckOperations, "others in sum 2 have"},
		{"total of another network", 0, alter(match(of(opened, "updates", 0)).ofSum(2), 0, grow(8)),
			finding.CheckOperations, "the vectors have"},
		{"vector unasked", 0, drop(of(sent, cohort.KindBegin, 5)), finding.CheckOperations,
			"the server has not begun sum 2 on this link"},
	} {
		t.Run(d.name, func(t *testing.T) {
			all, _ := c.examined(source("forged", c.deviate(d.party, d.change)))
			want := verdictOf(d.check)
			if d.check == finding.CheckOpenings {
				want = finding.Leak
			}
			wantCheck(t, all[0].Checks, d.check, want, d.detail)
		})
	}
}

// TestModelsThatWereNotWantedAreWithinTheBudget: what a client wants is in no record.
func TestModelsThatWereNotWantedAreWithinTheBudget(t *testing.T) {
	c := newChoosers(t, 4, 2, "masked", unmoved)
	must(t, c.federate())
	c.wantFederation(finding.Disclosed)
	again := copied(of(sent, "model", 2), match(of(sent, "turn", 2)).ofSum(2),
		func(r *transcript.Record) { r.Operation = 2 })
	all, _ := c.examined(source("again", c.deviate(0, again)))
	wantPassed(t, all[0].Checks)
}

// TestLateAnswersAreNoFailure: a client's answer comes when its round has gone on, and it is asked again.
func TestLateAnswersAreNoFailure(t *testing.T) {
	c := choosersOf(t)
	first := func(r *transcript.Record) bool {
		return r.Type.Frame() && r.Peer == 2 && r.Operation < 6 && r.Kind != "round" && r.Kind != cohort.KindKey &&
			r.Kind != contract.KindPast
	}
	text := c.deviate(0, func(all []transcript.Record) []transcript.Record {
		late := all[slices.IndexFunc(all, func(r transcript.Record) bool { return of(received, "choice", 2)(&r) })]
		all = drop(first)(all)
		return insert(match(of(sent, "round", 2)).ofSum(6),
			func([]transcript.Record, int) []transcript.Record { return []transcript.Record{late} })(all)
	})
	all, _ := c.examined(source("late", text))
	wantPassed(t, all[0].Checks)
	if f := all[0].Federation; f.Questions != 2 || f.Answers != 9 || f.Silent != 1 ||
		f.Fewest != 4 || len(f.Dropouts) != 0 {
		t.Errorf("%+v", f)
	}
}
