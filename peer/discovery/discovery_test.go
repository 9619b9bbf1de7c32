package discovery

import (
	"fmt"
	"net"
	"reflect"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/multiformats/go-multiaddr"
)

// newID draws a member's id.
func newID(t testing.TB) keys.ID {
	t.Helper()
	k, err := keys.GenerateKey()
	if err != nil {
		t.Fatal(err)
	}
	return k.ID()
}

// TestGroupNames are equal for all versions of a charter, and tell nothing of it.
func TestGroupNames(t *testing.T) {
	if got, want := mdnsService("credit"), "_hanse-e7816d62abc1a89d._udp"; got != want {
		t.Errorf("mDNS service %q, want %q", got, want)
	}
	if got, want := string(dhtPrefix("credit")), "/hanse/921e1fc548fb2b1e"; got != want {
		t.Errorf("DHT prefix %q, want %q", got, want)
	}
}

// TestAddressBook orders and filters addresses.
func TestAddressBook(t *testing.T) {
	id := newID(t)
	addr := func(s string) multiaddr.Multiaddr {
		a, err := multiaddr.NewMultiaddr(s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	b := &AddressBook{members: make(map[keys.ID]*entry), around: inNetworks("10.0.0.9/8")}
	b.SetCharter(id, []string{"/dns4/bank.example/tcp/4001", "/ip4/192.0.2.7/udp/4001/quic-v1", "/ip4/0.0.0.0/tcp/4001",
		"nonsense"})
	news := b.News(id)
	b.Found(id, []multiaddr.Multiaddr{addr("/ip4/10.0.0.1/tcp/1"), addr("/ip4/10.0.0.1/tcp/1/ws"),
		addr("/ip4/10.0.0.2/tcp/2")})
	<-news
	news = b.News(id)
	b.Found(id, []multiaddr.Multiaddr{addr("/ip4/10.0.0.1/tcp/1")})
	select {
	case <-news:
		t.Error("a known address is news")
	default:
	}
	b.SetOwn(id, []string{"/ip4/127.0.0.1/tcp/3", "/ip4/10.0.0.3/tcp/3"}, InNetwork)
	if err := b.Worked(id, addr("/ip4/10.0.0.2/tcp/2")); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, a := range b.Candidates(id) {
		got = append(got, a.String())
	}
	want := []string{"/dns4/bank.example/tcp/4001", "/ip4/10.0.0.2/tcp/2", "/ip4/10.0.0.3/tcp/3", "/ip4/10.0.0.1/tcp/1"}
	if !slices.Equal(got, want) {
		t.Errorf("candidates %q, want %q", got, want)
	}
	for i := range 3 * addressesKept {
		b.Found(id, []multiaddr.Multiaddr{addr("/ip4/10.1.0.1/tcp/" + string(rune('1'+i%9)) + string(rune('1'+i/9)))})
	}
	if n := len(b.of(id).found); n != addressesKept {
		t.Errorf("%d found addresses are kept, want %d", n, addressesKept)
	}
}

// FuzzState reads the file of learned addresses; what is kept of it is read again as it was.
func FuzzState(f *testing.F) {
	id := keys.ID{1}
	f.Add([]byte("[[peer]]\nid = \"" + id.String() + "\"\naddresses = [\"/ip4/192.0.2.7/tcp/4001\"]\n"))
	f.Add([]byte("peer = 3"))
	f.Fuzz(func(t *testing.T, text []byte) {
		learned, err := parsePeers(PeersFile, text)
		if err != nil {
			return
		}
		b := &AddressBook{members: make(map[keys.ID]*entry)}
		want := make(map[keys.ID][]string)
		for id, addresses := range learned {
			for _, a := range b.parse(addresses) {
				want[id] = append(want[id], a.String())
				b.of(id).worked = append(b.of(id).worked, a)
			}
		}
		got, err := parsePeers(PeersFile, b.render())
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Fatalf("%v is read again as %v, %v", want, got, err)
		}
	})
}

// inNetworks are the surroundings of a machine with these addresses.
func inNetworks(own ...string) Surroundings {
	return Surroundings{Networks: func() ([]net.Addr, error) {
		var out []net.Addr
		for _, text := range own {
			ip, network, err := net.ParseCIDR(text)
			if err != nil {
				return nil, err
			}
			out = append(out, &net.IPNet{IP: ip, Mask: network.Mask})
		}
		return out, nil
	}}
}

// TestReachOf sorts addresses by the network in which they mean one machine.
func TestReachOf(t *testing.T) {
	for text, want := range map[string]Reach{
		"/ip4/127.0.0.1/tcp/1": OnMachine, "/ip4/127.9.9.9/tcp/1": OnMachine, "/ip6/::1/tcp/1": OnMachine,
		"/dns4/localhost/tcp/1": OnMachine, "/ip6/::ffff:127.0.0.1/tcp/1": OnMachine,
		"/ip4/10.1.2.3/tcp/1": InNetwork, "/ip4/192.168.0.1/tcp/1": InNetwork, "/ip4/172.31.0.1/udp/1/quic-v1": InNetwork,
		"/ip4/169.254.1.1/tcp/1": InNetwork, "/ip4/100.64.0.1/tcp/1": InNetwork, "/ip6/fd00::1/tcp/1": InNetwork,
		"/ip6/fe80::1/tcp/1":      InNetwork,
		"/dns/x.LocalHost./tcp/1": OnMachine, "/ip6/64:ff9b::7f00:1/tcp/1": OnMachine, "/ip6/2002:7f00:1::1/tcp/1": OnMachine,
		"/ip6/::ffff:10.0.0.7/tcp/1": InNetwork, "/ip6/64:ff9b::a00:7/tcp/1": InNetwork,
		"/ip6/2002:a00:7::/tcp/1": InNetwork, "/ip6/64:ff9b:1::1/tcp/1": InNetwork, "/ip6/fec0::1/tcp/1": InNetwork,
		"/ip4/0.0.0.0/tcp/1": Nowhere, "/ip6/::/tcp/1": Nowhere, "/ip6/::ffff:0.0.0.0/tcp/1": Nowhere,
		"/ip4/0.1.2.3/tcp/1": Nowhere, "/ip4/224.0.0.251/udp/1/quic-v1": Nowhere, "/ip6/ff02::1/tcp/1": Nowhere,
		"/ip4/255.255.255.255/tcp/1": Nowhere, "/ip4/240.0.0.1/tcp/1": Nowhere, "/ip6/64:ff9b::/tcp/1": Nowhere,
		"/ip6/2002:e000:1::/tcp/1": Nowhere, "/ip6/::127.0.0.1/tcp/1": Nowhere, "/ip6/100::1/tcp/1": Nowhere,
		"/ip6/64:ff9b::cb00:7107/tcp/1": Anywhere,
		"/ip4/203.0.113.7/tcp/1":        Anywhere, "/ip4/172.32.0.1/tcp/1": Anywhere, "/ip6/2001:db8::1/tcp/1": Anywhere,
		"/dns4/bank.example/tcp/1": Anywhere,
	} {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := ReachOf(a); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}

// TestCandidatesStayInTheirNetwork dials no address beyond the network in which it means the member, wherever it was
// heard of.
func TestCandidatesStayInTheirNetwork(t *testing.T) {
	id := newID(t)
	parse := func(s string) multiaddr.Multiaddr {
		a, err := multiaddr.NewMultiaddr(s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	self := parse("/ip4/203.0.113.1/tcp/4001")
	for name, test := range map[string]struct {
		around Surroundings
		want   []string
	}{
		"public machine": {inNetworks("203.0.113.1/24"), []string{"/ip4/203.0.113.9/tcp/1"}},
		"another office": {inNetworks("192.168.7.2/24"), []string{"/ip4/10.0.0.7/tcp/1", "/ip4/203.0.113.9/tcp/1"}},
		"same office": {inNetworks("10.0.0.2/24"), []string{"/ip4/10.0.0.7/tcp/1", "/ip4/10.0.0.8/tcp/1",
			"/ip4/203.0.113.9/tcp/1"}},
		"this machine": {Surroundings{Machine: true, Networks: inNetworks().Networks}, []string{"/ip4/127.0.0.1/tcp/1",
			"/ip4/127.0.0.1/tcp/2", "/ip4/203.0.113.9/tcp/1"}},
	} {
		test.around.Own = func() []multiaddr.Multiaddr { return []multiaddr.Multiaddr{self} }
		b := &AddressBook{members: make(map[keys.ID]*entry), around: test.around}
		b.SetCharter(id, []string{"/ip4/127.0.0.1/tcp/1", "/ip4/10.0.0.7/tcp/1", self.String()})
		b.Found(id, []multiaddr.Multiaddr{parse("/ip4/203.0.113.9/tcp/1"), parse("/ip4/10.0.0.8/tcp/1"),
			parse("/ip4/127.0.0.1/tcp/2")})
		b.SetOwn(id, []string{"/ip4/127.0.0.1/tcp/3", "/ip4/10.0.0.9/tcp/3", self.String()}, Anywhere)
		var got []string
		for _, a := range b.Candidates(id) {
			got = append(got, a.String())
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: dials %q, want %q", name, got, test.want)
		}
	}
}

// TestNowhere hears of a member at addresses that are no machine's, by every way there is, and of this node's own
// address in other words: none is dialled.
func TestNowhere(t *testing.T) {
	id := newID(t)
	around := inNetworks("10.0.0.2/24")
	around.Own = func() []multiaddr.Multiaddr { return parsed(t, "/ip4/10.0.0.2/tcp/4001") }
	b := &AddressBook{members: make(map[keys.ID]*entry), around: around}
	texts := []string{"/ip4/0.0.0.0/tcp/1", "/ip6/::/tcp/1", "/ip6/::ffff:0.0.0.0/tcp/1", "/ip4/224.0.0.1/tcp/1",
		"/ip6/ff02::1/tcp/1", "/ip4/255.255.255.255/tcp/1", "/ip6/64:ff9b::/tcp/1", "/ip6/::ffff:127.0.0.1/tcp/1",
		"/ip6/64:ff9b::7f00:1/tcp/1", "/ip4/10.0.0.2/tcp/4001", "/ip6/::ffff:10.0.0.2/tcp/4001",
		"/ip6/64:ff9b::a00:2/tcp/4001"}
	for _, text := range texts {
		b.SetCharter(id, []string{text})
		b.SetOwn(id, []string{text}, InNetwork)
		b.SetSigned(id, ReachOf(parsed(t, text)[0]), parsed(t, text))
		b.Found(id, parsed(t, text))
		b.SetTold(id, [][]multiaddr.Multiaddr{parsed(t, text)})
		if got := b.Candidates(id); len(got) != 0 {
			t.Errorf("dials %v", got)
		}
		if got := b.Worth(parsed(t, text)); len(got) != 0 {
			t.Errorf("takes %v for worth a dial", got)
		}
		if b.MayDial(id, parsed(t, text)[0]) {
			t.Errorf("a name may lead to %s", text)
		}
	}
}

// TestMayDial holds what a name was looked up as against the rules for addresses: into a private network a name leads
// whom the charter gives it to, from a machine in one, and others in this machine's own network alone.
func TestMayDial(t *testing.T) {
	id := newID(t)
	b := &AddressBook{members: make(map[keys.ID]*entry), around: inNetworks("192.168.7.2/24")}
	here, elsewhere, public := parsed(t, "/ip4/192.168.7.3/tcp/1")[0], parsed(t, "/ip4/10.0.0.7/tcp/1")[0],
		parsed(t, "/ip4/203.0.113.7/tcp/1")[0]
	for _, test := range []struct {
		charter string
		at      multiaddr.Multiaddr
		want    bool
	}{
		{"", here, true}, {"", elsewhere, false}, {"", public, true},
		{"/ip4/203.0.113.9/tcp/1", elsewhere, false},
		{"/dns4/bank.example/tcp/1", here, true}, {"/dns4/bank.example/tcp/1", elsewhere, true},
	} {
		b.SetCharter(id, []string{test.charter})
		b.SetOwn(id, []string{"/dns4/database.internal/tcp/5432"}, Anywhere)
		if got := b.MayDial(id, test.at); got != test.want {
			t.Errorf("with %q in the charter a name may lead to %s: %v, want %v", test.charter, test.at, got, test.want)
		}
	}
	if !b.MayDial(newID(t), public) || b.MayDial(newID(t), elsewhere) {
		t.Error("a member without addresses may be elsewhere than in public")
	}
}

// TestLiarsInTheTable has many answer a search with eight addresses that lead to nobody, and one honestly: what the
// honest one says is dialled, among the first.
func TestLiarsInTheTable(t *testing.T) {
	id := newID(t)
	b := &AddressBook{members: make(map[keys.ID]*entry), around: inNetworks()}
	var answers [][]multiaddr.Multiaddr
	for i := range answersKept - 1 {
		var lies []string
		for j := range 100 {
			lies = append(lies, fmt.Sprintf("/ip4/198.51.100.%d/tcp/%d", 1+i, 1+j))
		}
		answers = append(answers, parsed(t, lies...))
	}
	honest := parsed(t, "/ip4/203.0.113.7/tcp/4001")
	news := b.News(id)
	b.SetTold(id, append(answers, honest))
	<-news
	got := b.Candidates(id)
	if place := slices.IndexFunc(got, honest[0].Equal); place < 0 || place >= answersKept {
		t.Errorf("the honest answer is at place %d of what is dialled", place)
	}
	if len(got) > answersKept*addressesKept {
		t.Errorf("%d addresses are dialled", len(got))
	}
	news = b.News(id)
	b.SetTold(id, [][]multiaddr.Multiaddr{honest})
	select {
	case <-news:
		t.Error("a known address is news")
	default:
	}
	if got := b.Candidates(id); len(got) != 1 {
		t.Errorf("the lies of an earlier search are still dialled: %v", got)
	}
}

// parsed reads addresses.
func parsed(t *testing.T, texts ...string) (out []multiaddr.Multiaddr) {
	t.Helper()
	for _, text := range texts {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}
