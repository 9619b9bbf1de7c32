package cohort

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// what the tests of questions ask.
var question = Question{Kind: "manifest", Class: contract.ClassControl, Payload: []byte("which?"), Answer: "choice",
	Reply: contract.ClassOpening, Limit: 1000,
	Check: func(client int, answer []byte) error {
		if len(answer) == 7 {
			return errors.New("seven is refused")
		}
		return nil
	},
}

// answerOf is a client's answer to the k-th question: of no bytes, of one chunk or of several.
func answerOf(i, k int) []byte { return bytes.Repeat([]byte{byte(i), byte(k)}, 50*((i+k)%3)) }

// answerAndSum answers questions and adds vectors until the session ends.
func answerAndSum(v Vector) func(ctx context.Context, i int, c *Client) error {
	return func(ctx context.Context, i int, c *Client) error {
		for k := 0; ; k++ {
			h, err := c.ReceiveNotice(ctx, question.Kind, 100)
			if err != nil {
				return err
			}
			if h.Kind != question.Kind || !bytes.Equal(h.Payload, question.Payload) {
				return fmt.Errorf("heard %q: %q", h.Kind, h.Payload)
			}
			if err := c.Answer(ctx, question.Answer, question.Reply, answerOf(i, int(h.Operation))); err != nil {
				return err
			}
			if err := c.Sum(ctx, v, vectorOf(v, i, 0)); err != nil && !errors.Is(err, ErrLeftOut) {
				return err
			}
		}
	}
}

// TestQuestionsHaveTurnsBesideSums: answers in chunks, in turn with masked sums, one client being away
// and one too late with its answer, which is discarded.
func TestQuestionsHaveTurnsBesideSums(t *testing.T) {
	const n, late = 5, 2
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	inFakeTime(func(t *testing.T) {
		l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star, Patience: patience}, chunk: 64}
		l.open(t, n)
		held := false
		l.arrive = func(a Arrivals) Arrivals {
			return &heldBack{
				Arrivals: a,
				hold: func(from keys.ID, frame []byte) bool {
					is := !held && from == l.IDs[late] && kindOfFrame(frame) == question.Answer
					held = held || is
					return is
				},
				until: func(_ keys.ID, frame []byte) bool { return kindOfFrame(frame) == KindDeposit },
			}
		}
		errs := l.play(t, func(ctx context.Context, s *Server) error {
			for k := range 3 {
				answers, losses, err := s.Ask(ctx, upTo(n), question)
				if err != nil {
					return err
				}
				for i := 1; i <= n; i++ {
					got, ok := answers[i]
					if want := answerOf(i, int(s.sum)); ok == (k == 0 && i == late) || ok && !bytes.Equal(got, want) {
						return fmt.Errorf("question %d: client %d answers %d bytes (%v), losses %v", k, i, len(got), ok, losses)
					}
				}
				if len(losses) != n-len(answers) {
					return fmt.Errorf("%d answers and %d losses", len(answers), len(losses))
				}
				total, err := s.Sum(ctx, v, upTo(n))
				if err != nil {
					return err
				}
				wantTotal(t, total, v, 0, total.Survivors)
			}
			return s.Lost(late)
		}, answerAndSum(v))
		if errs[0] != nil {
			t.Fatal(errs[0])
		}
	})(t)
}

// TestAnswersThatAreNoneLoseTheirClient names why.
func TestAnswersThatAreNoneLoseTheirClient(t *testing.T) {
	for want, send := range map[string]func(ctx context.Context, c *Client) error{
		"it has 1001 bytes, at most 1000 are awaited": func(ctx context.Context, c *Client) error {
			return c.Answer(ctx, question.Answer, question.Reply, make([]byte, 1001))
		},
		"seven is refused": func(ctx context.Context, c *Client) error {
			return c.Answer(ctx, question.Answer, question.Reply, make([]byte, 7))
		},
		"its class is control, want opening": func(ctx context.Context, c *Client) error {
			return c.Answer(ctx, question.Answer, contract.ClassControl, nil)
		},
		"it came where choice is awaited in sum 1": func(ctx context.Context, c *Client) error {
			return c.Answer(ctx, "choices", question.Reply, nil)
		},
	} {
		t.Run(want, func(t *testing.T) {
			l := &testNetwork{spec: Spec{Backend: Plain, Topology: contract.Star}}
			l.open(t, 2)
			errs := l.play(t, func(ctx context.Context, s *Server) error {
				answers, losses, err := s.Ask(ctx, upTo(2), question)
				if err == nil && (len(answers) != 1 || len(losses) != 1 || losses[0].Client != 2) {
					err = fmt.Errorf("answers %v, losses %v", answers, losses)
				}
				if err == nil {
					wantError(t, s.Lost(2), want)
				}
				return err
			}, func(ctx context.Context, i int, c *Client) error {
				if _, err := c.ReceiveNotice(ctx, question.Kind, 100); err != nil {
					return err
				}
				if i == 1 {
					return c.Answer(ctx, question.Answer, question.Reply, nil)
				}
				if err := send(ctx, c); err != nil {
					return err
				}
				_, err := c.ReceiveNotice(ctx, question.Kind, 100) // until the server closes
				return err
			})
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
		})
	}
}

// TestALossBetweenSumsIsToldByTheNext: a client whose link breaks while it is told something is among
// the losses of the next sum, and of no other.
func TestALossBetweenSumsIsToldByTheNext(t *testing.T) {
	const gone = 3
	v := Vector{Kind: "updates", Words: 5, Bits: 64}
	l := &testNetwork{spec: Spec{Backend: Plain, Topology: contract.Star}}
	l.open(t, 4)
	errs := l.play(t, func(ctx context.Context, s *Server) error {
		l.meshes[gone].Close()
		for s.Lost(gone) == nil {
			if err := s.Notify(ctx, gone, "model", contract.ClassControl, nil); err != nil {
				return err
			}
		}
		for k, want := range []int{1, 0} {
			total, err := s.Sum(ctx, v, upTo(4))
			if err != nil {
				return err
			}
			if len(total.Lost) != want || want > 0 && (total.Lost[0].Client != gone || total.Lost[0].Err == nil) {
				t.Errorf("sum %d lost %v, want %d", k, total.Lost, want)
			}
		}
		return nil
	}, func(ctx context.Context, i int, c *Client) error {
		for range 2 {
			if err := c.Sum(ctx, v, vectorOf(v, i, 0)); err != nil {
				return err
			}
		}
		return nil
	})
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
}
