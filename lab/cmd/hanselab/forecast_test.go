package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/perf/forecasts"
)

// TestForecasts runs alignments and a masked training and prediction of processes: each has a forecast of seconds, and
// the bytes of all parties, over TLS, are those that were forecast. A short job's seconds are another matter.
func TestForecasts(t *testing.T) {
	dir := t.TempDir()
	p := builtProgram(t)
	labtest.WriteTinySet(t, filepath.Join(dir, "phishing.gz"))
	var r forecasts.Report
	hanselab(t, &r, "forecast", "--data", dir, "--sets", "phishing", "--privacy", "masked", "--features", "32",
		"--people", "0", "--align", "200", "--hanse", p.Path, "--json")
	if len(r.Runs) != 4 {
		t.Fatalf("%d runs, want two alignments, a training and a prediction: %+v", len(r.Runs), r.Runs)
	}
	for _, one := range r.Runs {
		if one.Seconds <= 0 || one.Forecast <= 0 || math.Abs(one.BytesOff) > 0.01 {
			t.Errorf("got %+v, want a forecast of seconds, and bytes within 1 %%", one)
		}
	}
}
