package ofmsftbaseline

import (
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// What the paper says of both algorithms that fine-tune one network, and the size of batches, which it
// does not say: it is that of the library that the authors use.
const (
	localStep = 1e-3
	batchRows = 32
)

// Descent is Fed-OMD: all clients predict with one network; after the label each takes one epoch of
// gradient descent on its window, from the server's network, in batches of 32 rows in their order, and
// the server's network becomes the mean of theirs. The paper fine-tunes "a given" network: here the
// seed draws it. All clients take part in each round: one network of each is less than the sets that
// the bandwidth is made for.
type Descent struct {
	*single
}

// NewDescent starts the clients; p has its defaults filled in.
func NewDescent(p ofmsft.Params, networks []*nn.Network, clients int, seed [32]byte) (*Descent, error) {
	s, err := newSingle(p, networks, clients, seed)
	return &Descent{s}, err
}

// Round runs one round of all clients.
func (f *Descent) Round(rows [][]float64, labels, predictions []float64) error {
	if err := f.check(rows, labels, predictions); err != nil {
		return err
	}
	r, tunes := f.runners[f.model], f.tunes()
	for i := range rows {
		var err error
		if predictions[i], err = f.predict(i, r, rows[i]); err != nil {
			return err
		}
		if _, err := f.learn(i, r, labels[i]); err != nil {
			return err
		}
		if tunes {
			f.adapt(i)
			for j, v := range f.networks[f.model].Parameters() {
				f.sum[j] += float64(v) - float64(f.local.Parameters()[j])
			}
		}
	}
	f.finish(tunes, 1)
	return nil
}

// single is what the algorithms share that fine-tune one network.
type single struct {
	*models
	model  int
	local  *nn.Network // a client's
	runner *ofmsft.Runner
	sum    []float64
}

// newSingle draws the network.
func newSingle(p ofmsft.Params, networks []*nn.Network, clients int, seed [32]byte) (*single, error) {
	m, err := newModels(p, networks, clients, seed)
	if err != nil {
		return nil, err
	}
	s := &single{models: m, model: m.source.IntN(len(networks))}
	s.local = s.networks[s.model].Clone()
	s.runner, s.sum = ofmsft.NewRunner(s.local), make([]float64, s.local.Size())
	return s, nil
}

// adapt makes the local network what client i's epoch makes of the server's.
func (s *single) adapt(i int) {
	parameters := s.local.Parameters()
	copy(parameters, s.networks[s.model].Parameters())
	rows := s.windows[i].Rows()
	for first := 0; first < rows; first += batchRows {
		last := min(first+batchRows, rows)
		x, y := s.windows[i].Before(rows-last, last-first)
		for j, g := range s.runner.Gradient(x, y) {
			parameters[j] -= localStep * g
		}
	}
}

// finish moves the server's network by the mean of the clients' parts, times step, and ends the round.
func (s *single) finish(tunes bool, step float64) {
	if tunes {
		s.move(s.model, s.sum, step/float64(len(s.windows)))
		clear(s.sum)
	}
	s.rounds++
}
