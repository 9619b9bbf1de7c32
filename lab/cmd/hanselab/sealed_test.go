package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/perf/sealed"
)

// TestSealed measures a tiny set, once on fast and once on slowed links: the sealed scores are those of the same
// steps in floating point, or of the true optimum, and bytes are those of the formulas.
func TestSealed(t *testing.T) {
	dir := t.TempDir()
	p := builtProgram(t)
	labtest.WriteTinySet(t, filepath.Join(dir, "phishing.gz"))
	for name, c := range map[string]struct {
		args   []string
		within float64
		slow   bool
	}{
		"square":     {[]string{"--ring", "64", "--steps", "20", "--repeat", "2"}, 0.02, false},
		"logistic":   {[]string{"--ring", "64", "--steps", "20", "--loss", "logistic", "--outer", "24"}, 0.5, false},
		"scorecard":  {[]string{"--bins", "5", "--loss", "logistic"}, 0.05, false},
		"slow links": {[]string{"--ring", "64", "--steps", "20", "--mbit", "100", "--delay", "1ms"}, 0.02, true},
	} {
		t.Run(name, func(t *testing.T) {
			var r sealed.Report
			hanselab(t, &r, slices.Concat([]string{"sealed", "--data", dir, "--sets", "phishing", "--features",
				"32", "--hanse", p.Path, "--json"}, c.args)...)
			if len(r.Runs) != 1 {
				t.Fatalf("%d runs, want 1", len(r.Runs))
			}
			s := r.Runs[0]
			off, alone := s.RMS, s.Bins > 0 // a scorecard has its true optimum beside it, and nothing else
			if alone {
				off = s.ExactRMS
			}
			if s.Rows != 90 || s.Tested != 30 || !(off < c.within) || s.Seconds <= 0 || (s.MaskedSeconds > 0) == alone ||
				(s.ClearSeconds > 0) == alone {
				t.Errorf("got %+v", s)
			}
			if s.Payload != s.Formula || s.ScorePayload != s.ScoreFormula || s.Bytes <= s.Payload {
				t.Errorf("%d bytes under masks of %d in training and %d in scoring, want %d and %d", s.Payload,
					s.Bytes, s.ScorePayload, s.Formula, s.ScoreFormula)
			}
			if c.slow != (s.Proxied >= s.Bytes) {
				t.Errorf("%d bytes went over slowed links, of %d", s.Proxied, s.Bytes)
			}
		})
	}
}
