//go:build long

package main

import (
	"testing"

	"github.com/hanse-project/hanse/lab/chaos"
	"github.com/hanse-project/hanse/lab/perf"
)

// TestChaosLong carries out three trials of each kind. What a kill leaves of a training must be right; of what other
// faults leave nothing may be silently wrong.
func TestChaosLong(t *testing.T) {
	dir := t.TempDir()
	p := builtProgram(t)
	firm := map[string]bool{"control": true, "kill-sealed": true, "kill-masked": true, "kill-published": true}
	report, err := chaos.Run(t.Context(), chaos.Options{
		Program: p.Path, Trials: 3, Seed: 1, Dir: dir, Limit: perf.ChaosLimit, Build: perf.BuildForChaos,
		Progress: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range report.Failures() {
		if firm[r.Kind] || r.Verdict == chaos.Silent {
			t.Errorf("%+v", r)
		}
	}
	if want := 3 * len(chaos.Kinds()); len(report.Trials) != want {
		t.Errorf("%d trials, want %d", len(report.Trials), want)
	}
}
