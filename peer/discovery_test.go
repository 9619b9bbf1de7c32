package peer

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/peer/discovery"
	"github.com/hanse-project/hanse/protocol"
)

// TestDHT has two members find each other through a third, the only one whose address they know.
func TestDHT(t *testing.T) {
	ks := newKeys(t, 3)
	c := signed(t, draft(ks), ks)
	hosts := make([]*Host, len(ks))
	for i, k := range ks {
		cfg := config(k, c)
		cfg.Discovery = []string{DiscoverDHT}
		h, err := New(cfg)
		mustDo(t, err)
		hosts[i] = h
	}
	hub := hosts[2]
	introduce(t, hosts[0], hub)
	introduce(t, hosts[1], hub)
	for _, h := range hosts {
		run(t, h)
	}
	meetAll(t, hosts...)
	openAll(t, protocol.SessionID{1}, hosts...)
}

// TestTableKeepsToItself has a member ask another, in the DHT, where a third is that the other one only dials: what is
// known there is for that machine, and the third has told nobody.
func TestTableKeepsToItself(t *testing.T) {
	ks := newKeys(t, 4)
	c := signed(t, draft(ks), ks)
	hosts := make([]*Host, 3)
	for i := range hosts {
		cfg := config(ks[i], c)
		cfg.Discovery = []string{DiscoverDHT}
		h, err := New(cfg)
		mustDo(t, err)
		hosts[i] = h
	}
	asks, hub := hosts[0], hosts[2]
	introduce(t, asks, hub)
	introduce(t, hosts[1], hub)
	absent := ks[3].ID()
	point(t, hub, absent, "/ip4/127.0.0.1/tcp/1")
	for _, h := range hosts {
		run(t, h)
	}
	meetAll(t, hosts...) // by way of the table
	until(t, hub, absent, "dialled", troubled)
	p, err := peerID(absent)
	mustDo(t, err)
	for _, answer := range asks.table.dht.Load().Find(within(t), p) {
		if len(answer) > 0 {
			t.Errorf("the table tells where a member was dialled: %v", answer)
		}
	}
}

// TestMDNS has two members find each other on the local network.
func TestMDNS(t *testing.T) {
	interfaces, err := net.Interfaces()
	mustDo(t, err)
	multicast := func(i net.Interface) bool { return i.Flags&net.FlagUp != 0 && i.Flags&net.FlagMulticast != 0 }
	if !slices.ContainsFunc(interfaces, multicast) {
		t.Skip("no interface of this machine is up and has multicast")
	}
	ks := newKeys(t, 2)
	d := draft(ks)
	d.Rules.Discovery = []string{DiscoverMDNS}
	c := signed(t, d, ks)
	var hosts []*Host
	for _, k := range ks {
		cfg := config(k, c)
		cfg.Discovery = nil
		cfg.Listen = []string{"/ip4/0.0.0.0/tcp/0"}
		hosts = append(hosts, start(t, cfg))
	}
	meetAll(t, hosts...)
}

// TestHeardOf gives a host what mDNS found: members' addresses are kept, others' are not.
func TestHeardOf(t *testing.T) {
	ks := newKeys(t, 3)
	h := start(t, config(ks[0], signed(t, draft(ks[:2]), ks)))
	a, err := multiaddr.NewMultiaddr("/ip4/192.0.2.1/tcp/9")
	mustDo(t, err)
	for _, k := range ks[1:] {
		p, err := peerID(k.ID())
		mustDo(t, err)
		h.heardOf(libpeer.AddrInfo{ID: p, Addrs: []multiaddr.Multiaddr{a}})
	}
	if got := h.addresses.Candidates(ks[1].ID()); len(got) != 1 || !got[0].Equal(a) {
		t.Errorf("the member may be at %v, want %v", got, a)
	}
	if got := h.addresses.Candidates(ks[2].ID()); len(got) != 0 {
		t.Errorf("a stranger may be at %v", got)
	}
}

// TestQUIC runs two hosts that know only each other's QUIC address.
func TestQUIC(t *testing.T) {
	ks := newKeys(t, 2)
	c := signed(t, draft(ks), ks)
	cfg := config(ks[1], c)
	cfg.QUIC = true
	high := start(t, cfg)
	cfg.Key = ks[0]
	low, err := New(cfg)
	mustDo(t, err)
	udp := slices.DeleteFunc(high.Addresses(), func(a string) bool { return !strings.Contains(a, "/udp/") })
	if len(udp) != 1 {
		t.Fatalf("listens at %q, want one QUIC address", high.Addresses())
	}
	point(t, low, high.Self(), strings.Split(udp[0], "/p2p/")[0])
	run(t, low)
	meetAll(t, low, high)
	if s := statusOf(t, low, high.Self()); !strings.HasSuffix(s.Address, "/quic-v1") {
		t.Errorf("connected to %s, want QUIC", s.Address)
	}
	meshes := openAll(t, protocol.SessionID{1}, low, high)
	ctx, want := within(t), []byte("over QUIC")
	mustDo(t, meshes[0].Send(ctx, high.Self(), want))
	if got, err := meshes[1].Receive(ctx, low.Self(), nil); err != nil || string(got) != string(want) {
		t.Errorf("received %q, %v", got, err)
	}
	mustDo(t, meshes[0].Close())
	if _, err := meshes[1].Receive(ctx, low.Self(), nil); err == nil {
		t.Error("received from a closed mesh")
	}
	high.Handle(answerHello)
	if got, err := low.Call(ctx, high.Self(), "hello", nil); err != nil || string(got) != "hello" {
		t.Errorf("call: %q, %v", got, err)
	}
}

// TestLearned connects by an address that only an earlier run knew.
func TestLearned(t *testing.T) {
	ks := newKeys(t, 2)
	c := signed(t, draft(ks), ks)
	high := start(t, config(ks[1], c))
	dir := filepath.Join(t.TempDir(), "state")
	cfg := config(ks[0], c)
	cfg.StateDir = dir
	first, err := New(cfg)
	mustDo(t, err)
	introduce(t, first, high)
	run(t, first)
	meetAll(t, first, high)
	mustDo(t, first.Close())
	text, err := os.ReadFile(filepath.Join(dir, discovery.PeersFile))
	mustDo(t, err)
	want := "# Addresses at which members of the charter were reached, the latest first.\n" +
		"# Kept by the node; it may be deleted while the node does not run.\n" +
		"\n[[peer]]\nid = \"" + high.Self().String() + "\"\naddresses = [\"" + at(t, high) + "\"]\n"
	if string(text) != want {
		t.Errorf("the file is\n%s\nwant\n%s", text, want)
	}
	meetAll(t, start(t, cfg), high)
}

// TestDamagedState starts with a file that is not ours: a warning, and nothing learned.
func TestDamagedState(t *testing.T) {
	ks := newKeys(t, 2)
	dir := t.TempDir()
	mustDo(t, os.WriteFile(filepath.Join(dir, discovery.PeersFile), []byte("[[peer]]\ncolour = 3\n"), 0o600))
	log := new(lines)
	cfg := config(ks[0], signed(t, draft(ks), ks))
	cfg.StateDir, cfg.Log = dir, newLog(log)
	start(t, cfg)
	if !slices.ContainsFunc(log.all(), func(s string) bool {
		return strings.HasPrefix(s, "WARN the learned addresses are ignored reason=") && strings.Contains(s, "colour")
	}) {
		t.Errorf("no warning in %q", log.all())
	}
	cfg.StateDir = filepath.Join(dir, discovery.PeersFile, "below a file")
	if h, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), "the folder for learned addresses: ") {
		t.Errorf("a folder that cannot be made: %v, %v", h, err)
	}
}

// TestPreferTCP gives TCP its head start, and none where there is only QUIC.
func TestPreferTCP(t *testing.T) {
	tcp, err := multiaddr.NewMultiaddr("/ip4/192.0.2.1/tcp/1")
	mustDo(t, err)
	quic, err := multiaddr.NewMultiaddr("/ip4/192.0.2.1/udp/1/quic-v1")
	mustDo(t, err)
	both := preferTCP([]multiaddr.Multiaddr{quic, tcp})
	if both[0].Delay <= 0 || both[1].Delay != 0 {
		t.Errorf("delays %v and %v, want QUIC after TCP", both[0].Delay, both[1].Delay)
	}
	if alone := preferTCP([]multiaddr.Multiaddr{quic}); alone[0].Delay != 0 {
		t.Errorf("QUIC alone is delayed by %v", alone[0].Delay)
	}
}
