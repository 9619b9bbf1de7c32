package attack

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"
)

// The defaults and limits of the known-rows attack.
const (
	DefaultKnown     = 0.2
	maxKnownRows     = 4096
	maxKnownFeatures = 512
)

// Coalition is a view of all rows, and the other parties' columns of some of them.
type Coalition struct {
	Rows    int
	Width   int                           // values of a row in the view
	Row     func(j int, values []float64) // writes what the view shows of row j
	Angles  bool                          // values are turns: their cosines and sines are used
	Columns int                           // of the other parties
	Truth   func(j int, x []float64)      // writes the real columns of row j
	Known   float64                       // share of the rows that the coalition knows; 0 means DefaultKnown
	Seed    uint64
}

// KnownRowsResult is how well the rows that are not known were predicted.
type KnownRowsResult struct {
	Known    int // rows the regression was fitted on
	Tested   int // rows it was scored on
	Features int
	// of each column on the rows tested; negative when a guess of the mean is better, 0 of a column that is constant there
	R2        []float64
	Best      float64   // largest R2
	BestAt    int       // column of it
	Mean      float64   // mean R2 of the columns that vary
	ControlR2 []float64 // the same with the columns' rows shuffled
	Control   float64   // largest of ControlR2
}

// KnownRows fits ridge regressions from the view to the columns on the known rows, with the penalty
// that predicts a quarter of them best from the others, and scores them on other rows. It uses at
// most 4,096 rows and 512 features, drawn from all. An error names the shape or value that is wrong.
func KnownRows(ctx context.Context, c Coalition) (*KnownRowsResult, error) {
	switch known := c.share(); {
	case c.Rows < 20:
		return nil, fmt.Errorf("known rows: %d rows, want at least 20", c.Rows)
	case c.Width < 1 || c.Width > maxEquations:
		return nil, fmt.Errorf("known rows: %d values a row, want 1 to %d", c.Width, maxEquations)
	case c.Columns < 1 || c.Columns > maxUnknowns:
		return nil, fmt.Errorf("known rows: %d columns, want 1 to %d", c.Columns, maxUnknowns)
	case c.Row == nil || c.Truth == nil:
		return nil, fmt.Errorf("known rows: there is no access to the view or to the columns")
	case !(known >= 0.1 && known <= 0.9):
		return nil, fmt.Errorf("known rows: share known is %v, want 0.1 to 0.9", known)
	}
	rows := newRand(c.Seed, streamKnown).Perm(c.Rows)[:min(c.Rows, maxKnownRows)]
	x, err := c.features(ctx, rows)
	if err != nil {
		return nil, err
	}
	truth := mat.NewDense(len(rows), c.Columns, nil)
	for k, j := range rows {
		c.Truth(j, truth.RawRowView(k))
	}
	known := int(math.Round(c.share() * float64(len(rows))))
	r := &KnownRowsResult{Known: known, Tested: len(rows) - known, Features: x.RawMatrix().Cols}
	shuffled := rowsOf(truth, newRand(c.Seed, streamShuffle).Perm(len(rows)))
	if r.R2, r.ControlR2, err = predict(ctx, x, truth, shuffled, known); err != nil {
		return nil, err
	}
	var varying []float64
	r.Best, r.Control = math.Inf(-1), math.Inf(-1)
	for i, v := range r.R2 {
		if constantFrom(truth, i, r.Known) {
			continue
		}
		varying = append(varying, v)
		r.Control = max(r.Control, r.ControlR2[i])
		if v > r.Best {
			r.Best, r.BestAt = v, i
		}
	}
	r.Mean = meanOf(varying)
	if len(varying) == 0 {
		r.Best, r.Control = 0, 0
	}
	return r, nil
}

// share returns the share of the rows that are known.
func (c *Coalition) share() float64 {
	if c.Known == 0 {
		return DefaultKnown
	}
	return c.Known
}

// features reads the rows and returns what the regression uses of them.
func (c *Coalition) features(ctx context.Context, rows []int) (*mat.Dense, error) {
	each := 1
	if c.Angles {
		each = 2
	}
	chosen := newRand(c.Seed, streamFeatures).Perm(c.Width)[:min(c.Width, maxKnownFeatures/each)]
	slices.Sort(chosen)
	x := mat.NewDense(len(rows), each*len(chosen), nil)
	values := make([]float64, c.Width)
	for k, j := range rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		c.Row(j, values)
		for f, i := range chosen {
			if math.IsNaN(values[i]) || math.IsInf(values[i], 0) {
				return nil, fmt.Errorf("known rows: value %d of row %d is %v, want a finite number", i, j, values[i])
			}
			if c.Angles {
				sin, cos := math.Sincos(2 * math.Pi * values[i])
				x.Set(k, 2*f, cos)
				x.Set(k, 2*f+1, sin)
				continue
			}
			x.Set(k, f, values[i])
		}
	}
	standardise(x)
	return x, nil
}

// standardise gives each column mean 0 and variance 1; one that is constant becomes 0.
func standardise(x *mat.Dense) {
	rows, n := x.Dims()
	centreColumns(x)
	squares := make([]float64, n)
	for j := range rows {
		for i, v := range x.RawRowView(j) {
			squares[i] += v * v / float64(rows)
		}
	}
	for j := range rows {
		row := x.RawRowView(j)
		for i := range row {
			if squares[i] > 0 {
				row[i] /= math.Sqrt(squares[i])
			}
		}
	}
}

// predict returns R2 of each column on the rows from known on, fitted on those before, and the same of shuffled
// columns.
func predict(ctx context.Context, x, truth, shuffled *mat.Dense, known int) (r2, control []float64, err error) {
	fitted, columns := known-known/4, truth.RawMatrix().Cols
	var both mat.Dense // what is fitted to the rows of x serves the two
	both.Augment(truth, shuffled)
	trial := newRegression(part(x, 0, fitted), part(&both, 0, fitted))
	best, bestMean := [2]float64{}, [2]float64{math.Inf(-1), math.Inf(-1)}
	for _, penalty := range []float64{1e-4, 1e-2, 1, 100, 1e4} {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		all, err := trial.score(penalty, part(x, fitted, known), part(&both, fitted, known))
		if err != nil {
			return nil, nil, err
		}
		for k, one := range [][]float64{all[:columns], all[columns:]} {
			if m := meanOf(one); m > bestMean[k] {
				best[k], bestMean[k] = penalty, m
			}
		}
	}
	rows, _ := x.Dims()
	final := newRegression(part(x, 0, known), part(&both, 0, known))
	all, err := final.score(best[0], part(x, known, rows), part(&both, known, rows))
	if err != nil {
		return nil, nil, err
	}
	r2, control = all[:columns], all[columns:]
	if best[1] != best[0] {
		if all, err = final.score(best[1], part(x, known, rows), part(&both, known, rows)); err != nil {
			return nil, nil, err
		}
		control = all[columns:]
	}
	return r2, control, nil
}

// part returns some rows of a matrix, not copied.
func part(x *mat.Dense, from, to int) *mat.Dense {
	_, n := x.Dims()
	return x.Slice(from, to, 0, n).(*mat.Dense)
}

// regression is ridge regression of columns on features, before the penalty is known.
type regression struct {
	rows         int
	gram         mat.SymDense
	right        mat.Dense
	meanX, meanY []float64
}

func newRegression(x, y *mat.Dense) *regression {
	x, y = mat.DenseCopyOf(x), mat.DenseCopyOf(y)
	r := &regression{meanX: centreColumns(x), meanY: centreColumns(y)}
	r.rows, _ = x.Dims()
	r.gram.SymOuterK(1, x.T())
	r.right.Mul(x.T(), y)
	return r
}

// score fits all columns under a penalty and returns R2 of each on other rows.
func (r *regression) score(penalty float64, testX, testY *mat.Dense) ([]float64, error) {
	n := r.gram.SymmetricDim()
	normal := mat.NewSymDense(n, nil)
	normal.CopySym(&r.gram)
	for i := range n {
		normal.SetSym(i, i, normal.At(i, i)+penalty*float64(r.rows))
	}
	factor, ok := lapack64.Potrf(normal.RawSymmetric())
	if !ok {
		return nil, fmt.Errorf("known rows: the normal equations of %d features are not positive definite", n)
	}
	weights := mat.DenseCopyOf(&r.right)
	lapack64.Potrs(factor, weights.RawMatrix())
	shifted := mat.DenseCopyOf(testX)
	shift(shifted, r.meanX, -1)
	var predicted mat.Dense
	predicted.Mul(shifted, weights)
	shift(&predicted, r.meanY, 1)
	return explained(&predicted, testY), nil
}

// shift adds a multiple of a row to every row.
func shift(x *mat.Dense, row []float64, by float64) {
	rows, _ := x.Dims()
	for j := range rows {
		for i, v := range row {
			x.RawRowView(j)[i] += by * v
		}
	}
}

// explained returns the share of the variance of each column that a prediction explains.
func explained(predicted, truth *mat.Dense) []float64 {
	rows, n := truth.Dims()
	centred := mat.DenseCopyOf(truth)
	centreColumns(centred)
	out := make([]float64, n)
	for i := range n {
		errors, total := 0.0, 0.0
		for j := range rows {
			e := predicted.At(j, i) - truth.At(j, i)
			errors += e * e
			total += centred.At(j, i) * centred.At(j, i)
		}
		if total > 1e-12*float64(rows) {
			out[i] = 1 - errors/total
		}
	}
	return out
}

// meanOf returns the mean, 0 of nothing.
func meanOf(list []float64) float64 {
	sum := 0.0
	for _, v := range list {
		sum += v
	}
	return sum / float64(max(1, len(list)))
}

// constantFrom reports whether a column has one value in all rows from one on.
func constantFrom(x *mat.Dense, column, from int) bool {
	rows, _ := x.Dims()
	for j := from; j < rows; j++ {
		if x.At(j, column) != x.At(from, column) {
			return false
		}
	}
	return true
}
