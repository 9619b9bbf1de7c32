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

// Apply moves theta by the sum of the clients' uploads, equation 10: theta_i less a K-th part of it.
//
// K is the number of clients in the job, not of those whose upload arrived. A client that is away
// counts like one that drew other kernels: it adds nothing, as in the paper. Dividing by the survivors
// would let three clients of 560 move theta as far as all of them, with the noise of three draws;
// and clients that come and go would count for more than those that stay. The price: while half the
// clients are away, theta moves half as fast.
func (s *Server) Apply(sum []float64, clients int) error {
	if clients < 1 {
		return fmt.Errorf("sum %d: it is of %d clients, want at least 1", s.applied+1, clients)
	}
	if err := s.checkSum(sum, clients); err != nil {
		return err
	}
	addScaled(s.theta, -1/float64(clients), sum)
	s.applied++
	return nil
}

// checkSum refuses a sum that no K clients make.
func (s *Server) checkSum(sum []float64, clients int) error {
	if len(sum) != len(s.theta) {
		return fmt.Errorf("sum %d has %d words, want %d", s.applied+1, len(sum), len(s.theta))
	}
	limit := s.dictionary.params.SumBound() * float64(clients)
	for i, v := range sum {
		if !(v >= -limit && v <= limit) { // also refuses NaN
			return fmt.Errorf("sum %d: element %d is %v, want a number of magnitude at most %g", s.applied+1, i+1, v, limit)
		}
	}
	return nil
}
