package federated

import "math"

// Sum says what is added: vectors of N reals of magnitude at most Bound, as fixed-point numbers with
// Bits binary digits after the point.
type Sum struct {
	Kind  string // as contracts name it
	N     int
	Bits  int
	Bound float64
}

// maxBits is the most digits after the point that a sum has.
const maxBits = 62

// Finest returns the sum of vectors of n reals of magnitude at most bound with as many digits after the point,
// up to 62, as the total of so many clients leaves in 64 bits. A total is off by at most 2^-(Bits+1) for each client
// in it.
func Finest(kind string, n int, bound float64, clients int) Sum {
	s := Sum{Kind: kind, N: n, Bits: maxBits, Bound: bound}
	for s.Bits > 0 && !s.Fits(clients) {
		s.Bits--
	}
	return s
}

// Fits reports whether the total of so many vectors fits into 64 bits, whatever they are.
func (s Sum) Fits(vectors int) bool {
	return math.RoundToEven(math.Ldexp(s.Bound, s.Bits))*float64(vectors) < 1<<63
}

// Uploads returns how many uploads of so many rounds each hold all rounds of a job; the last may hold fewer.
func Uploads(rounds, each int) int { return (rounds + each - 1) / each }

// RoundsOf returns how many rounds the t-th of these uploads holds, t from 0.
func RoundsOf(t, rounds, each int) int { return min(each, rounds-t*each) }
