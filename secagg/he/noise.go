package he

import (
	"fmt"
	"math"
	"math/big"
	"math/bits"
)

// MinMargin is the least factor, as a power of two, by which flooding exceeds what it hides, in every
// coefficient. The statistical distances of a sum's coefficients add up: a million words of two
// residues are hidden by 2^-20 in the worst case, by some bits more for noise of its usual size.
const MinMargin = 40

// noiseTail is how many standard deviations the noise bound is above zero. A sub-Gaussian coefficient
// is beyond it with probability at most 2 exp(-98), under 2^-140.
const noiseTail = 14

// noiseBound bounds the noise of the sum of `addends` fresh ciphertexts under the collective key of
// `holders`, in every coefficient. With u ternary, e0 and e1 small errors of one encryption, s the sum of
// the holders' ternary secrets and e the sum of the errors in their shares of the public key,
//
//	c0 + c1 s = m/t + e0 + u e + e1 s
//
// (Lattigo keeps the message as m/t modulo Q, so that t multiplies the noise at opening and not before.)
// In a ring of degree N the variances are: e0 sigma^2; u e at N 2/3 holders sigma^2; e1 s the same. Hence
//
//	bound = noiseTail sigma sqrt(addends (1 + 4/3 N holders)).
//
// Ternary and truncated Gaussian coefficients are sub-Gaussian with their variance; given e and s the
// sum is too, with the squared lengths of e and s in place of their means, which they exceed by a
// few per cent at most.
func noiseBound(addends, holders int) float64 {
	return noiseTail * sigma * math.Sqrt(float64(addends)*(1+4.0/3*Degree*float64(holders)))
}

// margin says how wide the flooding of a packing is, and the largest value of an opened coefficient.
type margin struct {
	addends, holders int
	noise            float64
	flood            int // the width of the flooding in bits
}

// newMargin takes the widest flooding with which a plaintext modulus t leaves the total exact:
//
//	4 t (addends + holders 2^flood + noise) < Q
//
// where the message itself is at most addends t. Correct would be 2 in place of 4; with 4 a total that
// was not opened by the right shares is out of bounds in every second coefficient. It is 0 where there is none.
func newMargin(s *Scheme, addends, holders int, t float64) margin {
	m := margin{addends: addends, holders: holders, noise: noiseBound(addends, holders)}
	modulus := float64(s.primes[0]) * float64(s.primes[1])
	for m.flood = maxFlood(s.primes); m.flood > 0; m.flood-- {
		if 4*t*m.reach() < modulus {
			break
		}
	}
	return m
}

// reach is the largest magnitude of an opened coefficient in units of t.
func (m *margin) reach() float64 {
	return float64(m.addends) + float64(m.holders)*math.Ldexp(1, m.flood) + math.Ceil(m.noise)
}

// limit is the largest magnitude of an opened coefficient with plaintext modulus t.
func (m *margin) limit(t uint64) wide {
	x, _ := big.NewFloat(m.reach()).Int(nil)
	return wideOf(x.Mul(x, new(big.Int).SetUint64(t)))
}

// Margin returns by how many bits the flooding of every share exceeds the noise it hides.
func (m *margin) Margin() float64 { return float64(m.flood) - math.Log2(m.noise) }

// checkCounts refuses numbers of addends and holders that no sum has.
func checkCounts(addends, holders int) error {
	if addends < 1 || holders < 1 || bits.Len(uint(addends)) > 20 || bits.Len(uint(holders)) > 20 {
		return fmt.Errorf("homomorphic sum: %d addends and %d holders of the key, want 1 to %d of each",
			addends, holders, 1<<20-1)
	}
	return nil
}
