package peer

import (
	"errors"
	"fmt"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// hub starts a server and n clients without addresses, each with the server as its neighbour.
// The server has no neighbours.
func hub(t *testing.T, n int) (server *Host, clients []*Host) {
	t.Helper()
	ks := newKeys(t, n+1)
	c := signed(t, draft(ks), ks)
	cfg := config(ks[0], c)
	cfg.Neighbours = []keys.ID{}
	server = start(t, cfg)
	for _, k := range ks[1:] {
		cfg := config(k, c)
		cfg.Listen, cfg.Neighbours = nil, []keys.ID{server.Self()}
		h, err := New(cfg)
		mustDo(t, err)
		introduce(t, h, server)
		run(t, h)
		clients = append(clients, h)
	}
	return server, clients
}

// TestOnlyNeighboursCostAnything looks at what hosts hold of members that are not near.
func TestOnlyNeighboursCostAnything(t *testing.T) {
	server, clients := hub(t, 3)
	awaitLinks(within(t), t, server, 3)
	for _, h := range clients {
		if got := h.Status(); len(got) != 1 || got[0].ID != server.Self() {
			t.Errorf("a client knows of %d members, want the server alone: %+v", len(got), got)
		}
		for i, other := range clients {
			if h.addresses.Knows(other.Self()) {
				t.Errorf("a client keeps addresses of client %d, who is no neighbour", i)
			}
		}
		if !h.addresses.Knows(server.Self()) {
			t.Error("a client keeps no address of the server")
		}
		if got := h.Addresses(); len(got) > 0 {
			t.Errorf("a client without an address listens on %v", got)
		}
	}
}

// TestAVisitorIsForgottenWithItsLink has a member connect that the host does not keep.
func TestAVisitorIsForgottenWithItsLink(t *testing.T) {
	ctx := within(t)
	server, clients := hub(t, 2)
	awaitLinks(ctx, t, server, 2)
	mustDo(t, clients[0].Close())
	awaitLinks(ctx, t, server, 1)
	if got := len(server.Status()); got != 1 {
		t.Errorf("%d members are known after one of two has left, want 1", got)
	}
	if server.addresses.Knows(clients[0].Self()) {
		t.Error("the addresses of the member that left are still kept")
	}
}

// TestAMemberThatIsNamedIsDialled calls, and opens a session with, a member that is no
// neighbour; somebody who is no member is refused as ever.
func TestAMemberThatIsNamedIsDialled(t *testing.T) {
	ks := newKeys(t, 3)
	d := draft(ks)
	d.Members[2].Addresses = []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", freePort(t))}
	c := signed(t, d, ks)
	cfg := config(ks[0], c)
	cfg.Listen, cfg.Neighbours = nil, []keys.ID{ks[1].ID()}
	low := start(t, cfg)
	cfg = config(ks[2], c)
	cfg.Listen, cfg.Neighbours = nil, []keys.ID{}
	high := start(t, cfg)
	high.Handle(answerHello)
	if _, err := low.Call(within(t), high.Self(), "hello", nil); err != nil {
		t.Errorf("a call of a member that is not near: %v", err)
	}
	openAll(t, protocol.SessionID{1}, low, high)
	_, err := low.Call(within(t), newKeys(t, 1)[0].ID(), "hello", nil)
	if _, ok := errors.AsType[*protocol.GoneError](err); !ok {
		t.Errorf("a call of somebody who is no member: %v, want a *GoneError", err)
	}
}

// TestNeighboursUnderANewCharter adds a member to the charter that is no neighbour, and one that
// is named as a neighbour already.
func TestNeighboursUnderANewCharter(t *testing.T) {
	ks := newKeys(t, 4)
	first := signed(t, draft(ks[:2]), ks[:2])
	cfg := config(ks[0], first)
	cfg.Neighbours = []keys.ID{ks[1].ID(), ks[2].ID()}
	h := start(t, cfg)
	if got := len(h.Status()); got != 1 {
		t.Fatalf("under the first charter %d members are kept, want 1", got)
	}
	d := draft(ks)
	d.Version, d.Parent, d.Created = 2, first.Digest(), first.Created
	mustDo(t, h.SetCharter(signed(t, d, ks)))
	got := h.Status()
	if len(got) != 2 || got[0].ID != ks[1].ID() || got[1].ID != ks[2].ID() {
		t.Errorf("under the second charter these are kept: %+v, want the two neighbours", got)
	}
}
