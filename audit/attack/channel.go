package attack

import "math"

// surely is the exponent beyond which the second best turn does not count.
const surely = 36

// unfold returns mean and variance of a normal variable with the given mean and variance, once it
// is known to be value plus a whole number of turns.
func unfold(value, mean, variance float64) (float64, float64) {
	offset := wrap(value - mean)
	near := math.Abs(offset)
	if (1-2*near)/(2*variance) > surely {
		return mean + offset, 0
	}
	m, v := turns(near, variance)
	return mean + math.Copysign(m, offset), v
}

// turns returns mean and variance over the numbers near + k, k = -3 .. 3, weighted by a normal
// density around 0, for near in [0, 1/2].
func turns(near, variance float64) (float64, float64) {
	q := math.Exp(-1 / (2 * variance)) // of one turn
	a := math.Exp(-(1 - 2*near) / (2 * variance))
	b := a * math.Exp(-2*near/variance)
	weights := [7]float64{a * a * a * q * q * q * q * q * q, a * a * q * q, a, 1, b, b * b * q * q, b * b * b * q * q * q * q * q * q}
	var total, first, second float64
	for k, w := range weights {
		x := near + float64(k-3)
		total += w
		first += w * x
		second += w * x * x
	}
	mean := first / total
	return mean, max(second/total-mean*mean, 0)
}
