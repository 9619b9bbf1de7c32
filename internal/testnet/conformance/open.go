package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// testMeet has three parties meet and greet each other.
func testMeet(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 3)
	meshes := openAll(ctx, t, transports, sessionID(t, 0))
	together(t, 3, func(i int) error {
		for _, id := range others(transports, i) {
			if err := meshes[i].Send(ctx, id, greeting(transports[i].Self(), id)); err != nil {
				return err
			}
		}
		for _, id := range others(transports, i) {
			if err := expect(ctx, meshes[i], id, greeting(id, transports[i].Self())); err != nil {
				return err
			}
		}
		return nil
	})
}

// greeting is a frame that only belongs on one link.
func greeting(from, to keys.ID) []byte { return []byte(from.String() + " greets " + to.String()) }

// expect receives one frame and compares it.
func expect(ctx context.Context, m protocol.Mesh, from keys.ID, want []byte) error {
	got, err := m.Receive(ctx, from, nil)
	if err != nil {
		return fmt.Errorf("receive from %s: %w", from.Short(), err)
	}
	if !bytes.Equal(got, want) {
		return fmt.Errorf("received %d bytes from %s, want other %d bytes: %.40q, want %.40q", len(got), from.Short(),
			len(want), got, want)
	}
	return nil
}

// testStar has a server open a session with two clients who do not ask for each other.
func testStar(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 3)
	server := transports[0].Self()
	together(t, 3, func(i int) error {
		peers := []keys.ID{server}
		if i == 0 {
			peers = others(transports, 0)
		}
		m, err := transports[i].Open(ctx, sessionID(t, 0), peers)
		if err != nil {
			return err
		}
		t.Cleanup(func() { m.Close() })
		if i > 0 {
			return m.Send(ctx, server, greeting(transports[i].Self(), server))
		}
		for _, id := range peers {
			if err := expect(ctx, m, id, greeting(id, server)); err != nil {
				return err
			}
		}
		return nil
	})
}

// testApart opens two sessions of the same parties; the second's frames do not come in the first.
func testApart(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 2)
	first := openAll(ctx, t, transports, sessionID(t, 1))
	second := openAll(ctx, t, transports, sessionID(t, 2))
	to, from := transports[1].Self(), transports[0].Self()
	together(t, 1, func(int) error {
		return errors.Join(
			second[0].Send(ctx, to, []byte("second")),
			first[0].Send(ctx, to, []byte("first")),
			expect(ctx, first[1], from, []byte("first")),
			expect(ctx, second[1], from, []byte("second")),
		)
	})
}

// testOnce opens a session again, while it is open and after it was closed.
func testOnce(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 2)
	meshes := openAll(ctx, t, transports, sessionID(t, 0))
	for range 2 {
		if _, err := transports[0].Open(ctx, sessionID(t, 0), others(transports, 0)); err == nil {
			t.Fatal("a session opened twice")
		}
		meshes[0].Close()
	}
}

// testLate has two parties open first; they do not get their meshes before the third asks.
func testLate(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 3)
	var asked atomic.Bool
	var open atomic.Int32
	prompt, cancel := context.WithTimeout(ctx, brief)
	defer cancel()
	together(t, 3, func(i int) error {
		if i == 2 {
			<-prompt.Done() // gives the others the time to be wrong
			asked.Store(true)
		}
		m, err := transports[i].Open(ctx, sessionID(t, 0), others(transports, i))
		if err != nil {
			return err
		}
		t.Cleanup(func() { m.Close() })
		open.Add(1)
		if !asked.Load() {
			return fmt.Errorf("party %d has its mesh although party 2 has not asked", i)
		}
		return nil
	})
	if open.Load() != 3 {
		t.Fatalf("%d parties have the session open, want 3", open.Load())
	}
}

// testAbsent opens a session to which one of two peers never comes.
func testAbsent(t *testing.T, make makeFunc) {
	transports := make(t, 3)
	ctx, cancel := context.WithTimeout(t.Context(), brief)
	defer cancel()
	absent := transports[2].Self()
	together(t, 2, func(i int) error {
		m, err := transports[i].Open(ctx, sessionID(t, 0), others(transports, i))
		if err == nil {
			m.Close()
			return fmt.Errorf("party %d has a mesh without party 2", i)
		}
		if !strings.Contains(err.Error(), absent.Short()) {
			return fmt.Errorf("party %d: the error does not name %s: %w", i, absent.Short(), err)
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("party %d: the error is not the context's: %w", i, err)
		}
		return nil
	})
}
