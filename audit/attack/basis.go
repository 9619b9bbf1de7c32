package attack

import (
	"fmt"

	"gonum.org/v1/gonum/mat"
)

// rankLimit is the smallest singular value, relative to the largest, that counts.
const rankLimit = 1e-10

// basis is a thin singular value decomposition: design = u diag(s) v'.
type basis struct {
	u *mat.Dense // equations by rank
	s []float64  // descending
	v *mat.Dense // unknowns by rank
}

// newBasis decomposes a design and leaves out what has no rank.
func newBasis(a *mat.Dense) (*basis, error) {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDThin) {
		return nil, fmt.Errorf("difference attack: the singular values of the design were not found")
	}
	s := svd.Values(nil)
	rank := 0
	for rank < len(s) && s[rank] > rankLimit*s[0] {
		rank++
	}
	if rank == 0 {
		return nil, fmt.Errorf("difference attack: all coefficients are 0")
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	return &basis{u: columns(&u, rank), s: s[:rank], v: columns(&v, rank)}, nil
}

// columns copies the first n columns of a matrix.
func columns(a *mat.Dense, n int) *mat.Dense {
	rows, _ := a.Dims()
	return mat.DenseCopyOf(a.Slice(0, rows, 0, n))
}

// rank returns the number of singular values that count.
func (b *basis) rank() int { return len(b.s) }

// solve returns the least squares solutions of smallest norm, rows by unknowns, for unwrapped
// values, rows by equations.
func (b *basis) solve(z *mat.Dense) *mat.Dense {
	var t, d mat.Dense
	t.Mul(z, b.u)
	rows, _ := t.Dims()
	for j := range rows {
		for k, s := range b.s {
			t.RawRowView(j)[k] /= s
		}
	}
	d.Mul(&t, b.v.T())
	return &d
}

// fit returns the part of values, rows by equations, that some solution explains.
func (b *basis) fit(z *mat.Dense) *mat.Dense {
	var t, f mat.Dense
	t.Mul(z, b.u)
	f.Mul(&t, b.u.T())
	return &f
}
