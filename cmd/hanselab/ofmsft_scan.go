package main

import (
	"fmt"
	"io"
	"math"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// scanCases lists the cases of a scan of steps: no fine-tuning first.
func scanCases(c *cli.Context) ([]ofmsftCase, error) {
	if c.IsSet("step") || c.IsSet("update") || c.Bool("baselines") {
		return nil, fmt.Errorf("--scan goes with --steps, and without --step, --update and --baselines")
	}
	budget, steps := tableOne, c.Float64Slice("steps")
	if c.IsSet("budget") {
		budget = c.Float64("budget")
	}
	if len(steps) == 0 {
		steps = []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10}
	}
	cases := []ofmsftCase{{algorithm: ofmsFT, update: ofmsft.UpdateNone, budget: budget}}
	for _, s := range steps {
		if !(s > 0 && !math.IsInf(s, 0)) {
			return nil, fmt.Errorf("--steps has %v, want positive numbers", s)
		}
		cases = append(cases, ofmsftCase{algorithm: ofmsFT, update: ofmsft.UpdateEquation11, budget: budget, step: s})
	}
	return cases, nil
}

// bestStep returns the row with the best mean of those that fine-tune; nil if all diverged.
func bestStep(rows []ofmsftRow, largest bool) *ofmsftRow {
	var best *ofmsftRow
	for i, r := range rows {
		if r.Diverged == "" && r.Step > 0 && (best == nil || (r.Mean > best.Mean) == largest) {
			best = &rows[i]
		}
	}
	return best
}

// harm says whether a step does harm: it diverges if it at least doubles the errors of the last quarter. Where steps
// are clipped, nothing need become infinite.
func (r *ofmsftReport) harm(row, none ofmsftRow) string {
	perfect, sign := 0.0, 1.0
	if r.accuracy() {
		perfect, sign = 100, -1
	}
	switch before, after := sign*(none.Late-perfect), sign*(row.Late-perfect); {
	case after >= 2*before && row.Step > 0:
		return "diverges"
	case after > before:
		return "worse than none"
	}
	return ""
}

// printScan prints the score against the step.
func (r *ofmsftReport) printScan(w io.Writer) error {
	fmt.Fprintf(w, "%s by the step of equation 11: mean ± deviation over seeds (deviation over clients)\n\n", r.Unit)
	t := newTable("step", "ours", "against none", "last quarter", "against none", "clipped", "")
	none := r.Rows[0]
	for _, row := range r.Rows {
		name := "none"
		if row.Step > 0 {
			name = fmt.Sprintf("%g", row.Step)
		}
		if row.Diverged != "" {
			t.add(name, "", "", "", "", fmt.Sprint(row.Clipped), "diverges, "+row.Diverged)
			continue
		}
		t.add(name, row.text(), fmt.Sprintf("%+.2f", row.Mean-none.Mean), fmt.Sprintf("%.2f", row.Late), fmt.Sprintf("%+.2f", row.Late-none.Late), fmt.Sprint(row.Clipped), r.harm(row, none))
	}
	if err := t.write(w); err != nil {
		return err
	}
	if r.Best == nil {
		fmt.Fprintf(w, "\nevery step diverged\n")
		return nil
	}
	fmt.Fprintf(w, "\nbest step: %g, %.2f against %.2f without fine-tuning; a run uploads %.0f MB and downloads %.0f MB by the paper's model\n",
		r.Best.Step, r.Best.Mean, none.Mean, r.Best.Uploaded/1e6, r.Best.Downloaded/1e6)
	return nil
}
