package testnet_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/testnet"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// bubble is a federation on fake time. synctest.Wait returns when everybody is blocked, and a
// federation that is stuck fails the test at once.
type bubble struct {
	*testing.T
	*testnet.Federation
	meshes []protocol.Mesh
}

// inBubble runs f with n members that have opened a session.
func inBubble(t *testing.T, n int, f func(t *testing.T, b *bubble)) {
	synctest.Test(t, func(t *testing.T) {
		b := &bubble{T: t, Federation: testnet.Found(t, testnet.Numbered(n)...)}
		b.open(1)
		f(t, b)
	})
}

// open has all members open a session, which takes the place of the one before.
func (b *bubble) open(number uint32) {
	b.Helper()
	b.meshes = b.Meshes(b, testnet.Meeting{Number: number})
}

// begin runs f beside the test; the function it returns waits for its error.
func begin(f func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() error { return <-done }
}

// send sends text from one member to another.
func (b *bubble) send(from, to int, text string) error {
	return b.meshes[from].Send(b.Context(), b.IDs[to], []byte(text))
}

// receive returns the next text from one member at another.
func (b *bubble) receive(from, at int) (string, error) {
	frame, err := b.meshes[at].Receive(b.Context(), b.IDs[from], nil)
	return string(frame), err
}

// expect receives texts.
func (b *bubble) expect(from, at int, want ...string) {
	b.Helper()
	for _, w := range want {
		if got, err := b.receive(from, at); err != nil || got != w {
			b.Fatalf("member %d received %q and error %v from member %d, want %q", at, got, err, from, w)
		}
	}
}

// sendAll sends texts and fails when one is not taken.
func (b *bubble) sendAll(from, to int, texts ...string) {
	b.Helper()
	for _, text := range texts {
		if err := b.send(from, to, text); err != nil {
			b.Fatal(err)
		}
	}
}

// wantGone checks that err says that a member is gone for a reason.
func (b *bubble) wantGone(err error, member int, reason string) {
	b.Helper()
	var gone *protocol.GoneError
	if !errors.As(err, &gone) || gone.Peer != b.IDs[member] || gone.Reason != reason {
		b.Errorf("got error %v, want %s gone: %s", err, b.IDs[member].Short(), reason)
	}
}

// wantText checks an error's exact message.
func wantText(t *testing.T, err error, format string, args ...any) {
	t.Helper()
	if want := fmt.Sprintf(format, args...); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

// forever is a handler that answers when its context ends, and says so.
func forever(ended chan<- error) protocol.Handler {
	return func(ctx context.Context, _ keys.ID, _ string, _ []byte) ([]byte, *fault.Fault) {
		<-ctx.Done()
		ended <- ctx.Err()
		return nil, &fault.Fault{Code: fault.CodeStopped}
	}
}
