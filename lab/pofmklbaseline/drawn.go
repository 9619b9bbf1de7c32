package pofmklbaseline

import (
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// Drawn is eM-KOFL by the text: the server draws one kernel for all clients in each round, by global
// weights, and clients send the update of that kernel alone although they "update parameters of all
// kernels". What that leaves open is read like this. Every client keeps a theta of its own and
// descends on all its kernels; the clients' copies of the drawn kernel are averaged at the server,
// go back to all, and predict the round's rows; the weights move by the mean losses of all kernels.
type Drawn struct {
	*kernels
	trust  *trust
	source *rand.Rand
	own    [][]float64 // [K][N][2D]
}

// NewDrawn starts K clients; the server draws with the seed.
func NewDrawn(d *pofmkl.Dictionary, clients int, seed [32]byte) (*Drawn, error) {
	b, err := newKernels(d, clients)
	if err != nil {
		return nil, err
	}
	e := &Drawn{kernels: b, trust: newTrust(d.Params().Kernels()), source: rand.New(rand.NewChaCha8(seed))}
	for range clients {
		e.own = append(e.own, make([]float64, d.Params().Words()))
	}
	return e, nil
}

// Round runs one round of all clients; see the package comment.
func (e *Drawn) Round(rows [][]float64, labels, predictions []float64) error {
	if err := e.check(rows, labels, predictions); err != nil {
		return err
	}
	drawn := e.draw()
	// Gives all clients the mean of their copies of a kernel's theta.
	mean := e.part(e.step, drawn)
	clear(mean)
	for _, theta := range e.own {
		addScaled(mean, 1/float64(len(e.own)), e.part(theta, drawn))
	}
	for _, theta := range e.own {
		copy(e.part(theta, drawn), mean)
	}
	for k := range rows {
		if err := e.client(k, drawn, rows[k], labels[k], &predictions[k]); err != nil {
			return err
		}
	}
	e.trust.learn(e.params.WeightStep, len(rows))
	e.rounds++
	return nil
}

// client runs one client's round.
func (e *Drawn) client(k, drawn int, row []float64, y float64, prediction *float64) error {
	e.theta = e.own[k]
	if err := e.score(k, row); err != nil {
		return err
	}
	*prediction = e.unscale(e.scores[drawn])
	label, err := e.lose(k, e.scores[drawn], y)
	if err != nil {
		return err
	}
	for i, l := range e.losses {
		addScaled(e.part(e.theta, i), -2*e.params.Step*(e.scores[i]-label), e.features.Kernel(i))
		e.trust.sum[i] += l
	}
	return nil
}

// draw picks a kernel by the weights.
func (e *Drawn) draw() int {
	u, sum := e.source.Float64(), 0.0
	for i, s := range e.trust.share {
		if sum += s; u < sum {
			return i
		}
	}
	return len(e.trust.share) - 1
}
