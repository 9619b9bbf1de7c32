package shamir

import (
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// lagrange evaluates at x, modulo p, the polynomial through values at distinct places: the
// textbook's double loop. It is the oracle for the scheme, and the scheme itself over toy fields.
func lagrange(p int64, at []int, values []*big.Int, x int) *big.Int {
	modulus, sum := big.NewInt(p), new(big.Int)
	for j := range at {
		term := new(big.Int).Set(values[j])
		for m := range at {
			if m == j {
				continue
			}
			below := new(big.Int).Mod(big.NewInt(int64(at[j]-at[m])), modulus)
			term.Mul(term, big.NewInt(int64(x-at[m])))
			term.Mul(term, below.ModInverse(below, modulus))
			term.Mod(term, modulus)
		}
		sum.Add(sum, term)
	}
	return sum.Mod(sum, modulus)
}

// dumbPublish returns f(n+1) .. f(2n+1-t), for the values f(0) .. f(n).
func dumbPublish(p int64, threshold int, values []*big.Int) []*big.Int {
	n := len(values) - 1
	public := make([]*big.Int, 0, n+1-threshold)
	for x := n + 1; x <= 2*n+1-threshold; x++ {
		public = append(public, lagrange(p, append([]int{0}, upTo(n)...), values, x))
	}
	return public
}

// dumbRecover returns f(0) from the values at holders and at the public points.
func dumbRecover(p int64, n int, public []*big.Int, holders []int, shares []*big.Int) *big.Int {
	at, values := append([]int(nil), holders...), append([]*big.Int(nil), shares...)
	for i, v := range public {
		at, values = append(at, n+1+i), append(values, v)
	}
	return lagrange(p, at, values, 0)
}

// word returns word w of each element.
func word(w int, elements ...Element) []*big.Int {
	list := make([]*big.Int, len(elements))
	for i := range elements {
		list[i] = new(big.Int).SetUint64(elements[i][w])
	}
	return list
}

// anyWord favours the ends of the field.
func anyWord() *rapid.Generator[uint64] {
	return rapid.OneOf(rapid.Uint64Range(0, 2), rapid.Uint64Range(P-3, P-1), rapid.Uint64Range(0, P-1))
}

func anyElements(t *rapid.T, n int, label string) []Element {
	list := make([]Element, n)
	for i := range list {
		copy(list[i][:], rapid.SliceOfN(anyWord(), Words, Words).Draw(t, label))
	}
	return list
}

// anyScheme draws a small scheme.
func anyScheme(t *rapid.T) *Scheme {
	n := rapid.IntRange(1, 14).Draw(t, "n")
	return newScheme(t, n, rapid.IntRange(1, n).Draw(t, "t"))
}

// anyHolders draws at least t holders, in any order, and their shares.
func anyHolders(t *rapid.T, s *Scheme, shares []Element) (holders []int, some []Element) {
	order := rapid.Permutation(upTo(s.n)).Draw(t, "holders")
	holders = order[:rapid.IntRange(s.t, s.n).Draw(t, "answers")]
	for _, h := range holders {
		some = append(some, shares[h-1])
	}
	return holders, some
}

func TestPublishAndRecoverAgreeWithTheTextbook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyScheme(t)
		values := anyElements(t, s.n+1, "values")
		public := s.Publish(values[0], values[1:])
		holders, shares := anyHolders(t, s, values[1:])
		secret := mustRecover(t, s, public, holders, shares)
		if secret != values[0] {
			t.Fatalf("recovered %v, want %v", secret, values[0])
		}
		for w := range Words {
			for i, want := range dumbPublish(P, s.t, word(w, values...)) {
				if public[i][w] != want.Uint64() {
					t.Fatalf("word %d of public point %d is %d, want %d", w, i, public[i][w], want)
				}
			}
			back := dumbRecover(P, s.n, word(w, public...), holders[:s.t], word(w, shares[:s.t]...))
			if back.Uint64() != secret[w] {
				t.Fatalf("word %d of the secret is %d, want %d", w, secret[w], back)
			}
		}
	})
}

// TestRecoverOfAnythingAgreesWithTheTextbook: public points and shares that nobody made together
// give what the textbook gives too, with one share too few to notice.
func TestRecoverOfAnythingAgreesWithTheTextbook(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyScheme(t)
		public := anyElements(t, s.n+1-s.t, "public")
		holders, shares := anyHolders(t, s, anyElements(t, s.n, "shares"))
		secret := mustRecover(t, s, public, holders[:s.t], shares[:s.t])
		for w := range Words {
			want := dumbRecover(P, s.n, word(w, public...), holders[:s.t], word(w, shares[:s.t]...))
			if secret[w] != want.Uint64() {
				t.Fatalf("word %d of the secret is %d, want %d", w, secret[w], want)
			}
		}
	})
}
