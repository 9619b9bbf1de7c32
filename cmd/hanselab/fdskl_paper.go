package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/hanse-project/hanse/internal/lab/fdsklpaper"
	"github.com/hanse-project/hanse/internal/lab/rivals"
)

// The parts of fdskl-paper, by the names that --figures takes.
const (
	paperFigure3 = "3"
	paperFigure4 = "4"
	paperFigure5 = "5"
	paperFigure6 = "6"
	paperTable4  = "table4"
	paperBound   = "bound"
)

// paperParts lists all parts.
func paperParts() []string {
	return []string{paperFigure3, paperFigure4, paperFigure5, paperFigure6, paperTable4, paperBound}
}

// fdsklPaperCommand repeats the experiments of the FDSKL paper.
func fdsklPaperCommand() *cli.Command {
	return &cli.Command{
		Name:  "fdskl-paper",
		Usage: "the FDSKL paper's figures 3 to 6, its table 4 and its theorem's bound",
		Description: `FDSKL's own schedule with a tuned constant step and this program's "fixed", beside
doubly stochastic gradients in one place (DSG), LIBSVM, PP-SVMV, FD-SVRG and boosted
trees for SecureBoost. Figure 3: error against time. Figure 4: tree, star and ring.
Figure 5: time against rows. Figure 6: errors over splits. Table 4: times, four parties
over TLS. bound: Theorem 4 beside runs. Times are processor seconds of all parties.

Sets of the paper that are not in the folder are named and left out; a file such as
cod-rna.gz, in LIBSVM format, is taken when it is there. LIBSVM's line needs svm-train.
All of it takes an hour or two on one quiet core; --quick a minute or two.

   hanselab fdskl-paper --data ../shared/data --quick
   hanselab fdskl-paper --data ../shared/data --splits 3 --plot docs
   hanselab fdskl-paper --data ../shared/data --figures 4,bound --plot docs
   hanselab fdskl-paper --data ../shared/data --figures 6 --sets phishing --json > one.json
   hanselab fdskl-paper --reports one.json,two.json --plot docs`,
		Flags: []cli.Flag{
			&cli.StringFlag{Name: "data", Usage: "`FOLDER` with the data sets"},
			&cli.StringSliceFlag{Name: "reports", Usage: "measure nothing: print and draw what runs with --json wrote to " +
				"these `FILES`"},
			&cli.StringSliceFlag{Name: "sets", Usage: "`SETS` to measure",
				DefaultText: "those of the paper's ten that are there"},
			&cli.StringSliceFlag{Name: "figures", Value: cli.NewStringSlice(paperParts()...), Usage: "`PARTS` to repeat"},
			&cli.StringSliceFlag{Name: "methods", Usage: "`METHODS` of figures 3 and 6, by their names there",
				DefaultText: "all"},
			&cli.Float64Flag{Name: "sigma", Usage: "kernel width `SIGMA` of all methods", DefaultText: "the set's own"},
			&cli.IntFlag{Name: "splits", Value: 10, Usage: "`N` splits of each set in figure 6"},
			&cli.IntFlag{Name: "iterations", Value: 512, Usage: "`T` of FDSKL's own schedule and of DSG"},
			&cli.IntFlag{Name: "batch", Value: 64, Usage: "`B` rows an iteration"},
			&cli.IntFlag{Name: "block", Value: 32, Usage: "`R` new features an iteration"},
			&cli.IntFlag{Name: "rows", Value: 50_000, Usage: "at most `N` rows of a set, drawn by the seed"},
			&cli.IntFlag{Name: "memory", Value: 512, Usage: "at most `MB` for PP-SVMV's kernel matrix"},
			&cli.BoolFlag{Name: "quick", Usage: "2 splits, 64 iterations, 512 features, at most 4000 rows: to see that it runs"},
			&cli.BoolFlag{Name: "json", Usage: "print one JSON object on standard output"},
			&cli.StringFlag{Name: "plot", Usage: "draw fdskl-errors, fdskl-shapes and more, SVG and PNG, in this `FOLDER`"},
		},
		Action: runFDSKLPaper,
	}
}

// fdsklPaperReport is what the command prints with --json.
type fdsklPaperReport struct {
	Machine    string                 `json:"machine"`
	Iterations int                    `json:"iterations"`
	Batch      int                    `json:"batch"`
	Block      int                    `json:"block_features"`
	Absent     []string               `json:"absent"` // sets of the paper that are not in the folder
	Figure3    []*fdsklpaper.Figure3  `json:"figure_3,omitempty"`
	Figure4    *fdsklpaper.Figure4    `json:"figure_4,omitempty"`
	Figure5    []*fdsklpaper.Growth   `json:"figure_5,omitempty"`
	Figure6    []*fdsklpaper.Figure6  `json:"figure_6,omitempty"`
	Table4     []*fdsklpaper.Table4   `json:"table_4,omitempty"`
	Bound      *fdsklpaper.Bounds     `json:"theorem_4,omitempty"`
	Published  []fdsklpaper.Published `json:"published"`
}

// paperSizes are what --quick makes smaller.
type paperSizes struct {
	splits      int
	growth      []int // rows of figure 5, beside all
	shapeRows   int
	nodes       []int
	repeat      int
	boundRuns   int
	boundLength int
}

// runFDSKLPaper repeats what was asked for, or reads what was measured before.
func runFDSKLPaper(c *cli.Context) error {
	var report *fdsklPaperReport
	var err error
	if files := c.StringSlice("reports"); len(files) > 0 {
		report, err = readPaperReports(files)
	} else {
		report, err = measurePaper(c)
	}
	if err != nil {
		return err
	}
	if folder := c.String("plot"); folder != "" {
		if err := drawFDSKLPaper(folder, report); err != nil {
			return err
		}
	}
	if c.Bool("json") {
		return json.NewEncoder(c.App.Writer).Encode(report)
	}
	return report.print(c.App.Writer)
}

// readPaperReports joins reports of runs with the same sizes. Of a figure that has all sets in one the last counts.
func readPaperReports(files []string) (*fdsklPaperReport, error) {
	var all *fdsklPaperReport
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r := &fdsklPaperReport{}
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("%s is no report of fdskl-paper --json: %w", path, err)
		}
		if all == nil {
			all = r
			continue
		}
		if r.Iterations != all.Iterations || r.Batch != all.Batch || r.Block != all.Block {
			return nil, fmt.Errorf("%s was made with %d iterations of %d rows and %d features, %s with %d, %d and %d: such "+
				"figures do not stand side by side",
				path, r.Iterations, r.Batch, r.Block, files[0], all.Iterations, all.Batch, all.Block)
		}
		all.Figure3, all.Figure5 = append(all.Figure3, r.Figure3...), append(all.Figure5, r.Figure5...)
		all.Figure6, all.Table4 = append(all.Figure6, r.Figure6...), append(all.Table4, r.Table4...)
		all.Figure4, all.Bound = cmp.Or(r.Figure4, all.Figure4), cmp.Or(r.Bound, all.Bound)
	}
	return all, nil
}

// measurePaper repeats what was asked for.
func measurePaper(c *cli.Context) (_ *fdsklPaperReport, err error) {
	for _, name := range []string{"splits", "iterations", "batch", "block", "rows", "memory"} {
		if c.Int(name) < 1 {
			return nil, fmt.Errorf("--%s is %d, want at least 1", name, c.Int(name))
		}
	}
	for flag, known := range map[string][]string{"figures": paperParts(), "methods": fdsklpaper.Methods()} {
		for _, name := range c.StringSlice(flag) {
			if !slices.Contains(known, name) {
				return nil, fmt.Errorf("--%s has %q, want some of %s", flag, name, strings.Join(known, ", "))
			}
		}
	}
	if c.String("data") == "" {
		return nil, errors.New("--data FOLDER is missing, with the data sets in it; or --reports FILES, of earlier runs")
	}
	sets, absent, err := choosePaperSets(c.StringSlice("sets"), c.String("data"))
	if err != nil {
		return nil, err
	}
	if sigma := c.Float64("sigma"); c.IsSet("sigma") {
		if !(sigma > 0) || math.IsInf(sigma, 0) {
			return nil, fmt.Errorf("--sigma is %v, want a positive number", sigma)
		}
		for i := range sets {
			sets[i].Sigma, sets[i].Gamma = sigma, 0
		}
	}
	dir, remove, err := workDir()
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, remove()) }()
	lab := &fdsklpaper.Lab{
		Iterations: c.Int("iterations"), Batch: c.Int("batch"), Block: c.Int("block"), Rows: c.Int("rows"),
		Memory: int64(c.Int("memory")) << 20, Trees: 200, Only: c.StringSlice("methods"), CPU: processCPU,
		Log: c.App.ErrWriter, Work: dir,
	}
	sizes := paperSizes{splits: c.Int("splits"), growth: []int{1000, 2000, 4000, 8000, 16_000}, shapeRows: 1000,
		nodes: []int{4, 8, 16}, repeat: 3, boundRuns: 20, boundLength: 2048}
	if c.Bool("quick") {
		sizes = paperSizes{splits: min(2, sizes.splits), growth: []int{500, 1000}, shapeRows: 200, nodes: []int{4, 8},
			repeat: 1, boundRuns: 5, boundLength: 256}
		lab.Iterations, lab.Rows, lab.Trees = min(64, lab.Iterations), min(4000, lab.Rows), 50
		for i := range sets {
			sets[i].D = min(512, sets[i].D)
		}
	}
	if err := rivals.CheckLIBSVM(); err != nil {
		fmt.Fprintf(c.App.ErrWriter, "without LIBSVM: %v\n", err)
	} else {
		lab.SVM = true
	}
	report := &fdsklPaperReport{Machine: machine(), Iterations: lab.Iterations, Batch: lab.Batch, Block: lab.Block,
		Absent: absent, Published: fdsklpaper.PublishedSets()}
	return report, report.measure(c.Context, lab, sets, c.StringSlice("figures"), sizes)
}

// measure repeats the chosen parts on the sets.
func (r *fdsklPaperReport) measure(
	ctx context.Context, lab *fdsklpaper.Lab, sets []fdsklpaper.Set, parts []string, sizes paperSizes,
) error {
	has := func(part string) bool { return slices.Contains(parts, part) }
	var err error
	if has(paperFigure4) {
		if r.Figure4, err = lab.Figure4(ctx, sets[0], sizes.shapeRows, sizes.nodes, sizes.repeat); err != nil {
			return err
		}
	}
	if has(paperBound) {
		if r.Bound, err = lab.Theorem4(ctx, sets[0], 200, sizes.boundRuns, sizes.boundLength); err != nil {
			return err
		}
	}
	for _, s := range sets {
		if err := r.measureSet(ctx, lab, s, has, sizes); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// measureSet repeats the parts that each set has. All use the steps that the set was tuned to.
func (r *fdsklPaperReport) measureSet(
	ctx context.Context, lab *fdsklpaper.Lab, s fdsklpaper.Set, has func(string) bool, sizes paperSizes,
) error {
	if !has(paperFigure3) && !has(paperFigure5) && !has(paperFigure6) && !has(paperTable4) {
		return nil
	}
	steps, err := lab.Tune(ctx, s)
	if err != nil {
		return err
	}
	if has(paperFigure3) {
		f, err := lab.Figure3(ctx, s, steps)
		if err != nil {
			return err
		}
		r.Figure3 = append(r.Figure3, f)
	}
	if has(paperFigure5) {
		g, err := lab.Figure5(ctx, s, sizes.growth, steps)
		if err != nil {
			return err
		}
		r.Figure5 = append(r.Figure5, g)
	}
	if has(paperFigure6) {
		f, err := lab.Figure6(ctx, s, steps, sizes.splits)
		if err != nil {
			return err
		}
		r.Figure6 = append(r.Figure6, f)
	}
	if has(paperTable4) {
		t, err := lab.Table4(ctx, s, steps)
		if err != nil {
			return err
		}
		r.Table4 = append(r.Table4, t)
	}
	return nil
}

// choosePaperSets finds the named sets in a folder, or all of the paper's that are there, and names those that are not.
func choosePaperSets(names []string, folder string) (sets []fdsklpaper.Set, absent []string, err error) {
	asked := len(names) > 0
	if !asked {
		for _, p := range fdsklpaper.PublishedSets() {
			names = append(names, p.Set)
		}
	}
	for _, name := range names {
		s, ok := findPaperSet(name, folder)
		switch {
		case ok:
			sets = append(sets, s)
		case asked:
			return nil, nil, fmt.Errorf("set %q is not in %s: want a file such as %s.gz, in LIBSVM format", name, folder, name)
		default:
			absent = append(absent, name)
		}
	}
	if len(sets) == 0 {
		return nil, nil, fmt.Errorf("none of the paper's sets is in %s: want a file such as phishing.gz, in LIBSVM format",
			folder)
	}
	return sets, absent, nil
}

// findPaperSet finds one set, with the settings that other measurements have, if they have any.
func findPaperSet(name, folder string) (fdsklpaper.Set, bool) {
	i := slices.IndexFunc(benchmarkSets(), func(s benchmarkSet) bool { return s.name == name })
	if i < 0 {
		return fdsklpaper.Find(folder, name)
	}
	chosen, err := chooseSets([]string{name}, folder)
	if err != nil {
		return fdsklpaper.Set{}, false
	}
	s := chosen[0]
	for _, path := range s.files {
		if _, err := os.Stat(path); err != nil {
			return fdsklpaper.Set{}, false
		}
	}
	return fdsklpaper.Set{Name: s.name, Files: s.files, Label: s.label, Scale: s.scale, Loss: s.loss, D: s.features,
		Sigma: s.sigma, Lambda: s.lambda, Gamma: s.gamma}, true
}

// print prints the report for people.
func (r *fdsklPaperReport) print(w io.Writer) error {
	fmt.Fprintf(w, "%s\nFDSKL and DSG: %d iterations of %d rows and %d features; times are processor seconds of all "+
		"parties but where they are by the clock\n", r.Machine, r.Iterations, r.Batch, r.Block)
	if len(r.Absent) > 0 {
		fmt.Fprintf(w, "not in the folder: %s\n", strings.Join(r.Absent, ", "))
	}
	for _, s := range r.sections() {
		fmt.Fprintf(w, "\n%s\n\n", s.title)
		if err := s.table.write(w); err != nil {
			return err
		}
		for _, note := range s.notes {
			fmt.Fprintln(w, note)
		}
	}
	return nil
}
