package vertical

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/keys"
)

// The sizes of what the label holder fits alone. They bound its time to a few seconds, whatever the table.
const (
	aloneRows     = 20_000
	aloneFeatures = 512
	aloneWork     = 4_000_000_000 // rows x columns^2 of the linear model
	aloneColumns  = 2000          // of the linear model; with more there is none
	leastRows     = 1000          // of the linear model, if there are as many
)

// Alone is what the label holder learns from its own columns, on its own machine: what a federation is held against. A
// kernel model with the job's kernel, and a linear one, both of the square loss, each with the one of fdskl.Candidates
// that is best on a fifth of the rows that it is then fitted to as well.
type Alone struct {
	Params    fdskl.Params    `cbor:"1,keyasint"`
	Sigma     float64         `cbor:"2,keyasint"` // root of the mean squared distance of two rows
	Functions []AloneFunction `cbor:"3,keyasint"` // one, or of several classes one for each
	Mean      float64         `cbor:"4,keyasint"` // of numbers
	Scale     float64         `cbor:"5,keyasint"` // 1 for classes
	Frequent  int             `cbor:"6,keyasint"` // of classes the place of the most frequent one
	Rows      int             `cbor:"7,keyasint"` // that it was fitted to
}

// AloneFunction is a function of the kernel model, and beside it one of the linear model.
type AloneFunction struct {
	Alpha     []float64 `cbor:"1,keyasint"` // empty where it has labels alone, and can but guess
	Intercept float64   `cbor:"2,keyasint"`
	Weights   []float64 `cbor:"3,keyasint,omitempty"` // nil where there are too many columns
	Offset    float64   `cbor:"4,keyasint"`
}

// aloneName is what the label holder is called where it is alone.
const aloneName = "alone"

// FitAlone fits both models to a prepared table with labels, to at most 20,000 of its rows, drawn from the job's seed.
func FitAlone(p *Prepared, like fdskl.Params, workers int) (*Alone, error) {
	features := min(cmp.Or(like.Features, aloneFeatures), aloneFeatures)
	own := fdskl.Params{
		Active: []string{aloneName}, Label: like.Label, Target: like.Target, Classes: like.Classes,
		Kernel: like.Kernel, Seed: like.Seed, Loss: kernel.Square.String(),
		Features: features + features%2, // of bins, or growing, they may be an odd number
	}.WithDefaults()
	a := &Alone{Params: own, Scale: 1, Functions: make([]AloneFunction, own.Scores())}
	var rows []int
	for i, y := range p.Labels.Values {
		if !math.IsNaN(y) {
			rows = append(rows, i)
		}
	}
	if len(rows) < 10 {
		return nil, fmt.Errorf("%d rows with labels are too few to hold a model against: want at least 10", len(rows))
	}
	rng := rand.New(rand.NewChaCha8(keys.HashOf("hanse alone rows v1", []byte(like.Seed))))
	rng.Shuffle(len(rows), func(i, j int) { rows[i], rows[j] = rows[j], rows[i] })
	a.describe(p.Labels.Values, rows)
	if len(p.Columns) == 0 {
		a.Sigma, a.Rows = 1, len(rows)
		return a, nil
	}
	rows = rows[:min(len(rows), aloneRows)]
	a.Rows = len(rows)
	x, y, err := a.rowsOf(p, rows)
	if err != nil {
		return nil, err
	}
	if err := a.fitKernel(x, y, p.Normaliser, p.Columns, workers); err != nil {
		return nil, err
	}
	d := max(x.Columns(), 1)
	if d > aloneColumns {
		return a, nil
	}
	if n := max(leastRows, aloneWork/(d*d)); n < len(rows) {
		if x, y, err = a.rowsOf(p, rows[:n]); err != nil {
			return nil, err
		}
	}
	return a, a.fitLinear(p, x, y, rows)
}

// describe takes mean and deviation of numbers, and the most frequent of classes.
func (a *Alone) describe(labels []float64, rows []int) {
	if a.Params.Target != joint.Regression {
		times := make([]int, a.Params.ClassCount())
		for _, i := range rows {
			times[a.place(labels[i])]++
		}
		for k, n := range times {
			if n > times[a.Frequent] {
				a.Frequent = k
			}
		}
		return
	}
	for _, i := range rows {
		a.Mean += labels[i] / float64(len(rows))
	}
	squares := 0.0
	for _, i := range rows {
		squares += (labels[i] - a.Mean) * (labels[i] - a.Mean)
	}
	if squares > 0 {
		a.Scale = math.Sqrt(squares / float64(len(rows)))
	}
}

// place is the class of a label, as its number.
func (a *Alone) place(label float64) int {
	if len(a.Functions) > 1 {
		return int(label)
	}
	return int(max(label, 0)) // -1 and +1
}

// rowsOf returns some rows, normalised, and what each function is to come to: row-major [rows][functions].
func (a *Alone) rowsOf(p *Prepared, rows []int) (*kernel.Matrix, []float64, error) {
	only, err := p.Table.Only(p.Columns...)
	if err != nil {
		return nil, nil, err
	}
	x, err := p.Normaliser.Apply(KernelColumns(only.Select(rows)))
	if err != nil {
		return nil, nil, cellError(p.Table, err)
	}
	var y []float64
	for _, i := range rows {
		label := p.Labels.Values[i]
		switch {
		case a.Params.Target == joint.Regression:
			y = append(y, (label-a.Mean)/a.Scale)
		case len(a.Functions) == 1:
			y = append(y, label)
		default:
			for k := range a.Functions {
				if a.place(label) == k {
					y = append(y, 1)
				} else {
					y = append(y, -1)
				}
			}
		}
	}
	return x, y, nil
}

// best returns the lambda to take by the squared errors of the rows that were kept out, y; many as in fdskl.Choose.
func best(y []float64, many bool, scores func(lambda float64) ([]float64, error)) (float64, error) {
	var losses []float64
	for _, lambda := range fdskl.Candidates() {
		f, err := scores(lambda)
		if err != nil {
			return 0, err
		}
		loss := 0.0
		for i := range f {
			loss += (f[i] - y[i]) * (f[i] - y[i]) / float64(len(y))
		}
		losses = append(losses, loss)
	}
	return fdskl.Candidates()[fdskl.Choose(losses, many)], nil
}

// fitKernel finds the kernel's width and the coefficients.
func (a *Alone) fitKernel(x *kernel.Matrix, y []float64, n *kernel.Normaliser, columns []string, workers int) error {
	sums, squares := make([]float64, x.Columns()), 0.0
	for j := range x.Rows {
		x.EachInRow(j, func(c int, v float64) {
			sums[c] += v
			squares += v * v
		})
	}
	variance := squares / float64(x.Rows)
	for _, s := range sums {
		variance -= s / float64(x.Rows) * (s / float64(x.Rows))
	}
	if a.Sigma = math.Sqrt(2 * variance); !(a.Sigma > 1e-6) {
		a.Sigma = 1
	}
	turns, err := a.turns(x, n, columns, workers)
	if err != nil {
		return err
	}
	d, each, table := a.Params.Features, len(a.Functions), kernel.Cosines()
	gram, err := kernel.NewGramOf(table, d, each)
	if err != nil {
		return err
	}
	out := x.Rows / fdskl.HeldOutShare
	if err := gram.Add(turns[out*d/2:], y[out*each:], workers); err != nil {
		return err
	}
	solve := func(lambda float64) error {
		solved, err := gram.SolveEach(lambda*float64(d)/2, workers)
		for k, r := range solved {
			a.Functions[k].Alpha, a.Functions[k].Intercept = r.Alpha, r.Intercept
		}
		return err
	}
	lambda, err := best(y[:out*each], fdskl.Many(x.Rows-out, d), func(lambda float64) ([]float64, error) {
		err := solve(lambda)
		return a.kernels(table, turns[:out*d/2]), err
	})
	if err != nil {
		return err
	}
	if err := gram.Add(turns[:out*d/2], y[:out*each], workers); err != nil {
		return err
	}
	return solve(lambda)
}

// turns returns the angles of normalised rows, row-major [rows][angles].
func (a *Alone) turns(x *kernel.Matrix, n *kernel.Normaliser, columns []string, workers int) ([]uint16, error) {
	m := &fdskl.Model{
		Names: []string{aloneName}, Params: a.Params, Privacy: fdskl.Masked, Sigma: a.Sigma, Normaliser: n, Columns: columns,
		Phase: fdskl.PhaseSeed(keys.HashOf("hanse alone phases v1", []byte(a.Params.Seed))), // nothing to hide
	}
	b, err := fdskl.BeginScoring(m, 0, []*fdskl.Model{m}, workers)
	if err != nil {
		return nil, err
	}
	return b.Turns([]*kernel.Matrix{x}, 0, x.Rows)
}

// kernels returns the kernel model's scores of rows of angles, row-major [rows][functions].
func (a *Alone) kernels(t *kernel.Table, turns []uint16) []float64 {
	var scores []float64
	for n := a.Params.Angles(); len(turns) > 0; turns = turns[n:] {
		for _, f := range a.Functions {
			scores = append(scores, t.DotPairs(turns[:n], f.Alpha)+f.Intercept)
		}
	}
	return scores
}

// linear returns the linear model's scores of normalised rows, row-major [rows][functions].
func (a *Alone) linear(x *kernel.Matrix) []float64 {
	models := make([]*Linear, len(a.Functions))
	for k, f := range a.Functions {
		models[k] = &Linear{f.Weights, f.Offset}
	}
	return ScoreEach(models, []*kernel.Matrix{x})
}

// fitLinear finds the linear model's weights on the rows of x, the first of the given ones.
func (a *Alone) fitLinear(p *Prepared, x *kernel.Matrix, y []float64, rows []int) error {
	out, each := x.Rows/fdskl.HeldOutShare, len(a.Functions)
	kept, _, err := a.rowsOf(p, rows[:out])
	if err != nil {
		return err
	}
	others, _, err := a.rowsOf(p, rows[out:x.Rows])
	if err != nil {
		return err
	}
	solve := func(e *linearEquations, lambda float64) error {
		solved, err := e.solve(lambda)
		for k, l := range solved {
			a.Functions[k].Weights, a.Functions[k].Offset = l.weights, l.intercept
		}
		return err
	}
	equations := newLinearEquations([]*kernel.Matrix{others}, y[out*each:], each)
	lambda, err := best(y[:out*each], fdskl.Many(x.Rows-out, x.Columns()), func(lambda float64) ([]float64, error) {
		if err := solve(equations, lambda); err != nil {
			return nil, err
		}
		return a.linear(kept), nil
	})
	if err != nil {
		return err
	}
	return solve(newLinearEquations([]*kernel.Matrix{x}, y, each), lambda)
}

// Score returns the scores of some rows of a table by the kernel model and by the linear one, nil where there is none,
// as where the label holder has labels alone, row-major [rows][functions], in the label's own units where it is a
// number. m is this party's part of the model that is held against them.
func (a *Alone) Score(t *dataset.Table, rows []int, m *joint.Model, workers int) (kernels, linear []float64,
	err error) {
	if len(a.Functions[0].Alpha) == 0 {
		return nil, nil, nil
	}
	table := kernel.Cosines()
	for some := range slices.Chunk(rows, joint.ScoreRows) {
		x, err := PrepareScoring(t.Select(some), m)
		if err != nil {
			return nil, nil, err
		}
		turns, err := a.turns(x, m.Normaliser, m.Columns, workers)
		if err != nil {
			return nil, nil, err
		}
		kernels = append(kernels, a.kernels(table, turns)...)
		switch n := len(a.Functions[0].Weights); {
		case n == 0: // too many columns
		case n != x.Columns():
			return nil, nil, fmt.Errorf("models of the label holder alone: %d weights for %d columns", n, x.Columns())
		default:
			linear = append(linear, a.linear(x)...)
		}
	}
	if a.Params.Target == joint.Regression {
		for _, f := range [][]float64{kernels, linear} {
			for i := range f {
				f[i] = f[i]*a.Scale + a.Mean
			}
		}
	}
	return kernels, linear, nil
}

// Guess returns the scores, or the number, that the label holder gives every row where it knows nothing of them.
func (a *Alone) Guess() []float64 {
	switch {
	case a.Params.Target == joint.Regression:
		return []float64{a.Mean}
	case len(a.Functions) == 1:
		return []float64{float64(2*a.Frequent - 1)}
	}
	scores := make([]float64, len(a.Functions))
	scores[a.Frequent] = 1
	return scores
}

// Encode returns the models' bytes.
func (a *Alone) Encode() ([]byte, error) { return cbor.Marshal(a) }

// DecodeAlone reads what Encode wrote.
func DecodeAlone(data []byte) (*Alone, error) {
	a := new(Alone)
	if err := cbor.Unmarshal(data, a); err != nil {
		return nil, fmt.Errorf("models of the label holder alone: %w", err)
	}
	numbers := []float64{a.Sigma, a.Mean, a.Scale}
	bad := a.Sigma <= 0 || a.Params.Features < 1 || a.Params.Features > aloneFeatures || len(a.Functions) == 0 ||
		len(a.Functions) != a.Params.Scores() || a.Frequent < 0 || a.Frequent >= max(2, len(a.Functions))
	for _, f := range a.Functions {
		bad = bad || len(f.Alpha) != len(a.Functions[0].Alpha) || len(f.Alpha) != 0 && len(f.Alpha) != a.Params.Features ||
			len(f.Weights) != len(a.Functions[0].Weights)
		numbers = slices.Concat(numbers, f.Alpha, f.Weights, []float64{f.Intercept, f.Offset})
	}
	if bad || slices.ContainsFunc(numbers, func(x float64) bool { return math.IsNaN(x) || math.IsInf(x, 0) }) {
		return nil, fmt.Errorf("models of the label holder alone: %d functions of %d features, or a number that is none",
			len(a.Functions), a.Params.Features)
	}
	return a, nil
}
