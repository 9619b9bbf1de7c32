package cohort

import (
	"context"
	"errors"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestAClientThatPassesOverASumIsInTheNext: it takes the keys of that sum with it, which come once, its neighbours'
// session keys and those of encryption.
func TestAClientThatPassesOverASumIsInTheNext(t *testing.T) {
	const aside, n = 3, 5
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	for _, backend := range []Backend{Masked, HE} {
		t.Run(string(backend), inFakeTime(func(t *testing.T) {
			l := &testNetwork{spec: Spec{Backend: backend, Topology: contract.Star, Patience: patience, Picks: true}}
			l.open(t, n)
			errs := l.play(t, func(ctx context.Context, s *Server) error {
				for k := range 2 {
					if err := s.Recall(ctx); err != nil {
						return err
					}
					_, err := s.Sum(ctx, v, s.Present())
					var few *TooFewError
					if err != nil && !(k == 0 && errors.As(err, &few)) { // no key can be dealt without a holder
						return err
					}
					for i := 1; i <= n; i++ {
						if err := s.Notify(ctx, i, "over", contract.ClassControl, nil); err != nil {
							return err
						}
					}
				}
				if err := s.Recall(ctx); err != nil {
					return err
				}
				total, err := s.Sum(ctx, v, s.Present())
				if err != nil {
					return err
				}
				wantTotal(t, total, v, 0, upTo(n))
				return nil
			}, func(ctx context.Context, i int, c *Client) error {
				for k := range 3 {
					if i != aside || k > 0 {
						if err := c.Sum(ctx, v, vectorOf(v, i, 0)); err != nil && !errors.Is(err, ErrLeftOut) {
							return err
						}
					}
					if k == 2 {
						return nil
					}
					if _, err := c.ReceiveNotice(ctx, "over", 0); err != nil {
						return err
					}
				}
				return nil
			})
			for i, err := range errs {
				if err != nil {
					t.Errorf("party %d: %v", i, err)
				}
			}
		}))
	}
}
