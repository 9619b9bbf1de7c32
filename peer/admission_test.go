package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/multiformats/go-multistream"

	"github.com/hanse-project/hanse/keys"
)

// wantRefused waits until a connection with a member was refused for this reason.
func wantRefused(t *testing.T, h *Host, id keys.ID, want string) {
	t.Helper()
	s := until(t, h, id, "refused", func(s PeerStatus) bool { return s.Refused != "" })
	if s.Connected || s.Refused != want {
		t.Errorf("connected: %v, refused:\n%q, want\n%q", s.Connected, s.Refused, want)
	}
}

// wantTrouble waits until a host gives this reason for having no link to a member.
func wantTrouble(t *testing.T, h *Host, id keys.ID, want string) {
	t.Helper()
	s := until(t, h, id, "troubled", troubled)
	if s.Connected || s.Trouble != want {
		t.Errorf("connected: %v, trouble:\n%q, want\n%q", s.Connected, s.Trouble, want)
	}
}

// wantStranger waits until a host has refused somebody for this reason.
func wantStranger(t *testing.T, h *Host, id keys.ID, want string) {
	t.Helper()
	ctx := within(t)
	for ctx.Err() == nil {
		changed := h.Watch()
		for _, s := range h.Strangers() {
			if s.ID == id {
				if s.Reason != want {
					t.Errorf("refused for\n%q, want\n%q", s.Reason, want)
				}
				return
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
	t.Errorf("%s was never refused", id.Short())
}

// at returns a host's only TCP address without its identity.
func at(t *testing.T, h *Host) string {
	t.Helper()
	text, _, ok := strings.Cut(h.Addresses()[0], "/p2p/")
	if !ok {
		t.Fatalf("the address %s names no identity", h.Addresses()[0])
	}
	return text
}

// TestStranger has somebody with a charter of its own making dial a member.
func TestStranger(t *testing.T) {
	ks := newKeys(t, 3)
	bank, insurer, outsider := ks[1], ks[2], ks[0]
	ours := signed(t, draft([]*keys.PrivateKey{bank, insurer}), ks)
	own := draft([]*keys.PrivateKey{outsider, bank})
	own.Members[1].Name = "bank"
	own.Members[0].Name = "mallory"
	log := new(lines)
	cfg := config(bank, ours)
	cfg.Log = newLog(log)
	victim := start(t, cfg)
	stranger, err := New(config(outsider, signed(t, own, ks)))
	mustDo(t, err)
	introduce(t, stranger, victim)
	run(t, stranger)
	wantRefused(t, stranger, bank.ID(), fmt.Sprintf(
		"bank closed the connection right after the TLS handshake: it does not know the key %s; ask a member for an invitation", outsider.ID()))
	wantStranger(t, victim, outsider.ID(), fmt.Sprintf(
		"it is neither a member of charter \"credit\" version 1 (%s) nor invited", ours.Digest().Short()))
	if !slices.ContainsFunc(log.all(), func(s string) bool {
		return strings.HasPrefix(s, "WARN refused a connection from=/ip4/127.0.0.1/tcp/") &&
			strings.Contains(s, outsider.ID().String())
	}) {
		t.Errorf("the refusal is not in the log: %q", log.all())
	}
}

// TestWrongKey has another member sit at the address of the one that is dialled.
func TestWrongKey(t *testing.T) {
	ks := newKeys(t, 3)
	c := signed(t, draft(ks), ks)
	bank, err := New(config(ks[0], c))
	mustDo(t, err)
	retailer := start(t, config(ks[2], c))
	point(t, bank, ks[1].ID(), retailer.Addresses()...)
	run(t, bank)
	wantTrouble(t, bank, ks[1].ID(), fmt.Sprintf(
		"cannot reach insurer: expected insurer (%s) at %s, found %s: the address or the key in the charter is wrong",
		ks[1].ID(), at(t, retailer), ks[2].ID()))
}

// versions starts two hosts under different charters; the second knows the first's address and
// should have the lower id, so that it dials at once.
func versions(t *testing.T, k1 *keys.PrivateKey, c1 *keys.SignedCharter, k2 *keys.PrivateKey,
	c2 *keys.SignedCharter) (h1, h2 *Host) {
	t.Helper()
	h1 = start(t, config(k1, c1))
	h2, err := New(config(k2, c2))
	mustDo(t, err)
	introduce(t, h2, h1)
	run(t, h2)
	return h1, h2
}

// TestOtherCharter has two members with charters that exclude each other.
func TestOtherCharter(t *testing.T) {
	ks := newKeys(t, 2)
	mine := signed(t, draft(ks), ks)
	for what, change := range map[string]func(*keys.Charter){
		"another text of the version": func(c *keys.Charter) { c.Created = c.Created.Add(time.Hour) },
		"another name":                func(c *keys.Charter) { c.Name = "fraud" },
		"another name and version":    func(c *keys.Charter) { c.Name, c.Version, c.Parent = "fraud", 2, mine.Digest() },
	} {
		t.Run(what, func(t *testing.T) {
			other := draft(ks)
			change(&other)
			theirs := signed(t, other, ks)
			insurer, bank := versions(t, ks[1], mine, ks[0], theirs)
			reason := fmt.Sprintf("bank stands under charter %q version %d (%s) and insurer under charter \"credit\" version 1 (%s): one of them has the wrong charter file",
				theirs.Name, theirs.Version, theirs.Digest().Short(), mine.Digest().Short())
			wantRefused(t, insurer, bank.Self(), "refused the connection: "+reason)
			wantRefused(t, bank, insurer.Self(),
				"insurer refused the connection: it stands under charter credit, version 1, and so another: "+
					"one of the two has the wrong charter file")
		})
	}
}

// TestRevoked has a member dial that has not heard of its revocation yet.
func TestRevoked(t *testing.T) {
	ks := newKeys(t, 4)
	before := signed(t, draft(ks), ks)
	next, err := before.WithoutMember("bank", "left the league")
	mustDo(t, err)
	after := signed(t, next, ks)
	telco, bank := versions(t, ks[3], after, ks[0], before)
	reason := fmt.Sprintf("bank was revoked, as charter \"credit\" version 2 (%s) says: left the league", after.Digest().Short())
	wantRefused(t, bank, telco.Self(), "telco refused the connection: bank was revoked, as version 2 of its charter says")
	wantStranger(t, telco, bank.Self(), "refused the connection: "+reason)
}

// TestRevokedByAQuorum: the host of a member that was away and has not signed refuses the revoked key all the same.
func TestRevokedByAQuorum(t *testing.T) {
	ks := newKeys(t, 6)
	first := draft(ks)
	first.Rules.RevokeBy = 4
	before := signed(t, first, ks)
	next, err := before.WithoutMember("bank", "its key was stolen")
	mustDo(t, err)
	next.Created = before.Created
	after, err := keys.NewCharter(next)
	mustDo(t, err)
	for _, k := range ks[1:5] {
		mustDo(t, after.Sign(k))
	}
	if _, err := after.InForce(); err == nil {
		t.Fatal("a version that not all have signed is in force without the one before")
	}
	if !after.After(before) {
		t.Fatal("a revocation is none")
	}
	absent, bank := versions(t, ks[5], after, ks[0], before)
	wantRefused(t, bank, absent.Self(), "member-5 refused the connection: bank was revoked, as version 2 of its charter says")
	wantStranger(t, absent, bank.Self(), fmt.Sprintf("refused the connection: bank was revoked, as charter \"credit\" "+
		"version 2 (%s) says: its key was stolen", after.Digest().Short()))
}

// TestOnlyTLS offers other handshakes to a host, which knows none of them.
func TestOnlyTLS(t *testing.T) {
	h := federation(t, 1)[0]
	a, err := multiaddr.NewMultiaddr(at(t, h))
	mustDo(t, err)
	network, address, err := manet.DialArgs(a)
	mustDo(t, err)
	for _, security := range []string{"/noise", "/plaintext/2.0.0", "/secio/1.0.0", "/yamux/1.0.0", string(protoHello)} {
		conn, err := new(net.Dialer).DialContext(within(t), network, address)
		mustDo(t, err)
		err = multistream.SelectProtoOrFail(security, io.ReadWriteCloser(conn))
		if _, refused := errors.AsType[multistream.ErrNotSupported[string]](err); !refused {
			t.Errorf("%s: error %v, want not supported", security, err)
		}
		conn.Close()
	}
	// TLS 1.3 is what is left; nobody speaks first in the clear.
	conn, err := new(net.Dialer).DialContext(within(t), network, address)
	mustDo(t, err)
	defer conn.Close()
	if err := multistream.SelectProtoOrFail("/tls/1.0.0", io.ReadWriteCloser(conn)); err != nil {
		t.Errorf("TLS: %v", err)
	}
}

// TestNoStreamBeforeHello opens a call before the hello: it waits, and is answered or dropped
// with the verdict.
func TestNoStreamBeforeHello(t *testing.T) {
	ks := newKeys(t, 3)
	first := signed(t, draft(ks), ks)
	next, err := first.WithoutMember("retailer", "left")
	mustDo(t, err)
	cfg := config(ks[0], signed(t, next, ks))
	host := start(t, cfg)
	host.Handle(answerHello)
	for _, test := range []struct {
		key     *keys.PrivateKey
		admit   bool
		charter *keys.SignedCharter
	}{{ks[1], true, cfg.Charter}, {ks[2], false, cfg.Charter}} {
		ctx := within(t)
		n, conn := dialRaw(ctx, t, test.key, host)
		early, err := openStream(ctx, conn, protoCall, encodeCall("hello", 0, nil))
		mustDo(t, err)
		l, helloErr := greeting{
			target: target{name: "bank", id: host.Self()},
			self:   test.key.ID(),
			mine:   hello{Version: WireVersion, Charter: stanceOf(test.charter), Name: "x"},
			weigh:  func(hello) verdict { return verdict{level: levelFull} },
			heard:  new(tally),
			now:    time.Now,
		}.exchange(ctx, conn)
		status, body, err := readResponse(early)
		if got := helloErr == nil && err == nil && status == callDone && string(body) == "hello"; got != test.admit {
			t.Errorf("answered: %v (%v, %v), want %v", got, helloErr, err, test.admit)
		}
		if l != nil {
			l.end("test")
		}
		n.Close()
	}
}

// dialRaw connects to a host without saying hello.
func dialRaw(ctx context.Context, t *testing.T, k *keys.PrivateKey, to *Host) (*node, rawConn) {
	t.Helper()
	n, err := newNode(nodeParts{key: k, gater: onlyDials(to.node.id), meter: newMeter(), members: 2})
	mustDo(t, err)
	n.host.Peerstore().AddAddrs(to.node.id, to.node.host.Addrs(), time.Hour)
	conn, err := n.swarm.DialPeer(ctx, to.node.id)
	if err != nil {
		n.Close()
		t.Fatal(err)
	}
	return n, conn
}

// TestTwins starts a second node with the key of one that runs.
func TestTwins(t *testing.T) {
	hosts := federation(t, 2)
	bank, insurer := hosts[0], hosts[1]
	meetAll(t, hosts...)
	twin, err := New(config(bank.cfg.Key, bank.cfg.Charter))
	mustDo(t, err)
	introduce(t, twin, insurer)
	run(t, twin)
	s := until(t, twin, insurer.Self(), "refused", func(s PeerStatus) bool { return s.Refused != "" })
	want := "insurer refused the connection: another node with the key of bank is connected: only one may run"
	if s.Refused != want {
		t.Errorf("refused:\n%q, want\n%q", s.Refused, want)
	}
	if s := statusOf(t, insurer, bank.Self()); !s.Connected {
		t.Errorf("the first node lost its place: %+v", s)
	}
	a, err := multiaddr.NewMultiaddr(at(t, bank))
	mustDo(t, err)
	if _, err := whoIs(within(t), bank.cfg.Key, a, nil); err != nil {
		t.Fatal(err)
	}
	wantStranger(t, bank, bank.Self(), "it has this node's own key: only one node may run with it")
}

// TestTwinsAtOnce has a second process with a member's key say hello before the first one is in, and be answered after.
func TestTwinsAtOnce(t *testing.T) {
	ks := newKeys(t, 2)
	cfg := config(ks[1], signed(t, draft(ks), ks))
	cfg.Heartbeat = patience / 2 // a member counts as alive for long
	h := start(t, cfg)
	ctx := within(t)
	n, conn := dialRaw(ctx, t, ks[0], h)
	defer n.Close()
	var first *link // at the host
	second, err := greeting{
		target: target{name: "node", id: h.Self()},
		self:   ks[0].ID(),
		mine:   hello{Version: WireVersion, Instance: newInstance(), Charter: h.members.inForce().stance},
		weigh: func(hello) verdict { // the host has accepted, and waits for this verdict
			if _, _, err := sayHello(ctx, t, ks[0], roleMember, h); err != nil {
				t.Errorf("the first: %v", err)
			}
			until(t, h, ks[0].ID(), "connected", func(s PeerStatus) bool { return s.Connected })
			first = h.members.linkOf(ks[0].ID())
			return verdict{}
		},
		heard: new(tally),
		now:   time.Now,
	}.exchange(ctx, conn)
	mustDo(t, err)
	second.control.SetReadDeadline(time.Now().Add(patience))
	for err == nil && h.members.linkOf(ks[0].ID()) == first {
		_, _, err = readControl(second.control)
	}
	if !ended(err) || h.members.linkOf(ks[0].ID()) != first || first.Lost() != nil {
		t.Errorf("the second reads %v, and the first lost %v", err, first.Lost())
	}
}

// TestTheSilentAreReplaced has a node, and a worker, come again while the last link has not ended yet, but is silent:
// what it says to come in is no sign of life of the one before.
func TestTheSilentAreReplaced(t *testing.T) {
	ks := newKeys(t, 3)
	c := draft(ks[:2])
	cfg := config(ks[1], signed(t, c, ks))
	cfg.Heartbeat = 10 * time.Millisecond
	cfg.Worker, cfg.Workers = func(id keys.ID) bool { return id == ks[2].ID() }, 100
	h := start(t, cfg)
	ctx := within(t)
	for k, as := range map[*keys.PrivateKey]role{ks[0]: roleMember, ks[2]: roleWorker} {
		if _, _, err := sayHello(ctx, t, k, as, h); err != nil { // and nothing more
			t.Fatal(err)
		}
		tried := time.Now()
		for {
			_, _, err := sayHello(ctx, t, k, as, h)
			if err == nil {
				break
			}
			if !strings.Contains(err.Error(), "only one may run") || time.Since(tried) > 100*cfg.Heartbeat {
				t.Fatalf("role %d does not come in again: %v", as, err)
			}
		}
	}
}

// TestAMemberThatStopsHasLeft: a node whose key the other side has known before is cut right after TLS, as by a member
// that stops while it is dialled. It is not told to ask for an invitation.
func TestAMemberThatStopsHasLeft(t *testing.T) {
	ks := newKeys(t, 3)
	bank, insurer, telco := ks[0], ks[1], ks[2]
	stopping := start(t, config(bank, signed(t, draft([]*keys.PrivateKey{bank, insurer}), ks)))
	h, err := New(config(telco, signed(t, draft(ks), ks)))
	mustDo(t, err)
	for _, m := range h.members.by {
		m.lost = time.Now() // there was a link before
	}
	introduce(t, h, stopping)
	run(t, h)
	s := until(t, h, bank.ID(), "troubled", func(s PeerStatus) bool { return strings.Contains(s.Trouble, "TLS") })
	const want = "bank left: it closed the connection right after the TLS handshake, as a node does that stops"
	if s.Trouble != want || s.Refused != "" {
		t.Errorf("trouble %q, refused %q", s.Trouble, s.Refused)
	}
}

// TestReasonsThatTakeTurnsStandInTheLogOnce, and of ever new ones the first few.
func TestReasonsThatTakeTurnsStandInTheLogOnce(t *testing.T) {
	ks := newKeys(t, 2)
	log := new(lines)
	cfg := config(ks[0], signed(t, draft(ks), ks))
	cfg.Log = newLog(log)
	h, err := New(cfg)
	mustDo(t, err)
	run(t, h)
	var m *member
	for _, m = range h.members.by {
	}
	count := func(part string) (n int) {
		for _, s := range log.all() {
			if strings.Contains(s, "not connected") && strings.Contains(s, part) {
				n++
			}
		}
		return n
	}
	for range 20 {
		h.members.noteTrouble(m, errors.New("nothing listens there"))
		h.members.noteTrouble(m, errors.New("no route to it"))
	}
	if one, other := count("nothing listens"), count("no route"); one != 1 || other != 1 {
		t.Errorf("two reasons that take turns stand there %d and %d times: %q", one, other, log.all())
	}
	for i := range 100 {
		h.members.noteTrouble(m, fmt.Errorf("trouble %d", i))
	}
	if n := count(""); n > maxSaid {
		t.Errorf("%d lines, want at most %d", n, maxSaid)
	}
	if s := statusOf(t, h, ks[1].ID()); s.Trouble != "trouble 99" {
		t.Errorf("the status has %q", s.Trouble)
	}
}
