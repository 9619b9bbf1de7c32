package lbfgs

import (
	"math"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Constants of the line search (Nocedal and Wright, section 3.1).
const (
	armijo    = 1e-4 // share of the promised decrease that must come true
	curvature = 0.9  // share of the slope that may remain
	expand    = 10   // most that a step may grow at once
	margin    = 0.1  // share of the bracket that a trial keeps from its ends
)

// trial is a point on the search line.
type trial struct{ step, value, slope float64 }

// ok reports whether the point can be used at all.
func (t trial) ok() bool { return parameters.AreFinite([]float64{t.value, t.slope}) }

// search looks for a step that satisfies the weak Wolfe conditions, by shrinking a bracket
// (Lewis and Overton 2013, Algorithm 2.6) with trials from cubic interpolation. It asks, the
// caller computes.
type search struct {
	start trial
	noise float64 // what values may be off by
	low   trial   // long enough a step lies above
	high  trial   // and below; its step is infinite until one is known
}

// newSearch starts at a point with a negative slope.
func newSearch(start trial, noise float64) *search {
	return &search{start: start, noise: noise, low: start, high: trial{step: math.Inf(1)}}
}

// accepts takes the outcome of a trial, and reports whether it ends the search.
func (s *search) accepts(t trial) bool {
	switch {
	case !t.ok() || !s.decreases(t):
		s.high = t
		return false
	case t.slope < mul(curvature, s.start.slope):
		s.low = t
		return false
	}
	return true
}

// decreases is Armijo's condition; where values differ by no more than their noise, the slope
// stands in for them (the approximate condition of Hager and Zhang 2005).
func (s *search) decreases(t trial) bool {
	promised := mul(armijo, mul(t.step, s.start.slope))
	if t.value <= s.start.value+promised {
		return true
	}
	return t.value <= s.start.value+s.noise && t.slope <= mul(2*armijo-1, s.start.slope)
}

// next returns the step to try next.
func (s *search) next() float64 {
	if math.IsInf(s.high.step, 1) {
		// Extends a step that is too short, along the secant of the slopes.
		t := mul(2, s.low.step)
		if s.low.slope > s.start.slope {
			share := s.start.slope / (s.start.slope - s.low.slope)
			t = max(t, mul(s.low.step, share))
		}
		return min(t, mul(expand, s.low.step))
	}
	width := s.high.step - s.low.step
	middle := s.low.step + 0.5*width
	if !s.high.ok() {
		return s.low.step + mul(margin, width)
	}
	t := cubic(s.low, s.high)
	if !(t >= s.low.step+mul(margin, width) && t <= s.high.step-mul(margin, width)) {
		return middle
	}
	return t
}

// cubic returns the minimum of the cubic through two trials' values and slopes (Nocedal and
// Wright, equation 3.59), NaN where there is none.
func cubic(a, b trial) float64 {
	width := b.step - a.step
	d := a.slope + b.slope - mul(3, (b.value-a.value)/width)
	e := math.Sqrt(mul(d, d) - mul(a.slope, b.slope))
	return b.step - mul(width, (b.slope+e-d)/(b.slope-a.slope+2*e))
}
