package vertical

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// Linear is a ridge regression on the design columns of pooled parts: the baseline that no
// kernel method should lose to.
type Linear struct {
	weights   []float64
	intercept float64
}

// FitLinear minimises mean (w . x + b - y)^2 + lambda |w|^2 over the parts' columns side by side, for each of the
// targets in y, row-major [rows][each].
func FitLinear(parts []*kernel.Matrix, y []float64, each int, lambda float64) ([]*Linear, error) {
	return newLinearEquations(parts, y, each).solve(lambda)
}

// linearEquations are the normal equations of a linear regression, of centred columns and labels.
type linearEquations struct {
	gram   mat.SymDense // [columns][columns], over the number of rows
	rights []mat.VecDense
	means  []float64
	labels []float64 // their means
}

// newLinearEquations adds up the rows of parts side by side. y is row-major [rows][each].
func newLinearEquations(parts []*kernel.Matrix, y []float64, each int) *linearEquations {
	e := &linearEquations{rights: make([]mat.VecDense, each), labels: make([]float64, each)}
	x := stack(parts)
	n, d := x.Dims()
	e.means = make([]float64, d)
	for j := range d {
		e.means[j] = mat.Sum(x.ColView(j)) / float64(n)
	}
	x.Apply(func(_, j int, v float64) float64 { return v - e.means[j] }, x)
	e.gram.SymOuterK(1/float64(n), x.T())
	for k := range each {
		for j := range n {
			e.labels[k] += y[j*each+k] / float64(n)
		}
		centred := mat.NewVecDense(n, nil)
		for j := range n {
			centred.SetVec(j, y[j*each+k]-e.labels[k])
		}
		e.rights[k].MulVec(x.T(), centred)
		e.rights[k].ScaleVec(1/float64(n), &e.rights[k])
	}
	return e
}

// solve solves the equations with a regulariser.
func (e *linearEquations) solve(lambda float64) ([]*Linear, error) {
	gram := mat.NewSymDense(len(e.means), nil)
	gram.CopySym(&e.gram)
	for j := range e.means {
		gram.SetSym(j, j, gram.At(j, j)+lambda)
	}
	var factor mat.Cholesky
	if !factor.Factorize(gram) {
		return nil, fmt.Errorf("the linear baseline's normal equations are singular at lambda %v", lambda)
	}
	var solved []*Linear
	for k := range e.rights {
		var w mat.VecDense
		if err := factor.SolveVecTo(&w, &e.rights[k]); err != nil {
			return nil, err
		}
		l := &Linear{weights: w.RawVector().Data, intercept: e.labels[k]}
		for j, m := range e.means {
			l.intercept -= m * l.weights[j]
		}
		solved = append(solved, l)
	}
	return solved, nil
}

// ScoreEach returns w . x + b of each model for each row, row-major [rows][models].
func ScoreEach(models []*Linear, parts []*kernel.Matrix) []float64 {
	x := stack(parts)
	n, _ := x.Dims()
	scores := make([]float64, n*len(models))
	for k, l := range models {
		var f mat.VecDense
		f.MulVec(x, mat.NewVecDense(len(l.weights), l.weights))
		for i := range n {
			scores[i*len(models)+k] = f.AtVec(i) + l.intercept
		}
	}
	return scores
}

// stack writes the parts' columns side by side as one dense matrix.
func stack(parts []*kernel.Matrix) *mat.Dense {
	d := 0
	for _, p := range parts {
		d += p.Columns()
	}
	x := mat.NewDense(parts[0].Rows, max(d, 1), nil)
	at := 0
	for _, p := range parts {
		for r := range p.Rows {
			p.EachInRow(r, func(c int, v float64) { x.Set(r, at+c, v) })
		}
		at += p.Columns()
	}
	return x
}
