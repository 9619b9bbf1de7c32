package pofmkl

import "slices"

// Regret compares a client's predictions with its best kernel in hindsight, equation 11. The loss of a
// prediction is its squared error plus lambda sum_i w_i |theta_i|^2, which for a single kernel is the
// loss of equation 2; labels count as numbers from 0 to 1.
type Regret struct {
	loss    float64
	kernels []float64 // [N]
}

// NewRegret starts a count for n kernels.
func NewRegret(n int) *Regret { return &Regret{kernels: make([]float64, n)} }

// Add counts a round: the prediction's loss and those of all kernels.
func (r *Regret) Add(loss float64, kernels []float64) {
	r.loss += loss
	for i, l := range kernels {
		r.kernels[i] += l
	}
}

// Loss returns the sum of the predictions' losses.
func (r *Regret) Loss() float64 { return r.loss }

// Value returns the regret so far. It may be negative: a blend may beat each of its parts.
func (r *Regret) Value() float64 { return r.loss - slices.Min(r.kernels) }
