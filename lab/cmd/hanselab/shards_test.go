package main

import (
	"testing"

	"github.com/hanse-project/hanse/lab/perf/sharding"
)

// TestShards measures small jobs in shards: masked ones come to the same coefficients and scores, or the command would
// fail; sealed ones to scores that are nearly the same, with one worker of a party at a time.
func TestShards(t *testing.T) {
	p := builtProgram(t)
	for name, args := range map[string][]string{
		"masked": {"--privacy", "masked"},
		"sealed": {"--privacy", "sealed", "--steps", "20", "--parallel", "1"},
	} {
		t.Run(name, func(t *testing.T) {
			var r sharding.Report
			hanselab(t, &r, append([]string{"shards", "--rows", "9000", "--shards", "2", "--features", "256", "--predict",
				"--hanse", p.Path, "--json"}, args...)...)
			if len(r.Runs) != 4 || r.Rows != 9000 {
				t.Fatalf("%d runs of %d rows, want a training and a prediction without shards and in shards: %+v", len(r.Runs),
					r.Rows, r)
			}
			for i, one := range r.Runs {
				rows, shards, bytes := 9000, 2*(i/2), int64(1000)
				if i%2 == 1 {
					rows, shards = 3000, i/2
				}
				if one.Rows != rows || one.Shards != shards || one.Seconds <= 0 || one.InRows < 0 || len(one.Sides) != 4 {
					t.Errorf("got %+v, want %d rows in %d shards", one, rows, shards)
				}
				for _, s := range one.Sides {
					worked := shards > 0
					if s.NodePeak < 1<<20 || s.NodeCPU <= 0 || (s.WorkerCPU > 0) != worked || (s.WorkerPeak > 1<<20) != worked ||
						(s.WorkerBytes > bytes) != worked || (s.WorkerIn > bytes) != worked {
						t.Errorf("%s with %d shards, %s: got %+v", one.Task, shards, s.Role, s)
					}
				}
				if i%2 == 1 && (one.Error > 0.3 || one.RMS > 0.02 || one.Flips > 30) {
					t.Errorf("%d shards: %.3f of the classes are wrong, %d are others than without shards, scores differ by %g",
						shards, one.Error, one.Flips, one.RMS)
				}
				if name == "masked" && !one.Same {
					t.Errorf("%s with %d shards is not what it is without", one.Task, shards)
				}
			}
		})
	}
}
