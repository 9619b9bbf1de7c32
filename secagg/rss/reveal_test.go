package rss

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestRevealOpensBitsAndNoMore: all three learn the shared numbers modulo 2^b, in two's complement, and what comes to
// each of them has no more than b bits a word.
func TestRevealOpensBitsAndNoMore(t *testing.T) {
	const bits, n = 11, 37
	rng := rand.New(rand.NewPCG(1, 2))
	words := random(rng, n)
	words[0], words[1], words[2] = 1<<(bits-1)-1, 1<<(bits-1), 5<<bits // the largest, one more, and 0
	shares := split(rng, words)
	var mu sync.Mutex
	opened := make(map[Role][]int64)
	play(t, "reveal", func(kind string, _, _ Role, words []uint64) {
		if kind == "numbers" && slices.ContainsFunc(words, func(w uint64) bool { return w>>bits != 0 }) {
			t.Error("a word of more bits is shown")
		}
	}, func(ctx context.Context, p *Party) error {
		var own Share
		if p.Role() != Outside {
			own = shares[p.Role()]
		}
		got, err := p.Reveal(ctx, "numbers", bits, n, own, [Roles]string{"a", "k", "h"})
		mu.Lock()
		defer mu.Unlock()
		opened[p.Role()] = got
		return err
	})
	want := make([]int64, n)
	for i, w := range words {
		want[i] = int64(w<<(64-bits)) >> (64 - bits)
	}
	if want[0] != 1023 || want[1] != -1024 || want[2] != 0 {
		t.Fatalf("the oracle gives %d", want[:3])
	}
	for r := range Role(Roles) {
		if !slices.Equal(opened[r], want) {
			t.Errorf("the %s learns %d, want %d", r, opened[r], want)
		}
	}
	if opened[Outside] != nil {
		t.Errorf("outside %d open", opened[Outside])
	}
}

// liar is a wire that changes what one party shows, or vouches for, to another.
type liar struct {
	wireOf
	kind string
	to   Role
}

// Show implements Wire.
func (l liar) Show(ctx context.Context, kind string, from, to Role, bits, n int, words []uint64) error {
	if l.role == from && kind == l.kind && to == l.to {
		words = slices.Clone(words)
		words[n-1] ^= 1
	}
	return l.wireOf.Show(ctx, kind, from, to, bits, n, words)
}

// TestALieInAnOpeningIsFound: whichever of the two holders shows another word, its receiver names the two and learns
// nothing else.
func TestALieInAnOpeningIsFound(t *testing.T) {
	const bits, n = 20, 3
	names := [Roles]string{"bank", "telco", "shop"}
	for to := range Role(Roles) {
		h, rng := newHub(), rand.New(rand.NewPCG(uint64(to), 3))
		shares := split(rng, random(rng, n))
		var errs [Roles]error
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		for r := range Role(Roles) {
			var w Wire = wireOf{h, r}
			if r == (to+1)%Roles {
				w = liar{wireOf{h, r}, "numbers", to}
			}
			all.Go(func() {
				_, errs[r] = New(r, w, nil, 1).Reveal(ctx, "numbers", bits, n, shares[r], names)
				if errs[r] != nil {
					cancel()
				}
			})
		}
		all.Wait()
		cancel()
		var found *DeviationError
		if !errors.As(errs[to], &found) || !errors.Is(found, contract.ErrDeviation) {
			t.Fatalf("the %s finds %v", to, errs[to])
		}
		if want := []string{names[(to+1)%Roles], names[(to+2)%Roles]}; !slices.Equal(found.Parties, want) {
			t.Errorf("the %s names %q, want %q", to, found.Parties, want)
		}
	}
}

// TestRevealRefusesOtherLengths before anything is shown.
func TestRevealRefusesOtherLengths(t *testing.T) {
	_, err := New(Keeper, nil, nil, 1).Reveal(t.Context(), "numbers", 8, 3, Zero(Keeper, 2), [Roles]string{})
	wantError(t, err, "numbers: 2 words to show, want 3")
}
