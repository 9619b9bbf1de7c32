package testnet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
)

// errMissed says that a receiver did not get the number it expected.
var errMissed = errors.New("wrong number")

// strikeAt is a fault of the network when a certain frame is sent.
type strikeAt struct {
	kind   string // "kill", "cut" or "drop"
	member int    // that is killed or whose link to the next member is cut
	frame  int    // in the order in which the network takes them
}

// TestChaos has all members send frames to all others while faults strike. Whatever happens,
// every member ends, each frame that arrives is the next of its link, and every error is one that
// the fault explains.
func TestChaos(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		n := rapid.IntRange(2, 5).Draw(r, "members")
		count := rapid.IntRange(1, 80).Draw(r, "frames per link")
		faults := rapid.SliceOfN(rapid.Custom(func(r *rapid.T) strikeAt {
			return strikeAt{
				kind:   rapid.SampledFrom([]string{"kill", "cut", "drop"}).Draw(r, "kind"),
				member: rapid.IntRange(0, n-1).Draw(r, "member"),
				frame:  rapid.IntRange(0, n*(n-1)*count).Draw(r, "frame"),
			}
		}), 0, 3).Draw(r, "faults")
		pause := rapid.SampledFrom([]time.Duration{0, time.Millisecond}).Draw(r, "delay")
		synctest.Test(t, func(t *testing.T) {
			f := testnet.Found(t, testnet.Numbered(n)...)
			f.Delay(pause)
			f.OnFrame(strike(f, faults))
			var waits []func() error
			for i := range n {
				waits = append(waits, begin(func() error { return takePart(t.Context(), f, i, count) }))
			}
			for i, wait := range waits {
				if err := explained(wait(), faults); err != nil {
					t.Errorf("member %d of %d, faults %v: %v", i, n, faults, err)
				}
			}
		})
		if t.Failed() {
			r.FailNow()
		}
	})
}

// strike makes an OnFrame of faults.
func strike(f *testnet.Federation, faults []strikeAt) func(testnet.Frame) []testnet.Frame {
	frame := -1
	return func(sent testnet.Frame) []testnet.Frame {
		frame++
		delivered := []testnet.Frame{sent}
		for _, x := range faults {
			if x.frame != frame {
				continue
			}
			switch x.kind {
			case "kill":
				f.Kill(f.IDs[x.member])
			case "cut":
				f.Cut(f.IDs[x.member], f.IDs[(x.member+1)%len(f.IDs)])
			case "drop":
				delivered = nil
			}
		}
		return delivered
	}
}

// takePart sends count numbered frames to every peer and receives as many from each, with a minute
// of patience.
func takePart(ctx context.Context, f *testnet.Federation, self, count int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	m, _, err := f.Join(ctx, testnet.Meeting{Number: 9}, self)
	if err != nil {
		return err
	}
	defer m.Close()
	var waits []func() error
	for _, id := range slices.Delete(slices.Clone(f.IDs), self, self+1) {
		waits = append(waits,
			begin(func() error { return sendSeries(ctx, m, id, count) }),
			begin(func() error { return receiveSeries(ctx, m, id, count) }))
	}
	for _, wait := range waits {
		err = errors.Join(err, wait())
	}
	return err
}

// sendSeries sends the numbers from 0 on.
func sendSeries(ctx context.Context, m protocol.Mesh, to keys.ID, count int) error {
	for i := range count {
		if err := m.Send(ctx, to, []byte(fmt.Sprint(i))); err != nil {
			return err
		}
	}
	return nil
}

// receiveSeries receives the numbers from 0 on.
func receiveSeries(ctx context.Context, m protocol.Mesh, from keys.ID, count int) error {
	var buf []byte
	for i := range count {
		got, err := m.Receive(ctx, from, buf)
		if err != nil {
			return err
		}
		if string(got) != fmt.Sprint(i) {
			return fmt.Errorf("%w: %q from %s, want %d", errMissed, got, from.Short(), i)
		}
		buf = got
	}
	return nil
}

// explained returns nil when each error in err can come from the faults.
func explained(err error, faults []strikeAt) error {
	if err == nil {
		return nil
	}
	if len(faults) == 0 {
		return fmt.Errorf("error without a fault: %w", err)
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if bad := explained(e, faults); bad != nil {
				return bad
			}
		}
		return nil
	}
	var gone *protocol.GoneError
	for _, f := range faults {
		missed := f.kind == "drop" && (errors.Is(err, errMissed) || errors.Is(err, context.DeadlineExceeded))
		died := f.kind == "kill" && errors.Is(err, testnet.ErrKilled)
		if missed || died || errors.As(err, &gone) {
			return nil
		}
	}
	return fmt.Errorf("unexplained: %w", err)
}
