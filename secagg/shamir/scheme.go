package shamir

import (
	"fmt"
	"slices"
)

// MaxHolders is the largest number of holders of a secret.
const MaxHolders = 1024

// Scheme shares secrets among n holders, t of which recover them. It is read-only once made, and
// several goroutines may use it. It holds O(n) words.
type Scheme struct {
	n, t int
	last int // the last public point, 2n+1-t

	inverse []uint64 // 1/d at d+last, for d = -last .. last but 0
	weights []uint64 // 1 / product of (j-m) over m in 0..n but j, for j = 0..n
	scale   []uint64 // product of (x-m) over m in 0..n, for the public points x in order
	against []uint64 // product of (x-p) over the public points p but x, for x = 0..last
}

// New prepares the sharing among n holders with threshold t. It wants 1 <= t <= n <= MaxHolders.
func New(n, t int) (*Scheme, error) {
	if t < 1 || t > n || n > MaxHolders {
		return nil, fmt.Errorf("share a secret: threshold %d of %d holders, want 1 <= threshold <= holders <= %d",
			t, n, MaxHolders)
	}
	s := &Scheme{n: n, t: t, last: 2*n + 1 - t}
	// The factorials 0! .. last! and their inverses modulo P.
	of := make([]uint64, s.last+1)
	of[0] = 1
	for i := 1; i <= s.last; i++ {
		of[i] = mul(of[i-1], uint64(i))
	}
	inverse := slices.Clone(of)
	invertAll(inverse)

	s.inverse = make([]uint64, 2*s.last+1)
	for d := 1; d <= s.last; d++ {
		one := mul(inverse[d], of[d-1])
		s.inverse[s.last+d], s.inverse[s.last-d] = one, P-one
	}
	s.weights = make([]uint64, s.n+1)
	for j := range s.weights {
		s.weights[j] = withSign(s.n-j, mul(inverse[j], inverse[s.n-j]))
	}
	s.scale = make([]uint64, s.n+1-s.t)
	for i := range s.scale {
		s.scale[i] = mul(of[s.n+1+i], inverse[i])
	}
	s.against = make([]uint64, s.last+1)
	for x := range s.against {
		if x <= s.n {
			s.against[x] = withSign(s.last-s.n, mul(of[s.last-x], inverse[s.n-x]))
		} else {
			s.against[x] = withSign(s.last-x, mul(of[x-s.n-1], of[s.last-x]))
		}
	}
	return s, nil
}

// Threshold is how many holders recover a secret.
func (s *Scheme) Threshold() int { return s.t }

// Holders is how many holders a secret has.
func (s *Scheme) Holders() int { return s.n }

// Publish returns the n+1-t points to publish so that any t of the n shares recover the secret;
// shares[i-1] is that of holder i. For another number of shares than n it returns nil.
func (s *Scheme) Publish(secret Element, shares []Element) []Element {
	if len(shares) != s.n {
		return nil
	}
	f := newPolynomial(s.n + 1)
	f.put(0, 0, s.weights[0], &secret)
	for i := range shares {
		f.put(i+1, i+1, s.weights[i+1], &shares[i])
	}
	public := make([]Element, s.n+1-s.t)
	for i := range public {
		public[i] = f.evaluate(s, s.n+1+i, s.scale[i])
	}
	return public
}

// withSign returns (-1)^power times a, which is not 0.
func withSign(power int, a uint64) uint64 {
	if power%2 == 0 {
		return a
	}
	return P - a
}
