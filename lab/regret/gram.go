package regret

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Gram holds what least squares need of the rows so far: sum z z^T, sum z y and sum y^2.
type Gram struct {
	zz   *mat.SymDense
	zy   *mat.VecDense
	yy   float64
	rows int
}

// Fit is the best function with coefficients in a ball.
type Fit struct {
	Theta []float64 // coefficients, of as many numbers as there are features
	Loss  float64   // sum of squared errors over all rows
}

// Norm returns the length of the coefficients.
func (f *Fit) Norm() float64 { return mat.Norm(mat.NewVecDense(len(f.Theta), f.Theta), 2) }

// NewGram starts without rows, for so many features.
func NewGram(features int) *Gram {
	return &Gram{zz: mat.NewSymDense(features, nil), zy: mat.NewVecDense(features, nil)}
}

// Add counts a row with features z and label y.
func (g *Gram) Add(z []float64, y float64) {
	v := mat.NewVecDense(len(z), z)
	g.zz.SymRankOne(g.zz, 1, v)
	g.zy.AddScaledVec(g.zy, y, v)
	g.yy += y * y
	g.rows++
}

// halvings is how often the multiplier of a ball is halved in on: past it float64 has no more digits.
const halvings = 200

// Best returns the fit of the least loss with coefficients of length limit at most, for every limit; +Inf is
// no limit. In the directions in which the rows say nothing, up to rounding, coefficients are 0.
func (g *Gram) Best(limits ...float64) ([]Fit, error) {
	n := g.zy.Len()
	var eigen mat.EigenSym
	if !eigen.Factorize(g.zz, true) {
		return nil, fmt.Errorf("the eigenvalues of %d features over %d rows were not found", n, g.rows)
	}
	var axes mat.Dense
	eigen.VectorsTo(&axes)
	values := eigen.Values(nil)
	along := mat.NewVecDense(n, nil) // zy in the eigenvectors' axes
	along.MulVec(axes.T(), g.zy)
	floor := 1e-12 * math.Max(values[n-1], 0)
	// length is that of the coefficients with a multiplier.
	length := func(multiplier float64) float64 {
		sum := 0.0
		for i, v := range values {
			if v > floor {
				c := along.AtVec(i) / (v + multiplier)
				sum += c * c
			}
		}
		return math.Sqrt(sum)
	}
	var fits []Fit
	for _, limit := range limits {
		if !(limit > 0) {
			return nil, fmt.Errorf("the ball's radius is %v, want a positive number", limit)
		}
		multiplier := 0.0
		if length(0) > limit {
			low, high := 0.0, mat.Norm(along, 2)/limit // there the length is at most limit, whatever the eigenvalues
			for range halvings {
				if middle := (low + high) / 2; length(middle) > limit {
					low = middle
				} else {
					high = middle
				}
			}
			multiplier = high
		}
		fits = append(fits, g.fit(&axes, values, along, floor, multiplier))
	}
	return fits, nil
}

// fit returns the minimiser of loss + multiplier |theta|^2.
func (g *Gram) fit(axes *mat.Dense, values []float64, along *mat.VecDense, floor, multiplier float64) Fit {
	n := len(values)
	turned := mat.NewVecDense(n, nil)
	loss := g.yy
	for i, v := range values {
		if v <= floor {
			continue
		}
		c := along.AtVec(i) / (v + multiplier)
		turned.SetVec(i, c)
		loss += c * (v*c - 2*along.AtVec(i))
	}
	theta := mat.NewVecDense(n, nil)
	theta.MulVec(axes, turned)
	return Fit{Theta: theta.RawVector().Data, Loss: math.Max(loss, 0)}
}
