package nn

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/hanse-project/hanse/keys"
)

// hashDomain separates hashes of networks from all others.
const hashDomain = "hanse nn network v1"

// Network is an architecture and its parameters. Methods that only read are safe to call from
// several goroutines, as long as nobody changes Parameters meanwhile.
type Network struct {
	*plan
	parameters []float32
}

// New makes a network for training from nothing. The input is the shape of one row, [n] or
// [height, width, channels]. Kernels are normal with variance 2/inputs (He et al. 2015), drawn in
// the order of Parameters; biases are zero. It fails where a layer does not fit the one before it,
// or the network is larger than the limits, naming the layer.
func New(input []int, layers []Layer, source *rand.Rand) (*Network, error) {
	p, err := newPlan(slices.Clone(input), slices.Clone(layers))
	if err != nil {
		return nil, err
	}
	n := &Network{p, make([]float32, p.size)}
	for i := range p.stages {
		s := &p.stages[i]
		scale := math.Sqrt(2 / float64(max(s.depth(), 1)))
		for j := s.kernel; j < s.bias; j++ {
			n.parameters[j] = float32(scale * source.NormFloat64())
		}
	}
	return n, nil
}

// Inputs returns the number of values in one row.
func (n *Network) Inputs() int { return n.stages[0].in.size() }

// Outputs returns the number of outputs for one row.
func (n *Network) Outputs() int { return n.stages[len(n.stages)-1].Units }

// Layers returns the layers, in their order.
func (n *Network) Layers() []Layer { return slices.Clone(n.layers) }

// Size returns the number of parameters.
func (n *Network) Size() int { return n.size }

// Loss returns CrossEntropy where the network ends in a softmax, else SquaredError.
func (n *Network) Loss() Loss {
	if n.stages[len(n.stages)-1].Activation == Softmax {
		return CrossEntropy
	}
	return SquaredError
}

// Parameters returns the parameters themselves, layer after layer, kernel and then bias: whoever
// changes them changes the network.
func (n *Network) Parameters() []float32 { return n.parameters }

// Clone returns a copy with parameters of its own.
func (n *Network) Clone() *Network { return &Network{n.plan, slices.Clone(n.parameters)} }

// SameShape reports whether both networks have the same input and layers.
func (n *Network) SameShape(o *Network) bool {
	return slices.Equal(n.input, o.input) && slices.Equal(n.layers, o.layers)
}

// Hash names the network: a digest of Bytes.
func (n *Network) Hash() keys.Hash { return keys.HashOf(hashDomain, n.Bytes()) }
