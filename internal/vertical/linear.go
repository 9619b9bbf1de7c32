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

// FitLinear minimises mean (w . x + b - y)^2 + lambda |w|^2 over the parts' columns side by side.
func FitLinear(parts []*kernel.Matrix, y []float64, lambda float64) (*Linear, error) {
	x := stack(parts)
	n, d := x.Dims()
	means := make([]float64, d)
	for j := range d {
		means[j] = mat.Sum(x.ColView(j)) / float64(n)
	}
	x.Apply(func(_, j int, v float64) float64 { return v - means[j] }, x)
	var meanY float64
	for _, v := range y {
		meanY += v / float64(n)
	}
	centred := mat.NewVecDense(n, nil)
	for i, v := range y {
		centred.SetVec(i, v-meanY)
	}
	var gram mat.SymDense
	gram.SymOuterK(1/float64(n), x.T())
	for j := range d {
		gram.SetSym(j, j, gram.At(j, j)+lambda)
	}
	var h, w mat.VecDense
	h.MulVec(x.T(), centred)
	h.ScaleVec(1/float64(n), &h)
	var factor mat.Cholesky
	if !factor.Factorize(&gram) {
		return nil, fmt.Errorf("the linear baseline's normal equations are singular at lambda %v", lambda)
	}
	if err := factor.SolveVecTo(&w, &h); err != nil {
		return nil, err
	}
	l := &Linear{weights: w.RawVector().Data, intercept: meanY}
	for j, m := range means {
		l.intercept -= m * l.weights[j]
	}
	return l, nil
}

// Score returns w . x + b for each row.
func (l *Linear) Score(parts []*kernel.Matrix) []float64 {
	x := stack(parts)
	n, _ := x.Dims()
	var f mat.VecDense
	f.MulVec(x, mat.NewVecDense(len(l.weights), l.weights))
	scores := make([]float64, n)
	for i := range scores {
		scores[i] = f.AtVec(i) + l.intercept
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
