package ofmsft

import (
	"fmt"
	"math/rand/v2"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/keys"
)

// maxClients is how many clients a group may be drawn from.
const maxClients = 1 << 16

// Server holds the networks. It is for one goroutine, but for steps of different networks.
type Server struct {
	params   Params
	job      keys.Hash // of params, once asked for
	source   *rand.ChaCha8
	networks []*nn.Network
	tuned    []tuned
}

// tuned is what the server knows of a network beyond its rounded parameters. Single precision would lose
// steps that are divided by many clients.
type tuned struct {
	theta   []float64 // [Size]; nil until the first step
	version int       // steps so far
	hash    keys.Hash // of the network; zero when it is to be computed
}

// NewServer starts a server with the networks of a job, which it clones. It draws groups with the
// seed; nobody should know them beforehand.
func NewServer(p Params, networks []*nn.Network, seed [32]byte) (*Server, error) {
	if err := p.ValidateNumbers(); err != nil {
		return nil, err
	}
	if err := p.CheckNetworks(networks); err != nil {
		return nil, err
	}
	s := &Server{params: p, source: rand.NewChaCha8(seed), tuned: make([]tuned, len(networks))}
	for k, n := range networks {
		s.networks = append(s.networks, n.Clone())
		s.tuned[k].hash = p.Models[k].Hash
	}
	return s, nil
}

// Network returns the k-th network, from 0. It changes with Apply alone.
func (s *Server) Network(k int) *nn.Network { return s.networks[k] }

// Version returns how many steps network k has taken.
func (s *Server) Version(k int) int { return s.tuned[k].version }

// Hash returns the hash of network k as it is. It changes only when a step moved a parameter.
func (s *Server) Hash(k int) keys.Hash {
	t := &s.tuned[k]
	if t.hash.IsZero() {
		t.hash = s.networks[k].Hash()
	}
	return t.hash
}

// Group packs clients by the bandwidth that each needs, first fit decreasing, into groups that need at
// most the job's bandwidth, and draws one group. It returns the number of groups, alpha, and the
// group's clients, ascending, from 0.
func (s *Server) Group(needs []float64) (alpha int, group []int, err error) {
	if n := len(needs); n < 1 || n > maxClients {
		return 0, nil, fmt.Errorf("there are %d clients, want 1 to %d", n, maxClients)
	}
	for i, e := range needs {
		if !(e > 0 && e <= s.params.groupCapacity()) {
			return 0, nil, fmt.Errorf("client %d needs a bandwidth of %v, want a number above 0 and at most %v", i+1, e,
				s.params.Bandwidth)
		}
	}
	groups, err := FirstFitDecreasing(needs, s.params.groupCapacity())
	if err != nil {
		return 0, nil, err
	}
	return len(groups), groups[pick(uniform(s.source), len(groups))], nil
}

// Apply moves network k by the sum of the steps of a group's clients, equation 11: theta_k less an N-th part of
// it.
//
// N is the number of clients in the job, not of those whose step arrived: alpha and 1/q_k make up for
// those that are not in the group or store other networks, and a client that is away counts like one
// of these.
func (s *Server) Apply(k int, sum []float64, clients int) error {
	if clients < 1 || clients > maxClients {
		return fmt.Errorf("step %d of model %q: it is of %d clients, want 1 to %d", s.tuned[k].version+1,
			s.params.Models[k].Name, clients, maxClients)
	}
	return s.move(k, sum, 1/float64(clients), s.params.SumBound()*float64(clients))
}

// move subtracts a share of a step from a network. Steps of different networks may be taken at the same time.
func (s *Server) move(k int, step []float64, share, limit float64) error {
	t, parameters := &s.tuned[k], s.networks[k].Parameters()

	// Refuses a step that no clients of the job make.
	name := s.params.Models[k].Name
	version := t.version + 1
	want := len(parameters)
	if len(step) != want {
		return fmt.Errorf("step %d of model %q has %d elements, want %d", version, name, len(step), want)
	}
	for i, v := range step {
		if !(v >= -limit && v <= limit) { // also refuses NaN
			return fmt.Errorf("step %d of model %q: element %d is %v, want a number of magnitude at most %g", version, name,
				i+1, v, limit)
		}
	}
	if t.theta == nil {
		t.theta = make([]float64, len(parameters))
		for i, v := range parameters {
			t.theta[i] = float64(v)
		}
	}
	for i, v := range step {
		t.theta[i] -= share * v
		parameters[i] = float32(t.theta[i])
	}
	t.version++
	t.hash = keys.Hash{}
	return nil
}
