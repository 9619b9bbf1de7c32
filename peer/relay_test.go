package peer

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
	circuit "github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// behindNAT is a charter whose first member relays for all others, who listen nowhere.
func behindNAT(t testing.TB, n int, change ...func(*keys.Charter)) ([]*keys.PrivateKey, *keys.SignedCharter) {
	t.Helper()
	ks := newKeys(t, n)
	d := draft(ks)
	d.Members[0].Addresses = []string{"/ip4/127.0.0.1/tcp/4001"} // startBehindNAT says where it is
	d.Members[0].Relay = true
	for _, f := range change {
		f(&d)
	}
	return ks, signed(t, d, ks)
}

// startBehindNAT starts the relay, on a port that is free, and the others.
func startBehindNAT(t testing.TB, ks []*keys.PrivateKey, c *keys.SignedCharter) []*Host {
	t.Helper()
	var hosts []*Host
	for i, k := range ks {
		cfg := config(k, c)
		cfg.Discovery = []string{}
		if i > 0 {
			cfg.Listen = nil // as the charter says: they only dial out
		}
		h, err := New(cfg)
		mustDo(t, err)
		if i > 0 {
			introduce(t, h, hosts[0])
		}
		run(t, h)
		hosts = append(hosts, h)
	}
	return hosts
}

// TestRelay has two members meet that listen nowhere: through a third. Their session's frames are TLS between the two:
// the relay's own traffic with them holds nothing of what they said, nor do their counts with it.
func TestRelay(t *testing.T) {
	t.Parallel()
	ks, c := behindNAT(t, 3)
	hosts := startBehindNAT(t, ks, c)
	meetAll(t, hosts...)
	for i, h := range hosts[1:] {
		other := hosts[2-i]
		s := statusOf(t, h, other.Self())
		if s.Relay != nameAt(0) || !strings.Contains(s.Address, "/p2p-circuit") {
			t.Errorf("%s sees %s at %s through %q, want through %q", nameAt(i+1), s.Name, s.Address, s.Relay, nameAt(0))
		}
		if s := statusOf(t, h, hosts[0].Self()); s.Relay != "" {
			t.Errorf("%s sees the relay through %q", nameAt(i+1), s.Relay)
		}
	}
	before := hosts[1].Traffic()
	payload := bytes.Repeat([]byte("what the two say to each other  "), 100_000)
	meshes := openAll(t, protocol.SessionID{7}, hosts[1:]...)
	sent := make(chan error, 1)
	go func() { sent <- meshes[0].Send(within(t), hosts[2].Self(), payload) }()
	got, err := meshes[1].Receive(within(t), hosts[1].Self(), nil)
	if err := errors.Join(err, <-sent); err != nil || !bytes.Equal(got, payload) {
		t.Fatalf("%d bytes arrive of %d: %v", len(got), len(payload), err)
	}
	after := hosts[1].Traffic()
	grown := func(id keys.ID) int64 { return after[id].Out - before[id].Out }
	if n := grown(hosts[2].Self()); n < int64(len(payload)) {
		t.Errorf("%d bytes count as sent to the other end, want %d and more", n, len(payload))
	}
	if n := grown(hosts[0].Self()); n > 10_000 {
		t.Errorf("%d bytes count as sent to the relay, which only carried them", n)
	}
}

// TestRelayServesMembersOnly has a stranger, an invited newcomer and a member ask a relay for a place.
// The first two have no link that would carry the question, and the member may call members only.
func TestRelayServesMembersOnly(t *testing.T) {
	t.Parallel()
	ks, c := behindNAT(t, 3)
	outside := newKeys(t, 2)
	stranger, newcomer := outside[0], outside[1]
	cfg := config(ks[0], c)
	cfg.Discovery = []string{}
	cfg.Invited = func(id keys.ID) bool { return id == newcomer.ID() }
	h := start(t, cfg)
	own := config(ks[1], c)
	own.Listen, own.Discovery = nil, []string{}
	member := start(t, own)
	introduce(t, member, h)
	meetAll(t, h, member)
	// The stranger keeps to nothing: a bare node that asks at once. The newcomer says hello as it should.
	p, err := peerID(h.Self())
	mustDo(t, err)
	n, err := newNode(nodeParts{key: stranger, gater: onlyDials(p), meter: newMeter(), members: 2})
	mustDo(t, err)
	defer n.Close()
	n.host.Peerstore().AddAddrs(p, h.node.addresses(), forever)
	if conn, err := n.swarm.DialPeer(within(t), p); err == nil {
		if err := askForPlace(t, n, conn); err == nil {
			t.Error("a stranger is given a place")
		}
	}
	invited, err := DialJoin(within(t), newcomer, h.Addresses()[0], nil)
	mustDo(t, err)
	defer invited.Close()
	if err := askForPlace(t, invited.node, invited.link.conn); err == nil {
		t.Error("an invited newcomer is given a place")
	}
	relay, err := peerID(h.Self())
	mustDo(t, err)
	if _, err := circuit.Reserve(within(t), overLinks{member.node.host, overDirect(member.members)},
		libpeer.AddrInfo{ID: relay}); err != nil {
		t.Errorf("a member is refused a place: %v", err)
	}
	// The member's neighbours are the charter's: it asks for a circuit to a stranger by hand.
	for who, k := range map[string]*keys.PrivateKey{"a stranger": stranger, "an invited newcomer": newcomer} {
		p, err := peerID(k.ID())
		mustDo(t, err)
		if (gate{h.members}).AllowConnect(relay, nil, p) || (gate{h.members}).AllowReserve(p, nil) {
			t.Errorf("the relay makes circuits to %s", who)
		}
	}
}

// askForPlace asks for a place at a relay over a connection, whatever there is on it.
func askForPlace(t *testing.T, n *node, conn network.Conn) error {
	t.Helper()
	over := overLinks{n.host, func(ctx context.Context, _ libpeer.ID, proto libproto.ID) (network.Stream, error) {
		return openNegotiated(ctx, conn, proto, nil)
	}}
	_, err := circuit.Reserve(within(t), over, libpeer.AddrInfo{ID: conn.RemotePeer()})
	return err
}

// TestOnlyRelaysBringCalls has a member that does not relay by the charter open a stream as relays do to their clients.
func TestOnlyRelaysBringCalls(t *testing.T) {
	t.Parallel()
	hosts := federation(t, 2)
	meetAll(t, hosts...)
	p, err := peerID(hosts[1].Self())
	mustDo(t, err)
	if _, err := circuit.Reserve(within(t), overLinks{hosts[0].node.host, overDirect(hosts[0].members)},
		libpeer.AddrInfo{ID: p}); err == nil {
		t.Error("a member that does not relay gives a place")
	}
	s, err := overDirect(hosts[0].members)(within(t), p, protoStop)
	if err != nil {
		return // refused at once
	}
	defer s.Reset()
	s.SetReadDeadline(time.Now().Add(patience))
	if n, err := s.Read(make([]byte, 1)); n > 0 || timedOut(err) {
		t.Errorf("a member that does not relay brings a call: %d bytes, %v", n, err)
	}
}

// TestRelayLimits keeps a relay to the charter's limits: a circuit that has carried its bytes ends, and its ends
// connect anew; a member beyond the reservations is told why.
func TestRelayLimits(t *testing.T) {
	t.Parallel()
	ks, c := behindNAT(t, 3, func(d *keys.Charter) { d.Relay = keys.RelayLimits{MiB: 1, Minutes: 60} })
	hosts := startBehindNAT(t, ks, c)
	meetAll(t, hosts...)
	first := statusOf(t, hosts[1], hosts[2].Self()).Since
	meshes := openAll(t, protocol.SessionID{7}, hosts[1:]...)
	payload := make([]byte, 3<<20)
	go meshes[0].Send(within(t), hosts[2].Self(), payload)
	if _, err := meshes[1].Receive(within(t), hosts[1].Self(), nil); err == nil {
		t.Fatal("3 MiB arrive through a circuit that may carry 1")
	}
	until(t, hosts[1], hosts[2].Self(), "connected anew",
		func(s PeerStatus) bool { return s.Connected && s.Since.After(first) })
}

// TestRelayHasNoPlace refuses a place beyond the charter's number, and says so.
func TestRelayHasNoPlace(t *testing.T) {
	t.Parallel()
	ks, c := behindNAT(t, 3, func(d *keys.Charter) { d.Relay = keys.RelayLimits{Reservations: 1} })
	hosts := startBehindNAT(t, ks, c)
	meetAll(t, hosts[0], hosts[1])
	meetAll(t, hosts[0], hosts[2])
	relay, err := peerID(hosts[0].Self())
	mustDo(t, err)
	var refused []string
	for _, h := range hosts[1:] {
		_, err := circuit.Reserve(within(t), overLinks{h.node.host, overDirect(h.members)}, libpeer.AddrInfo{ID: relay})
		if err != nil {
			refused = append(refused, explainRelay(err))
		}
	}
	if want := []string{"the relay has no place left: the charter bounds its reservations"}; !slices.Equal(refused, want) {
		t.Errorf("refused: %q, want %q", refused, want)
	}
}

// TestRelayBegins has a member relay from the version of the charter on that says so.
func TestRelayBegins(t *testing.T) {
	t.Parallel()
	ks, one := behindNAT(t, 3, func(d *keys.Charter) { d.Members[0].Relay = false })
	hosts := startBehindNAT(t, ks, one)
	meetAll(t, hosts[0], hosts[1])
	meetAll(t, hosts[0], hosts[2])
	d := one.Next()
	d.Members[0].Relay = true
	two := signed(t, d, ks)
	for _, h := range hosts {
		mustDo(t, h.SetCharter(two))
	}
	meetAll(t, hosts...)
}

// TestHolesSendNoPrivateAddress asks what a member tells another for a hole to be punched: where the relay between them
// sees it and public addresses, not where a neighbour in a private network does.
func TestHolesSendNoPrivateAddress(t *testing.T) {
	t.Parallel()
	ks, c := behindNAT(t, 3)
	hosts := startBehindNAT(t, ks, c)
	meetAll(t, hosts...)
	var list []multiaddr.Multiaddr
	for _, text := range []string{"/ip4/10.0.0.7/tcp/9", "/ip4/203.0.113.7/tcp/9", "/ip4/10.0.0.8/tcp/9",
		"/ip4/127.0.0.1/tcp/9"} {
		a, err := multiaddr.NewMultiaddr(text)
		mustDo(t, err)
		list = append(list, a)
	}
	h, said := hosts[1], false
	for ctx := within(t); !said && ctx.Err() == nil; runtime.Gosched() { // the relay says once how it sees this member
		l := h.members.linkOf(hosts[0].Self())
		if said = l.seen.Load() != nil; said {
			l.seen.Store(&list[0])
		}
	}
	for to, want := range map[int]int{0: 1, 2: 2} {
		got := punchFilter{h.puncher}.FilterLocal(hosts[to].node.id, list)
		if len(got) != want || slices.ContainsFunc(got, func(a multiaddr.Multiaddr) bool {
			return a.Equal(list[2]) || a.Equal(list[3])
		}) {
			t.Errorf("%s is told %v", nameAt(to), got)
		}
	}
}
