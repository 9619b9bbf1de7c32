package graph

import "math"

// factorials holds ln 0!, ln 1!, and so on.
type factorials []float64

func newFactorials(n int) factorials {
	f := make(factorials, n+1)
	for i := range f {
		f[i], _ = math.Lgamma(float64(i + 1))
	}
	return f
}

// negligible is ln of what may be missing from a tail, relatively, far below a float's precision.
const negligible = -50

// tail returns log2 of the probability that of k drawn without replacement from n, of which m are
// marked, at least x are marked; -Inf when that cannot be, 0 when it must.
func (f factorials) tail(n, m, k, x int) float64 {
	low, high := max(0, k-(n-m)), min(k, m)
	if x <= low {
		return 0
	}
	choose := func(n, k int) float64 { return f[n] - f[k] - f[n-k] } // ln of n over k
	sum, last := math.Inf(-1), math.Inf(-1)
	for ; x <= high; x++ {
		term := choose(m, x) + choose(n-m, k-x) - choose(n, k)
		if term < last && term < sum+negligible {
			break // terms only fall from here on, ever faster
		}
		less, more := min(sum, term), max(sum, term)
		sum, last = more+math.Log1p(math.Exp(less-more)), term // ln(e^sum + e^term)
	}
	return min(0, sum/math.Ln2)
}
