package regulariser

import (
	"cmp"
	"context"
	"encoding/csv"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/trial"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/floatsteps"
	"github.com/hanse-project/hanse/lab/sets"
	"github.com/hanse-project/hanse/lab/table"
)

// RoundOptions are the choices of Round.
type RoundOptions struct {
	Data     string
	Sets     []string
	Features int
	Rows     int
	Draws    int
}

// RoundReport is what the command prints with --json.
type RoundReport struct {
	Runs []Rounded `json:"runs"`
}

// Rounded is one model's test scores, rounded to a grid as what opens of a sealed job is. Figures of classes are AUC,
// the share of wrong ones and the largest distance of the two classes' distributions (KS); that of a number is the root
// mean squared error, in deviations. Changes are those of the rounded scores, the mean of several draws of dithers.
type Rounded struct {
	Set     string    `json:"set"`
	Model   string    `json:"model"`
	Tested  int       `json:"tested"`
	Largest float64   `json:"largest"` // magnitude of a score
	Figures []float64 `json:"figures"` // unrounded
	Grids   []Grid    `json:"grids"`
}

// Grid is how scores are rounded, and what becomes of the figures.
type Grid struct {
	Bits    int       `json:"bits"`  // behind the point
	Range   int       `json:"range"` // scores are right below it
	Beyond  int       `json:"beyond"`
	Changes []float64 `json:"changes"`
	Worst   float64   `json:"worst"` // the largest magnitude of a change
}

// The grids that are looked at.
var (
	roundBits   = []int{3, 4, 5, 6}
	roundRanges = []int{4, 8, 16}
)

// Print implements lab.Report.
func (r *RoundReport) Print(w io.Writer) error {
	head := []string{"set", "model", "figures", "largest"}
	for _, most := range roundRanges {
		for _, b := range roundBits {
			head = append(head, fmt.Sprintf("%d, %d", b, most))
		}
	}
	t := table.New(head...)
	for _, x := range r.Runs {
		var figures, cells []string
		for _, f := range x.Figures {
			figures = append(figures, fmt.Sprintf("%.4f", f))
		}
		for _, g := range x.Grids {
			cell := fmt.Sprintf("%.4f", g.Worst)
			if g.Beyond > 0 {
				cell += fmt.Sprintf(" (%d)", g.Beyond)
			}
			cells = append(cells, cell)
		}
		t.Add(append([]string{x.Set, x.Model, strings.Join(figures, " "), fmt.Sprintf("%.1f", x.Largest)}, cells...)...)
	}
	return t.Write(w)
}

// Round learns models in floating point, by the steps of sealed jobs or, where these go on to the optimum, at it. It
// rounds the scores of the test rows as what opens of such a job is: to so many bits behind the point, with the
// keeper's dither and the truncation's, modulo twice the range.
func Round(ctx context.Context, run lab.Run, o RoundOptions) error {
	report := new(RoundReport)
	add := func(c *split, set, model string, p fdskl.Params) error {
		f, err := c.learn(ctx, p)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", set, model, err)
		}
		r := c.rounded(f, o.Draws)
		r.Set, r.Model = set, model
		fmt.Fprintf(run.Log, "%s, %s: %.4f, largest %.1f\n", set, model, r.Figures, r.Largest)
		report.Runs = append(report.Runs, *r)
		return nil
	}
	for _, name := range o.Sets {
		if i := slices.Index(numberSets(), name); i >= 0 {
			c, err := readNumbers(name, o.Data, o.Rows)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := add(c, name, "kernel, square", c.params(kernel.Square, o.Features, 1e-6)); err != nil {
				return err
			}
			continue
		}
		chosen, err := sets.Choose([]string{name}, o.Data)
		if err != nil {
			return err
		}
		c, err := read(chosen[0], 1, 0)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.cut(o.Rows)
		for _, loss := range []kernel.Loss{kernel.Square, kernel.Logistic} {
			if err := add(c, name, "kernel, "+loss.String(), c.params(loss, o.Features, 1e-6)); err != nil {
				return err
			}
		}
		if c, err = read(chosen[0], 1, fdskl.DefaultBins); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		c.cut(o.Rows)
		for _, loss := range []kernel.Loss{kernel.Square, kernel.Logistic} {
			if err := add(c, name, "scorecard, "+loss.String(), c.params(loss, 0, 0)); err != nil {
				return err
			}
		}
	}
	return run.Report(report)
}

// cut leaves out training rows beyond a number, 0 for none.
func (c *split) cut(rows int) {
	if rows > 0 {
		c.most = min(rows, len(c.y))
	}
}

// params are those of a model; features is 0 for a scorecard.
func (c *split) params(loss kernel.Loss, features int, lambda float64) fdskl.Params {
	p := fdskl.Params{Active: []string{"a"}, Label: "y", Target: c.target, Loss: loss.String(), Features: features,
		Lambda: fdskl.Lambda(lambda), Sigma: c.sigma, Seed: "1", Keeper: "b", Helper: "c"}
	if features == 0 {
		p.Bins, p.Sigma = fdskl.DefaultBins, 0
		for _, m := range c.train {
			p.PartyBins = append(p.PartyBins, m.Columns())
			p.Features += m.Columns()
		}
		for _, n := range c.scales {
			p.PartyColumns = append(p.PartyColumns, len(n.Columns))
		}
		p.Lambda = p.LambdaOf(len(c.y))
	}
	all := p.PartyBins
	p = sealed.WithDefaults(p.WithDefaults())
	p.PartyBins = all
	return p
}

// learn returns the scores of the test rows.
func (c *split) learn(ctx context.Context, p fdskl.Params) ([]float64, error) {
	loss, err := kernel.ParseLoss(p.Loss)
	if err != nil {
		return nil, err
	}
	z, err := c.anyFeatures(ctx, p, c.train, len(c.y))
	if err != nil {
		return nil, err
	}
	test, err := c.anyFeatures(ctx, p, c.test, len(c.truth))
	if err != nil {
		return nil, err
	}
	y := c.y
	if c.most > 0 && c.most < len(y) {
		y = y[:c.most]
		z = mat.DenseCopyOf(z.Slice(0, c.most, 0, p.Features))
	}
	floatsteps.Centre(z, test)
	n, weight := len(y), p.Features
	if p.Binned() {
		weight = 0
		for _, columns := range p.PartyColumns {
			weight += 2 * columns
		}
	}
	s0 := float64(n) * float64(weight) / math.Ldexp(1, bits.Len(uint(n-1))+bits.Len(uint(weight-1)))
	scale, diagonal := s0*2/float64(weight*n), float64(p.Lambda)*s0/2
	if loss == kernel.Logistic {
		beta, intercept, err := floatsteps.Optimum(z, y, float64(p.Lambda)*float64(weight)/2)
		if err != nil {
			return nil, err
		}
		return floatsteps.Scores(test, beta, intercept), nil
	}
	g := gram(z, scale)
	reach := math.Pow(2, math.Ceil(2*math.Log2(mat.Norm(g, 2)))/2)
	factors, err := sealed.Steps(p, n, float64(p.Lambda), reach)
	if err != nil {
		return nil, err
	}
	solve := func(right *mat.VecDense) *mat.VecDense { return floatsteps.Steps(factors, g, diagonal, right) }
	mean := 0.0
	for _, v := range y {
		mean += v / float64(n)
	}
	return floatsteps.Scores(test, solve(side(z, y, mean, scale)), mean), nil
}

// anyFeatures returns the features of rows: cosines and sines, or bins.
func (c *split) anyFeatures(
	ctx context.Context, p fdskl.Params, parts []*kernel.Matrix, rows int,
) (*mat.Dense, error) {
	if !p.Binned() {
		return c.features(ctx, p, parts, rows)
	}
	z, at := mat.NewDense(rows, p.Features, nil), 0
	for _, m := range parts {
		for j := range rows {
			m.EachInRow(j, func(i int, v float64) { z.Set(j, at+i, v) })
		}
		at += m.Columns()
	}
	return z, nil
}

// rounded rounds scores to all grids.
func (c *split) rounded(f []float64, draws int) *Rounded {
	r := &Rounded{Tested: len(f), Figures: c.figures(f)}
	for _, x := range f {
		r.Largest = max(r.Largest, math.Abs(x))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, most := range roundRanges {
		for _, b := range roundBits {
			g := Grid{Bits: b, Range: most, Changes: make([]float64, len(r.Figures))}
			for range draws {
				for i, v := range c.figures(opened(f, b, most, rng)) {
					g.Changes[i] += (v - r.Figures[i]) / float64(draws)
				}
			}
			for _, x := range f {
				if math.Abs(x) >= float64(most) {
					g.Beyond++
				}
			}
			for _, v := range g.Changes {
				g.Worst = max(g.Worst, math.Abs(v))
			}
			r.Grids = append(r.Grids, g)
		}
	}
	return r
}

// opened rounds scores as what opens to the label holder is: with the keeper's dither, up or down with the right mean,
// and modulo twice the range.
func opened(f []float64, b, most int, rng *rand.Rand) []float64 {
	out, unit, all := make([]float64, len(f)), math.Ldexp(1, -b), float64(2*most)
	for i, x := range f {
		x = math.Floor(x/unit+rng.Float64()-0.5+rng.Float64()) * unit
		out[i] = x - all*math.Floor((x+float64(most))/all)
	}
	return out
}

// figures are those of scores of the test rows.
func (c *split) figures(f []float64) []float64 {
	if c.target == joint.Regression {
		return []float64{c.wrong(f)}
	}
	order := make([]int, len(f))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(f[a], f[b]) })
	var positive, below, ranks, ks float64
	for _, y := range c.truth {
		if y > 0 {
			positive++
		}
	}
	negative := float64(len(f)) - positive
	for lo := 0; lo < len(order); {
		hi, of := lo, 0.0
		for ; hi < len(order) && f[order[hi]] == f[order[lo]]; hi++ {
			if c.truth[order[hi]] > 0 {
				of++
			}
		}
		ranks += of * float64(lo+hi+1) / 2
		below += of
		ks = max(ks, math.Abs(below/positive-(float64(hi)-below)/negative))
		lo = hi
	}
	return []float64{(ranks - positive*(positive+1)/2) / (positive * negative), c.wrong(f), ks}
}

// numberSets lists the sets whose target is a number.
func numberSets() []string { return []string{"air", "naval"} }

// readNumbers reads a set whose target is a number: the fine dust of four stations, or the decay of a turbine.
func readNumbers(name, folder string, most int) (*split, error) {
	var rows [][]float64 // the target last
	files, err := filepath.Glob(filepath.Join(folder, map[string]string{"air": "air/*.csv*", "naval": "naval.txt*"}[name]))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("%s has no files of it (%w)", folder, os.ErrNotExist)
	}
	for _, file := range files {
		if err := sets.Read(file, func(r io.Reader) error {
			more, err := numbersOf(name, r)
			rows = append(rows, more...)
			return err
		}); err != nil {
			return nil, err
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	if most > 0 {
		rows = rows[:min(len(rows), most*4/3)]
	}
	train := int(trial.TrainShare * float64(len(rows)))
	width := len(rows[0]) - 1
	columns, y := make([]kernel.Column, width), make([]float64, len(rows))
	for i := range columns {
		columns[i].Name = fmt.Sprint("x", i)
		for _, row := range rows {
			columns[i].Values = append(columns[i].Values, row[i])
		}
	}
	for j, row := range rows {
		y[j] = row[width]
	}
	return cutNumbers(columns, y, train)
}

// numbersOf reads the rows of a file, but those with empty cells.
func numbersOf(name string, r io.Reader) (rows [][]float64, err error) {
	text, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if name == "naval" {
		for line := range strings.Lines(string(text)) {
			cells := strings.Fields(line)
			row, err := parsed(cells[:16])
			if err != nil {
				return nil, err
			}
			decay, err := strconv.ParseFloat(cells[17], 64)
			if err != nil {
				return nil, err
			}
			rows = append(rows, append(row, decay))
		}
		return rows, nil
	}
	lines, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
	if err != nil {
		return nil, err
	}
	for _, cells := range lines[1:] {
		if slices.Contains(cells, "NA") {
			continue
		}
		row, err := parsed(append(slices.Clone(cells[2:5]), cells[7:15]...))
		if err != nil {
			return nil, err
		}
		wind, err := parsed([]string{cells[16], cells[5]})
		if err != nil {
			return nil, err
		}
		rows = append(rows, append(row, wind...))
	}
	return rows, nil
}

// parsed reads numbers.
func parsed(cells []string) ([]float64, error) {
	var row []float64
	for _, cell := range cells {
		v, err := strconv.ParseFloat(cell, 64)
		if err != nil {
			return nil, err
		}
		row = append(row, v)
	}
	return row, nil
}
