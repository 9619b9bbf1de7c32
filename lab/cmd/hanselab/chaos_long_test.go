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
	p := builtProgram(t)
	tried := 0
	for name, kinds := range map[string][]string{
		"kills":   {"control", "kill-sealed", "kill-masked", "kill-published"},
		"between": {"kill-predict", "kill-consent", "kill-clients"},
		"lines":   {"stop", "cut", "descriptors"},
		"disks":   {"disk", "clock", "rot"},
	} {
		tried += len(kinds)
		t.Run(name, func(t *testing.T) {
			report, err := chaos.Run(t.Context(), chaos.Options{
				Program: p.Path, Kinds: kinds, Trials: 3, Seed: 1, Dir: t.TempDir(), Limit: perf.ChaosLimit,
				Build: perf.BuildForChaos, Progress: func(line string) { t.Log(line) },
			})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range report.Failures() {
				if name == "kills" || r.Verdict == chaos.Silent {
					t.Errorf("%+v", r)
				}
			}
			if want := 3 * len(kinds); len(report.Trials) != want {
				t.Errorf("%d trials, want %d", len(report.Trials), want)
			}
		})
	}
	if all := len(chaos.Kinds()); tried != all {
		t.Errorf("%d kinds are tried, there are %d", tried, all)
	}
}
