//go:build long

package main

import (
	"math"
	"path/filepath"
	"testing"

	"github.com/hanse-project/hanse/internal/testnet/needs"
	"github.com/hanse-project/hanse/lab/papers/ofmsft"
)

// TestAirSelectionComesToTheTable compares selection without fine-tuning, and its order, with earlier runs; seeds
// differ by 0.07.
func TestAirSelectionComesToTheTable(t *testing.T) {
	dir := filepath.Dir(needs.Data(t, "ofmsft-models"))
	var r ofmsft.Report
	hanselab(t, &r, "ofmsft", "--set", "air", "--data", dir, "--seeds", "3", "--update", "none", "--json")
	if len(r.Rows) != 3 {
		t.Fatalf("%d rows", len(r.Rows))
	}
	for i, row := range r.Rows {
		if math.Abs(row.Mean-row.Spec.Value) > 0.2 {
			t.Errorf("B = %g: %.2f, want about %.2f", row.Budget, row.Mean, row.Spec.Value)
		}
		if i > 0 && row.Regret.Mean > r.Rows[i-1].Regret.Mean {
			t.Errorf("B = %g: regret %.3f is above that of B = %g, %.3f", row.Budget, row.Regret.Mean,
				r.Rows[i-1].Budget, r.Rows[i-1].Regret.Mean)
		}
	}
}

// TestAirInPlaceComesToThePapersFigure has one seed at budget 2.
func TestAirInPlaceComesToThePapersFigure(t *testing.T) {
	dir := filepath.Dir(needs.Data(t, "ofmsft-models"))
	var r ofmsft.Report
	hanselab(t, &r, "ofmsft", "--set", "air", "--data", dir, "--seeds", "1", "--budget", "2", "--update",
		"in-place", "--json")
	if row := r.Rows[0]; math.Abs(row.Mean-row.Paper.Value) > 0.3 || math.Abs(row.Spread-row.Paper.Deviation) > 0.5 {
		t.Errorf("%.2f (%.2f), want about %.2f (%.2f)", row.Mean, row.Spread, row.Paper.Value, row.Paper.Deviation)
	}
}
