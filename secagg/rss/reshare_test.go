package rss

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestReshareAddsTermsUp: the components agree pairwise, have no more bits than asked for, and add up to the sum of the
// terms modulo 2^bits, of terms that are too large as well.
func TestReshareAddsTermsUp(t *testing.T) {
	const n = 1000
	for _, bits := range []int{16, 32, 48, 64} {
		t.Run(fmt.Sprint(bits), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(bits), 1))
			var terms [Roles][]uint64
			for r := range terms {
				for range n {
					terms[r] = append(terms[r], rng.Uint64())
				}
			}
			var sent [Roles]int
			var shares [Roles]Share
			play(t, fmt.Sprint("reshare ", bits), func(_ string, from, _ Role, words []uint64) {
				sent[from] += len(words)
			}, func(ctx context.Context, p *Party) error {
				if p.Role() == Outside {
					none, err := p.Reshare(ctx, "test", bits, nil, n)
					if none.X != nil || none.Y != nil {
						t.Error("there are shares outside the three")
					}
					return err
				}
				before := slices.Clone(terms[p.Role()])
				s, err := p.Reshare(ctx, "test", bits, terms[p.Role()], n)
				shares[p.Role()] = s
				if !slices.Equal(terms[p.Role()], before) {
					t.Errorf("the terms of the %s have changed", p.Role())
				}
				return err
			})
			mask := ^uint64(0) >> (64 - bits)
			for i, sum := range agreed(t, shares) {
				if want := (terms[0][i] + terms[1][i] + terms[2][i]) & mask; sum&mask != want {
					t.Fatalf("value %d is %#x, want %#x", i, sum&mask, want)
				}
				for r, s := range shares {
					if s.X[i] > mask {
						t.Fatalf("component %d of value %d is %#x, of more than %d bits", (r+1)%Roles, i, s.X[i], bits)
					}
				}
			}
			if sent != [Roles]int{n, n, n} {
				t.Errorf("the three sent %v words, want %d each", sent, n)
			}
		})
	}
}

// TestReshareRefusesOtherCounts: a party whose terms are too many or too few says so, and sends nothing.
func TestReshareRefusesOtherCounts(t *testing.T) {
	for _, n := range []int{2, 4} {
		p := New(Keeper, wireOf{newHub(), Keeper}, padsFor(t, Keeper, "counts"), 1)
		if _, err := p.Reshare(t.Context(), "test", 32, make([]uint64, 3), n); err == nil {
			t.Errorf("three terms are shared as %d", n)
		}
	}
}

// resharePads is the Source of a toy of Reshare: value number i has the i-th of all combinations of the three pads'
// words, by the party that lacks the pad. One pad may be left out.
type resharePads struct{ blank Role }

// Pad implements Source.
func (p resharePads) Pad(unknown Role, _ Place, _ Use) (Pad, error) {
	return resharePad{p, unknown}, nil
}

// resharePad is one of the three.
type resharePad struct {
	resharePads
	unknown Role
}

// Words implements Pad.
func (p resharePad) Words(dst []uint64, at int) {
	clear(dst)
	for i := range dst {
		if p.unknown != p.blank {
			dst[i] = uint64(at+i) >> (toyBits * int(p.unknown)) & toyMask
		}
	}
}

// reshareViews shares under all combinations of pads, by the package's own code, and counts what each party sees: its
// two pads, and the word that it receives.
func reshareViews(t *testing.T, terms [Roles]uint64, blank Role) (count [Roles][]int) {
	t.Helper()
	const all = 1 << (Roles * toyBits)
	var received [Roles][]uint64
	h := newHub()
	h.heard = func(_ string, from, to Role, words []uint64) {
		if to != (from+1)%Roles || received[to] != nil {
			t.Errorf("the %s sends the %s a message, or one more", from, to)
		}
		received[to] = words
	}
	for r := range Role(Roles) { // one after the other: no message depends on another, and each takes zeros for its own
		h.queues[(r+2)%Roles][r] <- make([]uint64, all)
		p := New(r, wireOf{h, r}, resharePads{blank}, 1)
		if _, err := p.Reshare(t.Context(), "toy", toyBits, slices.Repeat(terms[r:r+1], all), all); err != nil {
			t.Fatal(err)
		}
	}
	for r := range Role(Roles) {
		view := slices.Clone(received[r])
		for _, unknown := range []Role{(r + 1) % Roles, (r + 2) % Roles} {
			known := make([]uint64, all)
			resharePad{resharePads{blank}, unknown}.Words(known, 0)
			for i := range view {
				view[i] = view[i]<<toyBits | known[i]
			}
		}
		count[r] = make([]int, all)
		for _, v := range view {
			count[r][v]++
		}
	}
	return count
}

// TestReshareViewsAreEquallyFrequentForAllInputs goes through all pads: whatever the sum and however the others have it
// between them, each view of a party comes once.
func TestReshareViewsAreEquallyFrequentForAllInputs(t *testing.T) {
	for input := range 1 << (Roles * toyBits) {
		terms := [Roles]uint64{uint64(input) & toyMask, uint64(input) >> toyBits & toyMask, uint64(input) >> (2 * toyBits)}
		for r, views := range reshareViews(t, terms, Outside) {
			if v := slices.IndexFunc(views, func(n int) bool { return n != 1 }); v >= 0 {
				t.Fatalf("terms %v: view %o of the %s comes %d times, want once", terms, v, Role(r), views[v])
			}
		}
	}
}

// TestReshareViewsDiscloseWithoutAPad leaves out one pad at a time: the party that lacks it can tell all terms of its
// sender apart, and nobody else can tell anything.
func TestReshareViewsDiscloseWithoutAPad(t *testing.T) {
	for blank := range Role(Roles) {
		for r := range Role(Roles) {
			var seen [][]int
			for x := range uint64(toyMask + 1) {
				for _, other := range []uint64{0, 3} {
					var terms [Roles]uint64
					terms[r], terms[(r+1)%Roles], terms[(r+2)%Roles] = 5, other, x
					views := reshareViews(t, terms, blank)[r]
					if !slices.ContainsFunc(seen, func(v []int) bool { return slices.Equal(v, views) }) {
						seen = append(seen, views)
					}
				}
			}
			want := 1
			if r == blank {
				want = toyMask + 1
			}
			if len(seen) != want {
				t.Errorf("without the pad that the %s lacks the %s can tell %d kinds of inputs apart, want %d", blank, r,
					len(seen), want)
			}
		}
	}
}

// TestWordsOf16BitsPass: they are packed as little-endian numbers, come out as they were, and take the encoding of
// turns. Words that are too few panic, as those of other widths do.
func TestWordsOf16BitsPass(t *testing.T) {
	if got := EncodingOf(16); got != contract.Turns16 || got.Size(3) != 6 {
		t.Errorf("16 bits have the encoding %v, three words of which take %d bytes", got, got.Size(3))
	}
	words := []uint64{0, 1, 0x8000, 0xffff, 0x1234}
	b := make([]byte, 2*len(words))
	Pack(b, words, 2)
	if want := []byte{0, 0, 1, 0, 0, 0x80, 0xff, 0xff, 0x34, 0x12}; !slices.Equal(b, want) {
		t.Errorf("the words are packed as % x, want % x", b, want)
	}
	got := slices.Repeat([]uint64{^uint64(0)}, len(words))
	if Unpack(got, b, 2); !slices.Equal(got, words) {
		t.Errorf("the words come out as %x, want %x", got, words)
	}
	for name, do := range map[string]func(){
		"Pack":   func() { Pack(make([]byte, 128), make([]uint64, 63, 64), 2) },
		"Unpack": func() { Unpack(make([]uint64, 63, 64), make([]byte, 128), 2) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes words behind the end of a slice", name)
				}
			}()
			do()
		}()
	}
}
