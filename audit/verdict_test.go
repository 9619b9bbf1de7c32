package audit

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit/attack"
)

// judged concludes an audit with these findings.
func judged(privacy string, checks []Verdict, attacks []Verdict, ledger ...Learned) *Report {
	a := &auditor{report: &Report{Job: Job{Privacy: privacy}, Ledger: ledger}}
	for _, v := range checks {
		a.report.Checks = append(a.report.Checks, Check{Name: "check", Party: "p0", Verdict: v, Detail: "check " + string(v)})
	}
	for _, v := range attacks {
		a.report.Attacks = append(a.report.Attacks, Attack{Name: "attack", Party: "p0", Verdict: v, Detail: "attack " + string(v) + "; more"})
	}
	a.conclude()
	return a.report
}

func TestWorstFindingIsTheVerdict(t *testing.T) {
	angles := Learned{Party: "p0", Kind: learnedAngles, Declared: 12, Features: 3, Meaning: "rows follow", Verdict: Declared}
	for _, c := range []struct {
		name    string
		r       *Report
		want    Verdict
		summary string
	}{
		{"nothing", judged("masked", nil, nil), Clean, "No attack gained anything, and 0 checks passed."},
		{"all well", judged("masked", []Verdict{Passed, Skipped}, []Verdict{Clean, Skipped}), Clean, "No attack gained anything, and 1 check passed. 1 other attack found nothing. 1 could not be tried."},
		{"a check failed", judged("masked", []Verdict{Passed, Failed}, []Verdict{Declared}), Unverifiable, "The transcripts are not what an honest run of the contract leaves: p0, check: check failed."},
		{"a check leaks", judged("masked", []Verdict{Leak, Failed}, nil), Leak, "What the contract does not declare was given away: p0, check: check leak."},
		{"an attack declared", judged("masked", []Verdict{Passed}, []Verdict{Declared}), Declared, "As the contract says, a party can rebuild what others hold: attack declared."},
		{"an attack leaks", judged("masked", []Verdict{Failed, Leak, Leak}, []Verdict{Declared, Leak, Leak}), Leak, "attack leak; attack leak; p0, check: check leak; and 1 more."},
		{"declared angles", judged("masked", []Verdict{Passed}, nil, angles), Declared, "p0 learns 12 angles: rows follow."},
		{"published", judged(published, []Verdict{Passed}, nil), Leak, "was given away."},
		{"published and broken", judged(published, []Verdict{Failed}, nil), Leak, "was given away."},
	} {
		if c.r.Verdict != c.want || !strings.Contains(c.r.Summary, c.summary) {
			t.Errorf("%s: %s: %s", c.name, c.r.Verdict, c.r.Summary)
		}
	}
}

func TestWhatWasNotCheckedIsListed(t *testing.T) {
	a := &auditor{report: &Report{
		Job:     Job{Parties: []Party{{Name: "a", Audited: true}, {Name: "b"}, {Name: "c"}, {Name: "d"}}},
		Checks:  []Check{{Name: "charter", Verdict: Skipped, Detail: "none was given"}, {Name: "seals", Verdict: Passed}},
		Attacks: []Attack{{Name: "difference", Party: "a", View: "angles", Verdict: Skipped, Detail: "not tried"}, {Verdict: Clean}},
	}}
	a.unchecked()
	for i, want := range []string{"The transcripts of b, c and d were not read", "difference, a's view (angles): not tried.", "charter: none was given."} {
		if got := a.report.Unchecked[i]; !strings.HasPrefix(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	if n := len(a.report.Unchecked); n != 5 {
		t.Errorf("%d sentences: %q", n, a.report.Unchecked)
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
