package cohort

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// sumSame takes part in sums with one vector until the server ends the session.
func sumSame(v Vector) func(ctx context.Context, i int, c *Client) error {
	return func(ctx context.Context, i int, c *Client) error {
		for {
			if err := c.Sum(ctx, v, vectorOf(v, i, 0)); err != nil && !errors.Is(err, ErrLeftOut) {
				return err
			}
		}
	}
}

// TestLateClientsAreInTheNextSum: what comes after its step is discarded, and its client is back.
func TestLateClientsAreInTheNextSum(t *testing.T) {
	const late, n = 3, 8
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	without := slices.DeleteFunc(upTo(n), func(i int) bool { return i == late })
	for _, c := range []struct {
		step, until string   // the late client's message of step comes after another's of until
		sums        [3][]int // the survivors
	}{
		{KindDeposit, "updates", [3][]int{without, upTo(n), upTo(n)}},
		{"updates", KindTags, [3][]int{without, upTo(n), upTo(n)}},
		{KindTags, KindShares, [3][]int{upTo(n), upTo(n), upTo(n)}},
		{KindShares, KindDeposit, [3][]int{upTo(n), without, upTo(n)}},
	} {
		t.Run(c.step, inFakeTime(func(t *testing.T) {
			l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star, Patience: patience}}
			l.open(t, n)
			held := false
			l.arrive = func(a Arrivals) Arrivals {
				return &heldBack{
					Arrivals: a,
					hold: func(from keys.ID, frame []byte) bool {
						is := from == l.IDs[late] && kindOfFrame(frame) == c.step
						held = held || is
						return is
					},
					until: func(_ keys.ID, frame []byte) bool { return held && kindOfFrame(frame) == c.until },
				}
			}
			errs := l.play(t, func(ctx context.Context, s *Server) error {
				for k, survivors := range c.sums {
					total, err := s.Sum(ctx, v, s.Present())
					if err != nil {
						return fmt.Errorf("sum %d: %w", k+1, err)
					}
					wantTotal(t, total, v, 0, survivors)
				}
				return s.Lost(late)
			}, sumSame(v))
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
		}))
	}
}

// TestClientsWhoAreNotPickedDoNothing: an algorithm that picks some of the clients each time calls
// Sum for those alone. The others hear nothing of the sum; their keys and masks stay good.
func TestClientsWhoAreNotPickedDoNothing(t *testing.T) {
	const n, rounds = 10, 8
	v := Vector{Kind: "updates", Words: 20, Bits: 40}
	picked := func(k int) []int {
		list := []int{1 + k%n, 1 + (k+3)%n, 1 + (k*k+4)%n, 1 + (3*k+8)%n, 1 + (k+7)%n}
		slices.Sort(list)
		return slices.Compact(list)
	}
	for _, backend := range []Backend{Plain, Masked} {
		for _, topology := range []contract.Topology{contract.Star, contract.Tree, contract.Ring} {
			t.Run(fmt.Sprintf("%s %s", backend, topology), func(t *testing.T) {
				l := &testNetwork{spec: Spec{Backend: backend, Topology: topology}}
				l.open(t, n)
				errs := l.play(t, func(ctx context.Context, s *Server) error {
					for k := range rounds {
						total, err := s.Sum(ctx, v, picked(k))
						if err != nil {
							return err
						}
						wantTotal(t, total, v, k, picked(k))
					}
					return nil
				}, func(ctx context.Context, i int, c *Client) error {
					for k := range rounds {
						if !slices.Contains(picked(k), i) {
							continue
						}
						if err := c.Sum(ctx, v, vectorOf(v, i, k)); err != nil {
							return fmt.Errorf("round %d: %w", k, err)
						}
					}
					return nil
				})
				must(t, errors.Join(errs...))
			})
		}
	}
}

// TestClientsWhoCallSumWaitUntilTheyArePicked: a client need not know whether it is picked.
func TestClientsWhoCallSumWaitUntilTheyArePicked(t *testing.T) {
	const n = 7
	v := Vector{Kind: "updates", Words: 20, Bits: 40}
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star}}
	l.open(t, n)
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		for _, picked := range [][]int{{1, 2, 3, 4}, {2, 4, 6}, {4, 5, 6, 7}, {1, 2, 3}} {
			total, err := s.Sum(ctx, v, picked)
			if err != nil {
				return err
			}
			wantTotal(t, total, v, 0, picked)
		}
		return nil
	}, sumSame(v))
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
}
