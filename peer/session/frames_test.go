package session

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"net"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// framesOverPipe are the two ends of a stream in memory, with the raw stream of the second.
func framesOverPipe(t *testing.T, lost func() *protocol.GoneError) (here, there *Frames, raw pipe) {
	t.Helper()
	a, b := net.Pipe()
	here, there = NewFrames(pipe{a}, keys.ID{2}, "node", lost), NewFrames(pipe{b}, keys.ID{1}, "worker", lost)
	t.Cleanup(here.Close)
	t.Cleanup(there.Close)
	return here, there, pipe{b}
}

// TestFramesOverPipe moves frames of all sizes both ways over a stream that is no session's, and counts them.
func TestFramesOverPipe(t *testing.T) {
	here, there, _ := framesOverPipe(t, nil)
	ctx := t.Context()
	sizes := []int{0, 1, muxPayload - frameHead, muxPayload, protocol.MaxFrame}
	var moving sync.WaitGroup
	defer moving.Wait()
	var all int64
	for _, size := range sizes {
		all += int64(frameHead + size)
	}
	for _, way := range []struct{ from, to *Frames }{{here, there}, {there, here}} {
		moving.Go(func() {
			for _, size := range sizes {
				frame := bytes.Repeat([]byte{byte(size)}, size)
				if err := way.from.Send(ctx, frame[:size/3], frame[size/3:]); err != nil {
					t.Error(err)
				}
			}
		})
		moving.Go(func() {
			var buf []byte
			for _, size := range sizes {
				frame, err := way.to.Receive(ctx, buf)
				if err != nil || !bytes.Equal(frame, bytes.Repeat([]byte{byte(size)}, size)) {
					t.Errorf("a frame of %d bytes came as one of %d: %v", size, len(frame), err)
				}
				buf = frame
			}
		})
	}
	moving.Wait()
	if sent, received := here.Traffic(); sent != all || received != all {
		t.Errorf("%d bytes sent and %d received, want %d", sent, received, all)
	}
	if err := here.Send(ctx, make([]byte, protocol.MaxFrame+1)); err == nil {
		t.Error("a frame that is too large has no error")
	}
	there.Close()
	want := protocol.GoneError{Peer: keys.ID{2}, Reason: "it closed the stream"}
	if _, err := here.Receive(ctx, nil); !isGone(err, want) {
		t.Errorf("after the other end has closed: %v, want %v", err, &want)
	}
	if err := there.Send(ctx, nil); err == nil || err.Error() != "the stream is closed on this side" {
		t.Errorf("after this end has closed: %v", err)
	}
}

// isGone reports whether an error says that this peer is gone, and why.
func isGone(err error, want protocol.GoneError) bool {
	gone, ok := errors.AsType[*protocol.GoneError](err)
	return ok && *gone == want
}

// TestFramesCancelled ends calls between two frames, after which the stream goes on, and in the middle of one.
func TestFramesCancelled(t *testing.T) {
	here, there, _ := framesOverPipe(t, nil)
	cancelled, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	waiting.Go(func() {
		if _, err := there.Receive(cancelled, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled Receive: %v", err)
		}
	})
	cancel()
	waiting.Wait()
	if err := here.Send(cancelled, []byte("x")); !errors.Is(err, context.Canceled) {
		t.Errorf("a cancelled Send: %v", err)
	}
	waiting.Go(func() {
		if err := here.Send(t.Context(), []byte("frame")); err != nil {
			t.Error(err)
		}
	})
	if frame, err := there.Receive(t.Context(), nil); string(frame) != "frame" || err != nil {
		t.Errorf("after both: %q, %v", frame, err)
	}
	waiting.Wait()

	half, cancel := context.WithCancel(t.Context())
	defer cancel()
	raw := there.raw
	waiting.Go(func() {
		var head [frameHead]byte
		raw.Read(head[:])
		cancel()
	})
	if err := here.Send(half, make([]byte, muxPayload)); !errors.Is(err, context.Canceled) {
		t.Errorf("a Send that is cancelled half way: %v", err)
	}
	waiting.Wait()
	if err := here.Send(t.Context(), nil); err == nil {
		t.Error("half a frame leaves the stream usable")
	}
}

// TestFramesLost names why the connection has ended where that is known, and what the stream said where not.
func TestFramesLost(t *testing.T) {
	known := protocol.GoneError{Peer: keys.ID{2}, Reason: "no heartbeat for 4s"}
	here, _, raw := framesOverPipe(t, func() *protocol.GoneError { return &known })
	raw.Close()
	if _, err := here.Receive(t.Context(), nil); !isGone(err, known) {
		t.Errorf("after the connection was lost: %v, want %v", err, &known)
	}
	here, _, raw = framesOverPipe(t, func() *protocol.GoneError { return nil })
	raw.Close()
	want := protocol.GoneError{Peer: keys.ID{2}, Reason: `it broke the stream off: "io: read/write on closed pipe"`}
	if err := here.Send(t.Context(), nil); !isGone(err, want) {
		t.Errorf("after the stream broke: %v, want %v", err, &want)
	}
}

// TestFrameTooLarge has the other end announce a frame above the limit.
func TestFrameTooLarge(t *testing.T) {
	here, _, raw := framesOverPipe(t, nil)
	var announcing sync.WaitGroup
	announcing.Go(func() { raw.Write(binary.BigEndian.AppendUint32(nil, protocol.MaxFrame+1)) })
	if _, err := here.Receive(t.Context(), nil); !errors.Is(err, contract.ErrDeviation) {
		t.Errorf("error %v, want a deviation", err)
	}
	announcing.Wait()
}
