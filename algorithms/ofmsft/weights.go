package ofmsft

import "github.com/hanse-project/hanse/algorithms/federated"

// Weights are how much a client trusts each of K networks. They are kept as logarithms: products of
// hundreds of exponentials run out of float64's range.
type Weights struct {
	log   []float64 // up to a constant
	share []float64 // normalised to a total of 1
}

// NewWeights returns equal weights of n networks.
func NewWeights(n int) *Weights {
	w := &Weights{log: make([]float64, n), share: make([]float64, n)}
	w.Refresh()
	return w
}

// Lower multiplies network k's weight by exp(-by); shares stay as they are until Refresh.
func (w *Weights) Lower(k int, by float64) { w.log[k] -= by }

// Refresh makes shares fit the logarithms, equation 4.
func (w *Weights) Refresh() {
	federated.Hedge(w.share, w.log)
}

// Shares returns the weights, normalised, [K]; valid until the next Refresh.
func (w *Weights) Shares() []float64 { return w.share }

// Draw returns the network at the point u in [0, 1) of the running sum of shares.
func (w *Weights) Draw(u float64) int {
	sum, last := 0.0, 0
	for k, s := range w.share {
		if s == 0 {
			continue
		}
		last = k
		if sum += s; u < sum {
			break
		}
	}
	return last
}
