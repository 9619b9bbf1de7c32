// Package hedge holds what algorithms share that weigh experts by exponents of their losses (Freund and
// Schapire 1997): kernels in POF-MKL, networks in OFMS-FT.
package hedge

import "math"

// Normalise writes the weights whose logarithms are given, divided by their sum, to shares. Both have the same
// length. Logarithms of any size do, since the largest is taken out before the exponents are.
func Normalise(shares, logs []float64) {
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
