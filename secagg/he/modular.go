package he

import (
	"math/big"
	"math/bits"
)

// multiplier multiplies by a constant modulo a prime below 2^63 (Shoup's method).
type multiplier struct{ w, quotient, q uint64 }

// newMultiplier prepares multiplications by w, which is below q.
func newMultiplier(w, q uint64) multiplier {
	quotient, _ := bits.Div64(w, 0, q)
	return multiplier{w: w, quotient: quotient, q: q}
}

// mul returns w x modulo q, for any x.
func (m *multiplier) mul(x uint64) uint64 {
	hi, _ := bits.Mul64(x, m.quotient)
	return lower(x*m.w-hi*m.q, m.q)
}

// lower subtracts q once from an x that is not below it; x is below 2q.
func lower(x, q uint64) uint64 {
	y, borrow := bits.Sub64(x, q, 0)
	return y + q&-borrow
}

// inverse returns the inverse of a modulo the prime q.
func inverse(a, q uint64) uint64 {
	m := new(big.Int).SetUint64(q)
	return new(big.Int).ModInverse(new(big.Int).SetUint64(a), m).Uint64()
}

// plainPrimes returns the n smallest primes above 2^logPrime that are 1 modulo 2 Degree: plaintext
// moduli that the batching of BGV would take too, although only coefficients are used here.
func plainPrimes(logPrime, n int) []uint64 {
	var list []uint64
	for t := uint64(1)<<logPrime + 1; len(list) < n; t += 2 * Degree {
		if new(big.Int).SetUint64(t).ProbablyPrime(0) { // exact below 2^64
			list = append(list, t)
		}
	}
	return list
}

// wide is an integer of 128 bits; where it is signed, in two's complement.
type wide struct{ hi, lo uint64 }

// wideOf returns the lowest 128 bits of a number that is not negative.
func wideOf(x *big.Int) wide {
	var b [16]byte
	new(big.Int).And(x, new(big.Int).Sub(new(big.Int).Lsh(big.NewInt(1), 128), big.NewInt(1))).FillBytes(b[:])
	var w wide
	for i := range 8 {
		w.hi, w.lo = w.hi<<8|uint64(b[i]), w.lo<<8|uint64(b[8+i])
	}
	return w
}

// less compares as numbers without sign.
func (w wide) less(v wide) bool { return w.hi < v.hi || w.hi == v.hi && w.lo < v.lo }

// plus adds, wrapping.
func (w wide) plus(v wide) wide {
	lo, carry := bits.Add64(w.lo, v.lo, 0)
	hi, _ := bits.Add64(w.hi, v.hi, carry)
	return wide{hi, lo}
}

// minus subtracts, wrapping.
func (w wide) minus(v wide) wide {
	lo, borrow := bits.Sub64(w.lo, v.lo, 0)
	hi, _ := bits.Sub64(w.hi, v.hi, borrow)
	return wide{hi, lo}
}

// negative reports the sign.
func (w wide) negative() bool { return w.hi>>63 == 1 }

// magnitude returns the absolute value.
func (w wide) magnitude() wide {
	if w.negative() {
		return wide{}.minus(w)
	}
	return w
}

// mod returns the residue of a signed w modulo t, from 0 to t-1.
func (w wide) mod(t uint64) uint64 {
	m := w.magnitude()
	r := bits.Rem64(m.hi, m.lo, t)
	if w.negative() && r != 0 {
		return t - r
	}
	return r
}

// times returns w t + d without sign, and whether it has no more than 127 bits.
func (w wide) times(t, d uint64) (wide, bool) {
	over, hi := bits.Mul64(w.hi, t)
	middle, lo := bits.Mul64(w.lo, t)
	lo, carry := bits.Add64(lo, d, 0)
	hi, carry = bits.Add64(hi, middle, carry)
	return wide{hi, lo}, over == 0 && carry == 0 && hi>>63 == 0
}
