package ofmsftbaseline

import (
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// Random is RMS-FT: in each round each client takes networks in a random order while its budget lasts,
// predicts with a random one of them, and fine-tunes them all; see models.tune.
type Random struct {
	*models
	stored [][]int // [N]
}

// NewRandom starts the clients; p has its defaults filled in.
func NewRandom(p ofmsft.Params, networks []*nn.Network, clients int, seed [32]byte) (*Random, error) {
	m, err := newModels(p, networks, clients, seed)
	if err != nil {
		return nil, err
	}
	return &Random{m, make([][]int, clients)}, nil
}

// Round runs one round of all clients.
func (f *Random) Round(rows [][]float64, labels, predictions []float64) error {
	if err := f.check(rows, labels, predictions); err != nil {
		return err
	}
	for i := range rows {
		f.stored[i] = f.fill(f.budget(i))
		r := f.runners[f.stored[i][f.source.IntN(len(f.stored[i]))]]
		var err error
		if predictions[i], err = f.predict(i, r, rows[i]); err != nil {
			return err
		}
		if _, err := f.learn(i, r, labels[i]); err != nil {
			return err
		}
	}
	if err := f.tune(f.stored); err != nil {
		return err
	}
	f.rounds++
	return nil
}
