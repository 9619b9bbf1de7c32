package peer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// listed is which keys are workers'; it may change.
type listed struct{ keys sync.Map }

func (l *listed) has(id keys.ID) bool { _, ok := l.keys.Load(id); return ok }

// employer is a config of a node that takes so many workers at once and lists these keys.
func employer(k *keys.PrivateKey, c *keys.SignedCharter, places int, workers ...*keys.PrivateKey) (Config, *listed) {
	list := new(listed)
	for _, w := range workers {
		list.keys.Store(w.ID(), true)
	}
	cfg := config(k, c)
	cfg.Worker, cfg.Workers = list.has, places
	return cfg, list
}

// framesOf are the frames of a stream that a worker has opened to its node.
func framesOf(ctx context.Context, t *testing.T, w *WorkerConn) *session.Frames {
	t.Helper()
	s, err := w.Open(ctx)
	mustDo(t, err)
	f := session.NewFrames(s, w.Peer(), "node", w.Lost)
	t.Cleanup(f.Close)
	return f
}

// servedFrames are the frames of a stream that a worker has opened, at its node.
func servedFrames(ctx context.Context, from keys.ID, s session.RawStream) *session.Frames {
	return session.NewFrames(s, from, from.Short(), func() *protocol.GoneError {
		gone, _ := errors.AsType[*protocol.GoneError](context.Cause(ctx))
		return gone
	})
}

// echo sends a worker's frames back until it closes the stream.
func echo(ctx context.Context, from keys.ID, s session.RawStream) {
	frames := servedFrames(ctx, from, s)
	defer frames.Close()
	var buf []byte
	for {
		var err error
		if buf, err = frames.Receive(ctx, buf); err != nil {
			return
		}
		if frames.Send(ctx, buf) != nil {
			return
		}
	}
}

// employ connects a worker that stays until the test ends.
func employ(ctx context.Context, t *testing.T, k *keys.PrivateKey, address string) *WorkerConn {
	t.Helper()
	w, err := DialNode(ctx, k, address, nil)
	mustDo(t, err)
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

// addressOver is where a host listens over TCP or QUIC, with its identity.
func addressOver(t *testing.T, h *Host, quic bool) string {
	t.Helper()
	all := h.Addresses()
	i := slices.IndexFunc(all, func(a string) bool { return strings.Contains(a, "/udp/") == quic })
	if i < 0 {
		t.Fatalf("no such address among %q", all)
	}
	return all[i]
}

// overBoth runs a test over TCP and over QUIC.
func overBoth(t *testing.T, test func(t *testing.T, quic bool)) {
	t.Run("TCP", func(t *testing.T) { test(t, false) })
	t.Run("QUIC", func(t *testing.T) { test(t, true) })
}

// TestWorkerFrames has a worker send frames up to the largest size to its node, and take such in.
func TestWorkerFrames(t *testing.T) {
	overBoth(t, func(t *testing.T, quic bool) {
		ks := newKeys(t, 3)
		cfg, _ := employer(ks[0], signed(t, draft(ks[:2]), ks), 1, ks[2])
		cfg.QUIC = quic
		h := start(t, cfg)
		h.HandleWorkers(echo)
		ctx := within(t)
		w := employ(ctx, t, ks[2], addressOver(t, h, quic))
		if w.Peer() != h.Self() {
			t.Errorf("connected to %s, want %s", w.Peer(), h.Self())
		}
		first, second := framesOf(ctx, t, w), framesOf(ctx, t, w)
		for _, f := range []*session.Frames{first, second, first} {
			for _, size := range []int{0, 1, protocol.MaxFrame} {
				frame := bytes.Repeat([]byte{7}, size)
				mustDo(t, f.Send(ctx, frame))
				if got, err := f.Receive(ctx, nil); err != nil || !bytes.Equal(got, frame) {
					t.Errorf("a frame of %d bytes came back as one of %d: %v", size, len(got), err)
				}
			}
		}
		if w.Lost() != nil {
			t.Errorf("the connection is lost: %v", w.Lost())
		}
	})
}

// TestNodeAddress reads what a worker may call its node's address.
func TestNodeAddress(t *testing.T) {
	for text, want := range map[string]string{
		"node.example:4001":              "/dns/node.example/tcp/4001",
		"192.0.2.7:4001":                 "/ip4/192.0.2.7/tcp/4001",
		"[2001:db8::7]:4001":             "/ip6/2001:db8::7/tcp/4001",
		"[::ffff:192.0.2.7]:4001":        "/ip4/192.0.2.7/tcp/4001",
		"/ip4/192.0.2.7/udp/1/quic-v1":   "/ip4/192.0.2.7/udp/1/quic-v1",
		"/dns4/node.example/tcp/4001":    "/dns4/node.example/tcp/4001",
		"node.example":                   "",
		":4001":                          "",
		"node.example:0":                 "",
		"node.example:65536":             "",
		"node.example:https":             "",
		"node/tcp/1:4001":                "",
		"[fe80::1%eth0]:4001":            "",
		"/ip4/192.0.2.7/tcp":             "",
		"":                               "",
		strings.Repeat("n", 4096) + ":x": "",
	} {
		at, err := nodeAddress(text)
		if got := at.String(); want != "" && (err != nil || got != want) {
			t.Errorf("%q is %s, %v, want %s", text, got, err, want)
		}
		if want == "" && (err == nil || len(err.Error()) > 512) {
			t.Errorf("%.80q is %s, %.80v, want a short error", text, at, err)
		}
	}
}

// TestWorkerStranger has a key dial that is listed nowhere, and one at a node without places: both are cut after the
// TLS handshake.
func TestWorkerStranger(t *testing.T) {
	overBoth(t, func(t *testing.T, quic bool) {
		ks := newKeys(t, 4)
		c := signed(t, draft(ks[:2]), ks)
		cfg, _ := employer(ks[0], c, 1, ks[2])
		none, _ := employer(ks[1], c, 0, ks[2])
		cfg.QUIC, none.QUIC = quic, quic
		for _, test := range []struct {
			h   *Host
			key *keys.PrivateKey
		}{{start(t, cfg), ks[3]}, {start(t, none), ks[2]}} {
			w, err := DialNode(within(t), test.key, addressOver(t, test.h, quic), nil)
			if err == nil {
				w.Close()
			}
			if want := fmt.Sprintf("%s closed the connection right after the TLS handshake: it does not know the key %s as "+
				"a worker's, or has as many workers as it takes", test.h.Self().Short(), test.key.ID()); err == nil ||
				err.Error() != want && !(quic && strings.HasSuffix(err.Error(), "does not know this key, or is no hanse node")) {
				t.Errorf("error\n%v, want\n%s", err, want)
			}
			wantStranger(t, test.h, test.key.ID(), fmt.Sprintf(
				"it is neither a member of charter \"credit\" version 1 (%s) nor invited", c.Digest().Short()))
		}
	})
}

// TestSpentWorker: a key that was a worker's and is none any more hears why, whatever it says that it is, and has no
// link and no stream; a member's is a member's. Who is let in is said once, with the address.
func TestSpentWorker(t *testing.T) {
	overBoth(t, func(t *testing.T, quic bool) {
		ks := newKeys(t, 4)
		cfg, _ := employer(ks[0], signed(t, draft(ks[:2]), ks), 1, ks[3])
		cfg.QUIC = quic
		spent := map[keys.ID]bool{ks[1].ID(): true, ks[2].ID(): true}
		cfg.Spent = func(id keys.ID) (fault.Fault, bool) {
			return fault.Fault{Code: fault.CodeSpent, Names: []string{fault.SpentRevoked}}, spent[id]
		}
		came := make(chan keys.ID, 2)
		cfg.WorkerCame = func(id keys.ID, address string) {
			if !strings.Contains(address, "127.0.0.1") {
				t.Errorf("a worker came from %q", address)
			}
			came <- id
		}
		h := start(t, cfg)
		ctx := within(t)
		w, err := DialNode(ctx, ks[2], addressOver(t, h, quic), nil)
		if err == nil {
			w.Close()
		}
		if refused, ok := errors.AsType[*RefusedError](err); !ok || refused.Fault.Code != fault.CodeSpent ||
			!strings.Contains(err.Error(), "this worker's key was revoked") {
			t.Errorf("the worker hears %v", err)
		}
		for _, as := range []role{roleMember, roleInvitee} {
			if _, _, err := sayHello(ctx, t, ks[2], as, h); err == nil || errors.As(err, new(*RefusedError)) &&
				strings.Contains(err.Error(), "revoked") {
				t.Errorf("as role %d it hears %v", as, err)
			}
		}
		if _, _, err := sayHello(ctx, t, ks[1], roleMember, h); err != nil {
			t.Errorf("control: a member: %v", err)
		}
		employ(ctx, t, ks[3], addressOver(t, h, quic))
		if id := <-came; id != ks[3].ID() || len(came) > 0 {
			t.Errorf("%s came, want %s", id.Short(), ks[3].ID().Short())
		}
	})
}

// sayHello says hello on a fresh connection with a key and a role.
func sayHello(ctx context.Context, t *testing.T, k *keys.PrivateKey, as role, to *Host) (*node, *link, error) {
	t.Helper()
	n, conn := dialRaw(ctx, t, k, to)
	t.Cleanup(func() { n.Close() })
	l, err := helloOver(ctx, conn, k, as, to)
	return n, l, err
}

// helloOver says hello on a connection that has not said it yet.
func helloOver(ctx context.Context, conn rawConn, k *keys.PrivateKey, as role, to *Host) (*link, error) {
	mine := hello{Version: WireVersion, Role: as, Instance: newInstance()}
	if as == roleMember {
		mine.Charter = to.members.inForce().stance
	}
	return greeting{target: target{name: "node", id: to.Self()}, self: k.ID(), mine: mine, weigh: anyCharter,
		heard: new(tally), now: time.Now}.exchange(ctx, conn)
}

// wantNoStream opens a stream of a protocol, which must not be served.
func wantNoStream(ctx context.Context, t *testing.T, over network.Conn, proto libproto.ID, first []byte) {
	t.Helper()
	s, err := openStream(ctx, over, proto, first)
	mustDo(t, err)
	defer s.Reset()
	if readProtocol(s, proto) != nil {
		return
	}
	release := session.InterruptIO(ctx, s.SetReadDeadline)
	var answer [1]byte
	n, err := s.Read(answer[:])
	if release() || n > 0 || err == nil {
		t.Errorf("a stream of %s is answered with %d: %v", proto, answer[:n], err)
	}
}

// TestWorkerMayNothingElse has a worker call, open sessions, search, relay and join, under the role that it has and
// under others, and say what members say.
func TestWorkerMayNothingElse(t *testing.T) {
	ks := newKeys(t, 3)
	cfg, _ := employer(ks[0], signed(t, draft(ks[:2]), ks), 2, ks[2]) // those that are refused are still closing below
	cfg.Discovery = []string{DiscoverAddresses, DiscoverDHT}
	h := start(t, cfg)
	h.HandleWorkers(echo)
	h.Handle(func(context.Context, keys.ID, string, []byte) ([]byte, *fault.Fault) {
		t.Error("a worker's call is answered")
		return nil, nil
	})
	ctx := within(t)
	w := employ(ctx, t, ks[2], at(t, h))
	conn := w.link.conn
	for _, method := range []string{"job/propose", "charter/get", "join/card"} {
		wantNoStream(ctx, t, conn, protoCall, encodeCall(method, 0, nil))
	}
	wantNoStream(ctx, t, conn, protoSession, make([]byte, 32))
	wantNoStream(ctx, t, conn, protoHop, nil)
	wantNoStream(ctx, t, conn, protoStop, nil)
	wantNoStream(ctx, t, conn, protoPunch, nil)
	for _, proto := range h.node.host.Mux().Protocols() {
		if strings.Contains(string(proto), "kad") {
			wantNoStream(ctx, t, conn, proto, nil)
		}
	}

	changed := h.Watch()
	w.link.send(kindProgram, encodeProgram("a worker's"), patience)
	w.link.send(kindCharter, encode(stance{Name: "credit", Version: 9}), patience)
	w.link.send(kindWhereabouts, []byte("nowhere"), patience)
	w.link.send(kindSeen, encode(seen{"/ip4/192.0.2.7/tcp/1"}), patience)
	w.link.send(kindLeft, encode(left{}), patience)
	if err := framesOf(ctx, t, w).Send(ctx, nil); err != nil { // it is let be
		t.Error(err)
	}
	select {
	case <-changed:
		t.Error("what a worker says wakes those who watch members")
	default:
	}

	for _, as := range []role{roleMember, roleInvitee} {
		_, _, err := sayHello(ctx, t, ks[2], as, h)
		if want := "node refused the connection: this key is no member's of its charter"; err == nil || err.Error() != want {
			t.Errorf("as role %d: error %v, want %s", as, err, want)
		}
	}
	j, err := DialJoin(ctx, ks[2], at(t, h), nil)
	if err == nil {
		j.Close()
		t.Error("a worker joins")
	}
}

// TestNoWorkerStreamsOfOthers has a member and an invitee, who may be listed by mistake, ask for what is the workers'.
func TestNoWorkerStreamsOfOthers(t *testing.T) {
	ks := newKeys(t, 4)
	guest := ks[3]
	c := signed(t, draft(ks[:3]), ks)
	cfg, _ := employer(ks[0], c, 4, ks[1], ks[2], guest)
	cfg.Invited = func(id keys.ID) bool { return id == guest.ID() }
	h := start(t, cfg)
	h.HandleWorkers(func(context.Context, keys.ID, session.RawStream) { t.Error("a worker's stream is served") })
	other := start(t, config(ks[1], c))
	introduce(t, h, other)
	meetAll(t, h, other)
	ctx := within(t)
	l := other.members.linkOf(h.Self())
	wantNoStream(ctx, t, l.conn, protoWorker, nil)

	j, err := DialJoin(ctx, guest, at(t, h), nil)
	mustDo(t, err)
	defer j.Close()
	wantNoStream(ctx, t, j.link.conn, protoWorker, nil)

	_, err = DialNode(ctx, ks[2], at(t, h), nil)
	if want := fmt.Sprintf("%s refused the connection: this key is not one of its workers', or no longer",
		h.Self().Short()); err == nil || err.Error() != want {
		t.Errorf("a member as a worker: error\n%v, want\n%s", err, want)
	}
}

// TestWorkerBecomesMember puts a charter into force that makes a member of a worker's key: the worker has to go.
func TestWorkerBecomesMember(t *testing.T) {
	ks := newKeys(t, 3)
	first := signed(t, draft(ks[:2]), ks)
	cfg, _ := employer(ks[0], first, 1, ks[2])
	h := start(t, cfg)
	h.HandleWorkers(echo)
	ctx := within(t)
	w := employ(ctx, t, ks[2], at(t, h))
	framesOf(ctx, t, w) // it is in
	next := draft(ks)
	next.Version, next.Parent = 2, first.Digest()
	next.Created = time.Time{}
	mustDo(t, h.SetCharter(signed(t, next, ks)))
	wantLost(ctx, t, w, "retailer is a member now, as version 2 of its charter says, and is to connect as one")
}

// wantLost waits until a worker's connection has ended for this reason.
func wantLost(ctx context.Context, t *testing.T, w *WorkerConn, want string) {
	t.Helper()
	select {
	case <-w.Over():
	case <-ctx.Done():
		t.Fatal("the connection does not end")
	}
	if gone := w.Lost(); gone.Peer != w.Peer() || gone.Reason != want {
		t.Errorf("lost %s because of %q, want %s and %q", gone.Peer.Short(), gone.Reason, w.Peer().Short(), want)
	}
	if _, err := w.Open(ctx); err != error(w.Lost()) {
		t.Errorf("a stream after the end gives %v", err)
	}
}

// TestWorkerStruckOff takes a worker's key off the list: at its next hello it is refused, although TLS had let it pass
// before, a connection that stands ends within a heartbeat, and then the key is a stranger's.
func TestWorkerStruckOff(t *testing.T) {
	ks := newKeys(t, 4)
	cfg, list := employer(ks[0], signed(t, draft(ks[:2]), ks), 2, ks[2], ks[3])
	cfg.Heartbeat = 50 * time.Millisecond
	h := start(t, cfg)
	ctx := within(t)
	w := employ(ctx, t, ks[2], at(t, h))
	n, conn := dialRaw(ctx, t, ks[3], h)
	defer n.Close()
	s, err := openStream(ctx, conn, protoWorker, nil) // which waits at the node for the verdict on a hello
	mustDo(t, err)
	defer s.Reset()
	mustDo(t, readProtocol(s, protoWorker))
	list.keys.Clear()
	_, err = helloOver(ctx, conn, ks[3], roleWorker, h)
	if want := "node refused the connection: this key is not one of its workers', or no longer"; err == nil ||
		err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
	wantStranger(t, h, ks[3].ID(), fmt.Sprintf("refused the connection: %s is no worker of this node", ks[3].ID().Short()))
	wantLost(ctx, t, w, "this key is not one of its workers', or no longer")
	_, err = DialNode(ctx, ks[2], at(t, h), nil)
	if err == nil || !strings.Contains(err.Error(), "does not know the key") {
		t.Errorf("the key that was struck off: error %v", err)
	}
}

// TestWorkerStreamIsServed opens streams before anybody serves them, and has the server return with what it wrote still
// on its way.
func TestWorkerStreamIsServed(t *testing.T) {
	overBoth(t, func(t *testing.T, quic bool) {
		ks := newKeys(t, 2)
		cfg, _ := employer(ks[0], signed(t, draft(ks[:1]), ks), 1, ks[1])
		cfg.QUIC = quic
		h := start(t, cfg)
		ctx := within(t)
		w := employ(ctx, t, ks[1], addressOver(t, h, quic))
		_, err := w.Open(ctx)
		if gone, ok := errors.AsType[*protocol.GoneError](err); !ok ||
			gone.Reason != "it does not take a worker's stream, or no more of them" {
			t.Errorf("a stream that nobody serves: %v", err)
		}
		last := bytes.Repeat([]byte("last"), protocol.MaxFrame/16)
		h.HandleWorkers(func(ctx context.Context, from keys.ID, s session.RawStream) {
			if from != ks[1].ID() {
				t.Errorf("a stream of %s", from.Short())
			}
			if err := session.NewFrames(s, from, "worker", nil).Send(ctx, last); err != nil {
				t.Error(err)
			}
		})
		f := framesOf(ctx, t, w)
		if got, err := f.Receive(ctx, nil); err != nil || !bytes.Equal(got, last) {
			t.Errorf("%d bytes came, %v", len(got), err)
		}
		_, err = f.Receive(ctx, nil)
		if gone, ok := errors.AsType[*protocol.GoneError](err); !ok || gone.Reason != "it closed the stream" {
			t.Errorf("after the server has returned: %v", err)
		}
		ended, cancel := context.WithCancel(ctx)
		cancel()
		if _, err := w.Open(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("an ended context opens a stream: %v", err)
		}
	})
}

// TestWorkerKilled ends a worker's process without a word: what serves its stream at the node ends and knows why, and
// the worker's place is free.
func TestWorkerKilled(t *testing.T) {
	overBoth(t, func(t *testing.T, quic bool) {
		ks := newKeys(t, 3)
		cfg, _ := employer(ks[0], signed(t, draft(ks[:1]), ks), 1, ks[1], ks[2])
		cfg.QUIC = quic
		h := start(t, cfg)
		causes := make(chan error, 1)
		h.HandleWorkers(func(ctx context.Context, from keys.ID, s session.RawStream) {
			if _, err := servedFrames(ctx, from, s).Receive(ctx, nil); err == nil {
				t.Error("a frame of somebody who sent none")
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
		})
		ctx := within(t)
		w := employ(ctx, t, ks[1], addressOver(t, h, quic))
		framesOf(ctx, t, w)
		w.link.conn.Close() // as the system does for a process that is gone
		gone, ok := errors.AsType[*protocol.GoneError](<-causes)
		if !ok || gone.Peer != ks[1].ID() || gone.Reason == "" {
			t.Errorf("the stream ended with %v", gone)
		}
		for { // another takes its place
			next, err := DialNode(ctx, ks[2], addressOver(t, h, quic), nil)
			if err == nil {
				next.Close()
				return
			}
			if ctx.Err() != nil || !strings.Contains(err.Error(), "as many workers as it takes") {
				t.Fatal(err)
			}
		}
	})
}

// TestWorkersNodeCloses closes a node while a worker's stream is served: the worker hears why, and Close returns.
func TestWorkersNodeCloses(t *testing.T) {
	ks := newKeys(t, 2)
	cfg, _ := employer(ks[0], signed(t, draft(ks[:1]), ks), 1, ks[1])
	h := start(t, cfg)
	h.HandleWorkers(echo)
	ctx := within(t)
	w := employ(ctx, t, ks[1], at(t, h))
	f := framesOf(ctx, t, w)
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	wantLost(ctx, t, w, "it was stopped")
	if _, err := f.Receive(ctx, nil); err == nil {
		t.Error("a frame of a node that is closed")
	}
}

// TestWorkerTwins starts a second process with the key of a worker that lives.
func TestWorkerTwins(t *testing.T) {
	ks := newKeys(t, 2)
	cfg, _ := employer(ks[0], signed(t, draft(ks[:1]), ks), 2, ks[1])
	cfg.Heartbeat, cfg.Silence = patience/2, patience // a worker counts as alive for long
	h := start(t, cfg)
	h.HandleWorkers(echo)
	ctx := within(t)
	first := framesOf(ctx, t, employ(ctx, t, ks[1], at(t, h)))
	_, err := DialNode(ctx, ks[1], at(t, h), nil)
	if want := fmt.Sprintf("%s refused the connection: another node with the key of %s is connected: only one may run",
		h.Self().Short(), ks[1].ID().Short()); err == nil || err.Error() != want {
		t.Errorf("error\n%v, want\n%s", err, want)
	}
	err = h.workers.install(&link{peer: ks[1].ID()})
	if err == nil || !strings.Contains(err.Error(), "only one may run") {
		t.Errorf("one that said hello before the first was in: %v", err)
	}
	if err := first.Send(ctx, []byte("x")); err != nil {
		t.Errorf("the first one lost its place: %v", err)
	}
}

// TestMoreWorkersThanPlaces has more workers come than a node takes, some of which say nothing: those beyond are
// refused, and members get in.
func TestMoreWorkersThanPlaces(t *testing.T) {
	const places = 2
	ks := newKeys(t, 10)
	members, workers := ks[:2], ks[2:]
	c := signed(t, draft(members), ks)
	cfg, _ := employer(members[0], c, places, workers...)
	h := start(t, cfg)
	h.HandleWorkers(echo)
	ctx := within(t)
	for _, k := range workers[:places] {
		framesOf(ctx, t, employ(ctx, t, k, at(t, h)))
	}
	_, err := DialNode(ctx, workers[places], at(t, h), nil)
	if want := fmt.Sprintf("%s refused the connection: it has as many workers as it takes at once, which is %d",
		h.Self().Short(), places); err == nil || err.Error() != want {
		t.Errorf("error\n%v, want\n%s", err, want)
	}
	closed := make(chan struct{}, len(workers))
	var silent sync.WaitGroup
	defer silent.Wait()
	for _, k := range workers[places+1:] {
		n, conn := dialRaw(ctx, t, k, h)
		defer n.Close()
		silent.Go(func() {
			if s, err := conn.NewStream(ctx); err == nil {
				io.Copy(io.Discard, s) // multistream's greeting, and then nothing until the node gives up
				s.Reset()
			}
			closed <- struct{}{}
		})
	}
	beyond := len(workers) - 1 - connsPerWorker*places
	for range beyond {
		select {
		case <-closed:
		case <-ctx.Done():
			t.Fatal("connections of workers beyond the limit stay")
		}
	}
	told := 0
	for _, s := range h.Strangers() {
		if s.Reason == "workers have 4 connections already, for 2 workers at most" {
			told++
		}
	}
	if told < beyond {
		t.Errorf("%d connections of workers were closed because of the limit, want %d", told, beyond)
	}
	other := start(t, config(members[1], c))
	introduce(t, other, h)
	meetAll(t, h, other)
}

// TestWorkersHavePlacesWhileThereIsWork has workers come while a node has no work: a few hear so, others are refused.
// When there is work they are let in.
func TestWorkersHavePlacesWhileThereIsWork(t *testing.T) {
	ks := newKeys(t, idleWorkers+2)
	cfg, _ := employer(ks[0], signed(t, draft(ks[:1]), ks), 256, ks[1:]...)
	var working atomic.Bool
	cfg.Working = working.Load
	h := start(t, cfg)
	h.HandleWorkers(echo)
	ctx := within(t)
	for _, k := range ks[1 : 1+idleWorkers] {
		framesOf(ctx, t, employ(ctx, t, k, at(t, h)))
	}
	_, err := DialNode(ctx, ks[1+idleWorkers], at(t, h), nil)
	if want := fmt.Sprintf("%s refused the connection: it has as many workers as it takes at once, which is %d",
		h.Self().Short(), idleWorkers); err == nil || err.Error() != want {
		t.Errorf("error\n%v, want\n%s", err, want)
	}
	working.Store(true)
	framesOf(ctx, t, employ(ctx, t, ks[1+idleWorkers], at(t, h)))
}

// TestWorkersTakeNoPlaces fills all places of workers, who come from one address, and then those of members.
func TestWorkersTakeNoPlaces(t *testing.T) {
	const members, workers = 3, 256
	limits, err := newLimits(members, workers)
	mustDo(t, err)
	defer limits.Close()
	come := func(conns, streams int, memory int64, from string) {
		t.Helper()
		_, public, err := crypto.GenerateEd25519Key(nil)
		mustDo(t, err)
		p, err := libpeer.IDFromPublicKey(public)
		mustDo(t, err)
		for range conns {
			scope, err := limits.OpenConnection(network.DirInbound, true, multiaddr.StringCast(from))
			mustDo(t, err)
			t.Cleanup(scope.Done)
			mustDo(t, scope.SetPeer(p))
		}
		mustDo(t, grant(limits, p, streams, memory))
		for range streams {
			scope, err := limits.OpenStream(p, network.DirInbound)
			mustDo(t, err)
			t.Cleanup(scope.Done)
			mustDo(t, scope.SetProtocol(protoWorker))
		}
		mustDo(t, limits.ViewPeer(p, func(s network.PeerScope) error {
			return s.ReserveMemory(int(memory), network.ReservationPriorityAlways)
		}))
	}
	for range workers {
		come(connsPerWorker, streamsOfWorker(members), memoryOfWorker(members), "/ip4/192.0.2.7/tcp/4001")
	}
	for range members {
		come(connsPerPeer, 128, memoryPerPeer, "/ip4/192.0.2.7/tcp/4001")
	}
}
