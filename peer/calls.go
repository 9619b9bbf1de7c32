package peer

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Limits of calls.
const (
	maxCalls = 32 // of one peer in progress here
	// Of a newcomer: it asks what it is invited to, signs, and asks every other second whether the others have.
	joinCalls   = 4
	joinRequest = 64 << 10 // bytes
	joinRate    = 5        // calls a second; more wait
	maxMethod   = 64       // bytes of a method's name
	// awayTime is the longest that a called node works on without a deadline of the caller's.
	awayTime = time.Hour
)

// Status of a response. Numbers are never used again for another meaning.
const (
	callDone   = 0
	callFailed = 1
)

// calls are those that this host makes and those that it answers.
type calls struct {
	*base
	admissions *admissions
	handler    atomic.Pointer[protocol.Handler]
}

// Call sends one request to a member and returns the response. It fails at once with a
// *protocol.GoneError if the member is known to be absent, and waits for the first attempt to
// connect after the start. Between two versions of a charter only methods that start with
// "charter/" pass. The deadline of ctx goes along, and its end cancels the handler.
func (h *Host) Call(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error) {
	return h.calls.call(ctx, to, method, request)
}

// Handle sets what answers the calls of members, and of invited newcomers, whose methods all
// start with "join/". Calls that come before are answered with an error.
func (h *Host) Handle(handler protocol.Handler) { h.calls.handler.Store(&handler) }

// call makes one call to a member once there is a link, or once it is known that there is none.
func (c *calls) call(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error) {
	if err := checkCall(method, request); err != nil {
		return nil, err
	}
	if err := c.members.want(to); err != nil {
		return nil, err
	}
	need := needOf(method)
	for {
		l, tried, changed, err := c.members.lookup(to, need)
		switch {
		case err != nil:
			return nil, err
		case l != nil:
			return call(ctx, l, method, request)
		case tried:
			gone := &protocol.GoneError{Peer: to, Reason: c.members.absence(to, need)}
			if p, err := peerID(to); err == nil {
				if last := c.meter.of(p).lastHeard(); !last.IsZero() {
					gone.Silent = time.Since(last)
				}
			}
			return nil, gone
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-c.life.ctx.Done():
			return nil, session.ErrClosed
		}
	}
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

// call makes one call over a link.
func call(ctx context.Context, l *link, method string, request []byte) ([]byte, error) {
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var left uint32 // what ctx leaves for the call, in milliseconds; 0: no deadline
	if deadline, ok := ctx.Deadline(); ok {
		left = uint32(min(max(time.Until(deadline).Milliseconds(), 1), math.MaxUint32))
	}
	s, err := openStream(ctx, l.conn, protoCall, encodeCall(method, left, request))
	if err != nil {
		return nil, explainCall(ctx, l, method, err)
	}
	release := session.InterruptIO(ctx, s.SetReadDeadline)
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
	return nil, &protocol.RemoteError{Peer: l.peer, Method: method, Fault: fault.DecodeFault(body)}
}

func encodeCall(method string, timeout uint32, request []byte) []byte {
	p := appendText(make([]byte, 0, 2+len(method)+8+len(request)), method)
	p = binary.BigEndian.AppendUint32(p, timeout)
	p = binary.BigEndian.AppendUint32(p, uint32(len(request)))
	return append(p, request...)
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
	status, size := head[0], int(binary.BigEndian.Uint32(head[1:]))
	limit := protocol.MaxCall
	if status == callFailed {
		limit = fault.MaxFault
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
	case l.Lost() != nil:
		return l.Lost()
	case errors.Is(err, network.ErrResourceLimitExceeded):
		return fmt.Errorf("too many streams to %s are open for %q", l.name, method)
	case ended(err):
		return &protocol.GoneError{Peer: l.peer, Reason: fmt.Sprintf("it broke off the call of %q", method)}
	default:
		return fmt.Errorf("the call of %q at %s: %w", method, l.name, err)
	}
}

// Methods that pass where others do not.
const (
	prefixCharter = "charter/"
	prefixJoin    = "join/"
)

// needOf returns the level of link that a method needs.
func needOf(method string) level {
	switch {
	case strings.HasPrefix(method, prefixJoin):
		return levelJoin
	case strings.HasPrefix(method, prefixCharter):
		return levelCharter
	default:
		return levelFull
	}
}

// answer serves one call stream.
func (c *calls) answer(s network.Stream) {
	l := c.admissions.await(c.life.ctx, s.Conn())
	if l == nil {
		s.Reset()
		return
	}
	select {
	case l.calls <- struct{}{}:
		defer func() { <-l.calls }()
	default:
		respond(s, nil, &fault.Fault{Code: fault.CodeLimit, Numbers: []int64{maxCalls}})
		return
	}
	limit := protocol.MaxCall
	if !l.may(levelCharter) {
		limit = joinRequest
		if len(l.calls) > joinCalls {
			respond(s, nil, &fault.Fault{Code: fault.CodeLimit, Numbers: []int64{joinCalls}})
			return
		}
		if l.joinPace.Wait(c.life.ctx) != nil {
			s.Reset()
			return
		}
	}
	s.SetReadDeadline(time.Now().Add(requestTime))
	method, timeout, request, err := readCall(s, limit)
	if err != nil {
		c.log.Info("a member sent a call that cannot be read", "member", l.name, "error", err)
		respond(s, nil, &fault.Fault{Code: fault.CodeRequest})
		return
	}
	s.SetReadDeadline(time.Time{})
	response, refusal := c.handle(s, l, method, timeout, request)
	if refusal != nil && c.life.ctx.Err() != nil {
		s.Reset() // the handler was cut short: to the caller this node is gone
		return
	}
	if refusal == nil && len(response) > protocol.MaxCall {
		c.log.Error("a response is too long to be sent", "method", method, "bytes", len(response),
			"limit", protocol.MaxCall)
		refusal = &fault.Fault{Code: fault.CodeRequest}
	}
	respond(s, response, refusal)
}

// requestTime is how long a request may take to come in: the largest at about 0.5 Mbit/s.
const requestTime = 2 * time.Minute

// readCall reads a request, whose sizes are checked before anything is allocated.
func readCall(r io.Reader, limit int) (method string, timeout time.Duration, request []byte, err error) {
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return "", 0, nil, err
	}
	n := int(binary.BigEndian.Uint16(size[:]))
	if n == 0 || n > maxMethod {
		return "", 0, nil, fmt.Errorf("the method has %d bytes, want 1 to %d", n, maxMethod)
	}
	head := make([]byte, n+8)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", 0, nil, err
	}
	method = string(head[:n])
	if err := checkText("method", method, maxMethod); err != nil {
		return "", 0, nil, err
	}
	timeout = time.Duration(binary.BigEndian.Uint32(head[n:])) * time.Millisecond
	length := int64(binary.BigEndian.Uint32(head[n+4:]))
	if length > int64(limit) {
		return "", 0, nil, fmt.Errorf("announced a request of %d bytes, the limit is %d", length, limit)
	}
	request, err = readBlock(r, int(length))
	return method, timeout, request, err
}

// handle checks that the link allows the method and runs the handler until it returns, the
// caller's time is over, or the caller breaks the stream off.
func (c *calls) handle(s network.Stream, l *link, method string, timeout time.Duration,
	request []byte) ([]byte, *fault.Fault) {
	need := needOf(method)
	switch {
	case level(l.level.Load()) == levelJoin && need != levelJoin:
		return nil, &fault.Fault{Code: fault.CodeInvitee}
	case !l.may(need):
		return nil, &fault.Fault{Code: fault.CodeVersions}
	}
	handler := c.handler.Load()
	if handler == nil {
		return nil, &fault.Fault{Code: fault.CodeBusy}
	}
	if timeout == 0 {
		timeout = awayTime
	}
	// The caller gives up by its own clock and breaks off; the part only helps if it cannot.
	ctx, cancel := context.WithTimeout(c.life.ctx, timeout+partTimeout)
	defer cancel()
	var watch sync.WaitGroup
	watch.Go(func() {
		// The caller sends nothing more: a read ends when it breaks off, or by the deadline
		// set below.
		var b [1]byte
		s.Read(b[:])
		cancel()
	})
	response, fault := (*handler)(ctx, l.peer, method, request)
	s.SetReadDeadline(time.Unix(1, 0))
	watch.Wait()
	return response, fault
}

// respond sends a response, or a fault.
func respond(s network.Stream, body []byte, fault *fault.Fault) {
	status := uint8(callDone)
	if fault != nil {
		status, body = callFailed, fault.Encode()
	}
	p := append(make([]byte, 0, 5+len(body)), status)
	p = binary.BigEndian.AppendUint32(p, uint32(len(body)))
	s.SetWriteDeadline(time.Now().Add(requestTime))
	if _, err := s.Write(append(p, body...)); err != nil {
		s.Reset()
		return
	}
	s.Close()
}

// readBlock reads a block of n bytes, which the caller has checked against a limit. The buffer
// grows as the bytes come in: who announces a lot and sends little costs little.
func readBlock(r io.Reader, n int) ([]byte, error) {
	const step = 64 << 10
	block := make([]byte, 0, min(n, step))
	for len(block) < n {
		if len(block) == cap(block) {
			grown := make([]byte, len(block), min(n, 4*cap(block)))
			copy(grown, block)
			block = grown
		}
		got, err := io.ReadFull(r, block[len(block):cap(block)])
		block = block[:len(block)+got]
		if err != nil {
			return nil, err
		}
	}
	return block, nil
}
