// Package optimum is what tests hold logistic models against: the optimum of the regularised log loss, by Newton's
// method in plain loops over a dense table of 64-bit floating point, without a line of what it judges, and tables on
// which an optimum is hard to reach. Tests alone import it.
package optimum

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// A Logistic is the minimum over w and b of
//
//	1/N sum_i log(1 + exp(-t_i (w . x_i + b))) + 1/2 sum_j ridge_j w_j^2,   t_i = 2 y_i - 1.
type Logistic struct {
	Weights       []float64 // w: one for each column
	Intercept     float64   // b
	Probabilities []float64 // of label 1: one for each row

	// Information is N times the second derivative, the ridge's part included, of the columns and behind them the
	// intercept: (columns + 1) x (columns + 1). The roots of its inverse's diagonal are standard errors.
	Information *mat.SymDense
}

// Steps end when none of the numbers would move by more than near.
const (
	near     = 1e-10
	mostStep = 500
)

// Fit finds the optimum over a table of rows x columns, with labels 0 and 1, one for each row, and a ridge for each
// column. Labels of both kinds are needed, and ridges above 0 where columns tell labels apart or follow from others.
func Fit(x *mat.Dense, y, ridge []float64) (*Logistic, error) {
	n, d := x.Dims()
	if len(y) != n || len(ridge) != d {
		return nil, fmt.Errorf("%d labels of %d rows, %d ridges of %d columns", len(y), n, len(ridge), d)
	}
	share := 0.0
	for _, label := range y {
		if label != 0 && label != 1 {
			return nil, fmt.Errorf("a label is %v, want 0 or 1", label)
		}
		share += label / float64(n)
	}
	if share == 0 || share == 1 {
		return nil, fmt.Errorf("all labels are %v: there is no optimum", share)
	}
	at := make([]float64, d+1) // weights, and the intercept behind them
	at[d] = math.Log(share / (1 - share))
	for range mostStep {
		p, gradient, second := derivatives(x, y, ridge, at)
		var factor mat.Cholesky
		if !factor.Factorize(second) {
			return nil, fmt.Errorf("the second derivative is singular: raise the ridge")
		}
		step := mat.NewVecDense(d+1, nil)
		if err := factor.SolveVecTo(step, mat.NewVecDense(d+1, gradient)); err != nil {
			return nil, err
		}
		if mat.Norm(step, math.Inf(1)) < near {
			second.ScaleSym(float64(n), second)
			return &Logistic{Weights: at[:d], Intercept: at[d], Probabilities: p, Information: second}, nil
		}
		next := moved(at, step, 1)
		// Where little is left values that are alike to the last bits say nothing, and whole steps do.
		if promised := mat.Dot(step, mat.NewVecDense(d+1, gradient)); promised > 1e-9 {
			for length := .5; value(x, y, ridge, next) > value(x, y, ridge, at) && length > 1e-9; length /= 2 {
				next = moved(at, step, length)
			}
		}
		at = next
	}
	return nil, fmt.Errorf("no optimum after %d steps", mostStep)
}

// moved returns the numbers after a part of a step down.
func moved(at []float64, step *mat.VecDense, length float64) []float64 {
	out := make([]float64, len(at))
	for j := range out {
		out[j] = at[j] - length*step.AtVec(j)
	}
	return out
}

// score returns w . x + b of a row.
func score(row, at []float64) float64 {
	f := at[len(row)]
	for j, v := range row {
		f += v * at[j]
	}
	return f
}

// value returns the objective.
func value(x *mat.Dense, y, ridge, at []float64) float64 {
	sum := 0.0
	for i, label := range y {
		z := (1 - 2*label) * score(x.RawRowView(i), at)
		sum += (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))) / float64(len(y))
	}
	for j, r := range ridge {
		sum += r / 2 * at[j] * at[j]
	}
	return sum
}

// derivatives returns the probabilities of the rows, the gradient of the objective and its second derivative.
func derivatives(x *mat.Dense, y, ridge, at []float64) (p, gradient []float64, second *mat.SymDense) {
	n, d := x.Dims()
	p, gradient, second = make([]float64, n), make([]float64, d+1), mat.NewSymDense(d+1, nil)
	sums := second.RawSymmetric().Data
	long := make([]float64, d+1)
	long[d] = 1
	for i := range n {
		copy(long, x.RawRowView(i))
		p[i] = 1 / (1 + math.Exp(-score(long[:d], at)))
		for j, v := range long {
			if v == 0 {
				continue
			}
			gradient[j] += v * (p[i] - y[i]) / float64(n)
			c := v * p[i] * (1 - p[i]) / float64(n)
			for k := j; k <= d; k++ {
				sums[j*(d+1)+k] += c * long[k]
			}
		}
	}
	for j, r := range ridge {
		gradient[j] += r * at[j]
		sums[j*(d+1)+j] += r
	}
	return p, gradient, second
}

// Loss returns the mean log loss of scores against labels 0 and 1, one for each row.
func Loss(scores, y []float64) float64 {
	sum := 0.0
	for i, f := range scores {
		z := (1 - 2*y[i]) * f
		sum += (max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))) / float64(len(y))
	}
	return sum
}

// Mean returns the mean of the probabilities.
func (l *Logistic) Mean() float64 {
	sum := 0.0
	for _, p := range l.Probabilities {
		sum += p / float64(len(l.Probabilities))
	}
	return sum
}
