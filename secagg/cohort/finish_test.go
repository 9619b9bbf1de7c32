package cohort

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/protocol/contract"
)

// TestSessionsEndTogether tells, sums, and ends: everybody who is there says that it is done.
func TestSessionsEndTogether(t *testing.T) {
	const n = 5
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star},
		wrap: leaving(map[int]string{2: KindTags}, false), chunk: 64}
	l.open(t, n)
	told := []byte("a message of the server that is longer than a chunk, so that it travels in two of them")
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		for _, i := range s.Present() {
			if err := s.Notify(ctx, i, "model", contract.ClassOpening, told); err != nil {
				return err
			}
		}
		if _, err := s.Sum(ctx, v, upTo(n)); err != nil {
			return err
		}
		for _, i := range s.Present() {
			if err := s.Notify(ctx, i, "finished", contract.ClassControl, nil); err != nil {
				return err
			}
		}
		done, err := s.Finish(ctx)
		if want := []int{1, 3, 4, 5}; err == nil && !slices.Equal(done, want) {
			t.Errorf("%v are done, want %v", done, want)
		}
		return err
	}, func(ctx context.Context, i int, c *Client) error {
		h, err := c.ReceiveNotice(ctx, "model", 1000)
		if err != nil || h.Kind != "model" || string(h.Payload) != string(told) {
			return errors.Join(err, errors.New("it heard something else"))
		}
		if err := c.Sum(ctx, v, vectorOf(v, i, 0)); err != nil {
			return err
		}
		if h, err = c.ReceiveNotice(ctx, "finished", 0); err != nil || h.Kind != "finished" {
			return errors.Join(err, errors.New("it heard something else"))
		}
		return c.Finish(ctx)
	})
	for i, err := range errs {
		if (err != nil) != (i == 2) {
			t.Errorf("p%d: error %v", i, err)
		}
	}
}

func TestLongWordsAreRefused(t *testing.T) {
	l := &testNetwork{spec: Spec{Backend: Plain, Topology: contract.Star}}
	l.open(t, 3)
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		return s.Notify(ctx, 1, "model", contract.ClassOpening, make([]byte, 11))
	}, func(ctx context.Context, i int, c *Client) error {
		_, err := c.ReceiveNotice(ctx, "model", 10)
		return err
	})
	wantError(t, errs[1], "it has 11 bytes, at most 10 are awaited")
}
