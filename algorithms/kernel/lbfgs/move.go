package lbfgs

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
)

// move is a step that was tried.
type move struct {
	next  *State
	width float64 // the step, as a multiple of the direction
}

// try evaluates the function a step along d, and gathers in the same exchange all inner
// products that the next iteration needs if the step is accepted.
func (s *State) try(ctx context.Context, o Oracle, d []float64, step float64, history int) (*move, error) {
	change, next := make([]float64, len(d)), &State{
		Iteration: s.Iteration + 1, Evaluations: s.Evaluations + 1, StartGradient: s.StartGradient,
		Alpha: make([]float64, len(d)), Gradient: make([]float64, len(d)),
	}
	delta := make([]float64, len(d))
	floats.AddScaledTo(next.Alpha, s.Alpha, step, d)
	floats.AddScaled(delta, step, d)
	value, err := o.Evaluate(ctx, next.Alpha, next.Gradient)
	if err != nil {
		return nil, err
	}
	next.Value = value
	floats.SubTo(change, next.Gradient, s.Gradient)
	kept := max(0, len(s.Steps)+1-history)
	next.Steps = append(append([][]float64{}, s.Steps[kept:]...), delta)
	next.Changes = append(append([][]float64{}, s.Changes[kept:]...), change)
	return &move{next, step}, next.measure(ctx, o, s, kept)
}

// measure fills in the products: those of older pairs are known from s, whose first dropped
// pairs are gone.
func (next *State) measure(ctx context.Context, o Oracle, s *State, dropped int) error {
	k, basis := len(next.Steps), next.basis()
	p, old := newProducts(len(basis)), s.products()
	var pairs []Pair
	var places [][2]int
	for i := range basis {
		for j := range i + 1 {
			a, b := place(i, k, dropped), place(j, k, dropped)
			if a >= 0 && b >= 0 {
				p.set(i, j, old.at(a, b))
				continue
			}
			pairs = append(pairs, Pair{basis[i], basis[j]})
			places = append(places, [2]int{i, j})
		}
	}
	sums, err := dots(ctx, o, pairs)
	if err != nil {
		return err
	}
	for n, v := range sums {
		p.set(places[n][0], places[n][1], v)
	}
	next.Products = p.data
	return nil
}

// place returns where the old basis has vector i of a basis of k pairs, -1 if it is new.
func place(i, k, dropped int) int {
	oldPairs := k - 1 + dropped
	switch {
	case i < k-1:
		return i + dropped
	case i >= k && i < 2*k-1:
		return oldPairs + dropped + i - k
	}
	return -1
}

// slope returns the derivative along the direction at the new point.
func (m *move) slope() float64 {
	p := m.next.products()
	return p.at(len(m.next.Steps)-1, p.n-1) / m.width
}

// accept returns the new state. A pair without curvature to speak of is left out: it would
// spoil the quasi-Newton matrix.
func (m *move) accept(s *State) *State {
	next := m.next
	next.Decrease = (s.Value - next.Value) / max(math.Abs(s.Value), math.Abs(next.Value), math.SmallestNonzeroFloat64)
	next.Decrease = max(next.Decrease, 0)
	p, last := next.products(), len(next.Steps)-1
	sy, ss, yy := p.at(last, 2*last+1), p.at(last, last), p.at(2*last+1, 2*last+1)
	if !(ss > 0 && yy > 0 && sy > mul(1e-10, math.Sqrt(mul(ss, yy)))) {
		next.dropLast()
	}
	return next
}

// dropLast removes the newest pair.
func (s *State) dropLast() {
	k := len(s.Steps)
	p := s.products()
	smaller := newProducts(p.n - 2)
	keep := func(i int) bool { return i != k-1 && i != 2*k-1 }
	var data []float64
	for i := range p.n {
		for j := range p.n {
			if keep(i) && keep(j) {
				data = append(data, p.at(i, j))
			}
		}
	}
	copy(smaller.data, data)
	s.Steps, s.Changes, s.Products = s.Steps[:k-1], s.Changes[:k-1], smaller.data
}
