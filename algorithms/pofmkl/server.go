package pofmkl

import "fmt"

// Server holds theta, which starts at zero.
type Server struct {
	dictionary *Dictionary
	theta      []float64 // [N][2D]
	applied    int
}

// NewServer starts a server.
func NewServer(d *Dictionary) *Server {
	return &Server{dictionary: d, theta: make([]float64, d.params.Words())}
}

// Theta returns the parameters of all kernels, [N][2D]. They change with Apply alone.
func (s *Server) Theta() []float64 { return s.theta }

// Applied returns how many sums were applied.
func (s *Server) Applied() int { return s.applied }

// Apply moves theta by the sum of the clients' uploads of a number, from 0, which has the kernels that Params.Moved
// lists, [kernels][2D]. It is equation 10: theta_i less a K-th part of the sum.
//
// K is the number of clients in the job, not of those whose upload arrived. A client that is away
// counts like one that drew other kernels: it adds nothing, as in the paper. Dividing by the survivors
// would let three clients of 560 move theta as far as all of them, with the noise of three draws;
// and clients that come and go would count for more than those that stay. The price: while half the
// clients are away, theta moves half as fast.
func (s *Server) Apply(upload int, sum []float64, clients int) error {
	if clients < 1 {
		return fmt.Errorf("sum %d: it is of %d clients, want at least 1", s.applied+1, clients)
	}
	p := &s.dictionary.params
	moved := p.Moved(upload)

	// Refuses a sum that no K clients make, or of other words.
	words := p.uploadWords(len(moved))
	if len(sum) != words {
		return fmt.Errorf("sum %d has %d words, want %d", s.applied+1, len(sum), words)
	}
	limit := s.dictionary.params.SumBound() * float64(clients)
	for i, v := range sum {
		if !(v >= -limit && v <= limit) { // also refuses NaN
			return fmt.Errorf("sum %d: element %d is %v, want a number of magnitude at most %g", s.applied+1, i+1, v, limit)
		}
	}
	for at, i := range moved {
		addScaled(part(s.theta, i, p.Features), -1/float64(clients), part(sum, at, p.Features))
	}
	s.applied++
	return nil
}
