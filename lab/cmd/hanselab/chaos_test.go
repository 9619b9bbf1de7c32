package main

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/lab/chaos"
)

// TestChaos kills a node of a masked training, once.
func TestChaos(t *testing.T) {
	dir := t.TempDir()
	p := builtProgram(t)
	var r chaos.Report
	hanselab(t, &r, "chaos", "--hanse", p.Path, "--kinds", "kill-masked", "--trials", "1", "--seed", "2",
		"--dir", filepath.Join(dir, "kept"), "--json")
	if len(r.Trials) != 1 || r.Trials[0].Verdict != chaos.Right || !strings.Contains(r.Trials[0].Fault, "killed") {
		t.Errorf("got %+v", r)
	}
}

func TestChaosCommandLines(t *testing.T) {
	for args, want := range map[string]string{
		"--trials 0":                 "--trials and --limit must be above 0",
		"--hanse hanse --kinds x,y":  `there is no kind "x"; there are control,`,
		"--hanse hanse --limit -1s ": "--trials and --limit must be above 0",
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), strings.Fields("hanselab chaos "+args), nil, &out, &said)
		if code != 1 || !strings.HasPrefix(said.String(), "hanselab: "+want) {
			t.Errorf("hanselab chaos %s: code %d, says %q, want %q", args, code, said.String(), want)
		}
	}
}
