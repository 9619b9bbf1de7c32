package simnet

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// call is a request whose caller waits.
type call struct {
	from, to *Transport
	lost     chan error // what a fault makes of it; of capacity 1
}

// fail ends the caller's wait.
func (c *call) fail(err error) {
	select {
	case c.lost <- err:
	default:
	}
}

// answer is what a handler makes of a request.
type answer struct {
	response []byte
	fault    *protocol.Fault
	err      error // the call did not come about
}

// Call implements protocol.Transport. The handler runs under a context of its own, which ends
// when the caller gives up or either side dies.
func (t *Transport) Call(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error) {
	if len(request) > protocol.MaxCall {
		return nil, fmt.Errorf("call %q to %s: request of %d bytes, at most %d are allowed", method, to.Short(), len(request), protocol.MaxCall)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("call %q to %s: %w", method, to.Short(), err)
	}
	c, handler, err := t.dial(to)
	if err != nil {
		return nil, err
	}
	defer t.hangUp(c)
	served, stop := context.WithCancel(context.Background())
	defer stop()
	answers := make(chan answer, 1)
	go func(request []byte) {
		defer t.net.calls.Done()
		answers <- t.serve(served, handler, method, request)
	}(bytes.Clone(request))

	select {
	case a := <-answers:
		return a.checked(to, method)
	case err := <-c.lost:
		return nil, err
	case <-ctx.Done():
		return nil, fmt.Errorf("call %q to %s: %w", method, to.Short(), ctx.Err())
	}
}

// dial finds who answers and registers the call, so that faults reach it.
func (t *Transport) dial(to keys.ID) (*call, protocol.Handler, error) {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	if t.dead {
		return nil, nil, ErrKilled
	}
	if to == t.member.id {
		return nil, nil, fmt.Errorf("%s calls itself", to.Short())
	}
	if reason := t.net.unreachable(t.member.id, to); reason != "" {
		return nil, nil, &protocol.GoneError{Peer: to, Reason: reason}
	}
	c := &call{from: t, to: t.net.members[to].transport, lost: make(chan error, 1)}
	t.net.active[c] = true
	t.net.calls.Add(1)
	return c, c.to.handler, nil
}

// unreachable says why a member cannot be called, or nothing. n.mu is held.
func (n *Network) unreachable(from, to keys.ID) string {
	m, known := n.members[to]
	switch {
	case !known:
		return reasonUnknown
	case m.transport.dead:
		return reasonRefused
	case n.cuts[pairOf(from, to)]:
		return reasonNoRoute
	}
	return ""
}

// hangUp forgets a call.
func (t *Transport) hangUp(c *call) {
	t.net.mu.Lock()
	defer t.net.mu.Unlock()
	delete(t.net.active, c)
}

// serve carries the request over, has it handled, and carries the answer back.
func (t *Transport) serve(ctx context.Context, handle protocol.Handler, method string, request []byte) answer {
	if handle == nil {
		return answer{fault: &protocol.Fault{Code: protocol.CodeBusy}}
	}
	if !t.net.travel(ctx) {
		return answer{err: ctx.Err()}
	}
	response, fault := handle(ctx, t.member.id, method, request)
	t.net.travel(ctx)
	return answer{response: bytes.Clone(response), fault: fault}
}

// travel waits for as long as a frame is under way; false says that ctx ended first.
func (n *Network) travel(ctx context.Context) bool {
	d := time.Duration(n.delay.Load())
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// checked turns an answer into what the caller gets.
func (a answer) checked(peer keys.ID, method string) ([]byte, error) {
	if a.err != nil {
		return nil, a.err
	}
	if a.fault != nil {
		return nil, &protocol.RemoteError{Peer: peer, Method: method, Fault: protocol.DecodeFault(a.fault.Encode())}
	}
	if len(a.response) > protocol.MaxCall {
		return nil, fmt.Errorf("call %q: %s announced a response of %d bytes: at most %d are allowed", method, peer.Short(), len(a.response), protocol.MaxCall)
	}
	return a.response, nil
}
