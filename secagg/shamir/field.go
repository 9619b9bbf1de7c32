package shamir

import "math/bits"

// P is the modulus, a Mersenne prime: 2^61 = 1 modulo P.
const P = 1<<61 - 1

// lazy is how many products of canonical words fit 128 bits beside one more word.
const lazy = 64

// reduce returns hi*2^64 + lo modulo P, canonical, without a branch.
func reduce(hi, lo uint64) uint64 {
	x := lo&P + (hi<<3|lo>>61)&P + hi>>58
	x = x&P + x>>61
	less, borrow := bits.Sub64(x, P, 0)
	return less + P&-borrow
}

func mul(a, b uint64) uint64 { return reduce(bits.Mul64(a, b)) }

// dot returns the sum of a[i]*b[i]; b is at least as long as a.
func dot(a, b []uint64) uint64 {
	sum := uint64(0)
	for len(a) > 0 {
		n := min(len(a), lazy)
		sum = dotRun(sum, a[:n], b[:n])
		a, b = a[n:], b[n:]
	}
	return sum
}

// dotRun adds at most lazy products to sum and reduces once.
func dotRun(sum uint64, a, b []uint64) uint64 {
	hi, lo := uint64(0), sum
	b = b[:len(a)]
	for i, x := range a {
		h, l := bits.Mul64(x, b[i])
		var carry uint64
		lo, carry = bits.Add64(lo, l, 0)
		hi += h + carry
	}
	return reduce(hi, lo)
}

// signed returns d modulo P, for |d| < P.
func signed(d int64) uint64 { return uint64(d) + P&uint64(d>>63) }

// negate returns -a modulo P for a canonical a that is not 0.
func negate(a uint64) uint64 { return P - a }

// invert returns 1/a = a^(P-2), and 0 for 0.
func invert(a uint64) uint64 {
	out := uint64(1)
	for bit := 60; bit >= 0; bit-- {
		out = mul(out, out)
		if uint64(P-2)>>bit&1 == 1 { // of a constant
			out = mul(out, a)
		}
	}
	return out
}

// invertAll replaces every word, none of which is 0, by its inverse: one inversion for all.
func invertAll(a []uint64) {
	before, product := make([]uint64, len(a)), uint64(1)
	for i, x := range a {
		before[i] = product
		product = mul(product, x)
	}
	inverse := invert(product)
	for i := len(a) - 1; i >= 0; i-- {
		a[i], inverse = mul(inverse, before[i]), mul(inverse, a[i])
	}
}

// factorials returns 0! .. m! and their inverses modulo P.
func factorials(m int) (of, inverse []uint64) {
	of = make([]uint64, m+1)
	of[0] = 1
	for i := 1; i <= m; i++ {
		of[i] = mul(of[i-1], uint64(i))
	}
	inverse = append([]uint64(nil), of...)
	invertAll(inverse)
	return of, inverse
}
