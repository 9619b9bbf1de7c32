package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/audit"
	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/perf/audits"
)

func TestAuditFindsThePublishedLeakOnly(t *testing.T) {
	dir := t.TempDir()
	p := builtProgram(t)
	labtest.WriteSet(t, filepath.Join(dir, "phishing.gz"),
		160) // three quarters are trained on, and a regression wants a hundred
	var r audits.Report
	hanselab(t, &r, "audit", "--data", dir, "--sets", "phishing", "--published-features", "32", "--sealed-features",
		"64", "--hanse", p.Path, "--json")
	if len(r.Runs) != 3 {
		t.Fatalf("%d runs, want 3", len(r.Runs))
	}
	masked, published, sealed := r.Runs[0], r.Runs[1], r.Runs[2]
	if sealed.Privacy != "sealed" || sealed.Features != 64 || sealed.Report.Verdict != audit.Clean ||
		sealed.MaskReuse != audit.Clean || sealed.KnownActive != nil {
		t.Errorf("sealed: %+v", sealed)
	}
	if masked.Privacy != "masked" || masked.Features != 2048 || masked.Report.Verdict != audit.Disclosed ||
		masked.MaskReuse != audit.Clean || masked.Uniformity == nil {
		t.Errorf("masked: %+v", masked)
	}
	if published.Privacy != "published" || published.Features != 32 || published.Report.Verdict != audit.Leak ||
		published.MaskReuse == audit.Leak || published.Uniformity != nil {
		t.Errorf("published: %+v", published)
	}
	if want := "hanse demo --json --quick --data " + filepath.Join(dir,
		"phishing.gz") + " --parties 4 --privacy published"; !strings.HasPrefix(published.Command, want) {
		t.Errorf("command is %q, want it to begin with %q", published.Command, want)
	}
}

func TestWrongAuditCommandLines(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteTinySet(t, filepath.Join(dir, "phishing.gz"))
	for args, want := range map[string]string{
		"--sets a9a,adult":                       `there is no set "adult"; there are a9a, defaultcredit, phishing, w8a, ijcnn1`,
		"--published-features 0":                 "--published-features is 0, want at least 1",
		"--sealed-features -1":                   "--sealed-features is -1, want 0 or more",
		"--sets phishing --hanse " + dir + "/no": "phishing: hanse demo --data",
		"--clients --rounds 3":                   "--rounds is 3, want at least 20",
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), append([]string{"hanselab", "audit", "--data", dir}, strings.Fields(args)...), nil,
			&out,
			&said)
		if code != 1 || !strings.HasPrefix(said.String(), "hanselab: "+want) || out.Len() > 0 {
			t.Errorf("audit %s: code %d, says %q, want %q", args, code, said.String(), want)
		}
	}
}
