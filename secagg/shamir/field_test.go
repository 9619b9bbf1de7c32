package shamir

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// modP returns x modulo P.
func modP(x *big.Int) uint64 { return new(big.Int).Mod(x, big.NewInt(P)).Uint64() }

// wide returns hi*2^64 + lo.
func wide(hi, lo uint64) *big.Int {
	x := new(big.Int).Lsh(new(big.Int).SetUint64(hi), 64)
	return x.Or(x, new(big.Int).SetUint64(lo))
}

func TestReduceTakesAll128Bits(t *testing.T) {
	ends := []uint64{0, 1, 7, 8, P - 1, P, P + 1, 1<<58 - 1, 1 << 58, 1 << 61, 1<<63 - 1, 1 << 63, 1<<64 - 1}
	for _, hi := range ends {
		for _, lo := range ends {
			if got, want := reduce(hi, lo), modP(wide(hi, lo)); got != want {
				t.Errorf("%x, %x gives %d, want %d", hi, lo, got, want)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		hi, lo := rapid.Uint64().Draw(t, "hi"), rapid.Uint64().Draw(t, "lo")
		if got, want := reduce(hi, lo), modP(wide(hi, lo)); got != want {
			t.Fatalf("%x, %x gives %d, want %d", hi, lo, got, want)
		}
	})
}

// TestDotDoesNotOverflow: the largest words in lists around the length that is summed lazily.
func TestDotDoesNotOverflow(t *testing.T) {
	for n := range 3*lazy + 2 {
		a := make([]uint64, n)
		for i := range a {
			a[i] = P - 1 // the square of -1 is 1
		}
		if got := dot(a, a); got != uint64(n) {
			t.Errorf("%d squares of P-1 sum to %d", n, got)
		}
	}
}

func TestDotAgreesWithBigIntegers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 150).Draw(t, "n")
		a := rapid.SliceOfN(anyWord(), n, n).Draw(t, "a")
		b := rapid.SliceOfN(anyWord(), n, n).Draw(t, "b")
		want := new(big.Int)
		for i := range a {
			want.Add(want, new(big.Int).Mul(wide(0, a[i]), wide(0, b[i])))
		}
		if got := dot(a, b); got != modP(want) {
			t.Fatalf("got %d, want %d", got, modP(want))
		}
	})
}

func TestInverses(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfN(rapid.Uint64Range(1, P-1), 1, 20).Draw(t, "words")
		inverse := append([]uint64(nil), all...)
		invertAll(inverse)
		for i, x := range all {
			if mul(x, inverse[i]) != 1 || invert(x) != inverse[i] {
				t.Fatalf("the inverse of %d is %d, or %d alone", x, inverse[i], invert(x))
			}
		}
	})
	if invert(0) != 0 {
		t.Error("0 has an inverse")
	}
}

func TestSignedDifferences(t *testing.T) {
	for d, want := range map[int64]uint64{0: 0, 1: 1, -1: P - 1, 1 << 55: 1 << 55, -1 << 55: P - 1<<55} {
		if got := signed(d); got != want {
			t.Errorf("%d is %d modulo P, want %d", d, got, want)
		}
	}
}

// TestTheLargestDifferencesFitAnInt64 guards the product of differences of places.
func TestTheLargestDifferencesFitAnInt64(t *testing.T) {
	most := new(big.Int).Exp(big.NewInt(2*MaxHolders), big.NewInt(group), nil)
	if most.Cmp(big.NewInt(P)) >= 0 {
		t.Errorf("%d differences reach %d, want less than P", group, most)
	}
}
