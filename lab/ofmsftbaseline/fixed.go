package ofmsftbaseline

import (
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// Fixed is Non-Fed-OMS: each client stores a set of networks for good and draws one of them in each
// round by Exp3, which learns the loss of that one alone. Which networks are stored the paper does not
// say: here each client takes them in a random order of its own while its budget lasts. Nobody
// fine-tunes.
type Fixed struct {
	*models
	trust []*exp3 // [N]
}

// NewFixed starts the clients; p has its defaults filled in.
func NewFixed(p ofmsft.Params, networks []*nn.Network, clients int, seed [32]byte) (*Fixed, error) {
	m, err := newModels(p, networks, clients, seed)
	if err != nil {
		return nil, err
	}
	f := &Fixed{models: m}
	for i := range clients {
		f.trust = append(f.trust, newExp3(m.fill(m.budget(i)), p.Rate))
	}
	return f, nil
}

// Round runs one round of all clients.
func (f *Fixed) Round(rows [][]float64, labels, predictions []float64) error {
	if err := f.check(rows, labels, predictions); err != nil {
		return err
	}
	if err := f.bandits(f.trust, rows, labels, predictions); err != nil {
		return err
	}
	f.rounds++
	return nil
}

// bandits has each client predict with the network that it draws, and learn its loss.
func (m *models) bandits(trust []*exp3, rows [][]float64, labels, predictions []float64) error {
	for i, e := range trust {
		r := m.runners[e.draw(m.source)]
		var err error
		if predictions[i], err = m.predict(i, r, rows[i]); err != nil {
			return err
		}
		loss, err := m.learn(i, r, labels[i])
		if err != nil {
			return err
		}
		e.learn(loss)
	}
	return nil
}
