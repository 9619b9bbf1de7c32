package attack

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// Membership is rows of which some were learned, and what models make of them.
type Membership struct {
	Members, Others Learned
}

// Learned is rows with their losses.
type Learned struct {
	Before []float64 // losses by a model that knows none of the rows
	After  []float64 // losses by the model that has learned the members
	// Features are, of some of the rows, what the model is linear in, or its derivatives by its parameters, and Errors
	// what it misses by: for the control.
	Features [][]float64
	Errors   []float64
}

// MembershipResult is how well losses tell learned rows from others: areas under the curve, 1/2 by chance.
type MembershipResult struct {
	Members, Others int
	Loss            Interval // a small loss says: learned
	Drift           Interval // the same by the model that knows none: what differs between the rows by themselves
	Control         Interval // the same by a model that was made to fit a few of the members exactly
}

// Infer runs the attack and its control. An error names a wrong shape.
func (m *Membership) Infer() (*MembershipResult, error) {
	for _, l := range []*Learned{&m.Members, &m.Others} {
		if len(l.Before) != len(l.After) || len(l.Features) != len(l.Errors) || len(l.After) < 2 {
			return nil, fmt.Errorf("membership: %d and %d losses, %d rows of features and %d errors: want as many, of two "+
				"rows or more",
				len(l.Before), len(l.After), len(l.Features), len(l.Errors))
		}
		if i := max(notFinite(l.Before), notFinite(l.After), notFinite(l.Errors)); i >= 0 {
			return nil, fmt.Errorf("membership: the loss of row %d is no finite number", i)
		}
	}
	r := &MembershipResult{Members: len(m.Members.After), Others: len(m.Others.After)}
	r.Loss = area(negated(m.Members.After), negated(m.Others.After))
	r.Drift = area(negated(m.Members.Before), negated(m.Others.Before))
	r.Control = m.memorised()
	return r, nil
}

// memorised fits the members' features exactly, by the smallest change of the model, and tells them from the others by
// what it then misses.
func (m *Membership) memorised() Interval {
	rows := len(m.Members.Features)
	if rows == 0 || len(m.Others.Features) == 0 {
		return Interval{0.5, 0, 1}
	}
	gram, weights := mat.NewDense(rows, rows, nil), new(mat.VecDense)
	for i, f := range m.Members.Features {
		for k, g := range m.Members.Features {
			gram.Set(i, k, dot(f, g))
		}
	}
	if err := weights.SolveVec(gram, mat.NewVecDense(rows, m.Members.Errors)); err != nil && weights.IsEmpty() {
		return Interval{0.5, 0, 1}
	}
	by := make([]float64, len(m.Members.Features[0]))
	for i, f := range m.Members.Features {
		for k, v := range f {
			by[k] += weights.AtVec(i) * v
		}
	}
	left := func(l *Learned) []float64 {
		out := make([]float64, len(l.Errors))
		for i, e := range l.Errors {
			d := e - dot(l.Features[i], by)
			out[i] = -d * d
		}
		return out
	}
	return area(left(&m.Members), left(&m.Others))
}

// negated returns the numbers with the other sign.
func negated(list []float64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = -v
	}
	return out
}

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
