package kernel

import (
	"fmt"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// solve centres, scales and solves the equations in sums, which it overwrites.
func (g *Gram) solve(sums []float64, lambda float64) (*Ridge, error) {
	d, n := g.features, float64(g.rows)
	means, labels := make([]float64, d), make([]float64, d)
	meanY := sums[d*g.width+d+1] / n
	for i := range d {
		means[i] = sums[i*g.width+d+1] / n
		labels[i] = sums[i*g.width+d]/n - means[i]*meanY
	}
	for i := range d {
		row := sums[i*g.width:][:d]
		for j := i; j < d; j++ {
			row[j] = row[j]/n - means[i]*means[j]
		}
		row[i] += lambda
	}
	if err := g.cholesky(sums, labels, lambda); err != nil {
		return nil, err
	}
	return &Ridge{labels, meanY - blas64.Dot(vector(means), vector(labels))}, nil
}

// cholesky solves the symmetric system in the upper triangle of sums for b, in place.
func (g *Gram) cholesky(sums, b []float64, lambda float64) error {
	a := blas64.Symmetric{Uplo: blas.Upper, N: g.features, Stride: g.width, Data: sums}
	factor, ok := lapack64.Potrf(a)
	if !ok {
		return fmt.Errorf("the normal equations are not positive definite at lambda %v: raise lambda", lambda)
	}
	lapack64.Potrs(factor, blas64.General{Rows: g.features, Cols: 1, Stride: 1, Data: b})
	for i, v := range b {
		if !finite(v) {
			return fmt.Errorf("coefficient %d came out as %v at lambda %v: raise lambda", i, v, lambda)
		}
	}
	return nil
}

// vector wraps a slice for gonum.
func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
