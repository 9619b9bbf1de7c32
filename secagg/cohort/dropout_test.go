package cohort

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// patience is how long a server waits for clients who are silent, in fake time.
const patience = time.Second

// kindOf reads the kind of a frame.
func kindOf(parts [][]byte) string {
	h := parts[0]
	return string(h[68 : 68+int(h[2])])
}

// quittingClient leaves when it is about to send the first message of a kind.
type quittingClient struct {
	protocol.Mesh
	kind string
}

func (q quittingClient) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	if kindOf(parts) == q.kind {
		q.Close()
	}
	return q.Mesh.Send(ctx, to, parts...)
}

// silentClient sends nothing any more from the first message of a kind on, and keeps its links.
type silentClient struct {
	protocol.Mesh
	kind  string
	quiet bool
}

func (q *silentClient) Send(ctx context.Context, to keys.ID, parts ...[]byte) error {
	q.quiet = q.quiet || kindOf(parts) == q.kind
	if q.quiet {
		return nil
	}
	return q.Mesh.Send(ctx, to, parts...)
}

// steps lists the kinds of a client's messages in a masked sum.
var steps = []string{KindDeposit, "updates", KindTags, KindShares}

// leaving returns a wrap in which each of some clients leaves at a step.
func leaving(at map[int]string, quietly bool) func(int, protocol.Mesh) protocol.Mesh {
	return func(i int, m protocol.Mesh) protocol.Mesh {
		switch {
		case at[i] == "":
			return m
		case quietly:
			return &silentClient{Mesh: m, kind: at[i]}
		}
		return quittingClient{m, at[i]}
	}
}

// stayed lists those of n clients who do not leave before they have sent a step's message.
func stayed(n int, at map[int]string, step string) []int {
	return slices.DeleteFunc(upTo(n), func(i int) bool {
		return at[i] != "" && slices.Index(steps, at[i]) <= slices.Index(steps, step)
	})
}

func TestClientsMayLeaveAtEveryStep(t *testing.T) {
	const n = 10
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	for _, step := range steps {
		for _, quietly := range []bool{false, true} {
			t.Run(fmt.Sprintf("before %s, quietly %v", step, quietly), inFakeTime(func(t *testing.T) {
				at := map[int]string{2: step, 7: step}
				l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star, Patience: patience},
					wrap: leaving(at, quietly)}
				l.open(t, n)
				errs := l.play(t, func(ctx context.Context, s *Server) error {
					total, err := s.Sum(ctx, v, s.Present())
					if err != nil {
						return err
					}
					wantTotal(t, total, v, 0, stayed(n, at, "updates"))
					if len(total.Lost) != 2 || total.Lost[0].Step != step {
						t.Errorf("lost %v, want p2 and p7 before %s", total.Lost, step)
					}
					total, err = s.Sum(ctx, v, s.Present())
					if err != nil {
						return fmt.Errorf("next sum: %w", err)
					}
					wantTotal(t, total, v, 1, stayed(n, at, KindShares))
					return nil
				}, sumAgain(v))
				if errs[0] != nil {
					t.Fatal(errs[0])
				}
			}))
		}
	}
}

func TestTreesSurviveLostClients(t *testing.T) {
	const n = 12
	v := Vector{Kind: "updates", Words: 20, Bits: 64}
	for _, backend := range []Backend{Plain, Masked} {
		for _, topology := range []contract.Topology{contract.Tree, contract.Ring} {
			for _, quietly := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s %s, quietly %v", backend, topology, quietly), inFakeTime(func(t *testing.T) {
					at := map[int]string{4: "updates", 8: "updates"}
					l := &testNetwork{spec: Spec{Backend: backend, Topology: topology, Patience: patience}, wrap: leaving(at, quietly)}
					l.open(t, n)
					errs := l.play(t, func(ctx context.Context, s *Server) error {
						total, err := s.Sum(ctx, v, s.Present())
						if err != nil {
							return err
						}
						wantTotal(t, total, v, 0, stayed(n, at, "updates"))
						return nil
					}, sumAgain(v))
					if errs[0] != nil {
						t.Fatal(errs[0])
					}
				}))
			}
		}
	}
}

// TestSumsOfSurvivors lets any clients leave at any steps: the total is that of the survivors when
// the threshold allows it, and otherwise nothing opens.
func TestSumsOfSurvivors(t *testing.T) {
	v := Vector{Kind: "updates", Words: 5, Bits: 40}
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(4, 12).Draw(r, "clients")
		at := make(map[int]string)
		for i := range n {
			if rapid.IntRange(0, 3).Draw(r, "leaves") == 0 {
				at[i+1] = rapid.SampledFrom(steps).Draw(r, "step")
			}
		}
		l := &testNetwork{spec: Spec{Backend: Masked, Topology: contract.Star}, wrap: leaving(at, false)}
		l.open(t, n)
		threshold := 2*(n-1)/3 + 1
		members, survivors, holders := stayed(n, at, KindDeposit), stayed(n, at, "updates"), stayed(n, at, KindShares)
		opens := len(members) > threshold && len(survivors) >= 3 && len(holders) > threshold
		errs := l.play(t, func(ctx context.Context, s *Server) error {
			total, err := s.Sum(ctx, v, upTo(n))
			if opens && err == nil {
				wantTotal(t, total, v, 0, survivors)
			}
			return err
		}, sumAgain(v))
		var few *TooFewError
		if opens && errs[0] != nil || !opens && !errors.As(errs[0], &few) {
			r.Fatalf("%d clients, threshold %d, %v leave: error %v", n, threshold, at, errs[0])
		}
	})
}
