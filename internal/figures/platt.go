package figures

import (
	"fmt"
	"math"
)

// Platt turns scores into probabilities of the positive class: 1 / (1 + exp(A score + B)) (Platt, Advances in Large
// Margin Classifiers, 1999, equation 1).
type Platt struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

// Probability returns the probability of the positive class for a score.
func (p Platt) Probability(score float64) float64 {
	x := p.A*score + p.B
	if x >= 0 {
		return math.Exp(-x) / (1 + math.Exp(-x))
	}
	return 1 / (1 + math.Exp(x))
}

// Probabilities returns the probabilities of scores.
func (p Platt) Probabilities(scores []float64) []float64 {
	out := make([]float64, len(scores))
	for i, s := range scores {
		out[i] = p.Probability(s)
	}
	return out
}

// The steps of the fit, as Lin, Lin and Weng have them.
const (
	plattSteps    = 100
	plattLeast    = 1e-10 // the shortest step of the line search
	plattRidge    = 1e-12 // added to the Hessian's diagonal
	plattGradient = 1e-13 // a gradient of this many rows' worth ends the search
)

// FitPlatt fits A and B by maximum likelihood to targets that are (N+ + 1)/(N+ + 2) and 1/(N- + 2), by Newton's method
// with backtracking (Lin, Lin, Weng, Machine Learning 68, 2007, appendix 3). Labels are -1 and +1; where all are the
// same there is nothing to fit.
func FitPlatt(labels, scores []float64) (Platt, error) {
	if err := finite(labels, scores); err != nil {
		return Platt{}, err
	}
	var positives, negatives float64
	for _, y := range labels {
		if y > 0 {
			positives++
		} else {
			negatives++
		}
	}
	if positives == 0 || negatives == 0 {
		return Platt{}, fmt.Errorf("all %d rows have the same label: probabilities need rows of both", len(labels))
	}
	target := func(y float64) float64 {
		if y > 0 {
			return (positives + 1) / (positives + 2)
		}
		return 1 / (negatives + 2)
	}
	// Scores are divided by the largest, so that they cannot make the Hessian overflow; A is multiplied back.
	scale := 0.0
	for _, s := range scores {
		scale = max(scale, math.Abs(s))
	}
	if scale == 0 {
		scale = 1
	}
	value := func(p Platt) float64 {
		sum := 0.0
		for i, s := range scores {
			x, t := p.A*s/scale+p.B, target(labels[i])
			if x >= 0 {
				sum += t*x + math.Log1p(math.Exp(-x))
			} else {
				sum += (t-1)*x + math.Log1p(math.Exp(x))
			}
		}
		return sum
	}
	p := Platt{B: math.Log((negatives + 1) / (positives + 1))}
	f := value(p)
	for range plattSteps {
		h11, h22, h21, g1, g2 := plattRidge, plattRidge, 0.0, 0.0, 0.0
		for i, s := range scores {
			s /= scale
			q := p.Probability(s)
			d1, d2 := target(labels[i])-q, q*(1-q)
			h11, h22, h21 = h11+s*s*d2, h22+d2, h21+s*d2
			g1, g2 = g1+s*d1, g2+d1
		}
		if math.Abs(g1) < plattGradient*float64(len(scores)) && math.Abs(g2) < plattGradient*float64(len(scores)) {
			break
		}
		det := h11*h22 - h21*h21
		da, db := -(h22*g1-h21*g2)/det, -(-h21*g1+h11*g2)/det
		slope := g1*da + g2*db
		step := 1.0
		for step >= plattLeast {
			next := Platt{p.A + step*da, p.B + step*db}
			if v := value(next); v < f+1e-4*step*slope {
				p, f = next, v
				break
			}
			step /= 2
		}
		if step < plattLeast {
			break
		}
	}
	p.A /= scale
	if err := finite([]float64{p.A, p.B}); err != nil {
		return Platt{}, fmt.Errorf("probabilities of these scores could not be fitted: A is %v and B is %v", p.A, p.B)
	}
	return p, nil
}
