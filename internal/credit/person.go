package credit

import (
	"math"
	"math/rand/v2"
)

// traits are what drives a person's figures and is written down nowhere. Each is roughly
// standard normal; strain shows at the bank, care at the insurer, roots at the telco and
// appetite at the retailer, and wealth a little everywhere.
type traits struct {
	strain   float64 // how much of what can be borrowed is borrowed
	care     float64 // how careful life is led
	roots    float64 // how settled a person is
	appetite float64 // how freely money is spent
	wealth   float64 // how much of it there is
}

// person is somebody about whom the parties know something.
type person struct {
	traits
	draw *rand.Rand
}

// golden spreads consecutive numbers over the generator's state.
const golden = 0x9e3779b97f4a7c15

// mix returns a standard normal number with the given correlation to a trait.
func (p *person) mix(correlation, trait float64) float64 {
	return correlation*trait + math.Sqrt(1-correlation*correlation)*p.draw.NormFloat64()
}

// count draws from a Poisson distribution, by multiplying uniforms (Knuth), and caps it.
func (p *person) count(rate float64, most int) float64 {
	n, end := 0, math.Exp(-rate)
	for left := p.draw.Float64(); left > end && n < most; left *= p.draw.Float64() {
		n++
	}
	return float64(n)
}

// pick draws an index with probabilities in proportion to weights.
func (p *person) pick(weights ...float64) float64 {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	left := p.draw.Float64() * total
	for i, w := range weights {
		if left -= w; left < 0 {
			return float64(i)
		}
	}
	return float64(len(weights) - 1)
}

// amount is log-normal: median · exp(spread · z).
func amount(median, spread, z float64) float64 { return median * math.Exp(spread*z) }

// share lies between 0 and 1 with the given middle, to three decimals.
func share(middle, spread, z float64) float64 {
	odds := middle / (1 - middle) * math.Exp(spread*z)
	return decimals(3, odds/(1+odds))
}

// between is a whole number that goes from low to high, along a logistic curve, as z goes from
// far below 0 to far above.
func between(low, high, z float64) float64 {
	return math.Round(low + (high-low)/(1+math.Exp(-1.2*z)))
}

// nearest rounds to a whole multiple of step.
func nearest(step, v float64) float64 { return step * math.Round(v/step) }

// decimals rounds to n decimals.
func decimals(n int, v float64) float64 {
	scale := math.Pow10(n)
	return math.Round(scale*v) / scale
}
