package ofmsftbaseline

import (
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// MAB has the server draw one network for all clients in each round by Exp3, which learns the mean of
// the clients' losses. Nobody fine-tunes.
type MAB struct {
	*models
	trust *exp3
}

// NewMAB starts the clients; p has its defaults filled in.
func NewMAB(p ofmsft.Params, networks []*nn.Network, clients int, seed [32]byte) (*MAB, error) {
	m, err := newModels(p, networks, clients, seed)
	if err != nil {
		return nil, err
	}
	all := make([]int, len(networks))
	for k := range all {
		all[k] = k
	}
	return &MAB{m, newExp3(all, p.Rate)}, nil
}

// Round runs one round of all clients.
func (f *MAB) Round(rows [][]float64, labels, predictions []float64) error {
	if err := f.check(rows, labels, predictions); err != nil {
		return err
	}
	r, mean := f.runners[f.trust.draw(f.source)], 0.0
	for i := range rows {
		var err error
		if predictions[i], err = f.predict(i, r, rows[i]); err != nil {
			return err
		}
		loss, err := f.learn(i, r, labels[i])
		if err != nil {
			return err
		}
		mean += loss / float64(len(rows))
	}
	f.trust.learn(mean)
	f.rounds++
	return nil
}
