package audit

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// judged concludes an audit with these findings.
func judged(checks []finding.Verdict, attacks []finding.Verdict, ledger ...finding.Learned) *finding.Report {
	a := &account{report: &finding.Report{Ledger: ledger}}
	for _, v := range checks {
		a.report.Checks = append(a.report.Checks,
			finding.Check{Name: "check", Party: "p0", Verdict: v, Detail: "check " + string(v)})
	}
	for _, v := range attacks {
		share := 1.0
		a.report.Attacks = append(a.report.Attacks,
			finding.Attack{Name: "difference", Party: "p0", Verdict: v, Whose: "p1 and p2", Rows: 60,
				RecoveredShare: &share, Detail: "attack " + string(v) + "; more"})
	}
	a.conclude()
	return a.report
}

// TestLadder has a row for every combination of what an audit can come to.
func TestLadder(t *testing.T) {
	rows := []struct {
		leak, broken, disclosed, unseen bool
		verdict                         finding.Verdict
		exit                            int
	}{
		{false, false, false, false, finding.Clean, 0},
		{false, false, false, true, finding.Partial, 4},
		{false, false, true, false, finding.Disclosed, 0},
		{false, false, true, true, finding.Disclosed, 4},
		{false, true, false, false, finding.Unverifiable, 1},
		{false, true, false, true, finding.Unverifiable, 1},
		{false, true, true, false, finding.Unverifiable, 1},
		{false, true, true, true, finding.Unverifiable, 1},
		{true, false, false, false, finding.Leak, 3},
		{true, false, false, true, finding.Leak, 3},
		{true, false, true, false, finding.Leak, 3},
		{true, false, true, true, finding.Leak, 3},
		{true, true, false, false, finding.Leak, 3},
		{true, true, false, true, finding.Leak, 3},
		{true, true, true, false, finding.Leak, 3},
		{true, true, true, true, finding.Leak, 3},
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
		outcome, want finding.Verdict
		exit          int
	}{
		{finding.Passed, finding.Clean, 0}, {finding.Clean, finding.Clean, 0}, {finding.NotApplicable, finding.Clean, 0},
		{finding.Skipped, finding.Partial, 4}, {finding.Disclosed, finding.Disclosed, 0},
		{finding.Failed, finding.Unverifiable, 1}, {finding.Unverifiable, finding.Unverifiable, 1},
		{finding.Leak, finding.Leak, 3},
	} {
		check, attack := judged([]finding.Verdict{finding.Passed, c.outcome}, nil), judged(nil,
			[]finding.Verdict{finding.Clean, c.outcome})
		for what, r := range map[string]*finding.Report{"check": check, "attack": attack} {
			if r.Verdict != c.want || r.Exit != c.exit {
				t.Errorf("a %s that is %q makes the audit %s with exit code %d, want %s and %d", what, c.outcome, r.Verdict, r.Exit, c.want, c.exit)
			}
			if listed := len(r.NotLookedAt) > 0; listed != (c.outcome == finding.Skipped) {
				t.Errorf("a %s that is %q: not looked at are %q", what, c.outcome, r.NotLookedAt)
			}
		}
		if c.outcome != finding.Skipped {
			opening := judged(nil, nil, finding.Learned{Party: "p0", Kind: evidence.OpeningScores, Verdict: c.outcome})
			if opening.Verdict != c.want {
				t.Errorf("an opening that is %q makes the audit %s, want %s", c.outcome, opening.Verdict, c.want)
			}
		}
	}
}

func TestSummariesSayWhy(t *testing.T) {
	angles := finding.Learned{Party: "p0", Kind: evidence.OpeningAngles, Declared: 12, Features: 3,
		Verdict: finding.Disclosed}
	derivatives := finding.Learned{Party: "p0", Kind: evidence.OpeningDerivatives, Plain: "how far off",
		Verdict: finding.Disclosed}
	for _, c := range []struct {
		name    string
		r       *finding.Report
		summary string
	}{
		{"nothing", judged(nil, nil), "No attack gained anything, and 0 checks passed."},
		{"all well", judged([]finding.Verdict{finding.Passed}, []finding.Verdict{finding.Clean}), "No attack gained anything, and 1 check passed. 1 attack found nothing."},
		{"not all seen", judged([]finding.Verdict{finding.Passed, finding.Skipped},
			[]finding.Verdict{finding.Clean, finding.Skipped}),
			"Nothing was found in what was looked at; that leaves out 1 attack not tried and 1 other thing. 1 check passed. 1 attack found nothing."},
		{"a check failed", judged([]finding.Verdict{finding.Passed, finding.Failed}, []finding.Verdict{finding.Disclosed}), "The transcripts are not what an honest run of the contract leaves: p0, check: check failed."},
		{"a check leaks", judged([]finding.Verdict{finding.Leak, finding.Failed}, nil),
			"What the contract does not announce was given away: p0, check: check leak. The transcripts are, besides, not what an honest run of the contract leaves: p0, check: check failed."},
		{"an attack leaks", judged([]finding.Verdict{finding.Failed, finding.Leak, finding.Leak}, []finding.Verdict{finding.Disclosed, finding.Leak, finding.Leak}), "attack leak; attack leak; p0, check: check leak; and 1 more."},
		{"rows announced", judged([]finding.Verdict{finding.Passed}, []finding.Verdict{finding.Clean, finding.Disclosed}),
			"P0 can read the others' rows, as the contract had announced: the attack rebuilt 100.0 % of 60 rows of p1 and p2. 1 other attack found nothing."},
		{"angles announced", judged([]finding.Verdict{finding.Passed}, nil, angles), "P0 can compute the others' rows from the angles that open to it, as the contract had announced."},
		{"other openings announced", judged([]finding.Verdict{finding.Passed}, nil, derivatives),
			"P0 learns how far off, as the contract had announced."},
		{"a parameter announced", judged([]finding.Verdict{finding.Disclosed}, nil),
			"Check, as the contract had announced: check disclosed."},
		{"announced and not all seen", judged([]finding.Verdict{finding.Skipped}, nil, angles),
			"P0 can compute the others' rows from the angles that open to it, as the contract had announced. Not looked at: 1 other thing."},
	} {
		if !strings.Contains(c.r.Summary, c.summary) {
			t.Errorf("%s: %s: %s\nwant %s", c.name, c.r.Verdict, c.r.Summary, c.summary)
		}
	}
}

func TestWhatWasNotLookedAtIsListed(t *testing.T) {
	a := &account{report: &finding.Report{
		Job: finding.Job{Parties: []finding.Party{{Name: "a", Audited: true}, {Name: "b"}, {Name: "c"}, {Name: "d"}}},
		Checks: []finding.Check{{Name: finding.CheckCharter, Verdict: finding.Skipped, Detail: "none was given"},
			{Name: "seals", Verdict: finding.Passed},
			{Name: finding.CheckComplete, Party: "a", Verdict: finding.Passed}},
		Transcripts: []finding.Transcript{{Party: "a", Cut: true}},
		Attacks: []finding.Attack{{Name: "difference", Party: "a", View: "angles", Verdict: finding.Skipped,
			Detail: "not tried"}, {Verdict: finding.Clean},
			{Name: "label leakage", Party: "a", View: "passive party", Verdict: finding.NotApplicable, Detail: "no labels"}},
	}}
	a.limits()
	a.conclude()
	want := []string{"The transcripts of b, c and d were not read", "The end of a's transcript: it has no last signature",
		"Charter: none was given.", "The attack difference on a's view (angles): not tried."}
	for i, got := range a.report.NotLookedAt {
		if len(a.report.NotLookedAt) != len(want) || !strings.HasPrefix(got, want[i]) {
			t.Errorf("%q, want %q", a.report.NotLookedAt, want)
		}
	}
	const summary = "Not read: the transcripts of b, c and d. Nothing was found in what was looked at; that leaves out " +
		"the charter, 1 attack not tried and 1 other thing."
	if !strings.HasPrefix(a.report.Summary, summary) {
		t.Errorf("summary %q, want %q at its beginning", a.report.Summary, summary)
	}
	if n := len(a.report.Unchecked); n != 3 || !strings.HasPrefix(a.report.Unchecked[0], "The attack label leakage on a's view (passive party): no labels.") {
		t.Errorf("%d sentences: %q", n, a.report.Unchecked)
	}
}

// TestParametersThatTakeProtectionAway are findings, each with its verdict.
func TestParametersThatTakeProtectionAway(t *testing.T) {
	for _, c := range []struct {
		name string
		job  contract.Job
		want finding.Verdict
		part string
	}{
		{"nothing said", contract.Job{Privacy: "sealed"}, finding.Passed, "no parameter"},
		{"published", contract.Job{Privacy: keys.PrivacyPublished}, finding.Leak, `privacy = "published"`},
		{"low threshold", contract.Job{Privacy: "masked", Threshold: 0.51}, finding.Disclosed, "threshold = 0.51"},
		{"high threshold", contract.Job{Privacy: "masked", Threshold: 0.8}, finding.Passed, "no parameter"},
		{"a wide range", contract.Job{Privacy: "sealed", Parameters: map[string]any{"score_range": int64(64)}},
			finding.Disclosed, "score_range = 64 opens more bits"},
		{"wide scores", contract.Job{Privacy: "sealed", Parameters: map[string]any{"score_bits": int64(16)}},
			finding.Disclosed, "score_bits = 16 opens 16 bits"},
		{"usual scores", contract.Job{Privacy: "sealed", Parameters: map[string]any{"score_bits": int64(6)}},
			finding.Passed, "no parameter"},
		{"repeated scores", contract.Job{Privacy: "sealed", Parameters: map[string]any{"scores_per_row": int64(300)}},
			finding.Disclosed, "scored 300 times"},
		{"fewer contributors than the charter has", contract.Job{Privacy: "masked", MinContributors: 3}, finding.Passed,
			"less than the charter's 5, which holds"},
	} {
		a := &auditor{account: &account{in: evidence.Input{Contract: &contract.Contract{Job: &c.job}},
			report: new(finding.Report)}}
		a.parameters(5)
		if got := a.report.Checks; len(got) != 1 || got[0].Name != finding.CheckParameters || got[0].Verdict != c.want ||
			!strings.Contains(got[0].Detail, c.part) {
			t.Errorf("%s: %+v, want %s with %q", c.name, got, c.want, c.part)
		}
	}
}
