package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/lab/labtest"
	"github.com/hanse-project/hanse/lab/regulariser"
)

// TestLambda compares what a job chooses with all candidates, on the small sets and on one of a folder: the figures
// fit together, and of noise the smallest lambda is not chosen, which would be far worse.
func TestLambda(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteTinySet(t, filepath.Join(dir, "phishing.gz"))
	var r regulariser.Report
	hanselab(t, &r, "lambda", "--data", dir, "--sets", "phishing", "--features", "64", "--json")
	if len(r.Runs) < 3 || r.Runs[len(r.Runs)-1].Set != "phishing" {
		t.Fatalf("got %+v", r)
	}
	for _, x := range r.Runs {
		at := slices.Index(x.Lambdas, x.Chosen)
		if at < 0 || len(x.Errors) != len(x.Lambdas) || x.Error != x.Errors[at] || x.Best != slices.Min(x.Errors) ||
			x.Before != x.Errors[len(x.Errors)-1] {
			t.Errorf("the figures do not fit together: %+v", x)
		}
		if x.Set == "mostly noise" && (at == len(x.Lambdas)-1 || x.Error > x.Before) {
			t.Errorf("of noise lambda %v is chosen, with the error %v; the smallest has %v", x.Chosen, x.Error, x.Before)
		}
	}
}
