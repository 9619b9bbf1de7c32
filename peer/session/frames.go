package session

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

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// frameHead is the length that stands before each frame, in bytes.
const frameHead = 4

// muxPayload is what fits beside yamux's header into one of its frames. Writes of this size
// become one yamux frame each, and the 4 bytes of a frame's length never one of their own,
// which would cost a TLS record and a system call.
const muxPayload = 64<<10 - 12

// far is the other end of frames, as far as they need to know it. A Link is one.
type far interface {
	Peer() keys.ID
	// String names the peer for people.
	String() string
	// Lost says why the connection has ended, and is nil before.
	Lost() *protocol.GoneError
	// Explain says in a clause what an error of the raw stream means.
	Explain(err error) string
}

// Frames are frames both ways on one stream. One goroutine may send while another receives.
type Frames struct {
	far far
	raw RawStream
	of  string // what ends with the stream, in a word

	sending sync.Mutex // held by Send, so that the stream is not closed under it
	out     *bufio.Writer
	moved   counter // bytes that have gone to the raw stream

	sent, received atomic.Int64

	mu      sync.Mutex
	broken  error // the first failure, which all later calls return
	hasLeft bool  // the peer reads no more
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

// NewFrames puts frames on a stream to a peer, which errors name as called says. lost tells why the connection to it
// has ended, and nil before; a nil function knows nothing. Nobody else may use the stream from now on; Close closes it.
func NewFrames(raw RawStream, peer keys.ID, called string, lost func() *protocol.GoneError) *Frames {
	return newFrames(party{peer, called, lost}, raw, "stream")
}

func newFrames(f far, raw RawStream, of string) *Frames {
	s := &Frames{far: f, raw: raw, of: of}
	s.moved.Writer = raw
	s.out = bufio.NewWriterSize(&s.moved, muxPayload)
	return s
}

// party is the other end of a stream that belongs to no Link. It implements far.
type party struct {
	peer   keys.ID
	called string
	lost   func() *protocol.GoneError
}

func (p party) Peer() keys.ID  { return p.peer }
func (p party) String() string { return p.called }

func (p party) Lost() *protocol.GoneError {
	if p.lost == nil {
		return nil
	}
	return p.lost()
}

// Explain quotes the error: the other end may have had a say in its text.
func (p party) Explain(err error) string {
	return fmt.Sprintf("it broke the stream off: %.200q", err.Error())
}

// Send writes one frame, made of the parts. If ctx ends before its first byte has gone the stream stays usable.
func (s *Frames) Send(ctx context.Context, parts ...[]byte) error {
	size := 0
	for _, p := range parts {
		size += len(p)
	}
	if size > protocol.MaxFrame {
		return fmt.Errorf("a frame of %d bytes for %s, the limit is %d", size, s.far, protocol.MaxFrame)
	}
	if err := cmp.Or(s.failure(true), ctx.Err()); err != nil {
		return err
	}
	s.sending.Lock()
	defer s.sending.Unlock()
	before := s.moved.n
	release := InterruptIO(ctx, s.raw.SetWriteDeadline)
	var head [frameHead]byte
	binary.BigEndian.PutUint32(head[:], uint32(size))
	s.out.Write(head[:])
	for _, p := range parts {
		s.out.Write(p)
	}
	err := s.out.Flush() // the writer keeps its first error
	cancelled := release()
	if err == nil {
		s.sent.Add(int64(frameHead + size))
		return nil
	}
	if cancelled {
		if s.moved.n == before {
			s.out.Reset(&s.moved)
		} else {
			s.fail(fmt.Errorf("a frame to %s was cancelled half way: %w", s.far, ctx.Err()))
		}
		return ctx.Err()
	}
	err = s.explain(err)
	s.mu.Lock()
	left := s.hasLeft
	s.mu.Unlock()
	if left { // what it sent before can still be received
		return err
	}
	return s.fail(err)
}

// Receive reads one frame, into buf if it fits. If ctx ends between frames the stream stays usable.
func (s *Frames) Receive(ctx context.Context, buf []byte) ([]byte, error) {
	if err := cmp.Or(s.failure(false), ctx.Err()); err != nil {
		return nil, err
	}
	release := InterruptIO(ctx, s.raw.SetReadDeadline)
	frame, begun, err := s.read(buf)
	switch cancelled := release(); {
	case err == nil:
		s.received.Add(int64(frameHead + len(frame)))
		return frame, nil
	case cancelled && !begun:
		return nil, ctx.Err()
	case cancelled:
		s.fail(fmt.Errorf("a frame from %s was cancelled half way: %w", s.far, ctx.Err()))
		return nil, ctx.Err()
	default:
		return nil, s.fail(s.explain(err))
	}
}

// read takes one frame off the stream; begun says that part of one has been.
func (s *Frames) read(buf []byte) (frame []byte, begun bool, err error) {
	var head [frameHead]byte
	if n, err := io.ReadFull(s.raw, head[:]); err != nil {
		return nil, n > 0, err
	}
	size := binary.BigEndian.Uint32(head[:])
	if size > protocol.MaxFrame {
		return nil, true, &oversize{peer: s.far.String(), size: size}
	}
	frame = slices.Grow(buf[:0], int(size))[:size]
	_, err = io.ReadFull(s.raw, frame)
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
func (o *oversize) Unwrap() error { return contract.ErrDeviation }

// failure returns what broke the stream before, if anything did.
func (s *Frames) failure(sending bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil && s.hasLeft && sending {
		return s.closedByPeer()
	}
	return s.broken
}

// fail breaks the stream: half a frame cannot be undone. The first failure stays.
func (s *Frames) fail(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.broken == nil {
		s.broken = err
		s.raw.Reset()
	}
	return s.broken
}

// leave makes a pending and all later sends fail: the peer reads no more. What it sent before can still be received.
func (s *Frames) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasLeft = true
	s.raw.SetWriteDeadline(time.Unix(1, 0))
}

// Traffic returns the bytes of all frames with their lengths.
func (s *Frames) Traffic() (sent, received int64) { return s.sent.Load(), s.received.Load() }

// Close closes this end after what has been sent. A Send that is blocked fails, and so do all calls after it.
func (s *Frames) Close() {
	s.mu.Lock()
	first := s.broken == nil
	if first {
		s.broken = fmt.Errorf("the %s is closed on this side", s.of)
	}
	s.mu.Unlock()
	if !first {
		return
	}
	s.raw.SetWriteDeadline(time.Unix(1, 0))
	s.sending.Lock()
	defer s.sending.Unlock()
	s.raw.Close()
}

// closedByPeer is the error when the peer has closed the stream in order.
func (s *Frames) closedByPeer() error {
	return &protocol.GoneError{Peer: s.far.Peer(), Reason: "it closed the " + s.of}
}

// explain turns an error of the raw stream into what is known about the peer.
func (s *Frames) explain(err error) error {
	if _, ok := errors.AsType[*oversize](err); ok {
		return err
	}
	if gone := s.far.Lost(); gone != nil {
		return gone
	}
	s.mu.Lock()
	left := s.hasLeft
	s.mu.Unlock()
	if left || errors.Is(err, io.EOF) {
		return s.closedByPeer()
	}
	return &protocol.GoneError{Peer: s.far.Peer(), Reason: s.far.Explain(err)}
}
