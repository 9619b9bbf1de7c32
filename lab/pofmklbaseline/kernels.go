package pofmklbaseline

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// kernels is what all kernel federations share: theta, and the features, scores and losses of the row at hand.
type kernels struct {
	params   pofmkl.Params
	features *pofmkl.Features
	theta    []float64 // [N][2D]
	step     []float64 // [N][2D], the sum of the clients' gradients times eta
	scores   []float64 // [N]
	losses   []float64 // [N]
	regrets  []*pofmkl.Regret
	rounds   int
}

// newKernels starts K clients. lambda must be 0: the published baselines have no regulariser.
func newKernels(d *pofmkl.Dictionary, clients int) (*kernels, error) {
	p := d.Params()
	if clients < 1 {
		return nil, fmt.Errorf("the federation has %d clients, want at least 1", clients)
	}
	if p.Lambda != 0 {
		return nil, fmt.Errorf("lambda is %v, want 0: the baselines have no regulariser", p.Lambda)
	}
	b := &kernels{
		params: p, features: d.NewFeatures(), theta: make([]float64, p.Words()), step: make([]float64, p.Words()),
		scores: make([]float64, p.Kernels()), losses: make([]float64, p.Kernels()),
	}
	for range clients {
		b.regrets = append(b.regrets, pofmkl.NewRegret(p.Kernels()))
	}
	return b, nil
}

// Regret returns a client's regret so far, equation 11 of the paper.
func (b *kernels) Regret(k int) float64 { return b.regrets[k].Value() }

// check refuses a round of another number of clients.
func (b *kernels) check(rows [][]float64, labels, predictions []float64) error {
	return checkRound(len(b.regrets), rows, labels, predictions)
}

// checkRound refuses a round that is not of so many clients.
func checkRound(clients int, rows [][]float64, labels, predictions []float64) error {
	if len(rows) != clients || len(labels) != clients || len(predictions) != clients {
		return fmt.Errorf("%d rows, %d labels and room for %d predictions, want %d, the number of clients", len(rows),
			len(labels), len(predictions), clients)
	}
	return nil
}

// score computes every kernel's prediction of client k's row.
func (b *kernels) score(k int, row []float64) error {
	if err := b.features.Set(b.rounds+1, row); err != nil {
		return fmt.Errorf("client %d: %w", k+1, err)
	}
	b.features.Scores(b.scores, b.theta)
	return nil
}

// lose takes the label: it computes the kernels' losses, counts the regret of a prediction from 0 to 1, and
// returns the label from 0 to 1.
func (b *kernels) lose(k int, prediction, y float64) (float64, error) {
	label, err := b.params.ScaleLabel(b.rounds+1, y)
	if err != nil {
		return 0, fmt.Errorf("client %d: %w", k+1, err)
	}
	if math.IsNaN(prediction) || math.IsInf(prediction, 0) {
		return 0, fmt.Errorf("client %d: row %d: the prediction is %v: theta has diverged, want a smaller step", k+1,
			b.rounds+1, prediction)
	}
	for i, s := range b.scores {
		b.losses[i] = (s - label) * (s - label)
	}
	b.regrets[k].Add((prediction-label)*(prediction-label), b.losses)
	return label, nil
}

// descend adds eta times kernel i's gradient of (score - label)^2 to the round's step.
func (b *kernels) descend(i int, label float64) {
	addScaled(b.part(b.step, i), 2*b.params.Step*(b.scores[i]-label), b.features.Kernel(i))
}

// part returns kernel i's part of theta or a step.
func (b *kernels) part(v []float64, i int) []float64 {
	n := 2 * b.params.Features
	return v[i*n : (i+1)*n]
}

// apply moves theta by the mean of the clients' steps.
func (b *kernels) apply() {
	addScaled(b.theta, -1/float64(len(b.regrets)), b.step)
	clear(b.step)
	b.rounds++
}

// unscale returns a prediction in the label's units.
func (b *kernels) unscale(v float64) float64 {
	return b.params.LabelLow + v*(b.params.LabelHigh-b.params.LabelLow)
}

// addScaled adds a v to dst.
func addScaled(dst []float64, a float64, v []float64) {
	blas64.Axpy(a, blas64.Vector{N: len(v), Inc: 1, Data: v}, blas64.Vector{N: len(dst), Inc: 1, Data: dst})
}
