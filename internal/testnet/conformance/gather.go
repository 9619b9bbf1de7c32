package conformance

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// gather opens a session without everybody.
func gather(
	ctx context.Context, x protocol.Transport, r protocol.SessionID, peers []keys.ID,
) (protocol.Mesh, map[keys.ID]error, error) {
	return x.Gather(ctx, r, peers)
}

// testGatherAll gathers clients who all come; no wait for a deadline is needed then.
func testGatherAll(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 3)
	server := transports[0].Self()
	together(t, 3, func(i int) error {
		if i > 0 {
			m, err := transports[i].Open(ctx, sessionID(t, 0), []keys.ID{server})
			if err != nil {
				return err
			}
			t.Cleanup(func() { m.Close() })
			return m.Send(ctx, server, greeting(transports[i].Self(), server))
		}
		m, absent, err := gather(ctx, transports[0], sessionID(t, 0), others(transports, 0))
		if err != nil || len(absent) > 0 {
			return fmt.Errorf("gathered without %v: %w", absent, err)
		}
		t.Cleanup(func() { m.Close() })
		for _, id := range others(transports, 0) {
			if err := expect(ctx, m, id, greeting(id, server)); err != nil {
				return err
			}
		}
		return nil
	})
}

// testGatherSome gathers one client who comes, one who does not, one who is dead, and a key that
// nobody knows, from the lowest place and from the highest.
func testGatherSome(t *testing.T, make makeFunc) {
	ctx, transports := within(t), make(t, 4)
	for round, roles := range [][]int{{0, 1, 2}, {2, 1, 0}} {
		server, client, late := transports[roles[0]], transports[roles[1]], transports[roles[2]]
		dead, unknown := transports[3].Self(), keys.ID{1}
		if err := die(transports[3]); err != nil {
			t.Fatal(err)
		}
		brisk, cancel := context.WithTimeout(ctx, 2*brief)
		defer cancel()
		together(t, 2, func(i int) error {
			r := sessionID(t, uint32(round))
			if i == 1 {
				m, err := client.Open(ctx, r, []keys.ID{server.Self()})
				if err != nil {
					return err
				}
				t.Cleanup(func() { m.Close() })
				return expect(ctx, m, server.Self(), greeting(server.Self(), client.Self()))
			}
			m, absent, err := gather(brisk, server, r, []keys.ID{client.Self(), late.Self(), dead, unknown})
			if err != nil {
				return err
			}
			t.Cleanup(func() { m.Close() })
			if len(absent) != 3 {
				return fmt.Errorf("%d are absent, want 3: %v", len(absent), absent)
			}
			return errors.Join(
				wantAbsent(ctx, m, absent, late.Self()), wantAbsent(ctx, m, absent, dead), wantAbsent(ctx, m, absent, unknown),
				m.Send(ctx, client.Self(), greeting(server.Self(), client.Self())))
		})
	}
}

// wantAbsent checks that a peer is named as absent, and that its link is a broken one.
func wantAbsent(ctx context.Context, m protocol.Mesh, absent map[keys.ID]error, id keys.ID) error {
	_, err := m.Receive(ctx, id, nil)
	return errors.Join(wantGone(absent[id], id), wantGone(err, id), wantGone(m.Send(ctx, id, []byte("x")), id))
}

// testGatherNobody gathers where nobody comes.
func testGatherNobody(t *testing.T, make makeFunc) {
	transports := make(t, 2)
	ctx, cancel := context.WithTimeout(t.Context(), brief)
	defer cancel()
	_, _, err := gather(ctx, transports[0], sessionID(t, 0), others(transports, 0))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("gathered nobody with %v, want the deadline's error", err)
	}
	if _, _, err := gather(t.Context(), transports[0], sessionID(t, 1), nil); err == nil {
		t.Fatal("gathered a list of nobody, want an error")
	}
}
