package fdskl

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
	"github.com/hanse-project/hanse/internal/parallel"
)

// pieces is into how many runs of rows a pass over the angles is cut. The number is fixed, so that
// sums are rounded alike on any number of cores.
const pieces = 16

// local is the objective of a party that holds all angles and all labels:
//
//	1/N sum_j L(f_j, y_j) + lambda/2 |w|^2,  f_j = w . phi_j / sqrt(D) + intercept,
//
// over x = (w, intercept), where phi is sqrt(2) cos and sin and alpha = w / sqrt(D): |w| is |f|.
type local struct {
	*solver
	held   *angles
	root   float64 // sqrt(D)
	lambda float64
	rows   []int // that count; nil: all
}

// newLocal prepares the objective over opened angles of some rows, nil for all.
func (t *solver) newLocal(held *angles, lambda float64, rows []int) *local {
	return &local{solver: t, held: held, root: math.Sqrt(float64(t.Params.Features)), lambda: lambda, rows: rows}
}

// solveLocal minimises the objective with the regulariser that the job names, or chooses.
func (t *solver) solveLocal(ctx context.Context, m *Model, held *angles) error {
	var rest []int
	for j, out := range t.heldOut {
		if !out {
			rest = append(rest, j)
		}
	}
	starts := make([][]float64, t.Params.Scores()) // each candidate starts where the one before, which is larger, ended
	lambda, err := t.choose(m, func(lambda float64) (loss float64, err error) {
		o := t.newLocal(held, lambda, rest)
		for k := range starts {
			t.target.against(k)
			if starts[k] == nil {
				starts[k] = make([]float64, o.size())
			}
			state, _, err := t.minimise(ctx, o, starts[k], nil, nil)
			if err != nil {
				return 0, err
			}
			starts[k] = state.Alpha
			alpha, intercept := o.coefficients(state.Alpha)
			for j, out := range t.heldOut {
				if out {
					loss += t.loss.Value(t.cosine.DotPairs(held.row(j), alpha)+intercept, t.target.values[j])
				}
			}
		}
		return loss, nil
	})
	if err != nil {
		return err
	}
	o := t.newLocal(held, lambda, nil)
	if t.Params.Scores() == 1 {
		return t.descend(ctx, m, o)
	}
	return t.descendEach(ctx, m, o)
}

// count is how many rows count.
func (o *local) count() int {
	if o.rows == nil {
		return o.Rows
	}
	return len(o.rows)
}

// size returns the number of variables.
func (o *local) size() int { return o.held.features() + 1 }

// row returns the row that is the i-th of those that count.
func (o *local) row(i int) int {
	if o.rows == nil {
		return i
	}
	return o.rows[i]
}

// Evaluate returns the objective at x and writes its gradient.
func (o *local) Evaluate(_ context.Context, x, grad []float64) (float64, error) {
	return o.evaluate(x, grad, make([]float64, o.count())), nil
}

// evaluate returns the objective at x and writes its gradient and the scores of the rows that count: one pass over the
// angles.
func (o *local) evaluate(x, grad, scores []float64) float64 {
	n := o.held.features()
	grads := make([][]float64, pieces)
	losses := make([]float64, pieces)
	eachPiece(o.count(), o.Workers, func(s, lo, hi int) {
		grads[s] = make([]float64, n+1)
		losses[s] = o.pass(lo, hi, x, grads[s], scores)
	})
	clear(grad)
	var value float64
	for s := range pieces {
		value += losses[s]
		floats.Add(grad, grads[s])
	}
	floats.AddScaled(grad[:n], o.lambda, x[:n])
	return value + o.lambda/2*floats.Dot(x[:n], x[:n])
}

// passRows is the number of rows that a pass looks up at once: gonum's matrix-vector kernels work
// on four, and so read the coefficients and write the gradient once for four rows.
const passRows = 4

// pass adds rows [lo, hi) to the gradient and returns their part of the mean loss. Rows whose slope is 0, as most of a
// hinge's are in the end, take half the time.
func (o *local) pass(lo, hi int, x, grad, scores []float64) (loss float64) {
	n := o.held.features()
	phi, steep := make([]float64, passRows*n), make([]float64, passRows*n)
	slopes := make([]float64, 0, passRows) // of the rows in steep
	flush := func() {
		block := blas64.General{Rows: len(slopes), Cols: n, Stride: n, Data: steep}
		blas64.Gemv(blas.Trans, 1/o.root, block, vector(slopes), 1, vector(grad[:n]))
		slopes = slopes[:0]
	}
	for ; lo < hi; lo += passRows {
		some := scores[lo:min(lo+passRows, hi)]
		o.score(some, lo, x, phi)
		for r, f := range some {
			y := o.target.values[o.row(lo+r)]
			loss += o.loss.Value(f, y) / float64(o.count())
			g := o.loss.Derivative(f, y) / float64(o.count())
			if g == 0 {
				continue
			}
			grad[n] += g
			copy(steep[len(slopes)*n:][:n], phi[r*n:][:n])
			if slopes = append(slopes, g); len(slopes) == passRows {
				flush()
			}
		}
	}
	if len(slopes) > 0 {
		flush()
	}
	return loss
}

// vector wraps a slice for gonum.
func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }

// Dots returns inner products of vectors that are all here.
func (o *local) Dots(_ context.Context, pairs []lbfgs.Pair) ([]float64, error) {
	return dots(pairs), nil
}

// coefficients turns the solution into alpha and intercept.
func (o *local) coefficients(x []float64) (alpha []float64, intercept float64) {
	n := o.held.features()
	alpha = append(alpha, x[:n]...)
	floats.Scale(1/o.root, alpha)
	return alpha, x[n]
}

// dots returns the inner product of each pair.
func dots(pairs []lbfgs.Pair) []float64 {
	out := make([]float64, len(pairs))
	for i, p := range pairs {
		out[i] = p.Dot()
	}
	return out
}

// eachPiece calls f for each of the fixed pieces of n rows, on up to workers goroutines, and
// returns when all are done.
func eachPiece(n, workers int, f func(piece, lo, hi int)) {
	parallel.All(workers, pieces, func(s int) { f(s, n*s/pieces, n*(s+1)/pieces) })
}

// eachRow calls f for the pieces of n rows.
func eachRow(n, workers int, f func(lo, hi int)) {
	eachPiece(n, workers, func(_, lo, hi int) { f(lo, hi) })
}
