package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Limits of calls.
const (
	maxCalls  = 32 // of one peer in progress here
	maxMethod = 64 // bytes of a method's name
	// awayTime is the longest that a called node works on without a deadline of the caller's.
	awayTime = time.Hour
)

// Status of a response. Numbers are never used again for another meaning.
const (
	callDone   = 0
	callFailed = 1
)

// Call sends one request to a member and returns the response. It fails at once with a
// *protocol.GoneError if the member is known to be absent, and waits for the first attempt to
// connect after the start. Between two versions of a charter only methods that start with
// "charter/" pass. The deadline of ctx goes along, and its end cancels the handler.
func (h *Host) Call(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error) {
	if err := checkCall(method, request); err != nil {
		return nil, err
	}
	if err := h.want(to); err != nil {
		return nil, err
	}
	l, err := h.linkForCall(ctx, to, needOf(method))
	if err != nil {
		return nil, err
	}
	return call(ctx, l, method, request)
}

// checkCall refuses what the other side would refuse.
func checkCall(method string, request []byte) error {
	if len(method) == 0 || len(method) > maxMethod || plain(method) != method {
		return fmt.Errorf("the method %.80q: want 1 to %d printable characters", method, maxMethod)
	}
	if len(request) > protocol.MaxCall {
		return fmt.Errorf("a request of %d bytes for %q, the limit is %d", len(request), method, protocol.MaxCall)
	}
	return nil
}

// linkForCall returns the member's link, or why there is none.
func (h *Host) linkForCall(ctx context.Context, to keys.ID, need level) (*link, error) {
	for {
		l, tried, changed, err := h.lookup(to, need)
		switch {
		case l != nil || err != nil:
			return l, err
		case tried:
			return nil, h.gone(to, need)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-h.life.Done():
			return nil, errClosed
		}
	}
}

// gone says that a member cannot be called now.
func (h *Host) gone(id keys.ID, need level) *protocol.GoneError {
	e := &protocol.GoneError{Peer: id, Reason: h.absence(id, need)}
	if p, err := peerID(id); err == nil {
		if last := h.meter.of(p).lastHeard(); !last.IsZero() {
			e.Silent = time.Since(last)
		}
	}
	return e
}

// call makes one call over a link.
func call(ctx context.Context, l *link, method string, request []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	s, err := openStream(ctx, l.conn, protoCall, encodeCall(method, timeLeft(ctx), request))
	if err != nil {
		return nil, explainCall(ctx, l, method, err)
	}
	release := onDone(ctx, s.SetReadDeadline)
	status, body, err := readResponse(s)
	if release() && err != nil {
		err = ctx.Err()
	}
	if err != nil {
		s.Reset()
		return nil, explainCall(ctx, l, method, err)
	}
	s.Close()
	if status == callDone {
		return body, nil
	}
	return nil, &protocol.RemoteError{Peer: l.peer, Method: method, Fault: protocol.DecodeFault(body)}
}

// timeLeft is what ctx leaves for a call, in milliseconds; 0 stands for no deadline.
func timeLeft(ctx context.Context) uint32 {
	deadline, ok := ctx.Deadline()
	if !ok {
		return 0
	}
	return uint32(min(max(time.Until(deadline).Milliseconds(), 1), math.MaxUint32))
}

func encodeCall(method string, timeout uint32, request []byte) []byte {
	p := make(packer, 0, 2+len(method)+8+len(request))
	p.text(method, maxMethod)
	p.u32(timeout)
	p.u32(uint32(len(request)))
	p.raw(request)
	return p
}

// readResponse reads the status and the body, of at most the size that goes with the status.
func readResponse(s network.Stream) (status uint8, body []byte, err error) {
	if err := readProtocol(s, protoCall); err != nil {
		return 0, nil, err
	}
	var head [5]byte
	if _, err := io.ReadFull(s, head[:]); err != nil {
		return 0, nil, err
	}
	u := unpacker{rest: head[:]}
	status, size := u.u8(), int(u.u32())
	limit := protocol.MaxCall
	if status == callFailed {
		limit = protocol.MaxFault
	}
	switch {
	case status > callFailed:
		return 0, nil, fmt.Errorf("the response has the unknown status %d", status)
	case size > limit:
		return 0, nil, fmt.Errorf("announced a response of %d bytes, the limit is %d", size, limit)
	}
	body, err = readBlock(s, size)
	return status, body, err
}

// explainCall says why a call has no response.
func explainCall(ctx context.Context, l *link, method string, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%s did not answer %q: %w", l.name, method, ctx.Err())
	case l.lost() != nil:
		return l.lost()
	case errors.Is(err, network.ErrResourceLimitExceeded):
		return fmt.Errorf("too many streams to %s are open for %q", l.name, method)
	case ended(err):
		return &protocol.GoneError{Peer: l.peer, Reason: fmt.Sprintf("it broke off the call of %q", method)}
	default:
		return fmt.Errorf("the call of %q at %s: %w", method, l.name, err)
	}
}
