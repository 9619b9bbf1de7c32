package audit

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/attack"
	"github.com/hanse-project/hanse/protocol"
)

// judged concludes an audit with these findings.
func judged(checks []Verdict, attacks []Verdict, ledger ...Learned) *Report {
	a := &auditor{report: &Report{Ledger: ledger}}
	for _, v := range checks {
		a.report.Checks = append(a.report.Checks, Check{Name: "check", Party: "p0", Verdict: v, Detail: "check " + string(v)})
	}
	for _, v := range attacks {
		share := 1.0
		a.report.Attacks = append(a.report.Attacks, Attack{Name: "difference", Party: "p0", Verdict: v, Whose: "p1 and p2", Rows: 60,
			RecoveredShare: &share, Detail: "attack " + string(v) + "; more"})
	}
	a.conclude()
	return a.report
}

// TestLadder has a row for every combination of what an audit can come to.
func TestLadder(t *testing.T) {
	rows := []struct {
		leak, broken, disclosed, unseen bool
		verdict                         Verdict
		exit                            int
	}{
		{false, false, false, false, Clean, 0},
		{false, false, false, true, Partial, 4},
		{false, false, true, false, Disclosed, 0},
		{false, false, true, true, Disclosed, 4},
		{false, true, false, false, Unverifiable, 1},
		{false, true, false, true, Unverifiable, 1},
		{false, true, true, false, Unverifiable, 1},
		{false, true, true, true, Unverifiable, 1},
		{true, false, false, false, Leak, 3},
		{true, false, false, true, Leak, 3},
		{true, false, true, false, Leak, 3},
		{true, false, true, true, Leak, 3},
		{true, true, false, false, Leak, 3},
		{true, true, false, true, Leak, 3},
		{true, true, true, false, Leak, 3},
		{true, true, true, true, Leak, 3},
	}
	seen := make(map[found]bool)
	for _, c := range rows {
		f := found{c.leak, c.broken, c.disclosed, c.unseen}
		seen[f] = true
		if v, exit := ladder(f); v != c.verdict || exit != c.exit {
			t.Errorf("%+v: %s, exit code %d; want %s, %d", f, v, exit, c.verdict, c.exit)
		}
	}
	if len(seen) != 16 {
		t.Errorf("%d combinations, want all 16", len(seen))
	}
}

// TestEveryOutcomeHasItsRung holds each verdict that a check, an attack or an opening can have against what it makes
// of an audit in which all else is well.
func TestEveryOutcomeHasItsRung(t *testing.T) {
	for _, c := range []struct {
		outcome, want Verdict
		exit          int
	}{
		{Passed, Clean, 0}, {Clean, Clean, 0}, {NotApplicable, Clean, 0}, {Skipped, Partial, 4}, {Disclosed, Disclosed, 0},
		{Failed, Unverifiable, 1}, {Unverifiable, Unverifiable, 1}, {Leak, Leak, 3},
	} {
		check, attack := judged([]Verdict{Passed, c.outcome}, nil), judged(nil, []Verdict{Clean, c.outcome})
		for what, r := range map[string]*Report{"check": check, "attack": attack} {
			if r.Verdict != c.want || r.Exit != c.exit {
				t.Errorf("a %s that is %q makes the audit %s with exit code %d, want %s and %d", what, c.outcome, r.Verdict, r.Exit, c.want, c.exit)
			}
			if listed := len(r.NotLookedAt) > 0; listed != (c.outcome == Skipped) {
				t.Errorf("a %s that is %q: not looked at are %q", what, c.outcome, r.NotLookedAt)
			}
		}
		if c.outcome != Skipped {
			opening := judged(nil, nil, Learned{Party: "p0", Kind: learnedScores, Verdict: c.outcome})
			if opening.Verdict != c.want {
				t.Errorf("an opening that is %q makes the audit %s, want %s", c.outcome, opening.Verdict, c.want)
			}
		}
	}
}

func TestSummariesSayWhy(t *testing.T) {
	angles := Learned{Party: "p0", Kind: learnedAngles, Declared: 12, Features: 3, Verdict: Disclosed}
	derivatives := Learned{Party: "p0", Kind: learnedDerivatives, Plain: "how far off", Verdict: Disclosed}
	for _, c := range []struct {
		name    string
		r       *Report
		summary string
	}{
		{"nothing", judged(nil, nil), "No attack gained anything, and 0 checks passed."},
		{"all well", judged([]Verdict{Passed}, []Verdict{Clean}), "No attack gained anything, and 1 check passed. 1 attack found nothing."},
		{"not all seen", judged([]Verdict{Passed, Skipped}, []Verdict{Clean, Skipped}),
			"Nothing was found in what was looked at; that leaves out 1 attack not tried and 1 other thing. 1 check passed. 1 attack found nothing."},
		{"a check failed", judged([]Verdict{Passed, Failed}, []Verdict{Disclosed}), "The transcripts are not what an honest run of the contract leaves: p0, check: check failed."},
		{"a check leaks", judged([]Verdict{Leak, Failed}, nil),
			"What the contract does not announce was given away: p0, check: check leak. The transcripts are, besides, not what an honest run of the contract leaves: p0, check: check failed."},
		{"an attack leaks", judged([]Verdict{Failed, Leak, Leak}, []Verdict{Disclosed, Leak, Leak}), "attack leak; attack leak; p0, check: check leak; and 1 more."},
		{"rows announced", judged([]Verdict{Passed}, []Verdict{Clean, Disclosed}),
			"P0 can read the others' rows, as the contract had announced: the attack rebuilt 100.0 % of 60 rows of p1 and p2. 1 other attack found nothing."},
		{"angles announced", judged([]Verdict{Passed}, nil, angles), "P0 can compute the others' rows from the angles that open to it, as the contract had announced."},
		{"other openings announced", judged([]Verdict{Passed}, nil, derivatives), "P0 learns how far off, as the contract had announced."},
		{"a parameter announced", judged([]Verdict{Disclosed}, nil), "Check, as the contract had announced: check disclosed."},
		{"announced and not all seen", judged([]Verdict{Skipped}, nil, angles),
			"P0 can compute the others' rows from the angles that open to it, as the contract had announced. Not looked at: 1 other thing."},
	} {
		if !strings.Contains(c.r.Summary, c.summary) {
			t.Errorf("%s: %s: %s\nwant %s", c.name, c.r.Verdict, c.r.Summary, c.summary)
		}
	}
}

func TestWhatWasNotLookedAtIsListed(t *testing.T) {
	a := &auditor{report: &Report{
		Job: Job{Parties: []Party{{Name: "a", Audited: true}, {Name: "b"}, {Name: "c"}, {Name: "d"}}},
		Checks: []Check{{Name: checkCharter, Verdict: Skipped, Detail: "none was given"}, {Name: "seals", Verdict: Passed},
			{Name: checkComplete, Party: "a", Verdict: Passed}},
		Transcripts: []Transcript{{Party: "a", Cut: true}},
		Attacks: []Attack{{Name: "difference", Party: "a", View: "angles", Verdict: Skipped, Detail: "not tried"}, {Verdict: Clean},
			{Name: "label leakage", Party: "a", View: "passive party", Verdict: NotApplicable, Detail: "no labels"}},
	}}
	a.limits()
	a.conclude()
	want := []string{"The transcripts of b, c and d were not given", "The end of a's transcript: it has no last signature",
		"Charter: none was given.", "The attack difference on a's view (angles): not tried."}
	for i, got := range a.report.NotLookedAt {
		if len(a.report.NotLookedAt) != len(want) || !strings.HasPrefix(got, want[i]) {
			t.Errorf("%q, want %q", a.report.NotLookedAt, want)
		}
	}
	if want := "; that leaves out the transcripts of b, c and d, the charter, 1 attack not tried and 1 other thing."; !strings.Contains(a.report.Summary, want) {
		t.Errorf("summary %q, want %q in it", a.report.Summary, want)
	}
	if n := len(a.report.Unchecked); n != 3 || !strings.HasPrefix(a.report.Unchecked[0], "The attack label leakage on a's view (passive party): no labels.") {
		t.Errorf("%d sentences: %q", n, a.report.Unchecked)
	}
}

// TestParametersThatTakeProtectionAway are findings, each with its verdict.
func TestParametersThatTakeProtectionAway(t *testing.T) {
	for _, c := range []struct {
		name string
		job  protocol.Job
		want Verdict
		part string
	}{
		{"nothing said", protocol.Job{Privacy: "sealed"}, Passed, "no parameter"},
		{"published", protocol.Job{Privacy: published}, Leak, `privacy = "published"`},
		{"low threshold", protocol.Job{Privacy: "masked", Threshold: 0.51}, Disclosed, "threshold = 0.51"},
		{"high threshold", protocol.Job{Privacy: "masked", Threshold: 0.8}, Passed, "no parameter"},
		{"a wide range", protocol.Job{Privacy: "sealed", Parameters: map[string]any{"score_range": int64(64)}}, Disclosed, "score_range = 64 opens more bits"},
		{"wide scores", protocol.Job{Privacy: "sealed", Parameters: map[string]any{"score_bits": int64(16)}}, Disclosed, "score_bits = 16 opens 16 bits"},
		{"usual scores", protocol.Job{Privacy: "sealed", Parameters: map[string]any{"score_bits": int64(6)}}, Passed, "no parameter"},
		{"repeated scores", protocol.Job{Privacy: "sealed", Parameters: map[string]any{"scores_per_row": int64(300)}}, Disclosed, "scored 300 times"},
		{"fewer contributors than the charter has", protocol.Job{Privacy: "masked", MinContributors: 3}, Passed, "less than the charter's 5, which holds"},
	} {
		a := &auditor{in: Input{Contract: &protocol.Contract{Job: &c.job}}, report: new(Report)}
		a.parameters(5)
		if got := a.report.Checks; len(got) != 1 || got[0].Name != checkParameters || got[0].Verdict != c.want || !strings.Contains(got[0].Detail, c.part) {
			t.Errorf("%s: %+v, want %s with %q", c.name, got, c.want, c.part)
		}
	}
}

// TestAFewLuckyRowsAreNoGain: of a single column a guess comes within 1 % of the range now and then.
func TestAFewLuckyRowsAreNoGain(t *testing.T) {
	for _, c := range []struct {
		share, control, solved float64
		rows                   int
		want                   bool
	}{
		{0.03, 0, 0, 100, false}, {0.3, 0, 0, 100, true}, {1, 0, 0, 60, true}, {0.012, 0, 0, 4096, true}, {0.009, 0, 0, 4096, false},
		{0.33, 0.3, 0, 400, false}, {0, 0, 0.02, 100, true}, {0, 0, 0, 2, false},
	} {
		r := &attack.Recovery{RecoveredShare: c.share, ControlShare: c.control, Solved: c.solved, Rows: c.rows}
		if gained(r) != c.want {
			t.Errorf("%+v: gained is %v", c, !c.want)
		}
	}
}
