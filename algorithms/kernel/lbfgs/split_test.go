package lbfgs

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
)

// federation lets parties that run in step share a function of the joined vector.
type federation struct {
	f       Func
	parties int
	cuts    []int // party i has coordinates cuts[i] to cuts[i+1]-1

	mu      sync.Mutex
	turn    *sync.Cond
	round   int
	waiting int
	parts   [][]float64
	result  []float64
}

func newFederation(f Func, cuts ...int) *federation {
	s := &federation{f: f, parties: len(cuts) - 1, cuts: cuts, parts: make([][]float64, len(cuts)-1)}
	s.turn = sync.NewCond(&s.mu)
	return s
}

// meet hands in a party's part; the last to come computes the result, which all get.
func (s *federation) meet(party int, part []float64, compute func(parts [][]float64) []float64) []float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.parts[party] = part
	s.waiting++
	if s.waiting == s.parties {
		s.waiting, s.result = 0, compute(s.parts)
		s.round++
		s.turn.Broadcast()
		return s.result
	}
	for round := s.round; round == s.round; {
		s.turn.Wait()
	}
	return s.result
}

// member is one party's Oracle.
type member struct {
	*federation
	party int
}

func (m member) Evaluate(_ context.Context, alpha, gradient []float64) (float64, error) {
	joint := m.meet(m.party, alpha, func(parts [][]float64) []float64 {
		x := slices.Concat(parts...)
		g := make([]float64, len(x))
		return append(g, m.f(x, g))
	})
	copy(gradient, joint[m.cuts[m.party]:m.cuts[m.party+1]])
	return joint[len(joint)-1], nil
}

func (m member) Dots(_ context.Context, pairs []Pair) ([]float64, error) {
	own := make([]float64, len(pairs))
	for i, p := range pairs {
		own[i] = p.Dot()
	}
	return m.meet(m.party, own, func(parts [][]float64) []float64 {
		sums := make([]float64, len(parts[0]))
		for _, part := range parts {
			for i, v := range part {
				sums[i] += v
			}
		}
		return sums
	}), nil
}

// runSplit runs all parties and joins their points.
func runSplit(t *testing.T, p problem, set Settings, cuts ...int) ([]float64, []*State) {
	t.Helper()
	f := newFederation(p.f, cuts...)
	states, errs := make([]*State, f.parties), make([]error, f.parties)
	var group sync.WaitGroup
	for i := range f.parties {
		group.Go(func() {
			states[i], _, errs[i] = Minimise(context.Background(), member{f, i}, make([]float64, cuts[i+1]-cuts[i]), nil, set,
				nil)
		})
	}
	group.Wait()
	must(t, errors.Join(errs...))
	var x []float64
	for _, s := range states {
		x = append(x, s.Alpha...)
	}
	return x, states
}

// TestSplitEqualsWhole: two and three parties, one of which may own nothing, reach the whole
// run's point, and hold equal scalars to the bit.
func TestSplitEqualsWhole(t *testing.T) {
	set := Settings{Gradient: 1e-10, Decrease: 1e-300}
	for _, p := range []problem{quadratic(30, 10), logistic(25, 200, 1e-2), steep(25)} {
		whole, _ := mustMinimise(t, p.f, make([]float64, p.dim), set)
		for _, cuts := range [][]int{{0, 7, p.dim}, {0, 1, 20, p.dim}, {0, 10, 10, p.dim}} {
			x, states := runSplit(t, p, set, cuts...)
			for i, v := range x {
				if math.Abs(v-whole.Alpha[i]) > 1e-9 {
					t.Fatalf("%s cut at %v: coordinate %d is %v, want %v", p.name, cuts, i, v, whole.Alpha[i])
				}
			}
			for _, s := range states {
				if s.Iteration != states[0].Iteration || s.Value != states[0].Value ||
					!slices.Equal(s.Products, states[0].Products) {
					t.Fatalf("%s cut at %v: parties disagree", p.name, cuts)
				}
			}
		}
	}
}
