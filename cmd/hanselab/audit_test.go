package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit"
)

func TestAuditFindsThePublishedLeakOnly(t *testing.T) {
	dir := t.TempDir()
	p, err := findProgram(t.Context(), "", dir)
	if err != nil {
		t.Fatal(err)
	}
	writeSet(t, filepath.Join(dir, "phishing.gz"), 160) // three quarters are trained on, and a regression wants a hundred
	var r auditReport
	lab(t, &r, "audit", "--data", dir, "--sets", "phishing", "--published-features", "32", "--sealed-features", "64", "--hanse", p.path, "--json")
	if len(r.Runs) != 3 {
		t.Fatalf("%d runs, want 3", len(r.Runs))
	}
	masked, published, sealed := r.Runs[0], r.Runs[1], r.Runs[2]
	if sealed.Privacy != "sealed" || sealed.Features != 64 || sealed.Report.Verdict != audit.Clean || sealed.MaskReuse != audit.Clean || sealed.KnownActive != nil {
		t.Errorf("sealed: %+v", sealed)
	}
	if masked.Privacy != "masked" || masked.Features != 2048 || masked.Report.Verdict != audit.Disclosed || masked.MaskReuse != audit.Clean || masked.Uniformity == nil {
		t.Errorf("masked: %+v", masked)
	}
	if published.Privacy != "published" || published.Features != 32 || published.Report.Verdict != audit.Leak || published.MaskReuse == audit.Leak || published.Uniformity != nil {
		t.Errorf("published: %+v", published)
	}
	if want := "hanse demo --json --quick --data " + filepath.Join(dir, "phishing.gz") + " --parties 4 --privacy published"; !strings.HasPrefix(published.Command, want) {
		t.Errorf("command is %q, want it to begin with %q", published.Command, want)
	}
}

// auditFixture is a report with attacks of all names.
func auditFixture() *audit.Report {
	v := func(x float64) *float64 { return &x }
	return &audit.Report{Verdict: audit.Disclosed, Seconds: 2.25, Attacks: []audit.Attack{
		{Name: "difference", Party: "bank", View: "active party", Rows: 90, UnknownColumns: 4, Equations: 32, RecoveredShare: v(1), RMS: v(1e-5), ControlRMS: v(0.5), Verdict: audit.Disclosed},
		{Name: "difference", Party: "telco", View: "tree parent", Rows: 90, UnknownColumns: 1, Equations: 32, RecoveredShare: v(0.001), RMS: v(0.5), ControlRMS: v(0.5), ControlShare: v(1), Verdict: audit.Clean},
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
	if *run.Uniformity != 0.25 || *run.KnownActive != 0.9 || *run.KnownParents != 0.05 || run.MaskReuse != audit.Clean {
		t.Errorf("got p %v, R2 %v and %v, reuse %s", *run.Uniformity, *run.KnownActive, *run.KnownParents, run.MaskReuse)
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
	r := auditReport{Machine: "a machine", Parties: 4, Runs: []auditRun{newAuditRun("a9a", "masked", 32, []string{"--seed", "1"}, auditFixture())}}
	var b bytes.Buffer
	if err := r.print(&b, false); err != nil {
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
	run := func(privacy string, v audit.Verdict) auditRun {
		return auditRun{Set: "w8a", Privacy: privacy, Command: "hanse demo", Report: &audit.Report{Verdict: v}}
	}
	good := []auditRun{run("masked", audit.Disclosed), run("published", audit.Leak), run("sealed", audit.Clean)}
	if err := judgeAudits(good); err != nil {
		t.Errorf("good verdicts: %v", err)
	}
	for _, c := range []struct {
		run  auditRun
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

// standIn writes a program that prints a text and exits with a code.
func standIn(t *testing.T, says string, code int) *program {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the stand-in for hanse is a shell script")
	}
	path := filepath.Join(t.TempDir(), "hanse")
	script := fmt.Sprintf("#!/bin/sh\necho '%s'\necho 'hanse: so it ends' >&2\nexit %d\n", says, code)
	if err := os.WriteFile(path, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return &program{path}
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
		r, err := standIn(t, c.says, c.code).auditedDemo(t.Context(), "--seed", "1")
		if c.err == "" && (err != nil || r.Verdict != c.want) || c.err != "" && (err == nil || err.Error() != c.err) {
			t.Errorf("%s with code %d: got %v and error %v, want %s%s", c.says, c.code, r, err, c.want, c.err)
		}
	}
}

func TestWrongAuditCommandLines(t *testing.T) {
	dir := t.TempDir()
	writeTinySet(t, filepath.Join(dir, "phishing.gz"))
	for args, want := range map[string]string{
		"--sets a9a,adult":                       `there is no set "adult"; there are a9a, defaultcredit, phishing, w8a, ijcnn1`,
		"--published-features 0":                 "--published-features is 0, want at least 1",
		"--sealed-features -1":                   "--sealed-features is -1, want 0 or more",
		"--sets phishing --hanse " + dir + "/no": "phishing: hanse demo --data",
		"--clients --rounds 3":                   "--rounds is 3, want at least 20",
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"hanselab", "audit", "--data", dir}, strings.Fields(args)...), nil, &out,
			&said)
		if code != 1 || !strings.HasPrefix(said.String(), "hanselab: "+want) || out.Len() > 0 {
			t.Errorf("audit %s: code %d, says %q, want %q", args, code, said.String(), want)
		}
	}
}
