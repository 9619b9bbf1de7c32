package floatsteps

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Base is the score at which each row's probability is the share of the second class among labels of -1 and 1.
func Base(y []float64) float64 {
	share := 0.0
	for _, v := range y {
		share += (1 + v) / 2 / float64(len(y))
	}
	return math.Log(share / (1 - share))
}

// Constants of Optimum.
const (
	mostNewton = 100
	leastDrop  = 1e-12 // of the objective, by a whole step; the one behind it is nothing
	leastPart  = 1e-9  // of a step
)

// Optimum returns the coefficients, [D], and the intercept at the minimum of the mean log loss + ridge/2 |beta|^2 over
// rows of features, [N, D], with labels of -1 and 1: Newton's method with every row, and steps halved until they help.
func Optimum(z *mat.Dense, y []float64, ridge float64) (*mat.VecDense, float64, error) {
	n, d := z.Dims()
	objective := func(beta *mat.VecDense, f []float64) float64 {
		sum := ridge / 2 * mat.Dot(beta, beta)
		for j := range f {
			m := y[j] * f[j]
			sum += (math.Log1p(math.Exp(-math.Abs(m))) + max(-m, 0)) / float64(n)
		}
		return sum
	}
	beta, intercept := mat.NewVecDense(d, nil), Base(y)
	f := Scores(z, beta, intercept)
	value := objective(beta, f)
	weighed, g := mat.NewDense(n, d+1, nil), mat.NewVecDense(n, nil)
	for range mostNewton {
		for j, x := range f {
			p := 1 / (1 + math.Exp(-x))
			g.SetVec(j, (p-(1+y[j])/2)/float64(n))
			root := math.Sqrt(p * (1 - p) / float64(n))
			row := weighed.RawRowView(j)
			for i, v := range z.RawRowView(j) {
				row[i] = root * v
			}
			row[d] = root
		}
		gradient := mat.NewVecDense(d+1, nil)
		slopes := gradient.SliceVec(0, d).(*mat.VecDense)
		slopes.MulVec(z.T(), g)
		slopes.AddScaledVec(slopes, ridge, beta)
		gradient.SetVec(d, mat.Sum(g))
		hessian := mat.NewSymDense(d+1, nil)
		hessian.SymOuterK(1, weighed.T())
		for i := range d {
			hessian.SetSym(i, i, hessian.At(i, i)+ridge)
		}
		var factor mat.Cholesky
		if !factor.Factorize(hessian) {
			return nil, 0, errors.New("the system of equations is singular")
		}
		step := mat.NewVecDense(d+1, nil)
		factor.SolveVecTo(step, gradient) // its error is a warning of a large condition number
		drop := mat.Dot(step, gradient)
		for length := 1.0; ; length /= 2 {
			next := mat.NewVecDense(d, nil)
			next.AddScaledVec(beta, -length, step.SliceVec(0, d))
			base := intercept - length*step.AtVec(d)
			scores := Scores(z, next, base)
			lower := objective(next, scores)
			if drop < leastDrop || length < leastPart {
				return next, base, nil
			}
			if lower < value {
				beta, intercept, f, value = next, base, scores, lower
				break
			}
		}
	}
	return nil, 0, errors.New("no minimum is found by Newton's method")
}
