package ofmsft

import "github.com/hanse-project/hanse/algorithms/nn"

// Runner is a network with the room that computing with it takes. It is for one goroutine at a time;
// several may run the same network while nobody changes it.
type Runner struct {
	network   *nn.Network
	workspace *nn.Workspace
	gradient  []float32 // [Size], when one was asked for
	label     [1]float64
	loss      [1]float64
}

// NewRunner makes room for computing with a network.
func NewRunner(n *nn.Network) *Runner {
	return &Runner{network: n, workspace: n.NewWorkspace()}
}

// NewRunners is NewRunner for each network.
func NewRunners(networks []*nn.Network) []*Runner {
	var runners []*Runner
	for _, n := range networks {
		runners = append(runners, NewRunner(n))
	}
	return runners
}

// Network returns the network itself.
func (r *Runner) Network() *nn.Network { return r.network }

// Outputs returns the outputs for one scaled row, [Outputs]; valid until the next call.
func (r *Runner) Outputs(x []float32) []float32 { return r.workspace.Predict(x, 1) }

// Loss returns the loss of one scaled row.
func (r *Runner) Loss(x []float32, y float64) float64 {
	r.label[0] = y
	r.workspace.Losses(x, r.label[:], 1, r.loss[:])
	return r.loss[0]
}

// Gradient returns the mean gradient over some scaled rows, x [rows][inputs] and y [rows]; valid until
// the next call.
func (r *Runner) Gradient(x []float32, y []float64) []float32 {
	if r.gradient == nil {
		r.gradient = make([]float32, r.network.Size())
	}
	r.workspace.Gradient(x, y, len(y), r.gradient)
	return r.gradient
}
