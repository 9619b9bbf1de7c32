package main

import (
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/regulariser"
)

// TestScores rounds the scores of a small set: models of all losses, with a kernel and as a scorecard; the finest grid
// that no score is beyond changes less than the coarsest.
func TestScores(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteTinySet(t, filepath.Join(dir, "phishing.gz"))
	var r regulariser.RoundReport
	hanselab(t, &r, "scores", "--data", dir, "--sets", "phishing", "--features", "64", "--json")
	if len(r.Runs) != 4 {
		t.Fatalf("got %d models, want 4", len(r.Runs))
	}
	for _, x := range r.Runs {
		coarse, fine := x.Grids[0], x.Grids[len(x.Grids)-1]
		if len(x.Figures) != 3 || x.Tested == 0 || fine.Bits <= coarse.Bits || fine.Range <= coarse.Range {
			t.Errorf("the figures do not fit together: %+v", x)
		}
		for _, g := range x.Grids {
			if (g.Beyond > 0) != (x.Largest >= float64(g.Range)) {
				t.Errorf("%s: %d scores beyond %d, the largest is %v", x.Model, g.Beyond, g.Range, x.Largest)
			}
		}
		if x.Largest < float64(fine.Range) && fine.Worst > 0.02 {
			t.Errorf("%s: rounding to %d bits changes a figure by %v", x.Model, fine.Bits, fine.Worst)
		}
	}
}
