package ofmsftbaseline

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// models is what all baselines share: the server's networks, the clients' newest rows, and the source
// of all draws.
type models struct {
	params   ofmsft.Params
	networks []*nn.Network
	runners  []*ofmsft.Runner
	theta    [][]float64 // [K][Size], what networks are rounded from; nil until the first step
	windows  []*ofmsft.Window
	losses   []float64 // [N], summed over the predictions
	source   *rand.Rand
	rounds   int

	x    []float32 // the row at hand, scaled
	step []float64 // space for one of any network
}

// newModels clones the networks and starts so many clients.
func newModels(p ofmsft.Params, networks []*nn.Network, clients int, seed [32]byte) (*models, error) {
	if err := p.ValidateNumbers(); err != nil {
		return nil, err
	}
	if err := p.CheckNetworks(networks); err != nil {
		return nil, err
	}
	if p.RoundsPerUpload != 1 {
		return nil, fmt.Errorf("rounds_per_upload is %d, want 1: the baselines know no other", p.RoundsPerUpload)
	}
	if clients < 1 {
		return nil, fmt.Errorf("the federation has %d clients, want at least 1", clients)
	}
	m := &models{
		params: p, theta: make([][]float64, len(networks)), losses: make([]float64, clients),
		source: rand.New(rand.NewChaCha8(seed)), x: make([]float32, p.Inputs),
	}
	for _, n := range networks {
		m.networks = append(m.networks, n.Clone())
		m.step = make([]float64, max(len(m.step), n.Size()))
	}
	m.runners = ofmsft.NewRunners(m.networks)
	for range clients {
		m.windows = append(m.windows, ofmsft.NewWindow(p.Inputs, p.Window))
	}
	return m, nil
}

// Loss returns the sum of the losses of client i's predictions, from 0.
func (m *models) Loss(i int) float64 { return m.losses[i] }

// check refuses a round that is not of the federation's clients.
func (m *models) check(rows [][]float64, labels, predictions []float64) error {
	if n := len(m.windows); len(rows) != n || len(labels) != n || len(predictions) != n {
		return fmt.Errorf("%d rows, %d labels and room for %d predictions, want %d, the number of clients", len(rows),
			len(labels), len(predictions), n)
	}
	return nil
}

// predict returns what a network says of client i's row, in the label's units.
func (m *models) predict(i int, r *ofmsft.Runner, row []float64) (float64, error) {
	if err := m.params.ScaleRow(m.x, m.rounds+1, row); err != nil {
		return 0, fmt.Errorf("client %d: %w", i+1, err)
	}
	return m.params.Prediction(r.Outputs(m.x)), nil
}

// learn takes the label of the row that was predicted last, counts the loss of the network that
// predicted it, returns that loss, and keeps the row.
func (m *models) learn(i int, r *ofmsft.Runner, y float64) (float64, error) {
	label, err := m.params.ScaleLabel(m.rounds+1, y)
	if err != nil {
		return 0, fmt.Errorf("client %d: %w", i+1, err)
	}
	loss := r.Loss(m.x, label)
	if math.IsNaN(loss) || math.IsInf(loss, 0) {
		return 0, fmt.Errorf("client %d: row %d: the loss is %v: the network has diverged, want a smaller step", i+1,
			m.rounds+1, loss)
	}
	m.losses[i] += loss
	m.windows[i].Push(m.x, label)
	return loss, nil
}

// tunes reports whether clients fine-tune in this round.
func (m *models) tunes() bool { return m.params.Tunes(m.rounds) }

// move subtracts a share of a step from network k.
func (m *models) move(k int, step []float64, share float64) {
	parameters := m.networks[k].Parameters()
	if m.theta[k] == nil {
		for _, v := range parameters {
			m.theta[k] = append(m.theta[k], float64(v))
		}
	}
	for i, v := range step {
		m.theta[k][i] -= share * v
		parameters[i] = float32(m.theta[k][i])
	}
}

// fill goes through the networks in random order and takes each that still fits into the budget.
func (m *models) fill(budget float64) (set []int) {
	space := budget * (1 + 1e-9)
	for _, k := range m.source.Perm(len(m.networks)) {
		if c := m.params.Models[k].Cost; c <= space {
			space -= c
			set = append(set, k)
		}
	}
	return set
}

// budget returns the budget of client i, from 0, whose name is its number, from 1, as in ofmsft.Federation.
func (m *models) budget(i int) float64 { return m.params.BudgetOf(fmt.Sprint(i + 1)) }
