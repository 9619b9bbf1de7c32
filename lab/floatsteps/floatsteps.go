// Package floatsteps takes the steps of sealed jobs in floating point, in the clear, on features that are all in one
// place.
package floatsteps

import (
	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/sealed"
)

// Centre takes the training rows' means off all features, also off those of the test rows.
func Centre(train, test *mat.Dense) {
	n, d := train.Dims()
	means := make([]float64, d)
	for j := range n {
		for i, v := range train.RawRowView(j) {
			means[i] += v / float64(n)
		}
	}
	for _, rows := range []*mat.Dense{train, test} {
		count, _ := rows.Dims()
		for j := range count {
			row := rows.RawRowView(j)
			for i, m := range means {
				row[i] -= m
			}
		}
	}
}

// Steps takes the steps from zero on (gram + diagonal) x = right.
func Steps(factors []sealed.Step, gram *mat.SymDense, diagonal float64, right *mat.VecDense) *mat.VecDense {
	d := right.Len()
	x, direction, residual := mat.NewVecDense(d, nil), mat.NewVecDense(d, nil), mat.NewVecDense(d, nil)
	for _, by := range factors {
		residual.MulVec(gram, x)
		residual.AddScaledVec(residual, diagonal, x)
		residual.SubVec(right, residual)
		direction.ScaleVec(by.Direction, direction)
		direction.AddScaledVec(direction, by.Residual, residual)
		x.AddVec(x, direction)
	}
	return x
}

// Scores returns z beta + intercept of each row.
func Scores(z *mat.Dense, beta *mat.VecDense, intercept float64) []float64 {
	n, _ := z.Dims()
	f := mat.NewVecDense(n, nil)
	f.MulVec(z, beta)
	for j := range n {
		f.SetVec(j, f.AtVec(j)+intercept)
	}
	return f.RawVector().Data
}
