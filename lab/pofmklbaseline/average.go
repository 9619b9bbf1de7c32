package pofmklbaseline

import "github.com/hanse-project/hanse/algorithms/pofmkl"

// Average is OFMKL-Avg: online gradient descent of every kernel by itself, federated, and the mean of their
// predictions. Of a dictionary with one kernel it is OFSKL.
type Average struct{ *kernels }

// NewAverage starts K clients.
func NewAverage(d *pofmkl.Dictionary, clients int) (*Average, error) {
	b, err := newKernels(d, clients)
	return &Average{b}, err
}

// Round runs one round of all clients; see the package comment.
func (a *Average) Round(rows [][]float64, labels, predictions []float64) error {
	if err := a.check(rows, labels, predictions); err != nil {
		return err
	}
	for k := range rows {
		if err := a.score(k, rows[k]); err != nil {
			return err
		}
		mean := 0.0
		for _, s := range a.scores {
			mean += s / float64(len(a.scores))
		}
		predictions[k] = a.unscale(mean)
		label, err := a.lose(k, mean, labels[k])
		if err != nil {
			return err
		}
		for i := range a.scores {
			a.descend(i, label)
		}
	}
	a.apply()
	return nil
}
