package pofmklbaseline

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// PerFedAvg is personalised federated averaging (Fallah, Mokhtari and Ozdaglar 2020) with the network
// of the paper's appendix C, online: a client holds one row at a time. It predicts with the global
// network, adapted by one gradient step on its row of the round before; with the label it takes that
// step again on the newest row, and sends the gradient at the adapted network (the first-order variant);
// the server moves the network by their mean. The paper gives no step sizes: both are eta.
type PerFedAvg struct {
	params   pofmkl.Params
	columns  []string
	network  []float64
	adapted  []float64
	step     []float64
	pass     *pass
	previous []example // [K]
	rounds   int
}

// example is a client's row of the round before, scaled.
type example struct {
	row   []float64
	label float64
}

// NewPerFedAvg starts K clients; p has its defaults filled in, and the seed draws the network.
func NewPerFedAvg(p pofmkl.Params, columns []string, clients int, seed [32]byte) (*PerFedAvg, error) {
	if err := p.ValidateNumbers(); err != nil {
		return nil, err
	}
	if clients < 1 || len(columns) < 1 {
		return nil, fmt.Errorf("%d clients with %d input columns, want at least 1 of each", clients, len(columns))
	}
	s := shapeFor(len(columns))
	n := s.numbers()
	f := &PerFedAvg{params: p, columns: columns, pass: newPass(s), adapted: make([]float64, n), step: make([]float64, n),
		previous: make([]example, clients)}
	f.network = s.start(rand.New(rand.NewChaCha8(seed)))
	return f, nil
}

// Round runs one round of all clients; see the package comment.
func (f *PerFedAvg) Round(rows [][]float64, labels, predictions []float64) error {
	if err := checkRound(len(f.previous), rows, labels, predictions); err != nil {
		return err
	}
	for k := range rows {
		if err := f.client(k, rows[k], labels[k], &predictions[k]); err != nil {
			return fmt.Errorf("client %d: %w", k+1, err)
		}
	}
	addScaled(f.network, -f.params.Step/float64(len(rows)), f.step)
	clear(f.step)
	f.rounds++
	return nil
}

// client runs one client's round.
func (f *PerFedAvg) client(k int, x []float64, y float64, prediction *float64) error {
	row, err := f.scale(x)
	if err != nil {
		return err
	}
	f.adapt(f.previous[k])
	*prediction = f.params.LabelLow + f.pass.forward(f.adapted, row)*(f.params.LabelHigh-f.params.LabelLow)
	if math.IsNaN(*prediction) || math.IsInf(*prediction, 0) {
		return fmt.Errorf("row %d: the prediction is %v: the network has diverged, want a smaller step", f.rounds+1,
			*prediction)
	}
	label, err := f.params.ScaleLabel(f.rounds+1, y)
	if err != nil {
		return err
	}
	f.previous[k] = example{row, label}
	f.adapt(f.previous[k])
	f.pass.forward(f.adapted, row)
	f.pass.addGradient(f.step, 1, f.adapted, label)
	return nil
}

// adapt takes one gradient step from the global network on an example, if there is one.
func (f *PerFedAvg) adapt(e example) {
	copy(f.adapted, f.network)
	if e.row != nil {
		f.pass.forward(f.network, e.row)
		f.pass.addGradient(f.adapted, -f.params.Step, f.network, e.label)
	}
}

// scale checks a row and divides it by the job's norm.
func (f *PerFedAvg) scale(x []float64) ([]float64, error) {
	if len(x) != len(f.columns) {
		return nil, fmt.Errorf("row %d has %d values, want %d, one for each input column", f.rounds+1, len(x), len(f.columns))
	}
	row := make([]float64, len(x))
	for c, v := range x {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("row %d, column %q: the value is %v, want a finite number", f.rounds+1, f.columns[c], v)
		}
		row[c] = v / f.params.InputNorm
	}
	return row, nil
}
