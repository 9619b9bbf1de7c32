package peer

import (
	"bytes"
	"encoding/base64"
	"math"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/record"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
)

// strayed is a charter of a member that only dials out, one that passes news on, and one that is not where the charter
// says, and starts the first two, who know nothing of the third.
func strayed(t *testing.T) (ks []*keys.PrivateKey, c *keys.SignedCharter, out, hub *Host) {
	t.Helper()
	ks = newKeys(t, 3)
	d := draft(ks)
	d.Members[1].Addresses = []string{"/ip4/127.0.0.1/tcp/4001"}
	d.Members[2].Addresses = []string{"/ip4/127.0.0.1/tcp/4002"}
	c = signed(t, d, ks)
	cfg := config(ks[1], c)
	cfg.Discovery = []string{}
	hub = start(t, cfg)
	cfg = config(ks[0], c)
	cfg.Listen, cfg.Discovery = nil, []string{}
	out = start(t, cfg)
	introduce(t, out, hub)
	meetAll(t, out, hub)
	return ks, c, out, hub
}

// TestAddressChange starts a member at an address that nobody knows. It dials one member, and another, which it cannot
// dial, hears where it is; and again after it was away and came back elsewhere.
func TestAddressChange(t *testing.T) {
	t.Parallel()
	ks, c, out, hub := strayed(t)
	for range 2 {
		cfg := config(ks[2], c)
		cfg.Discovery = []string{}
		mover, err := New(cfg)
		mustDo(t, err)
		introduce(t, mover, hub)
		run(t, mover)
		meetAll(t, out, hub, mover)
		mustDo(t, mover.Close())
		until(t, out, mover.Self(), "disconnected", func(s PeerStatus) bool { return !s.Connected })
	}
}

// saidBy is what a key signs of where a member is.
func saidBy(t *testing.T, by *keys.PrivateKey, of keys.ID, seq uint64, at string) []byte {
	t.Helper()
	secret, err := secretKey(by)
	mustDo(t, err)
	p, err := peerID(of)
	mustDo(t, err)
	a, err := multiaddr.NewMultiaddr(at)
	mustDo(t, err)
	e, err := record.Seal(&libpeer.PeerRecord{PeerID: p, Addrs: []multiaddr.Multiaddr{a}, Seq: seq}, secret)
	mustDo(t, err)
	text, err := e.Marshal()
	mustDo(t, err)
	return text
}

// TestForgedWhereabouts has a member tell another that a third is where it is not: by its own signature, by words
// changed under the third's, and by what the third said before.
func TestForgedWhereabouts(t *testing.T) {
	t.Parallel()
	ks, _, out, forger := strayed(t)
	mover := ks[2]
	said := func(by, of *keys.PrivateKey, seq uint64, at string) []byte { return saidBy(t, by, of.ID(), seq, at) }
	l := forger.members.linkOf(out.Self())
	latest := said(mover, mover, 5, "/ip4/127.0.0.1/tcp/5")
	changed := append([]byte(nil), latest...)
	changed[len(changed)/2] ^= 1
	for _, text := range [][]byte{
		latest,
		said(ks[1], mover, 9, "/ip4/127.0.0.1/tcp/9"),
		changed,
		said(mover, mover, 4, "/ip4/127.0.0.1/tcp/4"),
		{1, 2, 3},
	} {
		l.send(kindWhereabouts, text, patience)
	}
	// Messages of a link are heard in their order: the forger's own whereabouts come last.
	news := out.addresses.News(forger.Self())
	l.send(kindWhereabouts, said(ks[1], ks[1], math.MaxUint64, "/ip4/127.0.0.1/tcp/1"), patience)
	select {
	case <-news:
	case <-within(t).Done():
		t.Fatal("what a member says of itself is not heard")
	}
	got := out.addresses.Candidates(mover.ID())
	if len(got) != 1 || got[0].String() != "/ip4/127.0.0.1/tcp/5" {
		t.Errorf("the member may be at %v, want where it said last that it is, /ip4/127.0.0.1/tcp/5", got)
	}
}

// lyingStream is the control stream of a member that has changed its node's code: it rewrites what the node says.
type lyingStream struct {
	network.Stream
	lie func(kind uint8, body []byte) [][]byte // the messages that go out in place of this one
}

// Write passes on control messages, which their writers write whole, or what stands for them.
func (s lyingStream) Write(p []byte) (int, error) {
	var out buffer
	for r := bytes.NewReader(p); r.Len() > 0; {
		kind, body, err := readControl(r)
		if err != nil {
			return s.Stream.Write(p) // the name of the protocol
		}
		for _, m := range s.lie(kind, body) {
			out = append(out, m...)
		}
	}
	if _, err := s.Stream.Write(out); err != nil {
		return 0, err
	}
	return len(p), nil
}

// message makes one control message.
func message(t testing.TB, kind uint8, body []byte) []byte {
	t.Helper()
	var b buffer
	if _, err := writeControl(&b, kind, body); err != nil {
		t.Fatal(err)
	}
	return b
}

// TestLiarHidesNobody has a member tell another, which has moved, that it is seen where the charter says. The one that
// has moved dials the liar, then an honest member; a fourth, which it cannot dial, has to hear of it all the same.
func TestLiarHidesNobody(t *testing.T) {
	t.Parallel()
	const left = "/ip4/127.0.0.9/tcp/4002" // where the charter has the member that moved
	ks := newKeys(t, 4)
	d := draft(ks)
	for i, at := range []string{"", "/ip4/127.0.0.1/tcp/4001", left, "/ip4/127.0.0.1/tcp/4003"} {
		if at != "" {
			d.Members[i].Addresses = []string{at}
		}
	}
	c := signed(t, d, ks)
	made := func(i int, listens bool) *Host {
		cfg := config(ks[i], c)
		cfg.Discovery = []string{}
		if !listens {
			cfg.Listen = nil
		}
		h, err := New(cfg)
		mustDo(t, err)
		return h
	}
	out, honest, moved, liar := made(0, false), made(1, true), made(2, true), made(3, true)
	const lied = "the lie is told"
	liar.node.host.SetStreamHandler(protoHello, func(s network.Stream) {
		liar.reception.answer(lyingStream{s, func(kind uint8, body []byte) [][]byte {
			switch kind {
			case kindSeen:
				return [][]byte{message(t, kindSeen, encode(seen{left})), message(t, kindProgram, encodeProgram(lied))}
			case kindWhereabouts:
				return nil // it passes nothing on
			}
			return [][]byte{message(t, kind, body)}
		}})
	})
	introduce(t, out, honest)
	introduce(t, moved, liar)
	for _, h := range []*Host{out, honest, moved, liar} {
		run(t, h)
	}
	meetAll(t, out, honest)
	until(t, moved, liar.Self(), "lied to", func(s PeerStatus) bool { return s.Program == lied })
	introduce(t, moved, honest)
	meetAll(t, out, moved)
}

// lone is a member whose key nobody has any more, and loneAt the only whereabouts that it ever signed: 203.0.113.7,
// port 4001, sequence 1.
const (
	lone   = "hanse-id1hbfieq3ygit2smxgut5vrbs7t6pambhje3cgz53355a2id3gdzoukya3o4"
	loneAt = "CiQIARIgOEqCQ3gyJ6ky5qT7WIZfn54GBOkmxGz3e+9BpA9mHl0SAgMBGjYKJgAkCAESIDhKgkN4MiepMuak+1iGX5+eBgTpJsRs" +
		"93vvQaQPZh5dEAEaCgoIBMsAcQcGD6EqQPAY/tKQIVJ6gEXRLLQQKekX6vDpFeAZgro8C5pIIQRbQCgv+4gkOeaeeB4BgDE342MH" +
		"bVu18DM461YA3LOV1AE="
)

// FuzzWhereabouts reads what anybody may say of where a member is; what is read was signed by the member.
func FuzzWhereabouts(f *testing.F) {
	id, err := keys.ParseID(lone)
	mustDo(f, err)
	signed, err := base64.StdEncoding.DecodeString(loneAt)
	mustDo(f, err)
	if _, err := decodeWhereabouts(signed); err != nil {
		f.Fatal(err)
	}
	a, err := multiaddr.NewMultiaddr("/ip4/203.0.113.7/tcp/4001")
	mustDo(f, err)
	f.Add(signed)
	f.Add([]byte("whereabouts"))
	f.Fuzz(func(t *testing.T, text []byte) {
		w, err := decodeWhereabouts(text)
		if err == nil && (w.id != id || len(w.addresses) != 1 || !w.addresses[0].Equal(a) || w.seq != 1) {
			t.Fatalf("without the key somebody is at %v, seq %d", w.addresses, w.seq)
		}
	})
}
