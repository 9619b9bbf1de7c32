package audits

import (
	"bytes"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/lab/labtest"
)

// TestSensorsAreAudited published and masked, and the tables say what was found.
func TestSensorsAreAudited(t *testing.T) {
	j := clientsJob{"gfml", func() (*job, error) { return sensorsGFML(20, 200) },
		map[string]int{keys.PrivacyPublished: 20, keys.PrivacyMasked: 20}, "iterations"}
	var r clientsReport
	for _, protection := range []string{keys.PrivacyPublished, keys.PrivacyMasked} {
		run, err := j.run(t.Context(), protection)
		if err != nil {
			t.Fatal(err)
		}
		r.Runs = append(r.Runs, *run)
	}
	if err := r.judge(); err != nil {
		t.Error(err)
	}
	var text strings.Builder
	if err := r.Print(&text); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"clients' updates", "clients' masked updates", " leak |", " 100.0 |",
		"membership"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("the tables lack %q:\n%s", want, &text)
		}
	}
	r.Runs[1].Report.Verdict = audit.Leak
	if err := r.judge(); err == nil || !strings.Contains(err.Error(),
		"gfml, masked: the audit's verdict is leak, want disclosed") {
		t.Errorf("error %v", err)
	}
}

// auditFixture is a report with attacks of all names.
func auditFixture() *audit.Report {
	v := func(x float64) *float64 { return &x }
	return &audit.Report{Verdict: audit.Disclosed, Seconds: 2.25, Attacks: []audit.Attack{
		{Name: "difference", Party: "bank", View: "active party", Rows: 90, UnknownColumns: 4, Equations: 32,
			RecoveredShare: v(1), RMS: v(1e-5), ControlRMS: v(0.5), Verdict: audit.Disclosed},
		{Name: "difference", Party: "telco", View: "tree parent", Rows: 90, UnknownColumns: 1, Equations: 32,
			RecoveredShare: v(0.001), RMS: v(0.5), ControlRMS: v(0.5), ControlShare: v(1), Verdict: audit.Clean},
		{Name: "uniformity", Party: "bank", Statistic: v(0.5), Verdict: audit.Clean},
		{Name: "uniformity", Party: "telco", Statistic: v(0.25), Verdict: audit.Clean},
		{Name: "mask reuse", Party: "bank", Verdict: audit.Skipped},
		{Name: "mask reuse", Party: "telco", Verdict: audit.Clean},
		{Name: "known rows", View: "active party", Statistic: v(0.9), Verdict: audit.Disclosed},
		{Name: "known rows", View: "tree parent", Statistic: v(-0.1), Verdict: audit.Clean},
		{Name: "known rows", View: "tree parent", Statistic: v(0.05), Verdict: audit.Clean},
		{Name: "known rows", View: "tree parent", Verdict: audit.Skipped},
	}}
}

func TestAuditFiguresAreTheWorst(t *testing.T) {
	run := newAuditRun("a9a", "masked", 32, []string{"--features", "32"}, auditFixture())
	if *run.Uniformity != 0.25 || *run.KnownActive != 0.9 || *run.KnownParents != 0.05 ||
		run.MaskReuse != audit.Clean {
		t.Errorf("got p %v, R2 %v and %v, reuse %s", *run.Uniformity, *run.KnownActive, *run.KnownParents,
			run.MaskReuse)
	}
	none := newAuditRun("a9a", "published", 32, nil, &audit.Report{Verdict: audit.Leak})
	if none.Uniformity != nil || none.KnownActive != nil || none.KnownParents != nil || none.MaskReuse != "" {
		t.Errorf("got figures of attacks that are not there: %+v", none)
	}
	bad := auditFixture()
	bad.Attacks[4].Verdict = audit.Leak
	if run := newAuditRun("a9a", "masked", 32, nil, bad); run.MaskReuse != audit.Leak {
		t.Errorf("mask reuse is %s, want the leak", run.MaskReuse)
	}
}

func TestAuditTablesHaveALineForEachAttackAndRun(t *testing.T) {
	r := Report{Machine: "a machine", Parties: 4, Runs: []Result{newAuditRun("a9a", "masked", 32, []string{"--seed",
		"1"}, auditFixture())}}
	var b bytes.Buffer
	if err := r.Print(&b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| a9a |  masked | disclosed |  bank | active party |   90 |               4 |        32 |       100.0 | 1e-05 |         0.5 |           |",
		"| a9a |  masked |     clean | telco |  tree parent |   90 |               1 |        32 |         0.1 |   0.5 |         0.5 |     100.0 |",
		"| a9a |  masked |  32 | disclosed |         0.25 |      clean |                        0.90 |         0.05 |     2.2 |",
		"    # a9a masked\n    hanse demo --json --quick --seed 1\n",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("got\n%s\nwant in it %s", b.String(), want)
		}
	}
}

func TestAuditNamesTheRunWithTheWrongVerdict(t *testing.T) {
	run := func(privacy string, v audit.Verdict) Result {
		return Result{Set: "w8a", Privacy: privacy, Command: "hanse demo", Report: &audit.Report{Verdict: v}}
	}
	good := []Result{run("masked", audit.Disclosed), run("published", audit.Leak), run("sealed", audit.Clean)}
	if err := judgeAudits(good); err != nil {
		t.Errorf("good verdicts: %v", err)
	}
	for _, c := range []struct {
		run  Result
		want string
	}{
		{run("masked", audit.Leak), "w8a masked: the audit's verdict is leak, want disclosed; repeat it with: hanse demo"},
		{run("masked", audit.Clean), "w8a masked: the audit's verdict is clean, want disclosed; repeat it with: hanse demo"},
		{run("masked", audit.Unverifiable), "w8a masked: the audit's verdict is unverifiable, want disclosed; repeat it with: hanse demo"},
		{run("sealed", audit.Disclosed), "w8a sealed: the audit's verdict is disclosed, want clean; repeat it with: hanse demo"},
		{run("published", audit.Disclosed), "w8a published: the audit's verdict is disclosed, want leak; repeat it with: hanse demo"},
	} {
		if err := judgeAudits(append(good[:3:3], c.run)); err == nil || err.Error() != c.want {
			t.Errorf("error is %v, want %s", err, c.want)
		}
	}
}

func TestExitCodesOfBadVerdictsAreResults(t *testing.T) {
	for _, c := range []struct {
		says string
		code int
		want audit.Verdict
		err  string
	}{
		{`{"audit": {"verdict": "disclosed"}}`, 0, audit.Disclosed, ""},
		{`{"audit": {"verdict": "leak"}}`, 3, audit.Leak, ""},
		{`{"audit": {"verdict": "unverifiable"}}`, 1, audit.Unverifiable, ""},
		{`{"audit": {"verdict": "disclosed"}}`, 1, "", "hanse demo --seed 1: exit status 1\nhanse: so it ends"},
		{``, 1, "", "hanse demo --seed 1: exit status 1\nhanse: so it ends"},
		{`{}`, 0, "", "hanse demo prints a result without an audit"},
		{`{`, 0, "", "hanse demo prints no result that can be read: unexpected end of JSON input"},
	} {
		r, err := auditedDemo(t.Context(), labtest.StandIn(t, c.says, c.code), "--seed", "1")
		if c.err == "" && (err != nil || r.Verdict != c.want) || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%s with code %d: got %v and error %v, want %s%s", c.says, c.code, r, err, c.want, c.err)
		}
	}
}
