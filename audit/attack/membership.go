package attack

import (
	"fmt"

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
