package peer

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
)

// listed is which keys are workers'; it may change.
type listed struct{ keys sync.Map }

func (l *listed) has(id keys.ID) bool { _, ok := l.keys.Load(id); return ok }

// employer is a config of a node that takes so many workers at once and lists these keys.
func employer(k *keys.PrivateKey, c *keys.SignedCharter, places int, workers ...*keys.PrivateKey) (Config, *listed) {
	list := new(listed)
	for _, w := range workers {
		list.keys.Store(w.ID(), true)
	}
	cfg := config(k, c)
	cfg.Worker, cfg.Workers = list.has, places
	return cfg, list
}

// framesOf are the frames of a stream that a worker has opened to its node.
func framesOf(ctx context.Context, t *testing.T, w *WorkerConn) *session.Frames {
	t.Helper()
	s, err := w.Open(ctx)
	if err != nil {
		t.Fatal(err)
	}
	f := session.NewFrames(s, w.Peer(), "node", w.Lost)
	t.Cleanup(f.Close)
	return f
}

// servedFrames are the frames of a stream that a worker has opened, at its node.
func servedFrames(ctx context.Context, from keys.ID, s session.RawStream) *session.Frames {
	return session.NewFrames(s, from, from.Short(), func() *protocol.GoneError {
		gone, _ := errors.AsType[*protocol.GoneError](context.Cause(ctx))
		return gone
	})
}

// echo sends a worker's frames back until it closes the stream.
func echo(ctx context.Context, from keys.ID, s session.RawStream) {
	frames := servedFrames(ctx, from, s)
	defer frames.Close()
	var buf []byte
	for {
		var err error
		if buf, err = frames.Receive(ctx, buf); err != nil {
			return
		}
		if frames.Send(ctx, buf) != nil {
			return
		}
	}
}

// employ connects a worker that stays until the test ends.
func employ(ctx context.Context, t *testing.T, k *keys.PrivateKey, address string) *WorkerConn {
	t.Helper()
	w, err := DialNode(ctx, k, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// addressOver is where a host listens over TCP or QUIC, with its identity.
func addressOver(t *testing.T, h *Host, quic bool) string {
	t.Helper()
	all := h.Addresses()
	i := slices.IndexFunc(all, func(a string) bool { return strings.Contains(a, "/udp/") == quic })
	if i < 0 {
		t.Fatalf("no such address among %q", all)
	}
	return all[i]
}

// overBoth runs a test over TCP and over QUIC.
func overBoth(t *testing.T, test func(t *testing.T, quic bool)) {
	t.Run("TCP", func(t *testing.T) { test(t, false) })
	t.Run("QUIC", func(t *testing.T) { test(t, true) })
}

// TestWorkerFrames has a worker send frames up to the largest size to its node, and take such in.
func TestWorkerFrames(t *testing.T) {
	overBoth(t, func(t *testing.T, quic bool) {
		ks := newKeys(t, 3)
		cfg, _ := employer(ks[0], signed(t, draft(ks[:2]), ks), 1, ks[2])
		cfg.QUIC = quic
		h := start(t, cfg)
		h.HandleWorkers(echo)
		ctx := within(t)
		w := employ(ctx, t, ks[2], addressOver(t, h, quic))
		if w.Peer() != h.Self() {
			t.Errorf("connected to %s, want %s", w.Peer(), h.Self())
		}
		first, second := framesOf(ctx, t, w), framesOf(ctx, t, w)
		for _, f := range []*session.Frames{first, second, first} {
			for _, size := range []int{0, 1, protocol.MaxFrame} {
				frame := bytes.Repeat([]byte{7}, size)
				if err := f.Send(ctx, frame); err != nil {
					t.Fatal(err)
				}
				if got, err := f.Receive(ctx, nil); err != nil || !bytes.Equal(got, frame) {
					t.Errorf("a frame of %d bytes came back as one of %d: %v", size, len(got), err)
				}
			}
		}
		if w.Lost() != nil {
			t.Errorf("the connection is lost: %v", w.Lost())
		}
	})
}
