package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// wantGone checks that err says that a certain member is gone.
func wantGone(err error, id keys.ID) error {
	var gone *protocol.GoneError
	switch {
	case !errors.As(err, &gone):
		return fmt.Errorf("got error %v, want a *protocol.GoneError", err)
	case gone.Peer != id:
		return fmt.Errorf("%s is said to be gone, want %s", gone.Peer.Short(), id.Short())
	case gone.Reason == "":
		return fmt.Errorf("no reason is given why %s is gone", id.Short())
	}
	return nil
}

// sendUntil sends until a Send fails: a transport may notice late that nobody reads any more.
func sendUntil(ctx context.Context, m protocol.Mesh, to keys.ID) error {
	for {
		if err := m.Send(ctx, to, numbered(0, 100)); err != nil {
			return err
		}
	}
}

// testDrain closes a mesh right after sending; the peer gets everything, and then the end.
func testDrain(t *testing.T, make makeFunc) {
	const count = 9
	ctx := within(t)
	a, b, ida, idb := two(ctx, t, make)
	if err := sendNumbered(ctx, a, idb, count); err != nil {
		t.Fatal(err)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
	if err := receiveNumbered(ctx, b, ida, count); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		_, err := b.Receive(ctx, ida, nil)
		if err := wantGone(err, ida); err != nil {
			t.Fatal(err)
		}
	}
}

// testPeerCloses closes a mesh while the peer receives, and while another peer sends.
func testPeerCloses(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 3)
	meshes := openAll(ctx, t, transports, sessionID(t, 0))
	id := transports[0].Self()
	together(t, 3, func(i int) error {
		switch i {
		case 0:
			return meshes[0].Close()
		case 1:
			_, err := meshes[1].Receive(ctx, id, nil)
			return errors.Join(wantGone(err, id), wantGone(sendUntil(ctx, meshes[1], id), id))
		}
		return wantGone(sendUntil(ctx, meshes[2], id), id)
	})
	// The two that are left still have each other.
	if err := meshes[1].Send(ctx, transports[2].Self(), []byte("still here")); err != nil {
		t.Fatal(err)
	}
	if err := expect(ctx, meshes[2], transports[1].Self(), []byte("still here")); err != nil {
		t.Fatal(err)
	}
}

// testOwnClose closes a mesh beside its own pending Receive and a Send that is blocked or will be.
func testOwnClose(t *testing.T, make makeFunc) {
	ctx := within(t)
	a, _, _, idb := two(ctx, t, make)
	closing, cancel := context.WithTimeout(ctx, brief)
	defer cancel()
	together(t, 3, func(i int) error {
		switch i {
		case 0:
			<-closing.Done()
			return a.Close()
		case 1:
			if _, err := a.Receive(ctx, idb, nil); err == nil {
				return errors.New("a frame was received from nobody")
			}
			return nil
		}
		if n, err := fill(ctx, a, idb); err == nil {
			return fmt.Errorf("%d frames were sent on a mesh that was closed meanwhile", n)
		}
		return nil
	})
	if ctx.Err() != nil {
		t.Fatal("close did not end the calls, the deadline did")
	}
	if err := a.Send(ctx, idb, []byte{1}); err == nil {
		t.Error("a frame was sent on a closed mesh")
	}
	if _, err := a.Receive(ctx, idb, nil); err == nil {
		t.Error("a frame was received on a closed mesh")
	}
}

// testCloseOneSession closes one of two sessions of the same parties.
func testCloseOneSession(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 2)
	first := openAll(ctx, t, transports, sessionID(t, 1))
	second := openAll(ctx, t, transports, sessionID(t, 2))
	first[0].Close()
	_, err := first[1].Receive(ctx, transports[0].Self(), nil)
	if err := wantGone(err, transports[0].Self()); err != nil {
		t.Fatal(err)
	}
	if err := second[1].Send(ctx, transports[0].Self(), []byte("open")); err != nil {
		t.Fatal(err)
	}
	if err := expect(ctx, second[0], transports[1].Self(), []byte("open")); err != nil {
		t.Fatal(err)
	}
}

// testDeath ends a member while one peer receives from it and another sends to it.
func testDeath(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 3)
	meshes := openAll(ctx, t, transports, sessionID(t, 0))
	id := transports[0].Self()
	together(t, 3, func(i int) error {
		switch i {
		case 0:
			return die(transports[0])
		case 1:
			_, err := meshes[1].Receive(ctx, id, nil)
			return wantGone(err, id)
		}
		return wantGone(sendUntil(ctx, meshes[2], id), id)
	})
}
