package ofmsft

import (
	"context"
	"fmt"
	"io"
	"math"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/table"
)

// scanCases lists the cases of a scan of steps: no fine-tuning first.
func scanCases(ctx context.Context, run lab.Run, o Options) ([]setting, error) {
	if run.Given("step") || run.Given("update") || o.Baselines {
		return nil, fmt.Errorf("--scan goes with --steps, and without --step, --update and --baselines")
	}
	budget, steps := tableOne, o.Steps
	if run.Given("budget") {
		budget = o.Budget
	}
	if len(steps) == 0 {
		steps = []float64{0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10}
	}
	cases := []setting{{algorithm: ofmsFT, update: ofmsft.UpdateNone, budget: budget}}
	for _, s := range steps {
		if !(s > 0 && !math.IsInf(s, 0)) {
			return nil, fmt.Errorf("--steps has %v, want positive numbers", s)
		}
		cases = append(cases, setting{algorithm: ofmsFT, update: ofmsft.UpdateEquation11, budget: budget, step: s})
	}
	return cases, nil
}

// bestStep returns the row with the best mean of those that fine-tune; nil if all diverged.
func bestStep(rows []Row, largest bool) *Row {
	var best *Row
	for i, r := range rows {
		if r.Diverged == "" && r.Step > 0 && (best == nil || (r.Mean > best.Mean) == largest) {
			best = &rows[i]
		}
	}
	return best
}

// harm says whether a step does harm: it diverges if it at least doubles the errors of the last quarter. Where steps
// are clipped, nothing need become infinite.
func (r *Report) harm(row, none Row) string {
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
func (r *Report) printScan(w io.Writer) error {
	fmt.Fprintf(w, "%s by the step of equation 11: mean ± deviation over seeds (deviation over clients)\n\n", r.Unit)
	t := table.New("step", "ours", "against none", "last quarter", "against none", "clipped", "")
	none := r.Rows[0]
	for _, row := range r.Rows {
		name := "none"
		if row.Step > 0 {
			name = fmt.Sprintf("%g", row.Step)
		}
		if row.Diverged != "" {
			t.Add(name, "", "", "", "", fmt.Sprint(row.Clipped), "diverges, "+row.Diverged)
			continue
		}
		t.Addf("%s|%s|%+.2f|%.2f|%+.2f|%v|%s", name, row.text(), row.Mean-none.Mean, row.Late, row.Late-none.Late,
			row.Clipped, r.harm(row, none))
	}
	if err := t.Write(w); err != nil {
		return err
	}
	if r.Best == nil {
		fmt.Fprintf(w, "\nevery step diverged\n")
		return nil
	}
	fmt.Fprintf(w, "\nbest step: %g, %.2f against %.2f without fine-tuning; a run uploads %.0f MB and downloads "+
		"%.0f MB by the paper's model\n",
		r.Best.Step, r.Best.Mean, none.Mean, r.Best.Uploaded/1e6, r.Best.Downloaded/1e6)
	return nil
}
