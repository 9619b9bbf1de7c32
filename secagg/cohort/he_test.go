package cohort

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/hanse-project/hanse/protocol/contract"
)

func TestHomomorphicTotalsAreExact(t *testing.T) {
	for _, c := range []struct {
		topology          contract.Topology
		n, holders, words int
		bits              int
		threshold         float64
	}{
		{contract.Star, 3, 0, 20, 64, 1},
		{contract.Star, 9, 5, 20, 26, 0},
		{contract.Tree, 9, 4, 9000, 16, 0},
		{contract.Ring, 5, 3, 20, 32, 0},
	} {
		t.Run(fmt.Sprintf("%s %d clients, %d holders, %d words of %d bits", c.topology, c.n, c.holders, c.words, c.bits),
			func(t *testing.T) {
				l := &testNetwork{spec: Spec{Backend: HE, Topology: c.topology, KeyHolders: c.holders, Threshold: c.threshold}}
				l.open(t, c.n)
				v := Vector{Kind: "updates", Words: c.words, Bits: c.bits}
				errs := l.play(t, func(ctx context.Context, s *Server) error {
					for k := range 2 {
						total, err := s.Sum(ctx, v, upTo(c.n))
						if err != nil {
							return err
						}
						wantTotal(t, total, v, k, upTo(c.n))
					}
					return nil
				}, sumAgain(v))
				if errs[0] != nil {
					t.Fatal(errs)
				}
			})
	}
}

// TestHomomorphicSumsOutliveHolders loses clients and holders at every step: what cannot be opened
// is not, and the next sum has a new key.
func TestHomomorphicSumsOutliveHolders(t *testing.T) {
	const n = 8
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	for _, step := range []string{KindDeal, KindConfirm, "updates", KindOpening} {
		t.Run("before "+step, inFakeTime(func(t *testing.T) {
			l := &testNetwork{spec: Spec{Backend: HE, KeyHolders: 5, Topology: contract.Star, Patience: 5 * time.Second},
				wrap: leaving(map[int]string{2: step}, false)}
			l.open(t, n)
			errs := l.play(t, func(ctx context.Context, s *Server) error {
				opened := 0
				for k := range 3 {
					total, err := s.Sum(ctx, v, s.Present())
					if err != nil && k > 0 {
						return err
					}
					if err == nil {
						opened++
						wantTotal(t, total, v, 0, []int{1, 3, 4, 5, 6, 7, 8})
					}
				}
				if want := 3; opened != want {
					t.Errorf("%d sums opened, want %d", opened, want)
				}
				return nil
			}, func(ctx context.Context, i int, c *Client) error {
				for {
					if err := c.Sum(ctx, v, vectorOf(v, i, 0)); err != nil && err != ErrLeftOut {
						return err
					}
				}
			})
			if errs[0] != nil {
				t.Fatal(errs)
			}
		}))
	}
}
