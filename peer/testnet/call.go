package testnet

import (
	"bytes"
	"context"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
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
	fault    *fault.Fault
	err      error // the call did not come about
}

// Call implements protocol.Transport. The handler runs under a context of its own, which ends
// when the caller gives up or either side dies.
func (t *Transport) Call(ctx context.Context, to keys.ID, method string, request []byte) ([]byte, error) {
	if len(request) > protocol.MaxCall {
		return nil, fmt.Errorf("call %q to %s: request of %d bytes, at most %d are allowed", method, to.Short(), len(request),
			protocol.MaxCall)
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("call %q to %s: %w", method, to.Short(), err)
	}
	c, handler, err := t.dial(to)
	if err != nil {
		return nil, err
	}
	defer func() {
		t.net.mu.Lock()
		defer t.net.mu.Unlock()
		delete(t.net.active, c)
	}()
	served, stop := context.WithCancel(context.Background())
	defer stop()
	answers := make(chan answer, 1)
	go func(request []byte) {
		defer t.net.calls.Done()
		answers <- t.serve(served, handler, method, request)
	}(bytes.Clone(request))

	select {
	case a := <-answers:
		switch {
		case a.err != nil:
			return nil, a.err
		case a.fault != nil:
			return nil, &protocol.RemoteError{Peer: to, Method: method, Fault: fault.DecodeFault(a.fault.Encode())}
		case len(a.response) > protocol.MaxCall:
			return nil, fmt.Errorf("call %q: %s announced a response of %d bytes: at most %d are allowed",
				method, to.Short(), len(a.response), protocol.MaxCall)
		}
		return a.response, nil
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
	m, known := t.net.members[to]
	switch {
	case !known:
		return nil, nil, &protocol.GoneError{Peer: to, Reason: reasonUnknown}
	case m.transport.dead:
		return nil, nil, &protocol.GoneError{Peer: to, Reason: reasonRefused}
	case t.net.cuts[pairOf(t.member.id, to)]:
		return nil, nil, &protocol.GoneError{Peer: to, Reason: reasonNoRoute}
	}
	c := &call{from: t, to: m.transport, lost: make(chan error, 1)}
	t.net.active[c] = true
	t.net.calls.Add(1)
	return c, c.to.handler, nil
}

// serve carries the request over, has it handled, and carries the answer back.
func (t *Transport) serve(ctx context.Context, handle protocol.Handler, method string, request []byte) answer {
	if handle == nil {
		return answer{fault: &fault.Fault{Code: fault.CodeBusy}}
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
