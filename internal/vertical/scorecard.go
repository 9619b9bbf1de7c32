package vertical

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// Scorecard is a linear or logistic model of bins, learned in the clear from all owners' parts: what a sealed job of
// algorithm "glm" comes to when its steps are taken to their end.
type Scorecard struct {
	Weights   []float64 // of the bins, owner after owner
	Intercept float64
}

// Limits of the outer steps, which stop when no weight moves by more.
const (
	scorecardSteps = 500
	scorecardTiny  = 1e-7
)

// FitScorecard minimises the mean loss and (lambda/2) C |beta|^2, where C is the number of columns: of the square loss
// half of that. Outer steps solve with the fixed Gram matrix, as a sealed job's do, until they are done.
func FitScorecard(parts []*kernel.Matrix, y []float64, columns int, lambda float64, loss kernel.Loss) (*Scorecard,
	error) {
	z := stack(parts)
	n, d := z.Dims()
	means := make([]float64, d)
	for j := range d {
		means[j] = mat.Sum(z.ColView(j)) / float64(n)
	}
	z.Apply(func(_, j int, v float64) float64 { return v - means[j] }, z)
	kappa := loss.Curvature()
	if loss == kernel.Square {
		kappa, lambda = 1, lambda/2
	}
	ridge := lambda * float64(columns)
	gram := mat.NewSymDense(d, nil)
	gram.SymOuterK(1/float64(n), z.T())
	for j := range d {
		gram.SetSym(j, j, gram.At(j, j)+ridge/kappa)
	}
	var factor mat.Cholesky
	if !factor.Factorize(gram) {
		return nil, errors.New("the scorecard's equations are singular: lambda is too small")
	}
	beta, f, intercept := mat.NewVecDense(d, nil), mat.NewVecDense(n, nil), 0.0
	g, h, change := mat.NewVecDense(n, nil), mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
	for range scorecardSteps {
		var mean float64
		for j := range n {
			v := (f.AtVec(j) + intercept - y[j]) / kappa
			if loss != kernel.Square {
				v = loss.Derivative(f.AtVec(j)+intercept, y[j]) / kappa
			}
			g.SetVec(j, -v)
			mean -= v / float64(n)
		}
		intercept += mean
		h.MulVec(z.T(), g)
		h.ScaleVec(1/float64(n), h)
		h.AddScaledVec(h, -ridge/kappa, beta)
		if err := factor.SolveVecTo(change, h); err != nil {
			return nil, err
		}
		beta.AddVec(beta, change)
		f.MulVec(z, beta)
		if mat.Norm(change, math.Inf(1)) < scorecardTiny {
			break
		}
	}
	for j, m := range means {
		intercept -= m * beta.AtVec(j)
	}
	return &Scorecard{Weights: beta.RawVector().Data, Intercept: intercept}, nil
}

// Score returns the scores of rows.
func (s *Scorecard) Score(parts []*kernel.Matrix) []float64 {
	return ScoreEach([]*Linear{{weights: s.Weights, intercept: s.Intercept}}, parts)
}
