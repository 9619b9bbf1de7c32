package attack

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// enoughRows is how many solved rows there must be before the attack learns from them.
const enoughRows = 16

// alike is the spread of the values of the solved rows, in turns, below which they teach nothing.
const alike = 1e-3

// learn returns the mean of the solved rows and the calm equations in directions in which they vary
// equally, so that what is believed of an open row has their covariance. It returns nil when too
// few rows are solved, or all of them are alike.
func (c *chase) learn() (*basis, []float64, error) {
	rows := where(c.solved, true)
	if len(rows) < enoughRows || len(rows) == len(c.solved) {
		return nil, nil, nil
	}
	x := rowsOf(c.found, rows)
	mean := centreColumns(x)
	var spread mat.Dense
	spread.Mul(x, c.view.design.T())
	if mat.Norm(&spread, 2) < alike*math.Sqrt(float64(len(spread.RawMatrix().Data))) {
		return nil, nil, nil
	}
	var chol mat.Cholesky
	if !chol.Factorize(shrunk(x)) {
		return nil, nil, nil
	}
	var root mat.TriDense
	chol.LTo(&root)
	var whitened mat.Dense
	whitened.Mul(rowsOf(c.view.design, c.calm), &root)
	b, err := newBasis(&whitened)
	return b, mean, err
}

// centreColumns subtracts the mean of each column and returns the means.
func centreColumns(x *mat.Dense) []float64 {
	rows, n := x.Dims()
	mean := make([]float64, n)
	for j := range rows {
		for c, v := range x.RawRowView(j) {
			mean[c] += v / float64(rows)
		}
	}
	for j := range rows {
		row := x.RawRowView(j)
		for c := range row {
			row[c] -= mean[c]
		}
	}
	return mean
}

// shrunk returns the covariance of centred rows, shrunk towards its diagonal as few rows want, with
// a floor under the diagonal for columns that did not vary yet.
func shrunk(x *mat.Dense) *mat.SymDense {
	rows, n := x.Dims()
	var s mat.SymDense
	s.SymOuterK(1/float64(rows), x.T())
	floor := 0.02*mat.Trace(&s)/float64(n) + math.SmallestNonzeroFloat32
	off := float64(rows) / float64(rows+n)
	for i := range n {
		for k := i; k < n; k++ {
			if i == k {
				s.SetSym(i, i, s.At(i, i)+floor)
			} else {
				s.SetSym(i, k, off*s.At(i, k))
			}
		}
	}
	return &s
}
