package demo

import (
	"fmt"
	"path/filepath"
	"slices"

	"github.com/hanse-project/hanse/internal/wording"
)

// budgetResult is how well clients do with a budget, and without fine-tuning beside it. The job's own budget is
// the job's result; what is not the job ran in one process, in the clear.
type budgetResult struct {
	Budget            float64   `json:"budget"`
	Job               bool      `json:"job"`
	MSE               *float64  `json:"mse,omitempty"`    // x 1000, mean over clients
	MSESD             *float64  `json:"mse_sd,omitempty"` // x 1000, over clients
	Accuracy          *float64  `json:"accuracy,omitempty"`
	AccuracySD        *float64  `json:"accuracy_sd,omitempty"`
	Regret            float64   `json:"regret"`    // mean over clients
	RegretSD          float64   `json:"regret_sd"` // over clients
	Curve             []float64 `json:"curve_db,omitempty"`
	AccuracyCurve     []float64 `json:"curve_accuracy,omitempty"`
	RegretCurve       []float64 `json:"regret_curve"`
	UntunedMSE        *float64  `json:"untuned_mse,omitempty"`
	UntunedMSESD      *float64  `json:"untuned_mse_sd,omitempty"`
	UntunedAccuracy   *float64  `json:"untuned_accuracy,omitempty"`
	UntunedAccuracySD *float64  `json:"untuned_accuracy_sd,omitempty"`
	UntunedRegret     float64   `json:"untuned_regret"`

	tuned, untuned                          figure
	curve, untunedCurve, untunedRegretCurve []float64
}

// fixedResult is how well clients do with one network for all of them that stays as it is.
type fixedResult struct {
	Network         string   `json:"network"`       // the best in hindsight
	MSE             *float64 `json:"mse,omitempty"` // x 1000
	MSESD           *float64 `json:"mse_sd,omitempty"`
	AverageMSE      *float64 `json:"average_mse,omitempty"` // of all networks
	Accuracy        *float64 `json:"accuracy,omitempty"`
	AccuracySD      *float64 `json:"accuracy_sd,omitempty"`
	AverageAccuracy *float64 `json:"average_accuracy,omitempty"`

	best    figure
	average float64
}

// compareBudgets sets other budgets beside the job's, and networks that stay as they are.
func (d *clients) compareBudgets() error {
	d.steps.step("budgets", "the same streams with less and with more room for networks, in one process; and never "+
		"fine-tuned")
	f := d.selection.Fixed()
	r := &fixedResult{Network: f.Best, best: d.measure.figure(f.Error, f.SD), average: d.measure.figure(f.Average, 0).mean}
	d.measure.put(r.best, &r.MSE, &r.MSESD, &r.Accuracy, &r.AccuracySD)
	if d.measure.classes {
		r.AverageAccuracy = &r.average
	} else {
		r.AverageMSE = &r.average
	}
	d.result.Fixed = r
	for _, budget := range d.selection.Budgets() {
		b, err := d.atBudget(budget)
		if err != nil {
			return err
		}
		d.result.Budgets = append(d.result.Budgets, *b)
	}
	return nil
}

// atBudget judges a budget.
func (d *clients) atBudget(budget float64) (*budgetResult, error) {
	b, window := &budgetResult{Budget: budget, Job: budget == d.selection.Budget()}, curveWindow(d.result.Rounds)
	tuned := d.outcome
	if !b.Job {
		var err error
		if tuned, err = d.selection.Tuned(budget); err != nil {
			return nil, err
		}
	}
	untuned, err := d.selection.Untuned(budget)
	if err != nil {
		return nil, err
	}
	with, err := d.federation.Score(tuned)
	if err != nil {
		return nil, err
	}
	without, err := d.federation.Score(untuned)
	if err != nil {
		return nil, err
	}
	b.tuned, b.untuned = d.measure.of(with), d.measure.of(without)
	d.measure.put(b.tuned, &b.MSE, &b.MSESD, &b.Accuracy, &b.AccuracySD)
	d.measure.put(b.untuned, &b.UntunedMSE, &b.UntunedMSESD, &b.UntunedAccuracy, &b.UntunedAccuracySD)
	b.Regret, b.RegretSD, b.UntunedRegret = with.Regret, with.RegretSD, without.Regret
	b.curve, b.untunedCurve = d.measure.curve(with.Curve, window), d.measure.curve(without.Curve, window)
	d.measure.putCurve(b.curve, &b.Curve, &b.AccuracyCurve)
	b.RegretCurve, b.untunedRegretCurve = tuned.RegretCurve, untuned.RegretCurve
	return b, nil
}

// jobsBudget returns the result of the job's own budget; nil when there are none.
func (r *clientsResult) jobsBudget() *budgetResult {
	i := slices.IndexFunc(r.Budgets, func(b budgetResult) bool { return b.Job })
	if i < 0 {
		return nil
	}
	return &r.Budgets[i]
}

// printBudgets prints a line for each budget.
func (d *clients) printBudgets() error {
	if len(d.result.Budgets) == 0 {
		return nil
	}
	w := wording.NewTable(d.Out, "")
	fmt.Fprintf(w, "\nbudget\tfine-tuned, %[1]s\tregret\tnever fine-tuned, %[1]s\tregret\t\n", d.measure.unit)
	for _, b := range d.result.Budgets {
		where := "in one process"
		if b.Job {
			where = "the job"
		}
		fmt.Fprintf(w, "%.4g\t%s\t%+.2f\t%s\t%+.2f\t%s\n", b.Budget, b.tuned, b.Regret, b.untuned, b.UntunedRegret, where)
	}
	return w.Flush()
}

// untunedColour is that of what is never fine-tuned.
const untunedColour = "#d98e04"

// drawBudgets draws the curves of budgets into a demo's folder.
func (r *clientsResult) drawBudgets(dir string) error {
	if len(r.Budgets) == 0 {
		return nil
	}
	var errors, regrets []curve
	for i, b := range r.Budgets {
		name, colour := fmt.Sprintf("budget %.4g", b.Budget), []string{"#7fb2e5", "#1b5e9b", "#0b2545"}[i] // the least first
		if b.Job {
			name += ", the job"
		}
		errors, regrets = append(errors, curve{name, colour, b.curve}), append(regrets, curve{name, colour, b.RegretCurve})
	}
	if b := r.jobsBudget(); b != nil {
		name := fmt.Sprintf("budget %.4g, never tuned", b.Budget)
		errors, regrets = append(errors, curve{name, untunedColour, b.untunedCurve}),
			append(regrets, curve{name, untunedColour, b.untunedRegretCurve})
	}
	if err := writeCurves(filepath.Join(dir, "budgets.svg"), r.measure.drawing, errors); err != nil {
		return err
	}
	return writeCurves(filepath.Join(dir, "regret.svg"),
		drawing{"regret against the best network as it was at first", ""}, regrets)
}
