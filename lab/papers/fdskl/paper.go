package fdskl

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

	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
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

// PaperParts lists all parts.
func PaperParts() []string {
	return []string{paperFigure3, paperFigure4, paperFigure5, paperFigure6, paperTable4, paperBound}
}

// PaperReport is what the command prints with --json.
type PaperReport struct {
	Machine    string      `json:"machine"`
	Iterations int         `json:"iterations"`
	Batch      int         `json:"batch"`
	Block      int         `json:"block_features"`
	Absent     []string    `json:"absent"` // sets of the paper that are not in the folder
	Figure3    []*Figure3  `json:"figure_3,omitempty"`
	Figure4    *Figure4    `json:"figure_4,omitempty"`
	Figure5    []*Growth   `json:"figure_5,omitempty"`
	Figure6    []*Figure6  `json:"figure_6,omitempty"`
	Table4     []*Table4   `json:"table_4,omitempty"`
	Bound      *Bounds     `json:"theorem_4,omitempty"`
	Published  []Published `json:"published"`
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

// PaperOptions are the choices of RunPaper.
type PaperOptions struct {
	Data       string
	Reports    []string
	Sets       []string
	Figures    []string
	Methods    []string
	Sigma      float64
	Splits     int
	Iterations int
	Batch      int
	Block      int
	Rows       int
	Memory     int
	Quick      bool
}

// RunPaper repeats what was asked for, or reads what was measured before.
func RunPaper(ctx context.Context, run lab.Run, o PaperOptions) error {
	var report *PaperReport
	var err error
	if files := o.Reports; len(files) > 0 {
		report, err = readPaperReports(files)
	} else {
		report, err = measurePaper(ctx, run, o)
	}
	if err != nil {
		return err
	}
	return run.Report(report)
}

// someOf refuses names that are not known.
func someOf(flag string, names, known []string) error {
	for _, name := range names {
		if !slices.Contains(known, name) {
			return fmt.Errorf("--%s has %q, want some of %s", flag, name, strings.Join(known, ", "))
		}
	}
	return nil
}

// readPaperReports joins reports of runs with the same sizes. Of a figure that has all sets in one the last counts.
func readPaperReports(files []string) (*PaperReport, error) {
	var all *PaperReport
	for _, path := range files {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		r := &PaperReport{}
		if err := json.Unmarshal(text, r); err != nil {
			return nil, fmt.Errorf("%s is no report of fdskl-paper --json: %w", path, err)
		}
		if all == nil {
			all = r
			continue
		}
		if r.Iterations != all.Iterations || r.Batch != all.Batch || r.Block != all.Block {
			return nil, fmt.Errorf("%s was made with %d iterations of %d rows and %d features, %s with %d, %d "+
				"and %d: such "+
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
func measurePaper(ctx context.Context, run lab.Run, o PaperOptions) (*PaperReport, error) {
	err := lab.AtLeast(1, lab.Number("splits", o.Splits), lab.Number("iterations", o.Iterations),
		lab.Number("batch", o.Batch),
		lab.Number("block", o.Block), lab.Number("rows", o.Rows), lab.Number("memory", o.Memory))
	if err == nil {
		err = someOf("figures", o.Figures, PaperParts())
	}
	if err == nil {
		err = someOf("methods", o.Methods, Methods())
	}
	if err != nil {
		return nil, err
	}
	if o.Data == "" {
		return nil, errors.New("--data FOLDER is missing, with the data sets in it; or --reports FILES, of " +
			"earlier runs")
	}
	chosen, absent, err := choosePaperSets(o.Sets, o.Data)
	if err != nil {
		return nil, err
	}
	if sigma := o.Sigma; run.Given("sigma") {
		if !(sigma > 0) || math.IsInf(sigma, 0) {
			return nil, fmt.Errorf("--sigma is %v, want a positive number", sigma)
		}
		for i := range chosen {
			chosen[i].Sigma, chosen[i].Gamma = sigma, 0
		}
	}
	bench := &Lab{
		Iterations: o.Iterations, Batch: o.Batch, Block: o.Block, Rows: o.Rows,
		Memory: int64(o.Memory) << 20, Trees: 200, Only: o.Methods, CPU: lab.CPU,
		Log: run.Log,
	}
	sizes := paperSizes{splits: o.Splits, growth: []int{1000, 2000, 4000, 8000, 16_000}, shapeRows: 1000,
		nodes: []int{4, 8, 16}, repeat: 3, boundRuns: 20, boundLength: 2048}
	if o.Quick {
		sizes = paperSizes{splits: min(2, sizes.splits), growth: []int{500, 1000}, shapeRows: 200, nodes: []int{4, 8},
			repeat: 1, boundRuns: 5, boundLength: 256}
		bench.Iterations, bench.Rows, bench.Trees = min(64, bench.Iterations), min(4000, bench.Rows), 50
		for i := range chosen {
			chosen[i].Features = min(512, chosen[i].Features)
		}
	}
	if err := rivals.CheckLIBSVM(); err != nil {
		fmt.Fprintf(run.Log, "without LIBSVM: %v\n", err)
	} else {
		bench.SVM = true
	}
	report := &PaperReport{Machine: lab.Machine(), Iterations: bench.Iterations, Batch: bench.Batch,
		Block:  bench.Block,
		Absent: absent, Published: PublishedSets()}
	return report, lab.InFolder(func(dir string) error {
		bench.Work = dir
		for i := range chosen {
			if err := chosen[i].Prepare(dir, 0); err != nil {
				return fmt.Errorf("%s: %w", chosen[i].Name, err)
			}
		}
		return report.measure(ctx, bench, chosen, o.Figures, sizes)
	})
}

// measure repeats the chosen parts on the sets.
func (r *PaperReport) measure(
	ctx context.Context, bench *Lab, chosen []sets.Benchmark, parts []string, sizes paperSizes,
) error {
	has := func(part string) bool { return slices.Contains(parts, part) }
	var err error
	if has(paperFigure4) {
		if r.Figure4, err = bench.Figure4(ctx, chosen[0], sizes.shapeRows, sizes.nodes, sizes.repeat); err != nil {
			return err
		}
	}
	if has(paperBound) {
		if r.Bound, err = bench.Theorem4(ctx, chosen[0], 200, sizes.boundRuns, sizes.boundLength); err != nil {
			return err
		}
	}
	for _, s := range chosen {
		if err := r.measureSet(ctx, bench, s, has, sizes); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}

// measureSet repeats the parts that each set has. All use the steps that the set was tuned to.
func (r *PaperReport) measureSet(
	ctx context.Context, bench *Lab, s sets.Benchmark, has func(string) bool, sizes paperSizes,
) error {
	if !has(paperFigure3) && !has(paperFigure5) && !has(paperFigure6) && !has(paperTable4) {
		return nil
	}
	steps, err := bench.Tune(ctx, s)
	if err != nil {
		return err
	}
	if has(paperFigure3) {
		f, err := bench.Figure3(ctx, s, steps)
		if err != nil {
			return err
		}
		r.Figure3 = append(r.Figure3, f)
	}
	if has(paperFigure5) {
		g, err := bench.Figure5(ctx, s, sizes.growth, steps)
		if err != nil {
			return err
		}
		r.Figure5 = append(r.Figure5, g)
	}
	if has(paperFigure6) {
		f, err := bench.Figure6(ctx, s, steps, sizes.splits)
		if err != nil {
			return err
		}
		r.Figure6 = append(r.Figure6, f)
	}
	if has(paperTable4) {
		t, err := bench.Table4(ctx, s, steps)
		if err != nil {
			return err
		}
		r.Table4 = append(r.Table4, t)
	}
	return nil
}

// choosePaperSets returns the named sets, or those of the paper's that are there and the names of the others.
func choosePaperSets(names []string, folder string) (chosen []sets.Benchmark, absent []string, err error) {
	asked := len(names) > 0
	if !asked {
		for _, p := range PublishedSets() {
			names = append(names, p.Set)
		}
	}
	for _, name := range names {
		s, err := sets.Any(name, folder)
		switch {
		case err == nil:
			chosen = append(chosen, s)
		case asked:
			return nil, nil, fmt.Errorf("set %q is not in %s: want a file such as %s.gz, in LIBSVM format", name, folder,
				name)
		default:
			absent = append(absent, name)
		}
	}
	if len(chosen) == 0 {
		return nil, nil, fmt.Errorf("none of the paper's sets is in %s: want a file such as phishing.gz, "+
			"in LIBSVM format", folder)
	}
	return chosen, absent, nil
}

// Print prints the report for people.
func (r *PaperReport) Print(w io.Writer) error {
	fmt.Fprintf(w, "%s\nFDSKL and DSG: %d iterations of %d rows and %d features; times are processor seconds of all "+
		"parties but where they are by the clock\n", r.Machine, r.Iterations, r.Batch, r.Block)
	if len(r.Absent) > 0 {
		fmt.Fprintf(w, "not in the folder: %s\n", strings.Join(r.Absent, ", "))
	}
	for _, s := range r.sections() {
		fmt.Fprintf(w, "\n%s\n\n", s.title)
		if err := s.table.Write(w); err != nil {
			return err
		}
		for _, note := range s.notes {
			fmt.Fprintln(w, note)
		}
	}
	return nil
}
