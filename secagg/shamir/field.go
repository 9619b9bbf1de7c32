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
		n := min(len(a), lazy) // products that are added before one reduction
		hi, lo := uint64(0), sum
		for i, x := range a[:n] {
			h, l := bits.Mul64(x, b[:n][i])
			var carry uint64
			lo, carry = bits.Add64(lo, l, 0)
			hi += h + carry
		}
		sum = reduce(hi, lo)
		a, b = a[n:], b[n:]
	}
	return sum
}

// signed returns d modulo P, for |d| < P.
func signed(d int64) uint64 { return uint64(d) + P&uint64(d>>63) }

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
