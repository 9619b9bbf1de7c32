package ofmsft

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
)

// Limits of a job's networks.
const (
	maxModels     = 1 << 10
	maxSize       = 1 << 26 // parameters of a network
	maxAllSizes   = 1 << 29 // parameters of all networks
	maxName       = 100     // bytes
	maxDifferent  = 64      // different budgets
	maxDimensions = 1 << 20 // numbers in a row
)

// Model is what a job says of one network.
type Model struct {
	Name      string    `toml:"name"`
	Cost      float64   `toml:"cost,omitzero"`      // c_k, of the clients' budgets; default: Size over the largest Size
	Bandwidth float64   `toml:"bandwidth,omitzero"` // b_k, of the server's bandwidth; default: Cost
	Size      int       `toml:"size"`               // parameters
	Hash      keys.Hash `toml:"hash"`               // of the network as it is at first
}

// WithNetworks returns p with what there is to say of the given networks: Models, with default costs
// and bandwidths, Inputs and Classes.
func (p Params) WithNetworks(names []string, networks []*nn.Network) (Params, error) {
	if len(names) != len(networks) {
		return Params{}, fmt.Errorf("there are %d names for %d networks", len(names), len(networks))
	}
	task, err := TaskOf(networks)
	if err != nil {
		return Params{}, err
	}
	p.Inputs, p.Classes, p.Models = task.Inputs, 0, nil
	if task.Loss == nn.CrossEntropy {
		p.Classes = task.Outputs
	}
	for k, n := range networks {
		p.Models = append(p.Models, Model{Name: names[k], Size: n.Size(), Hash: n.Hash()})
	}
	p.Models = withCosts(p.Models)
	return p, nil
}

// withCosts returns a copy of models with default costs and bandwidths where there are none.
func withCosts(models []Model) []Model {
	largest := 1
	for _, m := range models {
		largest = max(largest, m.Size)
	}
	filled := make([]Model, len(models))
	for k, m := range models {
		if m.Cost == 0 {
			m.Cost = float64(m.Size) / float64(largest)
		}
		if m.Bandwidth == 0 {
			m.Bandwidth = m.Cost
		}
		filled[k] = m
	}
	return filled
}

// bandwidths returns the bandwidth of all networks.
func bandwidths(models []Model) float64 {
	sum := 0.0
	for _, m := range models {
		sum += m.Bandwidth
	}
	return sum
}

// check checks the numbers of one network.
func (m Model) check() error {
	if err := parameters.InRange(fmt.Sprintf("size of model %q", m.Name), m.Size, maxSize); err != nil {
		return err
	}
	if err := parameters.Positive(fmt.Sprintf("cost of model %q", m.Name), m.Cost); err != nil {
		return err
	}
	if err := parameters.Positive(fmt.Sprintf("bandwidth of model %q", m.Name), m.Bandwidth); err != nil {
		return err
	}
	if m.Hash.IsZero() {
		return fmt.Errorf("model %q has no hash, want that of its network", m.Name)
	}
	return nil
}

// Task is what the networks of a job have in common.
type Task struct {
	Loss    nn.Loss
	Inputs  int // numbers in a row
	Outputs int // 1, or the number of classes
}

// TaskOf returns the task of networks that are for the same rows and labels; the first that differs is named
// by its number.
func TaskOf(networks []*nn.Network) (Task, error) {
	if len(networks) == 0 {
		return Task{}, fmt.Errorf("there are 0 models, want 1 to %d", maxModels)
	}
	task := taskOf(networks[0])
	for k, n := range networks {
		if t := taskOf(n); t != task {
			return Task{}, fmt.Errorf("model %d has %d inputs, %d outputs and the loss %v, want %d, %d and %v as model 1 has",
				k+1, t.Inputs, t.Outputs, t.Loss, task.Inputs, task.Outputs, task.Loss)
		}
	}
	if task.Loss == nn.SquaredError && task.Outputs != 1 {
		return Task{}, fmt.Errorf("the models have %d outputs for a squared error, want 1", task.Outputs)
	}
	return task, nil
}

// Task returns what the job says of its networks' task.
func (p Params) Task() Task {
	if p.Classes > 0 {
		return Task{nn.CrossEntropy, p.Inputs, p.Classes}
	}
	return Task{nn.SquaredError, p.Inputs, 1}
}

// checkShape refuses a network that cannot be the job's k-th at any time.
func (p Params) checkShape(k int, n *nn.Network) error {
	m, got, want := &p.Models[k], taskOf(n), p.Task()
	if n.Size() != m.Size {
		return fmt.Errorf("the network of model %q has %d parameters, want %d", m.Name, n.Size(), m.Size)
	}
	if got != want {
		return fmt.Errorf("the network of model %q has %d inputs, %d outputs and the loss %v, want %d, %d and %v", m.Name,
			got.Inputs, got.Outputs, got.Loss, want.Inputs, want.Outputs, want.Loss)
	}
	return nil
}

// taskOf returns a network's task.
func taskOf(n *nn.Network) Task { return Task{n.Loss(), n.Inputs(), n.Outputs()} }

// CheckNetworks refuses networks that are not those of the job.
func (p Params) CheckNetworks(networks []*nn.Network) error {
	if len(networks) != len(p.Models) {
		return fmt.Errorf("there are %d networks, want %d, one for each model", len(networks), len(p.Models))
	}
	for k, n := range networks {
		m := &p.Models[k]
		if err := p.checkShape(k, n); err != nil {
			return err
		}
		if h := n.Hash(); h != m.Hash {
			return fmt.Errorf("the network of model %q has hash %s, want %s", m.Name, h.Short(), m.Hash.Short())
		}
	}
	return nil
}
