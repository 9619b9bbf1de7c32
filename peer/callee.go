package peer

import (
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"

	"github.com/hanse-project/hanse/protocol"
)

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

// Handle sets what answers the calls of members, and of invited newcomers, whose methods all
// start with "join/". Calls that come before are answered with an error.
func (h *Host) Handle(handler protocol.Handler) { h.handler.Store(&handler) }

// answerCall serves one call stream.
func (h *Host) answerCall(s network.Stream) {
	l := h.admitted(s.Conn())
	if l == nil {
		s.Reset()
		return
	}
	select {
	case l.calls <- struct{}{}:
		defer func() { <-l.calls }()
	default:
		respond(s, nil, &protocol.Fault{Code: protocol.CodeLimit, Numbers: []int64{maxCalls}})
		return
	}
	s.SetReadDeadline(time.Now().Add(requestTime))
	method, timeout, request, err := readCall(s)
	if err != nil {
		h.cfg.Log.Info("a member sent a call that cannot be read", "member", l.name, "error", err)
		respond(s, nil, &protocol.Fault{Code: protocol.CodeRequest})
		return
	}
	s.SetReadDeadline(time.Time{})
	response, fault := h.handle(s, l, method, timeout, request)
	if fault != nil && h.life.Err() != nil {
		s.Reset() // the handler was cut short: to the caller this node is gone
		return
	}
	if fault == nil && len(response) > protocol.MaxCall {
		h.cfg.Log.Error("a response is too long to be sent", "method", method, "bytes", len(response),
			"limit", protocol.MaxCall)
		fault = &protocol.Fault{Code: protocol.CodeRequest}
	}
	respond(s, response, fault)
}

// requestTime is how long a request may take to come in: the largest at about 0.5 Mbit/s.
const requestTime = 2 * time.Minute

// readCall reads a request, whose sizes are checked before anything is allocated.
func readCall(r io.Reader) (method string, timeout time.Duration, request []byte, err error) {
	var size [2]byte
	if _, err := io.ReadFull(r, size[:]); err != nil {
		return "", 0, nil, err
	}
	u := unpacker{rest: size[:]}
	n := int(u.u16())
	if n == 0 || n > maxMethod {
		return "", 0, nil, fmt.Errorf("the method has %d bytes, want 1 to %d", n, maxMethod)
	}
	head := make([]byte, n+8)
	if _, err := io.ReadFull(r, head); err != nil {
		return "", 0, nil, err
	}
	u = unpacker{rest: append(size[:], head...)}
	method = u.text("method", maxMethod)
	timeout = time.Duration(u.u32()) * time.Millisecond
	length := u.u32()
	if err := u.end(); err != nil {
		return "", 0, nil, err
	}
	if length > protocol.MaxCall {
		return "", 0, nil, fmt.Errorf("announced a request of %d bytes, the limit is %d", length, protocol.MaxCall)
	}
	request, err = readBlock(r, int(length))
	return method, timeout, request, err
}

// handle checks that the link allows the method and runs the handler until it returns, the
// caller's time is over, or the caller breaks the stream off.
func (h *Host) handle(s network.Stream, l *link, method string, timeout time.Duration,
	request []byte) ([]byte, *protocol.Fault) {
	if fault := h.permit(l, method); fault != nil {
		return nil, fault
	}
	handler := h.handler.Load()
	if handler == nil {
		return nil, &protocol.Fault{Code: protocol.CodeBusy}
	}
	if timeout == 0 {
		timeout = awayTime
	}
	// The caller gives up by its own clock and breaks off; the part only helps if it cannot.
	ctx, cancel := context.WithTimeout(h.life, timeout+partTimeout)
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

// permit refuses methods that the link's level does not cover.
func (h *Host) permit(l *link, method string) *protocol.Fault {
	need := needOf(method)
	switch {
	case level(l.level.Load()) == levelJoin && need != levelJoin:
		return &protocol.Fault{Code: protocol.CodeInvitee}
	case !l.may(need):
		return &protocol.Fault{Code: protocol.CodeVersions}
	default:
		return nil
	}
}

// respond sends a response, or a fault.
func respond(s network.Stream, body []byte, fault *protocol.Fault) {
	status := uint8(callDone)
	if fault != nil {
		status, body = callFailed, fault.Encode()
	}
	p := make(packer, 0, 5+len(body))
	p.u8(status)
	p.u32(uint32(len(body)))
	p.raw(body)
	s.SetWriteDeadline(time.Now().Add(requestTime))
	if _, err := s.Write(p); err != nil {
		s.Reset()
		return
	}
	s.Close()
}
