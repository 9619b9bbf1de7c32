package testnet_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// delay is the one-way delay of these tests.
const delay = 40 * time.Millisecond

// TestDelay checks arrival times on fake time, to the nanosecond.
func TestDelay(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		b.Network.Delay(delay)
		start := time.Now()
		b.sendAll(0, 1, "first", "second")
		wantElapsed(t, start, 0) // Send does not wait
		b.expect(0, 1, "first", "second")
		wantElapsed(t, start, delay)
		b.sendAll(0, 1, "slow")
		b.Network.Delay(0)
		b.sendAll(0, 1, "fast")
		b.expect(0, 1, "slow", "fast") // never out of order
		wantElapsed(t, start, 2*delay)
		b.sendAll(0, 1, "at once")
		b.expect(0, 1, "at once")
		wantElapsed(t, start, 2*delay)
	})
}

// wantElapsed compares the time since start.
func wantElapsed(t *testing.T, start time.Time, want time.Duration) {
	t.Helper()
	if got := time.Since(start); got != want {
		t.Errorf("took %v, want %v", got, want)
	}
}

// TestDelayedEnd closes, cancels and kills while frames are under way.
func TestDelayedEnd(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b *bubble) {
		b.Network.Delay(delay)
		start := time.Now()
		b.sendAll(0, 1, "farewell")
		b.sendAll(2, 1, "lost")
		ctx, cancel := context.WithTimeout(t.Context(), delay/2)
		defer cancel()
		if _, err := b.meshes[1].Receive(ctx, b.IDs[0], nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
		b.meshes[0].Close()
		b.expect(0, 1, "farewell")
		wantElapsed(t, start, delay)
		_, err := b.receive(0, 1)
		b.wantGone(err, 0, "it closed the session")
		wantElapsed(t, start, delay/2+delay)

		b.sendAll(2, 1, "also lost")
		pending := begin(func() error { b.expect(2, 1, "lost"); _, err := b.receive(2, 1); return err })
		synctest.Wait()
		b.Kill(b.IDs[2])
		b.wantGone(pending(), 2, "connection reset")
		wantElapsed(t, start, delay/2+delay)
	})
}

// TestDelayedCall takes one delay there and one back.
func TestDelayedCall(t *testing.T) {
	inBubble(t, 2, func(t *testing.T, b *bubble) {
		b.Network.Delay(delay)
		b.Transport(b.IDs[1]).Handle(func(context.Context, keys.ID, string, []byte) ([]byte, *fault.Fault) {
			return nil,
				nil
		})
		start := time.Now()
		if err := b.call(0, 1); err != nil {
			t.Fatal(err)
		}
		wantElapsed(t, start, 2*delay)
		ctx, cancel := context.WithTimeout(t.Context(), delay/2)
		defer cancel()
		if _, err := b.Transport(b.IDs[0]).Call(ctx, b.IDs[1], "late", nil); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("got %v, want the context's error", err)
		}
	})
}

// TestReduceTakesDepth runs one chunk along every topology: it takes Plan.Depth delays.
func TestReduceTakesDepth(t *testing.T) {
	for _, topology := range []contract.Topology{contract.Tree, contract.Star, contract.Ring} {
		for _, q := range []int{2, 3, 4, 5, 8, 11} {
			inBubble(t, q, func(t *testing.T, b *bubble) {
				b.Network.Delay(delay)
				plan := contract.PlanFor(topology, q, q/3)
				start := time.Now()
				var waits []func() error
				for i := range q {
					waits = append(waits, begin(func() error { return b.reduce(plan, i) }))
				}
				for _, wait := range waits {
					if err := wait(); err != nil {
						t.Fatal(err)
					}
				}
				wantElapsed(t, start, time.Duration(plan.Depth())*delay)
			})
		}
	}
}

// reduce is member i's part in a sum that has no payload.
func (b *bubble) reduce(p contract.Plan, i int) error {
	for _, child := range p.Children[i] {
		if _, err := b.receive(child, i); err != nil {
			return err
		}
	}
	if i == p.Root {
		return nil
	}
	return b.send(i, p.Parent[i], "sum")
}
