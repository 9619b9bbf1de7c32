package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// flood is more than any transport may take of frames that nobody reads, in MiB.
const flood = 256

// fill sends frames of 1 MiB until one is not taken, and returns how many were.
func fill(ctx context.Context, m protocol.Mesh, to keys.ID) (int, error) {
	frame := numbered(0, 1<<20)
	for i := range flood {
		if err := m.Send(ctx, to, frame); err != nil {
			return i, err
		}
	}
	return flood, nil
}

// testSendBlocks sends to a peer that does not read, until the context ends.
func testSendBlocks(t *testing.T, make makeFunc) {
	a, _, _, idb := two(within(t), t, make)
	ctx, cancel := context.WithTimeout(t.Context(), 5*brief)
	defer cancel()
	taken, err := fill(ctx, a, idb)
	if taken == flood {
		t.Fatalf("%d MiB were taken although nobody reads", flood)
	}
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("a blocked send ended with %v, want the context's error", err)
	}
}

// testSendResumes sends more than the transport takes while the peer begins to read late.
func testSendResumes(t *testing.T, make makeFunc) {
	const count = 48 // MiB
	ctx := within(t)
	a, b, ida, idb := two(ctx, t, make)
	late, cancel := context.WithTimeout(ctx, brief)
	defer cancel()
	together(t, 2, func(i int) error {
		frame := numbered(0, 1<<20)
		if i == 1 {
			<-late.Done()
		}
		for k := range count {
			var err error
			if i == 0 {
				err = a.Send(ctx, idb, frame)
			} else {
				err = expect(ctx, b, ida, frame)
			}
			if err != nil {
				return fmt.Errorf("frame %d: %w", k, err)
			}
		}
		return nil
	})
}

// testReceiveCancelled cancels a Receive to which nothing comes.
func testReceiveCancelled(t *testing.T, make makeFunc) {
	a, _, _, idb := two(within(t), t, make)
	ctx, cancel := context.WithTimeout(t.Context(), brief)
	defer cancel()
	if _, err := a.Receive(ctx, idb, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("receive ended with %v, want the context's error", err)
	}
}

// testEndedContext calls everything with a context that ended before.
func testEndedContext(t *testing.T, make makeFunc) {
	transports := make(t, 2)
	meshes := openAll(within(t), t, transports, sessionID(t, 0))
	id := transports[1].Self()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, receive := meshes[0].Receive(ctx, id, nil)
	_, call := transports[0].Call(ctx, id, "echo", nil)
	_, open := transports[0].Open(ctx, sessionID(t, 1), []keys.ID{id})
	for name, err := range map[string]error{"send": meshes[0].Send(ctx, id, []byte{1}), "receive": receive, "call": call,
		"open": open} {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s under an ended context gives %v, want the context's error", name, err)
		}
	}
}
