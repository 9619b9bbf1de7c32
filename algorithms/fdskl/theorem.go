package fdskl

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// Theorem is what FDSKL's Theorem 4 says of the doubly stochastic schedule with a constant step, from public numbers
// alone. It bounds E|f_t(x) - f*(x)|^2 at any x, f* being the function that the job's loss and lambda ask for. It
// stands on Assumption 1: the loss's slope is at most M and Lipschitz with a constant of at most 1, K(x, x') is at most
// kappa, and phi(x) phi(x') at most phi.
type Theorem struct {
	M      float64 // infinite for the square loss, of which the theorem says nothing
	Kappa  float64 // 1 for every kernel here
	Phi    float64 // 2: two cosines times sqrt(2)
	Lambda float64
	Gamma  float64 // the step
}

// Theorem returns the theorem's numbers of a job with the doubly stochastic schedule.
func (p Params) Theorem() Theorem {
	t := Theorem{M: 1, Kappa: 1, Phi: 2, Lambda: float64(p.Lambda), Gamma: p.Step}
	if p.Loss == kernel.Square.String() {
		t.M = math.Inf(1)
	}
	return t
}

// Cap returns what the step must be below for E|f_t - f*|^2 to come down to epsilon: the lesser of 1/lambda and
// epsilon lambda / (4 M^2 (sqrt(kappa) + sqrt(phi))^2).
func (t Theorem) Cap(epsilon float64) float64 {
	return min(1/t.Lambda, epsilon*t.Lambda/(4*t.features()))
}

// Rest returns the bound of E|h_t - f*|^2 that no number of iterations gets below, gamma B (equation 16): h_t is f_t
// with the kernel in place of its features.
func (t Theorem) Rest() float64 {
	one := 2 * t.Kappa * t.M * t.M / t.Lambda
	two := math.Sqrt(t.Kappa*t.features()) / (2 * math.Pow(t.Lambda, 1.5))
	root := math.Sqrt(two*two+one) + two
	return t.Gamma * root * root
}

// Bound returns the bound of E|f_t(x) - f*(x)|^2 after so many iterations, start being |f*|^2 in the kernel's space:
// twice what the features are off by (Lemma 3) and 2 kappa times what is left of the start and of Rest (equations 9 and
// 18). It may be larger than what f = 0 is off by, or infinite.
func (t Theorem) Bound(iterations int, start float64) float64 {
	rest := t.Rest()
	left := max(rest, math.Pow(1-t.Gamma*t.Lambda, float64(iterations))*(start-rest)+rest)
	return 2*t.features()*t.Gamma/t.Lambda + 2*t.Kappa*left
}

// features is M^2 (sqrt(kappa) + sqrt(phi))^2.
func (t Theorem) features() float64 {
	root := math.Sqrt(t.Kappa) + math.Sqrt(t.Phi)
	return t.M * t.M * root * root
}

// StepWarning says that step is beyond the cap of Theorem 4 for scores that are right to within 1, the distance from
// the border of two classes to a label; or nothing. It does not stop a job: the theorem is careful, and steps that
// learn something in a job's iterations are beyond its cap where lambda is small.
func (p Params) StepWarning() string {
	if p.Schedule != DoublyStochastic {
		return ""
	}
	if p.Loss == kernel.Square.String() {
		return "schedule is doubly-stochastic with the square loss, whose slope has no bound: FDSKL's Theorem 4 promises " +
			"nothing of it at any step; schedule = \"fixed\" needs none"
	}
	limit := p.Theorem().Cap(1)
	if p.Step < limit {
		return ""
	}
	return fmt.Sprintf("step is %.3g, FDSKL's Theorem 4 wants one below %.3g: with lambda %.3g it does not promise "+
		"scores right to within 1; compare with another step, or with schedule = \"fixed\"",
		p.Step, limit, p.Lambda)
}
