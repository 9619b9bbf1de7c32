package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// ofmsftCommand repeats the experiments of the OFMS-FT paper.
func ofmsftCommand() *cli.Command {
	return &cli.Command{
		Name:  "ofmsft",
		Usage: "errors, accuracies and regrets of OFMS-FT and its baselines, beside the paper's",
		Description: `Repeats tables 1 to 5 and figure 1 of the OFMS-FT paper in one process, in the clear,
with pre-trained networks: budgets 2, 5 and 10 with each update, and every baseline at
budget 5. Those of air and mnist are published; those of wec and cifar10 are not, so that
these sets want a folder of yours. The paper's figures on Air come from clients that fine-tune one shared network in
place, one after another; equation 11, which divides by the number of clients, hardly
moves it at the paper's step. --scan looks for a step that does.

   hanselab ofmsft --set air --data ../shared/data --seeds 3 --plot docs
   hanselab ofmsft --set mnist --data ../shared/data --update none --baselines --json
   hanselab ofmsft --set air --data ../shared/data --scan --budget 5 --seeds 1
   hanselab ofmsft --set air --data ../shared/data --mixed --update none
   hanselab ofmsft --set air --data ../shared/data --times --clients 20 --seeds 1
   hanselab ofmsft --set air --data ../shared/data --bounds --seeds 1 --plot docs
   hanselab ofmsft --set cifar10 --data ../shared/data --models mine/cifar10 --update none`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "set", Required: true, Usage: "the `SET` to learn: air, mnist, wec or cifar10"},
			&cli.StringFlag{Name: "data", Required: true, Usage: "`FOLDER` with the data sets and ofmsft-models"},
			&cli.StringFlag{Name: "models",
				Usage: "`FOLDER` with pre-trained networks as .safetensors (default: ofmsft-models/SET in --data)"},
			&cli.Float64Flag{Name: "budget", Usage: "`B` of every client (default: 2, 5 and 10)"},
			&cli.StringFlag{Name: "update", Usage: "`RULE` of fine-tuning: equation-11, in-place, none; own is that of Fed-OMD and PerFedAvg (default: all)"},
			&cli.BoolFlag{Name: "baselines", Usage: "run the baselines too (default: if neither --budget nor --update is given)"},
			&cli.StringSliceFlag{Name: "only",
				Usage: "run these `ALGORITHMS` alone, as the tables name them: OFMS-FT, MAB and so on"},
			&cli.BoolFlag{Name: "mixed", Usage: "table 2: 60, 50 and 40 % of the clients with a budget of 3, all others with 5"},
			&cli.BoolFlag{Name: "bounds",
				Usage: "regrets of clients and server by equations 1 and 3, below the bounds of theorems 1 and 3"},
			&cli.IntFlag{Name: "hindsight", Value: 10,
				Usage: "`N` epochs over all rows that look for the best network in hindsight, for --bounds"},
			&cli.BoolFlag{Name: "times",
				Usage: "table 5: processor seconds of a client, one run after another, every network as it is"},
			&cli.IntFlag{Name: "seeds", Value: 3, Usage: "`N` seeds of all draws"},
			&cli.IntFlag{Name: "clients", Usage: "`N` of the set's clients (default: all)"},
			&cli.IntFlag{Name: "rounds", Value: ofmsftRounds, Usage: "`T` rounds, at most 200"},
			&cli.IntFlag{Name: "rounds-per-upload", Value: 1, Usage: "`N` rounds between uploads; the baselines know 1 alone"},
			&cli.Float64Flag{Name: "step", Usage: "`ETA` of the networks (default: 0.001/sqrt(T))"},
			&cli.IntFlag{Name: "window", Usage: "`N` newest rows of a step (default: 51 for air, 50 for mnist)"},
			&cli.Float64Flag{Name: "max-importance", Value: ofmsftCap, Usage: "cap of 1/q in a step; 0 for none"},
			&cli.IntFlag{Name: "warm-up", Value: ofmsftWarm, Usage: "`N` rounds before the first step"},
			&cli.Float64Flag{Name: "bandwidth", Usage: "E as a `PART` of all budgets (default: 0.5 for air, 1.1 for mnist)"},
			&cli.Float64Flag{Name: "input-norm", Usage: "divide inputs by this `NUMBER` (default: the largest norm for air, 255 for mnist)"},
			&cli.BoolFlag{Name: "scan", Usage: "run equation 11 with the steps of --steps at one budget, 5 by default, beside no fine-tuning"},
			&cli.Float64SliceFlag{Name: "steps", Usage: "steps of --scan (default: 0.001, 0.003, 0.01 and so on to 10)"},
			&cli.StringFlag{Name: "plot", Usage: "draw ofmsft-SET.svg and .png in this `FOLDER`, or ofmsft-SET-steps"},
			leagueFlag(), leagueDirFlag(), programFlag(),
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
		},
		Action: runOFMSFT,
	}
}

// ofmsftReport is what the command prints with --json.
type ofmsftReport struct {
	Machine       string      `json:"machine"`
	Set           string      `json:"set"`
	Unit          string      `json:"unit"` // of scores: mean, sd_over_clients and so on
	Clients       int         `json:"clients"`
	Rounds        int         `json:"rounds"`
	Seeds         int         `json:"seeds"`
	Window        int         `json:"window"`
	WarmUp        int         `json:"warm_up"`
	PerUpload     int         `json:"rounds_per_upload"`
	MaxImportance float64     `json:"max_importance"`
	Bandwidth     float64     `json:"bandwidth"`
	InputNorm     float64     `json:"input_norm"`
	LabelLow      float64     `json:"label_low,omitempty"`
	LabelHigh     float64     `json:"label_high,omitempty"`
	AsPaper       bool        `json:"as_paper"` // but for budgets, updates and seeds
	Seconds       float64     `json:"seconds"`
	Rows          []ofmsftRow `json:"rows"`
	Scan          bool        `json:"scan"`
	Best          *ofmsftRow  `json:"best_step,omitempty"` // of a scan
	Hindsight     int         `json:"hindsight_epochs,omitempty"`
	Radius        float64     `json:"largest_square_norm,omitempty"` // R of the bounds
	Moved         float64     `json:"largest_square_distance,omitempty"`
	Gradient      float64     `json:"largest_gradient_norm,omitempty"` // G of the bounds
}

// runOFMSFT repeats the experiments on one set.
func runOFMSFT(c *cli.Context) error {
	if c.Bool("league") {
		return runOFMSFTLeague(c)
	}
	cases, err := casesOf(c)
	if err != nil {
		return err
	}
	set, err := readOFMSFTSet(c.String("set"), c.String("data"), c.String("models"))
	if err != nil {
		return err
	}
	lab, err := newOFMSFTLab(c, set)
	if err != nil {
		return err
	}
	report, err := lab.measure(c.Context, cases)
	if err != nil {
		return err
	}
	if folder := c.String("plot"); folder != "" {
		if err := drawOFMSFT(folder, report); err != nil {
			return err
		}
	}
	return report.print(c.App.Writer, c.Bool("json"))
}

// casesOf reads what to run from the command line.
func casesOf(c *cli.Context) ([]ofmsftCase, error) {
	budgets, updates, baselines := []float64{2, tableOne, 10}, append(tunings(), updateOwn), tableOne
	if c.IsSet("budget") {
		budgets, baselines = []float64{c.Float64("budget")}, c.Float64("budget")
	}
	if u := c.String("update"); c.IsSet("update") {
		if !slices.Contains(updates, u) {
			return nil, fmt.Errorf("--update is %q, want equation-11, in-place, none or own", u)
		}
		updates = []string{u}
	}
	switch several := c.Int("rounds-per-upload") > 1; {
	case c.IsSet("baselines") && c.Bool("baselines") && several:
		return nil, fmt.Errorf("--rounds-per-upload is %d with --baselines, which know 1 alone", c.Int("rounds-per-upload"))
	case several, c.IsSet("baselines") && !c.Bool("baselines"), !c.IsSet("baselines") && (c.IsSet("budget") || c.IsSet("update")):
		baselines = 0
	}
	if err := checkOFMSFTNumbers(c); err != nil {
		return nil, err
	}
	if c.Bool("scan") {
		return scanCases(c)
	}
	switch {
	case c.Bool("times"):
		return timedCases(c)
	case c.Bool("mixed"):
		return mixedCases(c)
	case c.Bool("bounds"):
		return boundCases(c)
	}
	cases, err := onlyCases(ofmsftCases(budgets, updates, baselines), c.StringSlice("only"))
	if err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, fmt.Errorf("--update %s is for baselines, want --baselines with it", updateOwn)
	}
	for i := range cases {
		if cases[i].update != ofmsft.UpdateNone && cases[i].update != updateOwn {
			cases[i].step = c.Float64("step")
		}
	}
	return cases, nil
}

// checkOFMSFTNumbers checks the numbers that do not depend on the set.
func checkOFMSFTNumbers(c *cli.Context) error {
	if t := c.Int("rounds"); t < 1 || t > ofmsftRounds {
		return fmt.Errorf("--rounds is %d, want 1 to %d", t, ofmsftRounds)
	}
	for _, name := range []string{"seeds", "clients", "window", "rounds-per-upload"} {
		if n := c.Int(name); c.IsSet(name) && n < 1 {
			return fmt.Errorf("--%s is %d, want at least 1", name, n)
		}
	}
	if n := c.Int("warm-up"); n < 0 {
		return fmt.Errorf("--warm-up is %d, want at least 0", n)
	}
	for _, name := range []string{"budget", "step", "bandwidth", "input-norm"} {
		if v := c.Float64(name); c.IsSet(name) && !(v > 0 && !math.IsInf(v, 0)) {
			return fmt.Errorf("--%s is %v, want a positive number", name, v)
		}
	}
	return nil
}

// newOFMSFTLab sets a lab up by the command line.
func newOFMSFTLab(c *cli.Context, set *ofmsftSet) (*ofmsftLab, error) {
	if c.IsSet("clients") {
		if err := set.keep(c.Int("clients")); err != nil {
			return nil, err
		}
	}
	if c.IsSet("window") {
		set.window = c.Int("window")
	}
	if c.IsSet("bandwidth") {
		set.bandwidth = c.Float64("bandwidth")
	}
	if c.IsSet("input-norm") {
		set.live.norm = c.Float64("input-norm")
	}
	epochs := 0
	if c.Bool("bounds") {
		epochs = c.Int("hindsight")
	}
	workers := runtime.GOMAXPROCS(0)
	if c.Bool("times") {
		workers = 1
	}
	return &ofmsftLab{
		set: set, log: c.App.ErrWriter, workers: workers, scanning: c.Bool("scan"),
		options: ofmsftOptions{
			rounds: c.Int("rounds"), perUpload: c.Int("rounds-per-upload"), window: set.window, warmUp: c.Int("warm-up"),
			seeds: c.Int("seeds"), maxImportance: c.Float64("max-importance"), bandwidth: set.bandwidth,
			regret: !c.Bool("scan") && !c.Bool("times"), paper: asPaper(c), times: c.Bool("times"), hindsight: epochs,
		},
	}, nil
}

// asPaper reports whether the set-up is the paper's, but for budgets, updates and seeds.
func asPaper(c *cli.Context) bool {
	for _, name := range []string{"clients", "rounds", "rounds-per-upload", "step", "window", "max-importance", "warm-up", "bandwidth", "input-norm"} {
		if c.IsSet(name) {
			return false
		}
	}
	return true
}

// measure runs all cases and sums them up.
func (l *ofmsftLab) measure(ctx context.Context, cases []ofmsftCase) (*ofmsftReport, error) {
	start, o := time.Now(), l.options
	if err := l.prepare(ctx); err != nil {
		return nil, err
	}
	runs, err := l.runAll(ctx, cases)
	if err != nil {
		return nil, err
	}
	r := &ofmsftReport{
		Machine: machine(), Set: l.set.name, Unit: l.set.unit(), Clients: len(l.set.labels), Rounds: o.rounds, Seeds: o.seeds,
		Window: o.window, WarmUp: o.warmUp, PerUpload: o.perUpload, MaxImportance: o.maxImportance, Bandwidth: o.bandwidth,
		InputNorm: l.set.live.norm, LabelLow: l.set.low, LabelHigh: l.set.high, Scan: l.scanning, AsPaper: o.paper,
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
func (r *ofmsftReport) accuracy() bool { return r.Set == setMNIST || r.Set == setCIFAR }

// print prints the report for people or for programs.
func (r *ofmsftReport) print(w io.Writer, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(w).Encode(r)
	}
	fmt.Fprintf(w, "%s\n%s: %d clients, %d rounds, %d seeds, window %d, steps from round %d on, cap %g, E = %g of all budgets, inputs over %.1f, %.0f s\n",
		r.Machine, r.Set, r.Clients, r.Rounds, r.Seeds, r.Window, r.WarmUp+1, r.MaxImportance, r.Bandwidth, r.InputNorm, r.Seconds)
	if r.Scan {
		return r.printScan(w)
	}
	fmt.Fprintf(w, "%s: mean ± deviation over seeds (deviation over clients)\n", r.Unit)
	if !r.AsPaper {
		fmt.Fprintf(w, "the set-up is not the paper's: its figures are not of these runs\n")
	}
	fmt.Fprintln(w)
	if err := ofmsftTable(r.Rows).write(w); err != nil {
		return err
	}
	if r.Rows[0].Timed != nil {
		fmt.Fprintf(w, "\ntable 5: processor seconds of a client over all rounds; theirs are by the clock of another machine\n\n")
		return ofmsftTimesTable(r.Rows).write(w)
	}
	if r.Hindsight > 0 {
		return r.printBounds(w)
	}
	fmt.Fprintf(w, "\nregret of a client: mean ± deviation over seeds\n\n")
	return ofmsftRegretTable(r.Rows).write(w)
}
