package ofmsftbaseline

import (
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// Budgeted is B-Fed-OMFT: the server keeps a set of networks that fits into every client's budget,
// which the clients fine-tune, see models.tune, and each client draws one of them in each round by
// Exp3, which learns the loss of that one alone. Which networks these are the paper does not say: here
// they are taken in a random order while the smallest budget lasts. The figures depend on it much.
type Budgeted struct {
	*models
	trust  []*exp3 // [N]
	stored [][]int // [N], the same for all
}

// NewBudgeted starts the clients; p has its defaults filled in.
func NewBudgeted(p ofmsft.Params, networks []*nn.Network, clients int, seed [32]byte) (*Budgeted, error) {
	m, err := newModels(p, networks, clients, seed)
	if err != nil {
		return nil, err
	}
	smallest := m.budget(0)
	for i := range clients {
		smallest = min(smallest, m.budget(i))
	}
	f, set := &Budgeted{models: m}, m.fill(smallest)
	for range clients {
		f.trust, f.stored = append(f.trust, newExp3(set, p.Rate)), append(f.stored, set)
	}
	return f, nil
}

// Round runs one round of all clients.
func (f *Budgeted) Round(rows [][]float64, labels, predictions []float64) error {
	if err := f.check(rows, labels, predictions); err != nil {
		return err
	}
	if err := f.bandits(f.trust, rows, labels, predictions); err != nil {
		return err
	}
	if err := f.tune(f.stored); err != nil {
		return err
	}
	f.rounds++
	return nil
}
