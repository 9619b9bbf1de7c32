package federated

import "math"

// Hedge writes weights of experts to shares: the exponents of the given logarithms, divided by their sum (Freund and
// Schapire 1997). Both have the same length. Logarithms of any size do, since the largest is taken out first.
func Hedge(shares, logs []float64) {
	top := math.Inf(-1)
	for _, l := range logs {
		top = max(top, l)
	}
	total := 0.0
	for i, l := range logs {
		shares[i] = math.Exp(l - top)
		total += shares[i]
	}
	for i := range shares {
		shares[i] /= total
	}
}
