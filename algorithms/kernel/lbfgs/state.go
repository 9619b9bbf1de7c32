package lbfgs

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Limits on a State, checked when one is loaded.
const (
	MaxHistory = 64
	maxLength  = 1 << 28
)

// State is where a run stands between two iterations. All of it is the party's own, except the
// scalars, which all parties hold alike. It holds everything a run needs to go on.
type State struct {
	Iteration     int
	Evaluations   int
	Value         float64   // the function at Alpha
	StartGradient float64   // norm of the first gradient
	Decrease      float64   // relative decrease of the value in the last iteration
	Alpha         []float64 // own part of the point
	Gradient      []float64 // own part of the gradient at Alpha
	Steps         [][]float64
	Changes       [][]float64 // of the gradient, one for each of Steps, oldest first
	Products      []float64   // inner products of Steps, Changes and Gradient, in that order, row-major
}

// Validate checks a State that comes from a file: sizes fit, and all numbers are finite.
func (s *State) Validate() error {
	k, d := len(s.Steps), len(s.Alpha)
	switch {
	case s.Iteration < 0 || s.Evaluations < 0:
		return fmt.Errorf("optimiser state has counts %d and %d: want none below 0", s.Iteration, s.Evaluations)
	case k > MaxHistory || len(s.Changes) != k:
		return fmt.Errorf("optimiser state has %d steps and %d changes: want as many of each, up to %d", k, len(s.Changes),
			MaxHistory)
	case d > maxLength || len(s.Gradient) != d:
		return fmt.Errorf("optimiser state has %d coordinates and a gradient of %d", d, len(s.Gradient))
	case len(s.Products) != (2*k+1)*(2*k+1):
		return fmt.Errorf("optimiser state has %d inner products for %d steps: want %d", len(s.Products), k, (2*k+1)*(2*k+1))
	}
	for _, v := range [][]float64{{s.Value, s.StartGradient, s.Decrease}, s.Alpha, s.Gradient, s.Products} {
		if !parameters.AreFinite(v) {
			return fmt.Errorf("optimiser state holds a number that is not finite")
		}
	}
	for i := range s.Steps {
		if len(s.Steps[i]) != len(s.Alpha) || len(s.Changes[i]) != len(s.Alpha) {
			return fmt.Errorf("optimiser state: step %d has %d and %d coordinates, want %d", i, len(s.Steps[i]),
				len(s.Changes[i]), len(s.Alpha))
		}
		if !parameters.AreFinite(s.Steps[i]) || !parameters.AreFinite(s.Changes[i]) {
			return fmt.Errorf("optimiser state: step %d holds a number that is not finite", i)
		}
		if !(s.products().at(i, len(s.Steps)+i) > 0) {
			return fmt.Errorf("optimiser state: step %d has no positive curvature", i)
		}
	}
	return nil
}

// GradientNorm returns the norm of the gradient over all parties.
func (s *State) GradientNorm() float64 {
	return math.Sqrt(max(0, s.Products[len(s.Products)-1])) // sums may be rounded below 0
}

// ToGo says about how far the value has yet to fall, by what all parties know: the larger of two estimates. The one is
// g . B g, where g is the gradient and B what the run takes for the inverse of the second derivative; few pairs know
// little of flat directions, so that it may be far too small. The other is what as many iterations again as there were
// would bring if each brought what the later half of the kept ones did. That is enough where the distance shrinks like
// 1 over the number of iterations, or faster.
func (s *State) ToGo() float64 {
	p, k := s.products(), len(s.Steps)
	first, fall := k/2, 0.0
	for i := first; i < k; i++ { // along a step the value falls by the mean slope of its two ends
		slope := p.at(i, 2*k)
		for j := i + 1; j < k; j++ {
			slope -= p.at(i, k+j)
		}
		fall -= slope - p.at(i, k+i)/2
	}
	return max(0, -p.with(p.direction(), 2*k), fall/float64(max(k-first, 1))*float64(s.Iteration))
}

// products views the inner products as a matrix.
func (s *State) products() products { return products{2*len(s.Steps) + 1, s.Products} }

// basis returns the vectors whose inner products the state keeps, in their order.
func (s *State) basis() [][]float64 {
	b := append(append([][]float64{}, s.Steps...), s.Changes...)
	return append(b, s.Gradient)
}
