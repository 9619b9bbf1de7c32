package pofmklbaseline

import (
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// trust is one vector of weights for all clients, as logarithms.
type trust struct {
	log   []float64
	share []float64
	sum   []float64 // the round's losses so far
}

// newTrust returns equal weights.
func newTrust(n int) *trust {
	w := &trust{log: make([]float64, n), share: make([]float64, n), sum: make([]float64, n)}
	federated.Hedge(w.share, w.log)
	return w
}

// learn multiplies each weight by exp(-step sum/clients), and starts the next sum.
func (w *trust) learn(step float64, clients int) {
	for i, s := range w.sum {
		w.log[i] -= step * s / float64(clients)
	}
	clear(w.sum)
	federated.Hedge(w.share, w.log)
}

// Global is vM-KOFL: clients send the updates and losses of all kernels, and the server keeps one
// vector of weights, w_i <- w_i exp(-eta mean_k L_ik), with which all clients blend.
type Global struct {
	*kernels
	trust *trust
}

// NewGlobal starts K clients.
func NewGlobal(d *pofmkl.Dictionary, clients int) (*Global, error) {
	b, err := newKernels(d, clients)
	return &Global{b, newTrust(d.Params().Kernels())}, err
}

// Round runs one round of all clients; see the package comment.
func (g *Global) Round(rows [][]float64, labels, predictions []float64) error {
	if err := g.check(rows, labels, predictions); err != nil {
		return err
	}
	for k := range rows {
		if err := g.score(k, rows[k]); err != nil {
			return err
		}
		blend := 0.0
		for i, s := range g.scores {
			blend += g.trust.share[i] * s
		}
		predictions[k] = g.unscale(blend)
		label, err := g.lose(k, blend, labels[k])
		if err != nil {
			return err
		}
		for i, l := range g.losses {
			g.descend(i, label)
			g.trust.sum[i] += l
		}
	}
	g.apply()
	g.trust.learn(g.params.WeightStep, len(rows))
	return nil
}
