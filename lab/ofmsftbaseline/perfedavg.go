package ofmsftbaseline

import (
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// PerFedAvg is personalised federated averaging (Fallah, Mokhtari and Ozdaglar 2020) of one network,
// which the seed draws. A client predicts with the server's network, adapted by one epoch of gradient
// descent on its window, as in Descent; with the label it adapts again and sends the gradient over the
// window at the adapted network (the first-order variant), and the server moves its network by their
// mean. Both steps are 0.001. Before warm_up rounds nobody adapts.
type PerFedAvg struct {
	*single
}

// NewPerFedAvg starts the clients; p has its defaults filled in.
func NewPerFedAvg(p ofmsft.Params, networks []*nn.Network, clients int, seed [32]byte) (*PerFedAvg, error) {
	s, err := newSingle(p, networks, clients, seed)
	return &PerFedAvg{s}, err
}

// Round runs one round of all clients.
func (f *PerFedAvg) Round(rows [][]float64, labels, predictions []float64) error {
	if err := f.check(rows, labels, predictions); err != nil {
		return err
	}
	tunes := f.tunes()
	for i := range rows {
		if err := f.client(i, tunes, rows[i], labels[i], &predictions[i]); err != nil {
			return err
		}
	}
	f.finish(tunes, localStep)
	return nil
}

// client runs one client's round.
func (f *PerFedAvg) client(i int, tunes bool, row []float64, y float64, prediction *float64) error {
	r := f.runners[f.model]
	if tunes {
		f.adapt(i)
		r = f.runner
	}
	var err error
	if *prediction, err = f.predict(i, r, row); err != nil {
		return err
	}
	if _, err := f.learn(i, r, y); err != nil {
		return err
	}
	if !tunes {
		return nil
	}
	f.adapt(i)
	x, labels := f.windows[i].Before(0, f.params.Window)
	for j, g := range f.runner.Gradient(x, labels) {
		f.sum[j] += float64(g)
	}
	return nil
}
