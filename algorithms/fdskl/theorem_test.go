package fdskl

import (
	"math"
	"testing"
)

// TestTheoremFour holds the formulas against the paper's recursion: e_(t+1) <= (1 - 2 gamma lambda) e_t + 4 kappa M^2
// gamma^2 + 2 sqrt(kappa) gamma C sqrt(e_t) (equation 13), with C^2 = M^2 (sqrt(kappa) + sqrt(phi))^2 gamma/lambda
// (Lemma 3).
func TestTheoremFour(t *testing.T) {
	for _, lambda := range []float64{1e-3, 0.1, 1} {
		for _, gamma := range []float64{1e-4, 0.01, 0.3} {
			th := Params{Loss: "logistic", Lambda: Lambda(lambda), Step: gamma}.Theorem()
			c2 := math.Pow(1+math.Sqrt2, 2) * gamma / lambda
			next := func(e float64) float64 {
				return (1-2*gamma*lambda)*e + 4*gamma*gamma + 2*gamma*math.Sqrt(c2)*math.Sqrt(e)
			}
			if rest := th.Rest(); math.Abs(next(rest)-rest) > 1e-9*rest {
				t.Errorf("lambda %v, step %v: the rest %v goes to %v", lambda, gamma, rest, next(rest))
			}
			start := 3 * th.Rest()
			for e, n := start, 0; n < 500; n++ {
				if bound := th.Bound(n, start); !(2*c2+2*e <= bound*(1+1e-12)) {
					t.Fatalf("lambda %v, step %v, iteration %d: bound %v is below the recursion's %v", lambda, gamma, n, bound,
						2*c2+2*e)
				}
				e = next(e)
			}
			epsilon := gamma * 4 * math.Pow(1+math.Sqrt2, 2) / lambda // for which this step is the cap
			if limit := th.Cap(epsilon); math.Abs(limit-gamma) > 1e-12*gamma {
				t.Errorf("lambda %v: the cap for %v is %v, want %v", lambda, epsilon, limit, gamma)
			}
			if limit := th.Cap(1e12); limit != 1/lambda {
				t.Errorf("the cap for a large epsilon is %v, want 1/lambda = %v", limit, 1/lambda)
			}
		}
	}
}

func TestStepWarning(t *testing.T) {
	p := Params{Schedule: DoublyStochastic, Loss: "logistic", Lambda: 0.1, Step: 0.01}
	want := `step is 0.01, FDSKL's Theorem 4 wants one below 0.00429: with lambda 0.1 it does not promise scores right ` +
		`to within 1; compare with another step, or with schedule = "fixed"`
	if got := p.StepWarning(); got != want {
		t.Errorf("the warning is %q, want %q", got, want)
	}
	for _, quiet := range []Params{{Schedule: DoublyStochastic, Loss: "logistic", Lambda: 0.1, Step: 0.004},
		{Schedule: Fixed, Loss: "square", Step: 9}} {
		if got := quiet.StepWarning(); got != "" {
			t.Errorf("schedule %s, step %v: warned %q", quiet.Schedule, quiet.Step, got)
		}
	}
	p.Loss, p.Step = "square", 1e-9
	want = `schedule is doubly-stochastic with the square loss, whose slope has no bound: FDSKL's Theorem 4 promises ` +
		`nothing of it at any step; schedule = "fixed" needs none`
	if got := p.StepWarning(); got != want {
		t.Errorf("the warning is %q, want %q", got, want)
	}
}
