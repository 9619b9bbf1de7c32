package he

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// signedBig reads two's complement.
func signedBig(w wide) *big.Int {
	x := new(big.Int).Lsh(new(big.Int).SetUint64(w.hi), 64)
	x.Or(x, new(big.Int).SetUint64(w.lo))
	if w.negative() {
		x.Sub(x, new(big.Int).Lsh(big.NewInt(1), 128))
	}
	return x
}

func TestMultiplierMultiplies(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		q := rapid.SampledFrom([]uint64{prime0, prime1, 12289, 1<<40 + 15, 1<<61 - 1}).Draw(t, "q")
		w, x := rapid.Uint64Range(0, q-1).Draw(t, "w"), rapid.Uint64().Draw(t, "x")
		want := new(big.Int).Mul(new(big.Int).SetUint64(w), new(big.Int).SetUint64(x))
		want.Mod(want, new(big.Int).SetUint64(q))
		m := newMultiplier(w, q)
		if got := m.mul(x); got != want.Uint64() {
			t.Errorf("%d times %d modulo %d is %d, want %v", w, x, q, got, want)
		}
	})
}

func TestWideIntegersAreIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := wide{hi: rapid.Uint64().Draw(t, "hi"), lo: rapid.Uint64().Draw(t, "lo")}
		m := rapid.Uint64Range(1, 1<<60).Draw(t, "t")
		if got, want := w.mod(m), new(big.Int).Mod(signedBig(w), new(big.Int).SetUint64(m)); got != want.Uint64() {
			t.Errorf("%v modulo %d is %d, want %v", signedBig(w), m, got, want)
		}
		if got := wideOf(signedBig(w.magnitude())); got != w.magnitude() {
			t.Errorf("%v became %v", w.magnitude(), got)
		}
		x, d := w.magnitude(), rapid.Uint64Range(0, m-1).Draw(t, "d")
		x.hi >>= rapid.IntRange(1, 64).Draw(t, "shift")
		want := signedBig(x)
		want.Mul(want, new(big.Int).SetUint64(m)).Add(want, new(big.Int).SetUint64(d))
		got, ok := x.times(m, d)
		if ok != (want.BitLen() <= 127) || ok && signedBig(got).Cmp(want) != 0 {
			t.Errorf("%v times %d plus %d is %v (%t), want %v", signedBig(x), m, d, signedBig(got), ok, want)
		}
	})
}

func TestPlainPrimesAreDifferentPrimesAboveTheirPower(t *testing.T) {
	for _, logPrime := range []int{minLogPlain, 41, 59} {
		last := uint64(1) << logPrime
		for _, p := range plainPrimes(logPrime, maxResidues) {
			if p <= last || p%(2*Degree) != 1 || !new(big.Int).SetUint64(p).ProbablyPrime(20) {
				t.Errorf("%d after %d", p, last)
			}
			last = p
		}
		if last > 1<<logPrime+1<<(logPrime-1) {
			t.Errorf("%d is not just above 2^%d", last, logPrime)
		}
	}
}
