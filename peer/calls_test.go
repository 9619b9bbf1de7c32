package peer

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// answerHello is the plainest handler.
func answerHello(context.Context, keys.ID, string, []byte) ([]byte, *fault.Fault) {
	return []byte("hello"), nil
}

// rawCall writes bytes to a call stream and returns the error that comes back.
func rawCall(t *testing.T, from, to *Host, request []byte) string {
	t.Helper()
	ctx := within(t)
	l, err := from.members.awaitLink(ctx, from.life, to.Self(), levelFull)
	mustDo(t, err)
	s, err := openStream(ctx, l.conn, protoCall, request)
	mustDo(t, err)
	defer s.Reset()
	status, body, err := readResponse(s)
	if err != nil || status != callFailed {
		t.Fatalf("status %d, %q, %v, want an error of the other side", status, body, err)
	}
	return string(body)
}

// TestMalformedCalls sends what no Call would.
func TestMalformedCalls(t *testing.T) {
	hosts := federation(t, 2)
	hosts[1].Handle(answerHello)
	meetAll(t, hosts...)
	head := func(method string, size uint32) []byte {
		b := encodeCall(method, 0, nil)
		return binary.BigEndian.AppendUint32(b[:len(b)-4], size)
	}
	for _, test := range []struct {
		request []byte
		want    string
	}{
		{[]byte{0, 0}, "the method has 0 bytes, want 1 to 64"},
		{[]byte{0xff, 0xff}, "the method has 65535 bytes, want 1 to 64"},
		{head("esc\x1b[31m", 0), "the method holds unprintable characters"},
		{head("big", 1<<32-1), "announced a request of 4294967295 bytes, the limit is 8388608"},
		{head("big", protocol.MaxCall+1), "announced a request of 8388609 bytes, the limit is 8388608"},
	} {
		if _, _, _, err := readCall(bytes.NewReader(test.request), protocol.MaxCall); err == nil || err.Error() != test.want {
			t.Errorf("error %v, want %q", err, test.want)
		}
		if got := rawCall(t, hosts[0], hosts[1], test.request); got != "request - - -" {
			t.Errorf("answer %q, want a code and no text", got)
		}
	}
}

// TestCallsOfNoUse are refused before they leave.
func TestCallsOfNoUse(t *testing.T) {
	hosts := federation(t, 2)
	meetAll(t, hosts...)
	ctx := within(t)
	for method, want := range map[string]string{
		"":                      `the method "": want 1 to 64 printable characters`,
		"new\nline":             `the method "new\nline": want 1 to 64 printable characters`,
		strings.Repeat("x", 65): fmt.Sprintf(`the method %q: want 1 to 64 printable characters`, strings.Repeat("x", 65)),
	} {
		if _, err := hosts[0].Call(ctx, hosts[1].Self(), method, nil); err == nil || err.Error() != want {
			t.Errorf("error %v, want %s", err, want)
		}
	}
	_, err := hosts[0].Call(ctx, hosts[1].Self(), "early", nil)
	if remote, ok := errors.AsType[*protocol.RemoteError](err); !ok || remote.Fault.Code != fault.CodeBusy {
		t.Errorf("a call without a handler: %v", err)
	}
}

// TestCallLimit keeps as many calls in progress as a peer may have, and makes one more.
func TestCallLimit(t *testing.T) {
	hosts := federation(t, 2)
	release := make(chan struct{})
	var busy sync.WaitGroup
	busy.Add(maxCalls)
	hosts[1].Handle(func(ctx context.Context, _ keys.ID, method string, _ []byte) ([]byte, *fault.Fault) {
		if method == "wait" {
			busy.Done()
			<-release
		}
		return nil, nil
	})
	meetAll(t, hosts...)
	ctx := within(t)
	var waiting sync.WaitGroup
	for range maxCalls {
		waiting.Go(func() {
			if _, err := hosts[0].Call(ctx, hosts[1].Self(), "wait", nil); err != nil {
				t.Error(err)
			}
		})
	}
	busy.Wait()
	_, err := hosts[0].Call(ctx, hosts[1].Self(), "more", nil)
	if remote, ok := errors.AsType[*protocol.RemoteError](err); !ok ||
		remote.Fault.String() != "it takes no more of this for now: 32 is the limit" {
		t.Errorf("one call too many: %v", err)
	}
	close(release)
	waiting.Wait()
	if _, err := hosts[0].Call(ctx, hosts[1].Self(), "more", nil); err != nil {
		t.Errorf("a call after the others: %v", err)
	}
}

// TestCallerGone ends a handler when its caller gives up, or has run out of time.
func TestCallerGone(t *testing.T) {
	hosts := federation(t, 2)
	entered, ended := make(chan bool, 32), make(chan error, 32)
	hosts[1].Handle(func(ctx context.Context, _ keys.ID, _ string, _ []byte) ([]byte, *fault.Fault) {
		_, limited := ctx.Deadline()
		entered <- limited
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, &fault.Fault{Code: fault.CodeStopped}
	})
	meetAll(t, hosts...)
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan error, 1)
	go func() {
		_, err := hosts[0].Call(ctx, hosts[1].Self(), "stuck", nil)
		called <- err
	}()
	<-entered
	cancel()
	if err := <-called; !errors.Is(err, context.Canceled) ||
		err.Error() != `insurer did not answer "stuck": context canceled` {
		t.Errorf("a cancelled call: %v", err)
	}
	if err := <-ended; err == nil {
		t.Error("the handler's context has no error")
	}
	for wait := 100 * time.Millisecond; ; wait *= 2 { // on a busy machine the time may be up before the call is there
		ctx, cancel := context.WithTimeout(t.Context(), wait)
		_, err := hosts[0].Call(ctx, hosts[1].Self(), "stuck", nil)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("a call that takes too long: %v", err)
		}
		select {
		case limited := <-entered:
			if !limited {
				t.Error("the deadline did not come along")
			}
			<-ended
			return
		default:
		}
	}
}

// TestCallAbsent calls a member that is not there, before and after the first attempt.
func TestCallAbsent(t *testing.T) {
	ks := newKeys(t, 2)
	h := start(t, config(ks[0], signed(t, draft(ks), ks)))
	_, err := h.Call(within(t), ks[1].ID(), "x", nil)
	gone, ok := errors.AsType[*protocol.GoneError](err)
	if !ok || gone.Peer != ks[1].ID() || gone.Reason != "no address is known for insurer: the charter lists none, and discovery has found none" {
		t.Errorf("a call to an absent member: %v", err)
	}
	early, err := New(config(ks[1], signed(t, draft(ks), ks)))
	mustDo(t, err)
	defer early.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := early.Call(ctx, ks[0].ID(), "x", nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a call before Run: %v", err)
	}
}

// TestReadBlock takes blocks of all sizes off a stream, whole or not at all.
func TestReadBlock(t *testing.T) {
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	for _, n := range []int{0, 1, 64 << 10, 64<<10 + 1, 100_000, len(data)} {
		got, err := readBlock(bytes.NewReader(data), n)
		if err != nil || !bytes.Equal(got, data[:n]) || cap(got) > max(2*n, 64<<10) {
			t.Errorf("%d bytes: got %d in %d, %v", n, len(got), cap(got), err)
		}
		if got, err := readBlock(bytes.NewReader(data[:n]), n+1); err == nil || got != nil {
			t.Errorf("%d of %d bytes: got %d, %v", n, n+1, len(got), err)
		}
	}
}
