package main

import (
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/lab/features"
	"github.com/hanse-project/hanse/lab/labtest"
)

// TestFeatures trains with few and many random features on the made sets and on one of a folder: the figures fit
// together, and more features do better on the ring.
func TestFeatures(t *testing.T) {
	dir := t.TempDir()
	labtest.WriteTinySet(t, filepath.Join(dir, "phishing.gz"))
	var r features.Report
	hanselab(t, &r, "features", "--data", dir, "--sets", "phishing", "--rows", "60,120", "--features", "256,8", "--seeds",
		"2", "--json")
	if len(r.Runs) != 12 || r.Loss != "square" {
		t.Fatalf("got %+v", r)
	}
	for i, x := range r.Runs {
		most := r.Runs[i/2*2+1]
		if x.Features != []int{8, 256}[i%2] || x.Rows != most.Rows || x.Worse-(x.Error-most.Error) > 1e-9 ||
			x.Error-most.Error-x.Worse > 1e-9 || (x.AUC == 0) != (x.Set == "six classes") || !(x.Seconds > 0) {
			t.Errorf("the figures do not fit together: %+v", x)
		}
		if x.Set == "a ring" && x.Features == 8 && !(x.Worse > 0) {
			t.Errorf("eight features of a ring are wrong for %v more of the rows than 256", x.Worse)
		}
	}
}
