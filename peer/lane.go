package peer

import (
	"bufio"
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/protocol"
)

// frameHead is the length that stands before each frame, in bytes.
const frameHead = 4

// muxPayload is what fits beside yamux's header into one of its frames. Writes of this size
// become one yamux frame each, and the 4 bytes of a frame's length never one of their own,
// which would cost a TLS record and a system call.
const muxPayload = 64<<10 - 12

// errMeshClosed is what the calls on a mesh return that this side has closed.
var errMeshClosed = errors.New("the session is closed on this side")

// lane is one mesh's stream to one peer. One goroutine may send on it while another receives.
type lane struct {
	link   *link
	stream network.Stream

	sending sync.Mutex // held by Send, so that the stream is not closed under it
	out     *bufio.Writer
	moved   counter // bytes that have gone to the stream

	sent, received atomic.Int64

	mu     sync.Mutex
	broken error // the first failure, which all later calls return
	left   bool  // the peer has closed its mesh: it reads no more
}

// counter is a stream's writer that knows how much the stream has taken.
type counter struct {
	io.Writer
	n int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.Writer.Write(p)
	c.n += int64(n)
	return n, err
}

func newLane(l *link, s network.Stream) *lane {
	a := &lane{link: l, stream: s}
	a.moved.Writer = s
	a.out = bufio.NewWriterSize(&a.moved, muxPayload)
	return a
}

// send writes one frame. If ctx ends before its first byte has gone the lane stays usable.
func (a *lane) send(ctx context.Context, parts [][]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > protocol.MaxFrame {
		return fmt.Errorf("a frame of %d bytes for %s, the limit is %d", size, a.link, protocol.MaxFrame)
	}
	if err := cmp.Or(a.failure(true), ctx.Err()); err != nil {
		return err
	}
	a.sending.Lock()
	defer a.sending.Unlock()
	before := a.moved.n
	release := onDone(ctx, a.stream.SetWriteDeadline)
	err := a.write(size, parts)
	switch cancelled := release(); {
	case err == nil:
		a.sent.Add(int64(frameHead + size))
		return nil
	case cancelled && a.moved.n == before:
		a.out.Reset(&a.moved)
		return ctx.Err()
	case cancelled:
		a.fail(fmt.Errorf("a frame to %s was cancelled half way: %w", a.link, ctx.Err()))
		return ctx.Err()
	case a.hasLeft(): // what it sent before can still be received
		return a.explain(err)
	default:
		return a.fail(a.explain(err))
	}
}

func (a *lane) write(size int, parts [][]byte) error {
	var head [frameHead]byte
	binary.BigEndian.PutUint32(head[:], uint32(size))
	a.out.Write(head[:])
	for _, p := range parts {
		a.out.Write(p)
	}
	return a.out.Flush() // the writer keeps its first error
}

// receive reads one frame into buf if it fits. If ctx ends between frames the lane stays usable.
func (a *lane) receive(ctx context.Context, buf []byte) ([]byte, error) {
	if err := cmp.Or(a.failure(false), ctx.Err()); err != nil {
		return nil, err
	}
	release := onDone(ctx, a.stream.SetReadDeadline)
	frame, begun, err := a.read(buf)
	switch cancelled := release(); {
	case err == nil:
		a.received.Add(int64(frameHead + len(frame)))
		return frame, nil
	case cancelled && !begun:
		return nil, ctx.Err()
	case cancelled:
		a.fail(fmt.Errorf("a frame from %s was cancelled half way: %w", a.link, ctx.Err()))
		return nil, ctx.Err()
	default:
		return nil, a.fail(a.explain(err))
	}
}

// read takes one frame off the stream; begun says that part of one has been.
func (a *lane) read(buf []byte) (frame []byte, begun bool, err error) {
	var head [frameHead]byte
	if n, err := io.ReadFull(a.stream, head[:]); err != nil {
		return nil, n > 0, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > protocol.MaxFrame {
		return nil, true, &oversize{peer: a.link.String(), size: size}
	}
	frame = slices.Grow(buf[:0], int(size))[:size]
	_, err = io.ReadFull(a.stream, frame)
	return frame, true, err
}

// oversize is the error about a frame that is announced too large.
type oversize struct {
	peer string
	size uint32
}

func (o *oversize) Error() string {
	return fmt.Sprintf("%s announced a frame of %d bytes, the limit is %d", o.peer, o.size, protocol.MaxFrame)
}

// Unwrap makes the announcement a deviation: another session would meet it again.
func (o *oversize) Unwrap() error { return protocol.ErrDeviation }

// failure returns what broke the lane before, if anything did.
func (a *lane) failure(sending bool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken == nil && a.left && sending {
		return a.goneNow("it closed the session")
	}
	return a.broken
}

// fail breaks the lane: half a frame cannot be undone. The first failure stays.
func (a *lane) fail(err error) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken == nil {
		a.broken = err
		a.stream.Reset()
	}
	return a.broken
}

// leave makes a pending and all later sends fail: the peer has closed its end. What it sent
// before can still be received.
func (a *lane) leave() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.left = true
	a.stream.SetWriteDeadline(time.Unix(1, 0))
}

// hasLeft reports whether the peer has closed its end.
func (a *lane) hasLeft() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.left
}

// shut closes this end after what has been sent. A Send that is blocked fails.
func (a *lane) shut() {
	a.mu.Lock()
	first := a.broken == nil
	if first {
		a.broken = errMeshClosed
	}
	a.mu.Unlock()
	if !first {
		return
	}
	a.stream.SetWriteDeadline(time.Unix(1, 0))
	a.sending.Lock()
	defer a.sending.Unlock()
	a.stream.Close()
}

// explain turns a stream's error into what is known about the peer.
func (a *lane) explain(err error) error {
	if _, ok := errors.AsType[*oversize](err); ok {
		return err
	}
	if gone := a.link.lost(); gone != nil {
		return gone
	}
	switch {
	case a.hasLeft(), errors.Is(err, io.EOF):
		return a.goneNow("it closed the session")
	case a.stream.Conn().IsClosed():
		return a.goneNow("connection closed")
	case ended(err):
		return a.goneNow("it broke the session off")
	default:
		return a.goneNow(explainCause(err))
	}
}

func (a *lane) goneNow(reason string) *protocol.GoneError {
	return &protocol.GoneError{Peer: a.link.peer, Reason: reason}
}
