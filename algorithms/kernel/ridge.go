package kernel

import (
	"gonum.org/v1/gonum/blas/blas64"
)

// vector wraps a slice for gonum.
func vector(x []float64) blas64.Vector { return blas64.Vector{N: len(x), Inc: 1, Data: x} }
