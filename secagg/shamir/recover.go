package shamir

import "fmt"

// OffError says that a share does not lie on the polynomial that the public points and the first
// t shares fix. When one of those first is false, an honest holder is named: it says that the
// shares disagree, not who lies.
type OffError struct{ Holder int } // 1..n

func (e *OffError) Error() string {
	return fmt.Sprintf("recover a secret: the share of holder %d does not fit the public points and "+
		"the shares before it", e.Holder)
}

// Recover returns the secret whose n+1-t points Publish returned, from the shares of at least t
// distinct holders in 1..n: shares[i] is that of holders[i]. The first t are used; further ones are
// checked against them, and the first that does not fit is an *OffError. With t shares exactly
// nothing can be checked, and a false share or point gives a false secret.
func (s *Scheme) Recover(public []Element, holders []int, shares []Element) (Element, error) {
	switch {
	case len(public) != s.n+1-s.t:
		return Element{}, fmt.Errorf("recover a secret: %d public points, want %d", len(public), s.n+1-s.t)
	case len(holders) != len(shares):
		return Element{}, fmt.Errorf("recover a secret: %d shares of %d holders, want one each", len(shares), len(holders))
	case len(holders) < s.t:
		return Element{}, fmt.Errorf("recover a secret: %d shares, want at least %d", len(shares), s.t)
	}
	seen := make([]bool, s.n+1)
	for _, h := range holders {
		if h < 1 || h > s.n {
			return Element{}, fmt.Errorf("recover a secret: holder %d, want 1 to %d", h, s.n)
		}
		if seen[h] {
			return Element{}, fmt.Errorf("recover a secret: holder %d twice", h)
		}
		seen[h] = true
	}
	first := holders[:s.t]
	// The polynomial goes through the shares of the first t and the public points, in this order.
	weights, f := s.weightsOf(first), newPolynomial(s.n+1)
	for j, h := range first {
		f.put(j, h, weights[j], &shares[j])
	}
	for i := range public {
		j := s.t + i
		f.put(j, s.n+1+i, weights[j], &public[i])
	}
	for i := s.t; i < len(holders); i++ {
		value := f.evaluate(s, holders[i], s.product(holders[i], first))
		if !value.equal(&shares[i]) {
			return Element{}, &OffError{holders[i]}
		}
	}
	return f.evaluate(s, 0, s.product(0, first)), nil
}

// weightsOf returns the barycentric weights of t holders, in order, and of the public points.
func (s *Scheme) weightsOf(holders []int) []uint64 {
	weights := make([]uint64, s.n+1)
	for j := range weights {
		at := s.n + 1 + j - s.t // a public point
		if j < s.t {
			at = holders[j]
		}
		weights[j] = s.product(at, holders)
	}
	invertAll(weights)
	return weights
}

// group is how many differences of places, each at most 2*MaxHolders, multiply within an int64.
const group = 5

// product returns the product of (x - p) over all the public points and the given holders but x.
func (s *Scheme) product(x int, holders []int) uint64 {
	out := s.against[x]
	for len(holders) > 0 {
		n, differences := min(len(holders), group), int64(1)
		for _, h := range holders[:n] {
			if h != x {
				differences *= int64(x - h)
			}
		}
		out, holders = mul(out, signed(differences)), holders[n:]
	}
	return out
}
