package drawn

import (
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// minExpected is the least mean count of a cell for which the statistic is close enough to its
// limiting distribution (Cochran 1954).
const minExpected = 5

// ChiSquareUniform returns the probability that counts as uneven as these, or more so, come from
// a uniform distribution over their cells (Pearson's test, len(counts)-1 degrees of freedom). It
// is NaN when it cannot be told: fewer than two cells, a negative count, or fewer than five
// observations per cell. A test is written !(p > limit), so that NaN fails it.
func ChiSquareUniform(counts []int64) float64 {
	total, ok := sum(counts)
	if !ok || len(counts) < 2 || total < minExpected*float64(len(counts)) {
		return math.NaN()
	}
	observed, expected := make([]float64, len(counts)), make([]float64, len(counts))
	for i, c := range counts {
		observed[i], expected[i] = float64(c), total/float64(len(counts))
	}
	return upperTail(stat.ChiSquare(observed, expected), len(counts)-1)
}

// ChiSquareSame returns the probability that two sets of counts as unlike as these, or more so,
// come from one distribution (Pearson's test of homogeneity). Cells that are empty in both are left
// out; the others, less one, are the degrees of freedom. It is NaN when the two have different
// numbers of cells, a negative count, fewer than two cells in use, or fewer than five observations
// per cell in use on the side that counted less.
func ChiSquareSame(a, b []int64) float64 {
	totalA, okA := sum(a)
	totalB, okB := sum(b)
	if !okA || !okB || len(a) != len(b) || totalA == 0 || totalB == 0 {
		return math.NaN()
	}
	x, cells := 0.0, 0
	for i := range a {
		both := float64(a[i]) + float64(b[i])
		if both == 0 {
			continue
		}
		cells++
		d := float64(a[i])*math.Sqrt(totalB/totalA) - float64(b[i])*math.Sqrt(totalA/totalB)
		x += d * d / both
	}
	if cells < 2 || min(totalA, totalB) < minExpected*float64(cells) {
		return math.NaN()
	}
	return upperTail(x, cells-1)
}

// sum adds counts, none of which may be negative.
func sum(counts []int64) (total float64, ok bool) {
	for _, c := range counts {
		if c < 0 {
			return 0, false
		}
		total += float64(c)
	}
	return total, true
}

// upperTail returns the probability that a chi-square variable with the given degrees of freedom exceeds x.
func upperTail(x float64, degrees int) float64 {
	return distuv.ChiSquared{K: float64(degrees)}.Survival(x)
}
