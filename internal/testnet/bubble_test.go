package testnet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/hanse-project/hanse/internal/testnet"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// bubble is a federation on fake time. synctest.Wait returns when everybody is blocked, and a
// federation that is stuck fails the test at once.
type bubble struct {
	*testing.T
	*testnet.Network
	ids    []keys.ID
	meshes []protocol.Mesh
}

// inBubble runs f with n members that have opened a session.
func inBubble(t *testing.T, n int, f func(t *testing.T, b *bubble)) {
	synctest.Test(t, func(t *testing.T) {
		net, ids := network(t, n)
		b := &bubble{T: t, Network: net, ids: ids}
		b.meshes = b.open(protocol.SessionID{1})
		f(t, b)
	})
}

// open has all members that are up open a session and returns their meshes by member.
func (b *bubble) open(session protocol.SessionID, down ...int) []protocol.Mesh {
	b.Helper()
	meshes := make([]protocol.Mesh, len(b.ids))
	var waits []func() error
	for i := range b.ids {
		if slices.Contains(down, i) {
			continue
		}
		var peers []keys.ID
		for k, id := range b.ids {
			if k != i && !slices.Contains(down, k) {
				peers = append(peers, id)
			}
		}
		waits = append(waits, begin(func() (err error) {
			meshes[i], err = b.Transport(b.ids[i]).Open(b.Context(), session, peers)
			return err
		}))
	}
	for _, wait := range waits {
		if err := wait(); err != nil {
			b.Fatal(err)
		}
	}
	return meshes
}

// begin runs f beside the test; the function it returns waits for its error.
func begin(f func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() error { return <-done }
}

// send sends text from one member to another.
func (b *bubble) send(from, to int, text string) error {
	return b.meshes[from].Send(b.Context(), b.ids[to], []byte(text))
}

// receive returns the next text from one member at another.
func (b *bubble) receive(from, at int) (string, error) {
	frame, err := b.meshes[at].Receive(b.Context(), b.ids[from], nil)
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
	if !errors.As(err, &gone) || gone.Peer != b.ids[member] || gone.Reason != reason {
		b.Errorf("got error %v, want %s gone: %s", err, b.ids[member].Short(), reason)
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
