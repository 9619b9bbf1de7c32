// Package ofmsft repeats the experiments of the OFMS-FT paper: its tables 1 to 5, its figure 1, and its theorems'
// bounds.
package ofmsft

import (
	"context"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/papers/pofmkl"
	"github.com/hanse-project/hanse/lab/table"
)

// Report is what the command prints with --json.
type Report struct {
	Machine       string  `json:"machine"`
	Set           string  `json:"set"`
	Unit          string  `json:"unit"` // of scores: mean, sd_over_clients and so on
	Clients       int     `json:"clients"`
	Rounds        int     `json:"rounds"`
	Seeds         int     `json:"seeds"`
	Window        int     `json:"window"`
	WarmUp        int     `json:"warm_up"`
	PerUpload     int     `json:"rounds_per_upload"`
	MaxImportance float64 `json:"max_importance"`
	Bandwidth     float64 `json:"bandwidth"`
	InputNorm     float64 `json:"input_norm"`
	LabelLow      float64 `json:"label_low,omitempty"`
	LabelHigh     float64 `json:"label_high,omitempty"`
	AsPaper       bool    `json:"as_paper"` // but for budgets, updates and seeds
	Seconds       float64 `json:"seconds"`
	Rows          []Row   `json:"rows"`
	Scan          bool    `json:"scan"`
	Best          *Row    `json:"best_step,omitempty"` // of a scan
	Hindsight     int     `json:"hindsight_epochs,omitempty"`
	Radius        float64 `json:"largest_square_norm,omitempty"` // R of the bounds
	Moved         float64 `json:"largest_square_distance,omitempty"`
	Gradient      float64 `json:"largest_gradient_norm,omitempty"` // G of the bounds
}

// Options are the choices of Run.
type Options struct {
	Set             string
	Data            string
	Models          string
	Budget          float64
	Update          string
	Baselines       bool
	Only            []string
	Mixed           bool
	Bounds          bool
	Hindsight       int
	Times           bool
	Seeds           int
	Clients         int
	Rounds          int
	RoundsPerUpload int
	Step            float64
	Window          int
	MaxImportance   float64
	WarmUp          int
	Bandwidth       float64
	InputNorm       float64
	Scan            bool
	Steps           []float64
	Processes       bool
	Dir             string
}

// Run repeats the experiments on one set.
func Run(ctx context.Context, run lab.Run, o Options) error {
	if o.Processes {
		return runProcesses(ctx, run, o)
	}
	cases, err := casesOf(ctx, run, o)
	if err != nil {
		return err
	}
	set, err := ReadSet(o.Set, o.Data, o.Models)
	if err != nil {
		return err
	}
	bench, err := newBench(ctx, run, o, set)
	if err != nil {
		return err
	}
	report, err := bench.measure(ctx, cases)
	if err != nil {
		return err
	}
	return run.Report(report)
}

// casesOf reads what to run from the command line.
func casesOf(ctx context.Context, run lab.Run, o Options) ([]setting, error) {
	budgets, updates, baselines := []float64{2, tableOne, 10}, append(tunings(), updateOwn), tableOne
	if run.Given("budget") {
		budgets, baselines = []float64{o.Budget}, o.Budget
	}
	if u := o.Update; run.Given("update") {
		if !slices.Contains(updates, u) {
			return nil, fmt.Errorf("--update is %q, want equation-11, in-place, none or own", u)
		}
		updates = []string{u}
	}
	switch several := o.RoundsPerUpload > 1; {
	case run.Given("baselines") && o.Baselines && several:
		return nil, fmt.Errorf("--rounds-per-upload is %d with --baselines, which know 1 alone", o.RoundsPerUpload)
	case several, run.Given("baselines") && !o.Baselines, !run.Given("baselines") && (run.Given("budget") ||
		run.Given("update")):
		baselines = 0
	}
	if err := checkNumbers(ctx, run, o); err != nil {
		return nil, err
	}
	if o.Scan {
		return scanCases(ctx, run, o)
	}
	switch {
	case o.Times:
		for _, name := range []string{"budget", "update", "baselines", "scan", "step", "mixed", "bounds"} {
			if run.Given(name) {
				return nil, fmt.Errorf("--times has the cases of table 5, want it without --%s", name)
			}
		}
		return onlyCases([]setting{
			{algorithm: ofmsMAB, update: ofmsft.UpdateNone, budget: tableOne},
			{algorithm: nonFedOMS, update: ofmsft.UpdateNone, budget: tableOne},
			{algorithm: fedOMD, update: updateOwn, budget: tableOne},
			{algorithm: pofmkl.PerFedAvg, update: updateOwn, budget: tableOne},
			{algorithm: ofmsFT, update: ofmsft.UpdateInPlace, budget: tableOne},
			{algorithm: ofmsFT, update: ofmsft.UpdateInPlace, budget: 2},
		}, o.Only)
	case o.Mixed:
		return mixedCases(ctx, run, o)
	case o.Bounds:
		return boundCases(ctx, run, o)
	}
	cases, err := onlyCases(settingsOf(budgets, updates, baselines), o.Only)
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("--update %s is for baselines, want --baselines with it", updateOwn)
	}
	for i := range cases {
		if cases[i].update != ofmsft.UpdateNone && cases[i].update != updateOwn {
			cases[i].step = o.Step
		}
	}
	return cases, nil
}

// checkNumbers checks the numbers that do not depend on the set.
func checkNumbers(ctx context.Context, run lab.Run, o Options) error {
	if t := o.Rounds; t < 1 || t > Rounds {
		return fmt.Errorf("--rounds is %d, want 1 to %d", t, Rounds)
	}
	for _, f := range []lab.Flag{lab.Number("seeds", o.Seeds), lab.Number("clients", o.Clients),
		lab.Number("window", o.Window), lab.Number("rounds-per-upload", o.RoundsPerUpload)} {
		if err := lab.AtLeast(1, f); run.Given(f.Name) && err != nil {
			return err
		}
	}
	if err := lab.AtLeast(0, lab.Number("warm-up", o.WarmUp)); err != nil {
		return err
	}
	for _, f := range []struct {
		flag  string
		value float64
	}{{"budget", o.Budget}, {"step", o.Step}, {"bandwidth", o.Bandwidth}, {"input-norm", o.InputNorm}} {
		if run.Given(f.flag) && !(f.value > 0 && !math.IsInf(f.value, 0)) {
			return fmt.Errorf("--%s is %v, want a positive number", f.flag, f.value)
		}
	}
	return nil
}

// newBench sets a lab up by the command line.
func newBench(ctx context.Context, run lab.Run, o Options, set *Set) (*bench, error) {
	if run.Given("clients") {
		if err := set.keep(o.Clients); err != nil {
			return nil, err
		}
	}
	if run.Given("window") {
		set.window = o.Window
	}
	if run.Given("bandwidth") {
		set.bandwidth = o.Bandwidth
	}
	if run.Given("input-norm") {
		set.Live.Norm = o.InputNorm
	}
	epochs := 0
	if o.Bounds {
		epochs = o.Hindsight
	}
	workers := runtime.GOMAXPROCS(0)
	if o.Times {
		workers = 1
	}
	return &bench{
		set: set, log: run.Log, workers: workers, scanning: o.Scan,
		options: choices{
			rounds: o.Rounds, perUpload: o.RoundsPerUpload, window: set.window, warmUp: o.WarmUp,
			seeds: o.Seeds, maxImportance: o.MaxImportance, bandwidth: set.bandwidth,
			regret: !o.Scan && !o.Times, paper: asPaper(ctx, run, o), times: o.Times, hindsight: epochs,
		},
	}, nil
}

// asPaper reports whether the set-up is the paper's, but for budgets, updates and seeds.
func asPaper(ctx context.Context, run lab.Run, o Options) bool {
	for _, name := range []string{"clients", "rounds", "rounds-per-upload", "step", "window", "max-importance",
		"warm-up", "bandwidth", "input-norm"} {
		if run.Given(name) {
			return false
		}
	}
	return true
}

// measure runs all cases and sums them up.
func (l *bench) measure(ctx context.Context, cases []setting) (*Report, error) {
	start, o := time.Now(), l.options
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	runs, err := l.runAll(ctx, cases)
	if err != nil {
		return nil, err
	}
	r := &Report{
		Machine: lab.Machine(), Set: l.set.name, Unit: l.set.unit(), Clients: len(l.set.Labels),
		Rounds: o.rounds, Seeds: o.seeds,
		Window: o.window, WarmUp: o.warmUp, PerUpload: o.perUpload, MaxImportance: o.maxImportance, Bandwidth: o.bandwidth,
		InputNorm: l.set.Live.Norm, LabelLow: l.set.Low, LabelHigh: l.set.High, Scan: l.scanning, AsPaper: o.paper,
	}
	for i, c := range cases {
		r.Rows = append(r.Rows, l.row(c, runs[i]))
	}
	if o.hindsight > 0 {
		best, err := l.findRivals(ctx, o.hindsight)
		if err != nil {
			return nil, err
		}
		r.Hindsight, r.Radius, r.Moved, r.Gradient = o.hindsight, best.radius, best.moved, best.gradient
		for i, c := range cases {
			if r.Rows[i].Bound, err = l.bound(c, runs[i], best); err != nil {
				return nil, err
			}
		}
	}
	if l.scanning {
		r.Best = bestStep(r.Rows, l.set.classes > 0)
	}
	r.Seconds = time.Since(start).Seconds()
	return r, nil
}

// accuracy reports whether scores are accuracies.
func (r *Report) accuracy() bool { return r.Set == setMNIST || r.Set == setCIFAR }

// Print prints the report for people.
func (r *Report) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\n%s: %d clients, %d rounds, %d seeds, window %d, steps from round %d on, cap %g, E = %g "+
		"of all budgets, inputs over %.1f, %.0f s\n",
		r.Machine, r.Set, r.Clients, r.Rounds, r.Seeds, r.Window, r.WarmUp+1, r.MaxImportance,
		r.Bandwidth, r.InputNorm, r.Seconds)
	if r.Scan {
		return r.printScan(w)
	}
	fmt.Fprintf(w, "%s: mean ± deviation over seeds (deviation over clients)\n", r.Unit)
	if !r.AsPaper {
		fmt.Fprintf(w, "the set-up is not the paper's: its figures are not of these runs\n")
	}
	fmt.Fprintln(w)
	if err := scoreTable(r.Rows).Write(w); err != nil {
		return err
	}
	if r.Rows[0].Timed != nil {
		fmt.Fprintf(w, "\ntable 5: processor seconds of a client over all rounds; theirs are by the clock of "+
			"another machine\n\n")
		return timesTable(r.Rows).Write(w)
	}
	if r.Hindsight > 0 {
		// Prints the regrets beside the bounds.
		fmt.Fprintf(w, "\nregret of a client (equation 1) and of the server in fine-tuning a network (equation 3),\nbeside "+
			"theorems 1 (n = 1) and 3; R = %.0f and G = %.1f are what was seen, %d epochs of hindsight;\nthe last bound "+
			"has the distance from the networks' start, %.2g, in place of R\n\n", r.Radius, r.Gradient, r.Hindsight, r.Moved)
		t := table.New("B", "n", "mu", "alpha", "client", "bound", "server, mean", "least to most", "bound", "from start")
		for _, row := range r.Rows {
			b := row.Bound
			t.Addf("%g|%v|%g|%v|%.2f|%.0f|%.2f|%.2f to %.2f|%.2g|%.2g", row.Budget, row.PerUpload, b.Clusters,
				b.Groups, b.Regret.Mean, b.RegretBound, b.Server.Mean, b.ServerLeast, b.ServerMost, b.ServerBound, b.StartBound)
		}
		return t.Write(w)
	}
	fmt.Fprintf(w, "\nregret of a client: mean ± deviation over seeds\n\n")
	return regretTable(r.Rows).Write(w)
}
