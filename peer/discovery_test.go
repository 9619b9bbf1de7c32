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

	"github.com/hanse-project/hanse/keys"
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
		if err != nil {
			t.Fatal(err)
		}
		hosts[i] = h
	}
	hub := hosts[2]
	introduce(t, hosts[0], hub)
	introduce(t, hosts[1], hub)
	for _, h := range hosts {
		run(t, h)
	}
	meetAll(t, hosts...)
	openAll(t, protocol.Room{1}, hosts...)
}

// TestMDNS has two members find each other on the local network.
func TestMDNS(t *testing.T) {
	interfaces, err := net.Interfaces()
	if err != nil {
		t.Fatal(err)
	}
	multicast := func(i net.Interface) bool { return i.Flags&net.FlagUp != 0 && i.Flags&net.FlagMulticast != 0 }
	if !slices.ContainsFunc(interfaces, multicast) {
		t.Skip("no interface of this machine is up and has multicast")
	}
	ks := newKeys(t, 2)
	c := signed(t, draft(ks), ks)
	var hosts []*Host
	for _, k := range ks {
		cfg := config(k, c)
		cfg.Discovery = []string{DiscoverMDNS}
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
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range ks[1:] {
		p, err := peerID(k.ID())
		if err != nil {
			t.Fatal(err)
		}
		mdnsListener{h.heardOf}.HandlePeerFound(libpeer.AddrInfo{ID: p, Addrs: []multiaddr.Multiaddr{a}})
	}
	if got := h.book.candidates(ks[1].ID()); len(got) != 1 || !got[0].Equal(a) {
		t.Errorf("the member may be at %v, want %v", got, a)
	}
	if got := h.book.candidates(ks[2].ID()); len(got) != 0 {
		t.Errorf("a stranger may be at %v", got)
	}
}

// TestMeetingNames are equal for all versions of a charter, and tell nothing of it.
func TestMeetingNames(t *testing.T) {
	if got, want := mdnsService("credit"), "_hanse-e7816d62abc1a89d._udp"; got != want {
		t.Errorf("mDNS service %q, want %q", got, want)
	}
	if got, want := string(dhtPrefix("credit")), "/hanse/921e1fc548fb2b1e"; got != want {
		t.Errorf("DHT prefix %q, want %q", got, want)
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
	if err != nil {
		t.Fatal(err)
	}
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
	meshes := openAll(t, protocol.Room{1}, low, high)
	ctx, want := within(t), []byte("over QUIC")
	if err := meshes[0].Send(ctx, high.Self(), want); err != nil {
		t.Fatal(err)
	}
	if got, err := meshes[1].Receive(ctx, low.Self(), nil); err != nil || string(got) != string(want) {
		t.Errorf("received %q, %v", got, err)
	}
	if err := meshes[0].Close(); err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	introduce(t, first, high)
	run(t, first)
	meetAll(t, first, high)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, stateName))
	if err != nil {
		t.Fatal(err)
	}
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
	if err := os.WriteFile(filepath.Join(dir, stateName), []byte("[[peer]]\ncolour = 3\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	log := new(lines)
	cfg := config(ks[0], signed(t, draft(ks), ks))
	cfg.StateDir, cfg.Log = dir, newLog(log)
	start(t, cfg)
	if !slices.ContainsFunc(log.all(), func(s string) bool {
		return strings.HasPrefix(s, "WARN the learned addresses are ignored reason=") && strings.Contains(s, "colour")
	}) {
		t.Errorf("no warning in %q", log.all())
	}
	cfg.StateDir = filepath.Join(dir, stateName, "below a file")
	if h, err := New(cfg); err == nil || !strings.HasPrefix(err.Error(), "the folder for learned addresses: ") {
		t.Errorf("a folder that cannot be made: %v, %v", h, err)
	}
}

// TestBook orders and filters addresses.
func TestBook(t *testing.T) {
	id := newKeys(t, 1)[0].ID()
	addr := func(s string) multiaddr.Multiaddr {
		a, err := multiaddr.NewMultiaddr(s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	b := &book{entries: make(map[keys.ID]*entry)}
	b.charter(id, []string{"/dns4/bank.example/tcp/4001", "/ip4/192.0.2.7/udp/4001/quic-v1", "/ip4/0.0.0.0/tcp/4001", "nonsense"})
	news := b.news(id)
	b.found(id, []multiaddr.Multiaddr{addr("/ip4/10.0.0.1/tcp/1"), addr("/ip4/10.0.0.1/tcp/1/ws"), addr("/ip4/10.0.0.2/tcp/2")})
	<-news
	news = b.news(id)
	b.found(id, []multiaddr.Multiaddr{addr("/ip4/10.0.0.1/tcp/1")})
	select {
	case <-news:
		t.Error("a known address is news")
	default:
	}
	b.told(id, []string{"/ip4/127.0.0.1/tcp/3", "/ip4/10.0.0.3/tcp/3"}, addr("/ip4/10.0.0.3/tcp/50000"))
	if err := b.worked(id, addr("/ip4/10.0.0.2/tcp/2")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range b.candidates(id) {
		got = append(got, a.String())
	}
	want := []string{"/dns4/bank.example/tcp/4001", "/ip4/10.0.0.2/tcp/2", "/ip4/10.0.0.3/tcp/3", "/ip4/10.0.0.1/tcp/1"}
	if !slices.Equal(got, want) {
		t.Errorf("candidates %q, want %q", got, want)
	}
	for i := range 3 * addressesKept {
		b.found(id, []multiaddr.Multiaddr{addr("/ip4/10.1.0.1/tcp/" + string(rune('1'+i%9)) + string(rune('1'+i/9)))})
	}
	if n := len(b.of(id).found); n != addressesKept {
		t.Errorf("%d found addresses are kept, want %d", n, addressesKept)
	}
}

// TestPreferTCP gives TCP its head start, and none where there is only QUIC.
func TestPreferTCP(t *testing.T) {
	tcp, err := multiaddr.NewMultiaddr("/ip4/192.0.2.1/tcp/1")
	if err != nil {
		t.Fatal(err)
	}
	quic, err := multiaddr.NewMultiaddr("/ip4/192.0.2.1/udp/1/quic-v1")
	if err != nil {
		t.Fatal(err)
	}
	both := preferTCP([]multiaddr.Multiaddr{quic, tcp})
	if both[0].Delay <= 0 || both[1].Delay != 0 {
		t.Errorf("delays %v and %v, want QUIC after TCP", both[0].Delay, both[1].Delay)
	}
	if alone := preferTCP([]multiaddr.Multiaddr{quic}); alone[0].Delay != 0 {
		t.Errorf("QUIC alone is delayed by %v", alone[0].Delay)
	}
}
