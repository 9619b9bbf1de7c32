package pofmkl

import "github.com/hanse-project/hanse/algorithms/federated"

// weights are how much a client trusts each kernel. They are kept as logarithms: products of
// hundreds of exponentials run out of float64's range.
type weights struct {
	log   []float64 // up to a constant
	share []float64 // normalised to a total of 1
	order []int     // kernels by falling weight, equal ones by index
}

// newWeights returns equal weights of n kernels.
func newWeights(n int) *weights {
	w := &weights{log: make([]float64, n), share: make([]float64, n), order: make([]int, n)}
	for i := range w.order {
		w.order[i] = i
	}
	w.refresh()
	return w
}

// learn multiplies every weight by exp(-step loss), equation 7.
func (w *weights) learn(losses []float64, step float64) {
	for i, l := range losses {
		w.log[i] -= step * l
	}
	w.refresh()
}

// refresh makes shares and order fit the logarithms.
func (w *weights) refresh() {
	federated.Hedge(w.share, w.log)
	w.sort()
}

// sort restores the order by insertion: from one round to the next hardly anything moves.
func (w *weights) sort() {
	for at := 1; at < len(w.order); at++ {
		k, to := w.order[at], at
		for ; to > 0 && w.before(k, w.order[to-1]); to-- {
			w.order[to] = w.order[to-1]
		}
		w.order[to] = k
	}
}

// before reports whether kernel a stands before kernel b.
func (w *weights) before(a, b int) bool {
	return w.log[a] > w.log[b] || w.log[a] == w.log[b] && a < b
}

// blend returns the mean of the kernels' values, weighted by shares of 1.
func blend(shares, values []float64) float64 {
	sum := 0.0
	for i, v := range values {
		sum += shares[i] * v
	}
	return sum
}

// draw cuts the sorted kernels into bins of m and draws one: bin j with probability
// (1-explore) u_j/U + explore/bins, equation 8, at the point u in [0, 1) of their running sum. It
// returns the bin's kernels and its probability.
func (w *weights) draw(u float64, m int, explore float64) (bin []int, probability float64) {
	bins := (len(w.order) + m - 1) / m
	sum := 0.0
	for j := range bins {
		bin = w.order[j*m : min((j+1)*m, len(w.order))]
		share := 0.0
		for _, i := range bin {
			share += w.share[i]
		}
		probability = (1-explore)*share + explore/float64(bins)
		if sum += probability; u < sum {
			break
		}
	}
	return bin, probability
}
