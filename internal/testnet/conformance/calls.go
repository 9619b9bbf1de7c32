package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// echo answers with the caller, the method and the request.
func echo(_ context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
	return answerOf(from, method, request), nil
}

// answerOf is echo's answer.
func answerOf(from keys.ID, method string, request []byte) []byte {
	return append([]byte(from.String()+" "+method+" "), request...)
}

// pairWith makes two transports; the second answers with h.
func pairWith(t *testing.T, make makeFunc, h protocol.Handler) (caller protocol.Transport, callee keys.ID) {
	transports := make(t, 2)
	transports[0].Handle(echo)
	transports[1].Handle(h)
	return transports[0], transports[1].Self()
}

// testCall calls with different methods and requests, an empty one among them.
func testCall(t *testing.T, make makeFunc) {
	ctx := within(t)
	caller, callee := pairWith(t, make, echo)
	for _, request := range [][]byte{nil, []byte("short"), numbered(1, 300_000)} {
		got, err := caller.Call(ctx, callee, "some/method", request)
		if err != nil {
			t.Fatal(err)
		}
		if want := answerOf(caller.Self(), "some/method", request); !bytes.Equal(got, want) {
			t.Fatalf("got %d bytes %.40q, want %d bytes %.40q", len(got), got, len(want), want)
		}
	}
}

// testCallsAtOnce has four calls in one handler at the same time, which return when all are there.
func testCallsAtOnce(t *testing.T, make makeFunc) {
	const n = 4
	ctx := within(t)
	arrived, release := newBarrier(n)
	caller, callee := pairWith(t, make, func(_ context.Context, _ keys.ID, _ string,
		request []byte) ([]byte, *fault.Fault) {
		arrived()
		select {
		case <-release:
			return request, nil
		case <-ctx.Done():
			return nil, &fault.Fault{Code: fault.CodeStopped}
		}
	})
	together(t, n, func(i int) error {
		got, err := caller.Call(ctx, callee, "wait", numbered(i, 100))
		if err == nil && !bytes.Equal(got, numbered(i, 100)) {
			err = fmt.Errorf("call %d got another's answer", i)
		}
		return err
	})
}

// newBarrier returns a function and a channel that closes when it was called n times.
func newBarrier(n int32) (arrived func(), all <-chan struct{}) {
	var count atomic.Int32
	done := make(chan struct{})
	return func() {
		if count.Add(1) == n {
			close(done)
		}
	}, done
}

// testCallError has a handler refuse.
func testCallError(t *testing.T, make makeFunc) {
	refusal := fault.Fault{Code: fault.CodeDeviation, Names: []string{"bank", "angles"}, Numbers: []int64{7},
		Ref: "7f3a2c"}
	caller, callee := pairWith(t, make, func(context.Context, keys.ID, string, []byte) ([]byte, *fault.Fault) {
		return []byte("ignored"), &refusal
	})
	response, err := caller.Call(within(t), callee, "try", []byte("x"))
	var remote *protocol.RemoteError
	if !errors.As(err, &remote) {
		t.Fatalf("got error %v, want a *protocol.RemoteError", err)
	}
	if want := (&protocol.RemoteError{Peer: callee, Method: "try", Fault: &refusal}); !reflect.DeepEqual(remote, want) {
		t.Fatalf("got %+v, want %+v", remote, want)
	}
	if response != nil {
		t.Fatalf("got response %q beside the error", response)
	}
}

// testCallLargest calls with the largest request and response.
func testCallLargest(t *testing.T, make makeFunc) {
	caller, callee := pairWith(t, make, func(_ context.Context, _ keys.ID, _ string,
		request []byte) ([]byte, *fault.Fault) {
		return request, nil
	})
	want := numbered(5, protocol.MaxCall)
	got, err := caller.Call(within(t), callee, "large", want)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("got other %d bytes, want %d", len(got), len(want))
	}
}

// testCallOversized refuses a request on the caller's side and a response on the other.
func testCallOversized(t *testing.T, make makeFunc) {
	ctx := within(t)
	caller, callee := pairWith(t, make, func(context.Context, keys.ID, string, []byte) ([]byte, *fault.Fault) {
		return numbered(0, protocol.MaxCall+1), nil
	})
	_, err := caller.Call(ctx, callee, "large", numbered(0, protocol.MaxCall+1))
	if err == nil || !strings.Contains(err.Error(), fmt.Sprint(protocol.MaxCall+1)) {
		t.Errorf("an oversized request gives error %v, want one with its size", err)
	}
	if _, err := caller.Call(ctx, callee, "large", nil); err == nil {
		t.Error("an oversized response was accepted")
	}
}

// testCallCancelled gives up on a handler that does not return.
func testCallCancelled(t *testing.T, make makeFunc) {
	stuck := within(t)
	release, cancelHandler := context.WithCancel(stuck)
	defer cancelHandler()
	ctx, cancel := context.WithCancel(stuck)
	caller, callee := pairWith(t, make, func(context.Context, keys.ID, string, []byte) ([]byte, *fault.Fault) {
		cancel()
		<-release.Done()
		return nil, nil
	})
	if _, err := caller.Call(ctx, callee, "stuck", nil); !errors.Is(err, context.Canceled) {
		t.Fatalf("call ended with %v, want the context's error", err)
	}
	if stuck.Err() != nil {
		t.Fatal("the call outlived its context")
	}
}

// testCallDead calls a member that is gone, and one that dies while it answers.
func testCallDead(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 3)
	transports[0].Handle(echo)
	transports[2].Handle(echo)
	transports[1].Handle(func(served context.Context, _ keys.ID, _ string, _ []byte) ([]byte, *fault.Fault) {
		<-served.Done()
		return nil, &fault.Fault{Code: fault.CodeStopped}
	})
	if err := die(transports[2]); err != nil {
		t.Fatal(err)
	}
	_, err := transports[0].Call(ctx, transports[2].Self(), "anybody", nil)
	if err := wantGone(err, transports[2].Self()); err != nil {
		t.Error(err)
	}
	dying, cancel := context.WithTimeout(ctx, brief)
	defer cancel()
	together(t, 2, func(i int) error {
		if i == 0 {
			<-dying.Done()
			return die(transports[1])
		}
		_, err := transports[0].Call(ctx, transports[1].Self(), "dying", nil)
		return wantGone(err, transports[1].Self())
	})
}
