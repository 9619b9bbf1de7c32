package online

import (
	"math"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/nn"
)

// How a network is trained.
const (
	schoolEpochs = 15
	schoolBatch  = 30    // rows
	schoolRate   = 0.003 // at first; it falls to 0
)

// school trains a network by Adam (Kingma and Ba 2015).
type school struct {
	network      *nn.Network
	workspace    *nn.Workspace
	gradient     []float32
	mean, square []float64 // of the gradients, fading
	steps        int
}

// newSchool starts training a network.
func newSchool(n *nn.Network) *school {
	size := n.Size()
	return &school{network: n, workspace: n.NewWorkspace(), gradient: make([]float32, size), mean: make([]float64, size), square: make([]float64, size)}
}

// train takes rows, x [rows][inputs] and y [rows], batch by batch, in another order each time; rows that fill no
// batch are left for the next time.
func (s *school) train(x []float32, y []float64, draw *rand.Rand) {
	inputs, batches := s.network.Inputs(), len(y)/schoolBatch
	for range schoolEpochs {
		order := draw.Perm(len(y))
		for b := range batches {
			var rows []float32
			var labels []float64
			for _, i := range order[b*schoolBatch : (b+1)*schoolBatch] {
				rows, labels = append(rows, x[i*inputs:(i+1)*inputs]...), append(labels, y[i])
			}
			s.step(rows, labels, schoolRate*(1-float64(s.steps)/float64(schoolEpochs*batches)))
		}
	}
}

// step takes one step at a rate.
func (s *school) step(x []float32, y []float64, rate float64) {
	const keep, keepSquare, least = 0.9, 0.999, 1e-8
	s.workspace.Gradient(x, y, len(y), s.gradient)
	s.steps++
	fill, fillSquare := 1-math.Pow(keep, float64(s.steps)), 1-math.Pow(keepSquare, float64(s.steps))
	parameters := s.network.Parameters()
	for i, g := range s.gradient {
		v := float64(g)
		s.mean[i] += (1 - keep) * (v - s.mean[i])
		s.square[i] += (1 - keepSquare) * (v*v - s.square[i])
		parameters[i] -= float32(rate * (s.mean[i] / fill) / (math.Sqrt(s.square[i]/fillSquare) + least))
	}
}
