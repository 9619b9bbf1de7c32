package peer

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// TestStrangersCutNobodyOff has somebody fill a port with connections that say nothing, as many as are let in and more,
// for as long as it takes. The node behind the port connects to another member at the first attempt.
func TestStrangersCutNobodyOff(t *testing.T) {
	ks := newKeys(t, 2)
	c := signed(t, draft(ks), ks)
	log := new(lines)
	cfg := config(ks[0], c)
	cfg.Log = newLog(log)
	victim := start(t, cfg)
	other := start(t, config(ks[1], c))
	turnedAway := make(chan struct{}, 1)
	flooding, stop := context.WithCancel(t.Context())
	var flood sync.WaitGroup
	defer flood.Wait()
	defer stop()
	for range placesAtDoor(len(ks)) + 8 {
		flood.Go(func() {
			for flooding.Err() == nil {
				conn, err := new(net.Dialer).DialContext(flooding, "tcp", victim.node.tcpAddress(t))
				if err != nil {
					continue
				}
				end := context.AfterFunc(flooding, func() { conn.Close() })
				io.Copy(io.Discard, conn) // multistream's greeting, and then nothing until the port gives up or is full
				end()
				conn.Close()
				select {
				case turnedAway <- struct{}{}:
				default:
				}
			}
		})
	}
	select {
	case <-turnedAway:
	case <-within(t).Done():
		t.Fatal("the port takes more connections than it may")
	}
	introduce(t, victim, other)
	until(t, victim, other.Self(), "connected", connected)
	if failed := slices.IndexFunc(log.all(), func(s string) bool {
		return strings.Contains(s, "not connected") && !strings.Contains(s, "no address is known")
	}); failed >= 0 {
		t.Errorf("while strangers fill the port: %s", log.all()[failed])
	}
}

// TestNewcomersBounds has an invited newcomer ask for too much: with long requests, with many at once, and by messages
// that are not its business. It has less memory than a member.
func TestNewcomersBounds(t *testing.T) {
	ks := newKeys(t, 3)
	guest := ks[2]
	h := inviting(t, ks[:2], guest.ID())
	member := start(t, config(ks[1], h.members.inForce().charter))
	introduce(t, h, member)
	meetAll(t, h, member)
	entered, leave := make(chan struct{}), make(chan struct{})
	h.Handle(func(_ context.Context, _ keys.ID, method string, _ []byte) ([]byte, *fault.Fault) {
		if method == "join/slow" {
			entered <- struct{}{}
			<-leave
		}
		return nil, nil
	})
	ctx := within(t)
	j, err := DialJoin(ctx, guest, at(t, h), nil)
	mustDo(t, err)
	defer j.Close()
	refusal := func(method string, request []byte) fault.Code {
		_, err := j.Call(ctx, method, request)
		if remote, ok := err.(*protocol.RemoteError); ok {
			return remote.Fault.Code
		}
		t.Errorf("%s with %d bytes gives %v, want a refusal", method, len(request), err)
		return ""
	}
	if _, err := j.Call(ctx, "join/sign", make([]byte, joinRequest)); err != nil {
		t.Errorf("a request of the largest size: %v", err)
	}
	if code := refusal("join/sign", make([]byte, joinRequest+1)); code != fault.CodeRequest {
		t.Errorf("a longer request gives %q", code)
	}
	var slow sync.WaitGroup
	for range joinCalls {
		slow.Go(func() {
			if _, err := j.Call(ctx, "join/slow", nil); err != nil {
				t.Error(err)
			}
		})
		<-entered
	}
	if code := refusal("join/fetch", nil); code != fault.CodeLimit {
		t.Errorf("one call more than %d at once gives %q", joinCalls, code)
	}
	close(leave)
	slow.Wait()

	memory := func(of *keys.PrivateKey) (n int64) {
		p, err := peerID(of.ID())
		mustDo(t, err)
		mustDo(t, h.node.limits.ViewPeer(p, func(s network.PeerScope) error {
			n = s.(rcmgr.ResourceScopeLimiter).Limit().GetMemoryLimit()
			return nil
		}))
		return n
	}
	if got, of := memory(guest), memory(ks[1]); got != memoryBefore || of != memoryPerPeer {
		t.Errorf("a newcomer has %d bytes and a member %d, want %d and %d", got, of, memoryBefore, memoryPerPeer)
	}
	changed := h.Watch()
	j.link.send(kindProgram, encodeProgram("a newcomer's"), patience)
	j.link.send(kindCharter, encode(h.members.inForce().stance), patience)
	j.link.send(kindWhereabouts, []byte("nowhere"), patience)
	j.link.send(kindBye, encode(byeOf(fault.Fault{Code: fault.CodeStopped})), patience)
	select {
	case <-j.link.over:
	case <-ctx.Done():
		t.Fatal("the host does not take a newcomer's goodbye")
	}
	select {
	case <-changed:
		t.Error("what a newcomer says wakes those who watch members")
	default:
	}
}

// flooded is a control stream that is full of messages.
type flooded struct {
	network.Stream
	from io.Reader
}

// Read reads the messages.
func (f flooded) Read(p []byte) (int, error) { return f.from.Read(p) }

// TestControlFlood has a member send control messages as fast as they are read: they are read at their pace.
func TestControlFlood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const seconds = 5
		messages := bytes.Repeat(message(t, 99, nil), controlBurst+seconds*controlRate)
		l := &link{heard: new(tally), control: flooded{from: bytes.NewReader(messages)}}
		began := time.Now()
		if why := l.listen(observer{}); why != "connection closed" {
			t.Errorf("the link ends with %q", why)
		}
		if took := time.Since(began); took < (seconds-1)*time.Second {
			t.Errorf("%d messages were read in %v", controlBurst+seconds*controlRate, took)
		}
	})
}

// TestWhoDoesNotRead has whereabouts change a thousand times while a member takes none: they wait in one place, and
// the latest is what it hears.
func TestWhoDoesNotRead(t *testing.T) {
	ks, _, out, hub := strayed(t)
	mover := ks[2]
	l := hub.members.linkOf(out.Self())
	l.write.Lock() // a message that does not get through
	before := runtime.NumGoroutine()
	var w whereabouts
	for seq := range uint64(1000) {
		var err error
		if w, err = decodeWhereabouts(saidBy(t, mover, mover.ID(), seq,
			fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", 7+seq))); err != nil {
			t.Fatal(err)
		}
		hub.bearings.mu.Lock()
		hub.bearings.latest[whereaboutsKey{w.id, w.reach}] = &knownWhereabouts{whereabouts: w}
		begins := hub.bearings.owe(l, whereaboutsKey{w.id, w.reach})
		hub.bearings.mu.Unlock()
		if begins {
			hub.life.spawn(func() { hub.bearings.sendOwed(l) })
		}
	}
	if n := runtime.NumGoroutine() - before; n > 100 {
		t.Errorf("%d goroutines wait for a member that does not read", n)
	}
	l.write.Unlock()
	ctx := within(t)
	for {
		news := out.addresses.News(mover.ID())
		out.bearings.mu.Lock()
		k := out.bearings.latest[whereaboutsKey{w.id, w.reach}]
		latest := k != nil && k.seq == w.seq
		out.bearings.mu.Unlock()
		if latest {
			return
		}
		select {
		case <-news:
		case <-ctx.Done():
			t.Fatal("the latest was never heard")
		}
	}
}

// tcpAddress is where a host listens, as package net writes it.
func (n *node) tcpAddress(t *testing.T) string {
	t.Helper()
	a := n.addresses()[0]
	return net.JoinHostPort(a[0].Value(), a[1].Value())
}
