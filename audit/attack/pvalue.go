package attack

import (
	"math"

	"gonum.org/v1/gonum/mathext"
)

// perBin is the least expected count of a bin for which a chi-square test is run.
const perBin = 5

// chiSquareUniform returns the probability of counts as uneven as these, or more so, under a
// uniform distribution over the bins. It reports false when there are fewer than five a bin.
func chiSquareUniform(counts []int64) (float64, bool) {
	total := int64(0)
	for _, c := range counts {
		total += c
	}
	expected := float64(total) / float64(len(counts))
	if expected < perBin {
		return 1, false
	}
	x := 0.0
	for _, c := range counts {
		d := float64(c) - expected
		x += d * d / expected
	}
	return mathext.GammaIncRegComp(float64(len(counts)-1)/2, x/2), true
}

// twoSided returns the probability of a standard normal variable at least this far from 0.
func twoSided(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// corrected is a p-value that is the smallest of some number of tests (Bonferroni).
func corrected(p float64, tests int) float64 { return min(1, p*float64(tests)) }
