package rss

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
)

// TestShareOfEveryOwner shares words of each of the three and of a party outside, in both rings: all components
// together give them, every two holders of a component have the same, and what goes is one word a value from one of the
// three and two from outside, of which no two messages are alike.
func TestShareOfEveryOwner(t *testing.T) {
	words := []uint64{0, 1 << 20, 7, 1<<48 - 5}
	for _, bits := range []int{48, 64} {
		for r := Outside; r < Roles; r++ {
			t.Run(fmt.Sprintf("%d bits, %s", bits, r), func(t *testing.T) {
				var mu sync.Mutex
				var shares [Roles]Share
				var sent [][]uint64
				heard := func(_ string, _, _ Role, w []uint64) { sent = append(sent, slices.Clone(w)) }
				play(t, "inputs", heard, func(ctx context.Context, p *Party) error {
					o := Owner{Role: r}
					if r == Outside {
						var err error
						if o, err = p.Keys(ctx, "keys", 3); err != nil {
							return err
						}
					}
					var own []uint64
					if p.Role() == r {
						own = slices.Clone(words)
					}
					s, err := p.Share(ctx, "words", o, bits, len(words), own)
					mu.Lock()
					defer mu.Unlock()
					if p.Role() != Outside {
						shares[p.Role()] = s
					}
					return err
				})
				mask := ^uint64(0) >> (64 - bits)
				for i, want := range words {
					if got := (shares[0].X[i] + shares[0].Y[i] + shares[1].Y[i]) & mask; got != want {
						t.Errorf("word %d is shared as %d, want %d", i, got, want)
					}
					for a := range Roles { // component a+2 is Y here and X at the next
						if b := (a + 1) % Roles; shares[a].Y[i]&mask != shares[b].X[i]&mask {
							t.Errorf("word %d: %s and %s hold different components", i, Role(a), Role(b))
						}
					}
				}
				if want := map[bool]int{true: 2, false: 1}[r == Outside]; len(sent) != want {
					t.Fatalf("%d messages went, want %d", len(sent), want)
				}
				if r == Outside && slices.Equal(sent[0], sent[1]) {
					t.Error("the two messages are the same words: their masks are used twice")
				}
			})
		}
	}
}
