package rss

import (
	"context"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// split shares words among the three at random, and returns each party's share.
func split(rng *rand.Rand, words []uint64) (shares [Roles]Share) {
	var c [Roles][]uint64
	for _, w := range words {
		a, b := rng.Uint64(), rng.Uint64()
		c[0], c[1], c[2] = append(c[0], a), append(c[1], b), append(c[2], w-a-b)
	}
	for r := range Role(Roles) {
		shares[r] = Components(r, c)
	}
	return shares
}

// random draws words.
func random(rng *rand.Rand, n int) []uint64 {
	w := make([]uint64, n)
	for i := range w {
		w[i] = rng.Uint64()
	}
	return w
}

// sumOf adds what the parties' parts of a local product return.
func sumOf(part func(p *Party) []uint64) []uint64 {
	var sum []uint64
	for r := range Role(Roles) {
		term := part(New(r, nil, nil, 3))
		if sum == nil {
			sum = make([]uint64, len(term))
		}
		for i, w := range term {
			sum[i] += w
		}
	}
	return sum
}

// oracle is the sum of products of n pairs of words modulo 2^64, by big integers.
func oracle(n int, pair func(i int) (x, y uint64)) uint64 {
	sum, word := new(big.Int), func(w uint64) *big.Int { return new(big.Int).SetUint64(w) }
	for i := range n {
		x, y := pair(i)
		sum.Add(sum, new(big.Int).Mul(word(x), word(y)))
	}
	return sum.Mod(sum, new(big.Int).Lsh(big.NewInt(1), 64)).Uint64()
}

// TestTermsAddUpToTheProduct holds every local product against big integers, for all sizes down to one row and one
// feature; what the terms held before stays in them.
func TestTermsAddUpToTheProduct(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		n, d := rapid.IntRange(1, 9).Draw(rt, "rows"), rapid.IntRange(1, 67).Draw(rt, "features")
		m, v, w, before := random(rng, n*d), random(rng, d), random(rng, n), random(rng, n*d)
		sm, sv, sw := split(rng, m), split(rng, v), split(rng, w)
		check := func(what string, got []uint64, want func(i int) uint64) {
			rt.Helper()
			for i := range got {
				if got[i] != want(i) {
					rt.Fatalf("%s: word %d of %d is %#x, want %#x", what, i, len(got), got[i], want(i))
				}
			}
		}
		start := func(p *Party, n int) []uint64 { // the label holder's part is not empty
			term := make([]uint64, n)
			if p.role == LabelHolder {
				copy(term, before)
			}
			return term
		}
		check("inner product", sumOf(func(p *Party) []uint64 { return p.Dot(sm[p.role].Slice(0, d), sv[p.role]) }),
			func(int) uint64 {
				return oracle(d, func(i int) (uint64, uint64) { return m[i], v[i] })
			})
		check("a vector times a number",
			sumOf(func(p *Party) []uint64 { return p.Times(sm[p.role], sv[p.role].Slice(0, 1)) }), func(i int) uint64 {
				return oracle(1, func(int) (uint64, uint64) { return m[i], v[0] })
			})
		check("two vectors, number by number",
			sumOf(func(p *Party) []uint64 { return p.Products(sm[p.role].Slice(0, d), sv[p.role]) }), func(i int) uint64 {
				return oracle(1, func(int) (uint64, uint64) { return m[i], v[i] })
			})
		check("matrix and vector", sumOf(func(p *Party) []uint64 {
			term := start(p, n)
			p.MulVec(term, sm[p.role], sv[p.role])
			return term
		}), func(j int) uint64 {
			return before[j] + oracle(d, func(i int) (uint64, uint64) { return m[j*d+i], v[i] })
		})
		check("matrix and vectors", sumOf(func(p *Party) []uint64 {
			one := sv[p.role]
			two := Share{X: append(one.Clone().X, one.Y...), Y: append(one.Clone().Y, one.X...)}
			term := make([]uint64, 2*n)
			p.MulVecs(term, sm[p.role], two, 2)
			return term[:n]
		}), func(j int) uint64 {
			return oracle(d, func(i int) (uint64, uint64) { return m[j*d+i], v[i] })
		})
		check("transposed matrix and vector", sumOf(func(p *Party) []uint64 {
			term := start(p, d)
			p.MulVecT(term, sm[p.role], sw[p.role])
			return term
		}), func(i int) uint64 {
			return before[i] + oracle(n, func(j int) (uint64, uint64) { return m[j*d+i], w[j] })
		})
		check("sums of columns", sumOf(func(p *Party) []uint64 {
			columns := Zero(p.role, d)
			columns.AddColumns(sm[p.role])
			return columns.X
		}), func(i int) uint64 {
			return oracle(n, func(j int) (uint64, uint64) { return m[j*d+i], 1 })
		})
		check("twice the Gram matrix", sumOf(func(p *Party) []uint64 {
			sums := make([]uint64, d*(d+1)/2)
			p.AddSquares(sums, sm[p.role].Slice(0, n/2*d), d) // in two blocks
			p.AddSquares(sums, sm[p.role].Slice(n/2*d, n*d), d)
			return p.TwiceGram(sums)
		}), func(at int) uint64 {
			i := 0
			for ; at >= d-i; i++ {
				at -= d - i
			}
			return 2 * oracle(n, func(j int) (uint64, uint64) { return m[j*d+i], m[j*d+i+at] })
		})
	})
}

// TestFreeArithmeticIsThatOfTheSharedWords holds sums, public constants and public factors against the words.
func TestFreeArithmeticIsThatOfTheSharedWords(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		n := rapid.IntRange(1, 9).Draw(rt, "words")
		x, y, c := random(rng, n), random(rng, n), rng.Uint64()
		sx, sy := split(rng, x), split(rng, y)
		for r := range Role(Roles) {
			if sx[r].Len() != n {
				rt.Fatalf("%d words at the %s, want %d", sx[r].Len(), r, n)
			}
			sum := sx[r].Clone()
			sum.Add(sy[r])
			sum.AddPublic(r, n-1, c)
			sx[r] = sum
		}
		scaled := sumOf(func(p *Party) []uint64 {
			term := make([]uint64, n)
			sx[p.role].AddTo(term, c)
			return term
		})
		for i, w := range agreed(t, sx) {
			want := x[i] + y[i]
			if i == n-1 {
				want += c
			}
			if w != want || scaled[i] != c*want || Reconstruct(sx[0], sx[1])[i] != want {
				rt.Fatalf("word %d: sum %#x, %#x times it %#x, reconstructed %#x, want %#x", i, w, c, scaled[i], Reconstruct(sx[0], sx[1])[i], want)
			}
		}
	})
}

// TestOutsideNothingIsComputed: a party outside the three passes through every step with nothing.
func TestOutsideNothingIsComputed(t *testing.T) {
	p := New(Outside, newHubWire(), nil, 1)
	s := Zero(Outside, 5)
	p.MulVec(nil, s, s)
	p.MulVecT(nil, s, s)
	p.AddSquares(nil, s, 2)
	s.AddPublic(Outside, 3, 1)
	s.AddTo(nil, 7)
	if got := s.Slice(1, 3); p.Dot(s, s) != nil || p.Times(s, s) != nil || got.X != nil || Components(Outside,
		[Roles][]uint64{}).X != nil {
		t.Errorf("there is %v outside", got)
	}
	y, err := p.Truncate(t.Context(), "test", 64, nil, FirstOrder(), Shift{3, 5})
	if err != nil || y.X != nil {
		t.Errorf("a truncation gives %v and error %v", y, err)
	}
}

// newHubWire is the wire of a party outside.
func newHubWire() Wire { return wireOf{newHub(), Outside} }

// TestInputIsShared: the three have shares of the label holder's words, and the helper was told nothing.
func TestInputIsShared(t *testing.T) {
	for _, bits := range []int{48, 64} {
		rng := rand.New(rand.NewPCG(1, uint64(bits)))
		words := random(rng, 17)
		for i := range words {
			words[i] &= ^uint64(0) >> (64 - bits)
		}
		var shares [Roles]Share
		heard := func(kind string, from, to Role, got []uint64) {
			if from != LabelHolder || to != Keeper || kind != "labels" || len(got) != len(words) {
				t.Errorf("%s: %d words from the %s to the %s", kind, len(got), from, to)
			}
		}
		play(t, "input", heard, func(ctx context.Context, p *Party) error {
			var own []uint64
			if p.Role() == LabelHolder {
				own = words
			}
			s, err := p.Input(ctx, "labels", bits, len(words), own)
			if p.Role() != Outside {
				shares[p.Role()] = s
			}
			return err
		})
		for i, w := range agreed(t, shares) {
			if w&(^uint64(0)>>(64-bits)) != words[i] {
				t.Errorf("%d bits: word %d is %#x, want %#x", bits, i, w, words[i])
			}
		}
	}
}
