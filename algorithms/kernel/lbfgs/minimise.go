package lbfgs

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// Settings say how to search and when to stop. All parties of a run use the same.
type Settings struct {
	History    int     // pairs kept, at most MaxHistory; 0 means 10
	Iterations int     // at most so many; 0 means 200
	Gradient   float64 // stop at a gradient this many times smaller than the first; 0 means 1e-6
	Decrease   float64 // stop when the value falls by less than this share of itself; 0 means 1e-9
	Noise      float64 // relative precision of the values the Oracle gives; 0 means 1e-14
}

// withDefaults fills in what is 0.
func (s Settings) withDefaults() Settings {
	fill := func(v *float64, d float64) {
		if *v == 0 {
			*v = d
		}
	}
	if s.History == 0 {
		s.History = 10
	}
	if s.Iterations == 0 {
		s.Iterations = 200
	}
	fill(&s.Gradient, 1e-6)
	fill(&s.Decrease, 1e-9)
	fill(&s.Noise, 1e-14)
	return s
}

// Reason says why a run stopped.
type Reason string

// The reasons.
const (
	SmallGradient  Reason = "the gradient is small"
	SmallDecrease  Reason = "the value hardly falls"
	IterationLimit Reason = "the iteration limit is reached"
	NoProgress     Reason = "no step lowers the value" // at the limit of its precision
)

// maxTrials bounds the evaluations of one iteration.
const maxTrials = 25

// Minimise runs until a stopping rule holds, and returns the last state. The run starts at
// the own part start, or, if from is not nil, goes on from a stored state. After each iteration
// it calls checkpoint, if not nil, with the state, which nobody changes afterwards; an error of
// checkpoint ends the run. Errors of the Oracle end it too, and name the iteration.
func Minimise(ctx context.Context, o Oracle, start []float64, from *State, set Settings,
	checkpoint func(*State) error) (*State, Reason, error) {
	set = set.withDefaults()
	switch {
	case set.History < 1 || set.History > MaxHistory:
		return nil, "", fmt.Errorf("optimiser history is %d: want 1 to %d", set.History, MaxHistory)
	case set.Iterations < 1:
		return nil, "", fmt.Errorf("optimiser iteration limit is %d: want at least 1", set.Iterations)
	case !(set.Gradient > 0 && set.Gradient < 1) || !(set.Decrease > 0 && set.Decrease < 1) ||
		!(set.Noise > 0 && set.Noise < 1):
		return nil, "", fmt.Errorf("optimiser tolerances are %v, %v and %v: want numbers between 0 and 1", set.Gradient,
			set.Decrease, set.Noise)
	}
	s, err := begin(ctx, o, start, from)
	if err != nil {
		return nil, "", err
	}
	for {
		if reason := s.stops(set); reason != "" {
			return s, reason, nil
		}
		next, err := iterate(ctx, o, s, set)
		if err != nil {
			return nil, "", fmt.Errorf("iteration %d: %w", s.Iteration+1, err)
		}
		if next == nil {
			return s, NoProgress, nil
		}
		s = next
		if checkpoint != nil {
			if err := checkpoint(s); err != nil {
				return nil, "", err
			}
		}
	}
}

// begin returns the first state of a run.
func begin(ctx context.Context, o Oracle, start []float64, from *State) (*State, error) {
	if from != nil {
		return from, from.Validate()
	}
	s := &State{Alpha: append([]float64{}, start...), Gradient: make([]float64, len(start)), Evaluations: 1, Decrease: 1}
	value, err := o.Evaluate(ctx, s.Alpha, s.Gradient)
	if err != nil {
		return nil, err
	}
	s.Value = value
	s.Products, err = dots(ctx, o, []Pair{{s.Gradient, s.Gradient}})
	if err != nil {
		return nil, err
	}
	s.StartGradient = s.GradientNorm()
	if err := s.Validate(); err != nil {
		return nil, fmt.Errorf("the function is not finite at the start: value %v, gradient norm %v", value, s.StartGradient)
	}
	return s, nil
}

// dots asks for inner products and checks that all came.
func dots(ctx context.Context, o Oracle, pairs []Pair) ([]float64, error) {
	sums, err := o.Dots(ctx, pairs)
	if err == nil && len(sums) != len(pairs) {
		err = fmt.Errorf("there came %d inner products: want %d", len(sums), len(pairs))
	}
	return sums, err
}

// stops returns why the run is over, or nothing.
func (s *State) stops(set Settings) Reason {
	switch {
	case s.GradientNorm() <= mul(set.Gradient, s.StartGradient):
		return SmallGradient
	case s.Decrease < set.Decrease:
		return SmallDecrease
	case s.Iteration >= set.Iterations:
		return IterationLimit
	}
	return ""
}

// iterate makes one step along the quasi-Newton direction, or along the gradient where that
// one fails; nil means that none is to be had.
func iterate(ctx context.Context, o Oracle, s *State, set Settings) (*State, error) {
	c := s.products().direction()
	slope := s.products().with(c, len(c)-1)
	if !(slope < 0) {
		s = s.forget()
		c, slope = []float64{-1}, -s.Products[0]
	}
	d := combine(c, s.basis())
	line := newSearch(trial{0, s.Value, slope}, mul(set.Noise, math.Abs(s.Value)))
	step := 1.0
	if len(s.Steps) == 0 {
		step = min(1, 1/s.GradientNorm())
	}
	for range maxTrials {
		m, err := s.try(ctx, o, d, step, set.History)
		if err != nil {
			return nil, err
		}
		if line.accepts(trial{step, m.next.Value, m.slope()}) {
			return m.accept(s), nil
		}
		step = line.next()
	}
	if len(s.Steps) > 0 {
		return iterate(ctx, o, s.forget(), set)
	}
	return nil, nil
}

// forget drops the history: the next direction is the gradient's.
func (s *State) forget() *State {
	next := *s
	next.Steps, next.Changes = nil, nil
	next.Products = []float64{s.Products[len(s.Products)-1]}
	return &next
}

// combine returns the sum of c_i v_i.
func combine(c []float64, v [][]float64) []float64 {
	out := make([]float64, len(v[0]))
	for i := range c {
		floats.AddScaled(out, c[i], v[i])
	}
	return out
}
