package peer

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/multiformats/go-multiaddr"
	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

// silentConns is how many connections the attacker `crowd` holds open at once.
const silentConns = 700

// standAtTheDoor is the attacker `crowd`: from one address it opens connections to a port, takes what comes and never
// says a word, and opens another for each that is closed, if it is to. It returns when each of them has been tried.
func standAtTheDoor(t *testing.T, port string, again bool) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	var standing, opened sync.WaitGroup
	t.Cleanup(func() { stop(); standing.Wait() })
	for range silentConns {
		opened.Add(1)
		standing.Go(func() {
			said := sync.OnceFunc(opened.Done)
			defer said()
			for ctx.Err() == nil {
				conn, err := new(net.Dialer).DialContext(ctx, "tcp", port)
				if err != nil {
					continue
				}
				end := context.AfterFunc(ctx, func() { conn.Close() })
				said()
				io.Copy(io.Discard, conn)
				end()
				conn.Close()
				if !again {
					return
				}
			}
		})
	}
	opened.Wait()
}

// besieged starts a node as the program does, with places for workers, and a member that only dials. The node listens
// at two addresses.
func besieged(t *testing.T) (h *Host, member Config, log *lines) {
	t.Helper()
	ks := newKeys(t, 3)
	c := signed(t, draft(ks), ks)
	cfg := config(ks[0], c)
	cfg.Listen = append(cfg.Listen, "/ip6/::1/tcp/0")
	cfg.Worker, cfg.Workers = func(keys.ID) bool { return false }, 256
	h, log = start(t, cfg), new(lines)
	member = config(ks[1], c)
	member.Listen, member.Log = []string{}, newLog(log)
	return h, member, log
}

// failures lists what a log says of attempts in vain to connect, once an address was known.
func failures(log *lines) (out []string) {
	for _, s := range log.all() {
		if strings.Contains(s, "not connected") && !strings.Contains(s, "no address is known") {
			out = append(out, s)
		}
	}
	return out
}

// TestCrowdKeepsNobodyOut has `crowd` stand at the door before a member comes that only dials. The member's first
// attempt succeeds, as without the crowd: it neither finds all places taken nor loses its own.
func TestCrowdKeepsNobodyOut(t *testing.T) {
	for _, test := range []struct {
		name         string
		crowd, again bool
		to           int // which of the node's addresses the member dials
	}{
		{"nobody", false, false, 0},
		{"from the member's address", true, false, 0},
		{"from another address, again and again", true, true, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, cfg, log := besieged(t)
			if test.crowd {
				standAtTheDoor(t, h.node.tcpAddress(t), test.again)
			}
			member := start(t, cfg)
			point(t, member, h.Self(), h.Addresses()[test.to])
			until(t, member, h.Self(), "connected, or troubled", func(s PeerStatus) bool {
				return s.Connected || len(failures(log)) > 0
			})
			if in := failures(log); len(in) > 0 {
				t.Errorf("the first attempt fails: %q", in)
			}
		})
	}
}

// TestWhoSaysNothingIsGivenUpFirst has a member connect and say no hello, and somebody after it who does not even shake
// hands: whose key is known has session.AnswerTime, the other one handshakeTime.
func TestWhoSaysNothingIsGivenUpFirst(t *testing.T) {
	ks := newKeys(t, 2)
	h := start(t, config(ks[0], signed(t, draft(ks), ks)))
	ctx := within(t)
	n, known := dialRaw(ctx, t, ks[1], h)
	defer n.Close()
	silent, err := new(net.Dialer).DialContext(ctx, "tcp", h.node.tcpAddress(t))
	mustDo(t, err)
	defer context.AfterFunc(ctx, func() { silent.Close() })()
	io.Copy(io.Discard, silent)
	if known.IsClosed() || ctx.Err() != nil {
		t.Error("who shows no key stays as long as who shows one")
	}
}

// caller is a connection that says that it comes from somewhere.
type caller struct {
	net.Conn
	from   multiaddr.Multiaddr
	closed chan struct{}
}

func (c *caller) LocalMultiaddr() multiaddr.Multiaddr  { return c.from }
func (c *caller) RemoteMultiaddr() multiaddr.Multiaddr { return c.from }

// Close implements net.Conn.
func (c *caller) Close() error {
	close(c.closed)
	return nil
}

// arrive lets a caller in from an address.
func arrive(p *porch, from string) (*caller, *visitor) {
	c := &caller{from: multiaddr.StringCast(from), closed: make(chan struct{})}
	return c, p.enter(c, &network.NullScope{})
}

// TestOrigins says who shares the places of one address.
func TestOrigins(t *testing.T) {
	const relay = "12D3KooWCryG7Mon9orvQxcS1rYZjotPgpwoJNHHKcLLfE4Hf5mV"
	of := func(text string) origin { return originOf(multiaddr.StringCast(text)) }
	for _, same := range [][]string{
		{"/ip4/192.0.2.7/tcp/1", "/ip4/192.0.2.7/tcp/2", "/ip6/::ffff:192.0.2.7/tcp/1"},
		{"/ip4/192.0.2.8/tcp/1"},
		{"/ip4/127.0.0.1/tcp/1", "/ip4/127.9.9.9/tcp/1"},
		{"/ip6/::1/tcp/1"},
		{"/ip6/2001:db8::1/tcp/1", "/ip6/2001:db8::ffff:ffff:ffff:ffff/tcp/1"},
		{"/ip6/2001:db8:0:1::1/tcp/1"},
		{"/ip4/192.0.2.7/tcp/1/p2p/" + relay + "/p2p-circuit", "/ip4/192.0.2.8/tcp/1/p2p/" + relay + "/p2p-circuit"},
	} {
		for _, a := range same {
			if of(a) != of(same[0]) {
				t.Errorf("%s is another origin than %s", a, same[0])
			}
		}
		for _, other := range []string{"/ip4/198.51.100.1/tcp/1", "/ip6/2001:db8:ffff::1/tcp/1", "/dns4/a.example/tcp/1"} {
			if of(other) == of(same[0]) {
				t.Errorf("%s is the origin of %s", other, same[0])
			}
		}
	}
}

// TestPorch has callers come from few addresses and from many, show a key or go, in any order. Nobody who comes is
// turned away; an address has a quarter of the places; who loses one is the oldest of its address, or of those with the
// most where all places are taken; and who is alone at its address loses it to nobody while an address has two.
func TestPorch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := newPorch(nil, rapid.IntRange(1, 4).Draw(t, "members"))
		defer p.Close()
		type standing struct {
			*caller
			*visitor
		}
		var in []standing // the oldest first
		addresses := rapid.SampledFrom([]int{1, 3, 6, 2 * p.all}).Draw(t, "addresses")
		for range rapid.IntRange(0, 3*p.all).Draw(t, "events") {
			if len(in) > 0 && rapid.IntRange(0, 9).Draw(t, "event") == 0 {
				i := rapid.IntRange(0, len(in)-1).Draw(t, "who")
				if rapid.Bool().Draw(t, "shows a key") {
					if err := in[i].SetPeer("somebody"); err != nil {
						t.Fatalf("who has a place may not show a key: %v", err)
					}
				}
				in[i].Done()
				in = slices.Delete(in, i, i+1)
				continue
			}
			at := rapid.IntRange(0, addresses-1).Draw(t, "address")
			count := make(map[origin]int)
			for _, s := range in {
				count[s.visitor.from]++
			}
			most := slices.Max(append(slices.Collect(maps.Values(count)), 0))
			c, v := arrive(p, fmt.Sprintf("/ip4/198.51.%d.%d/tcp/1", at/256, at%256))
			lost := -1
			switch {
			case count[v.from] == p.each:
				lost = slices.IndexFunc(in, func(s standing) bool { return s.visitor.from == v.from })
			case len(in) == p.all:
				lost = slices.IndexFunc(in, func(s standing) bool { return count[s.visitor.from] == most })
			}
			if lost >= 0 {
				<-in[lost].closed
				if err := in[lost].SetPeer("somebody"); err != errGivenUp {
					t.Fatalf("who has lost its place shows a key: %v", err)
				}
				in[lost].Done()
				in = slices.Delete(in, lost, lost+1)
			}
			in = append(in, standing{c, v})
			if p.taken != len(in) || p.taken > p.all || len(p.by[v.from]) > p.each {
				t.Fatalf("%d places are taken of %d, %d of one address of %d, by %d", p.taken, p.all, len(p.by[v.from]), p.each,
					len(in))
			}
			for _, s := range in {
				select {
				case <-s.closed:
					t.Fatalf("number %d lost its place", s.number)
				default:
				}
			}
		}
	})
}

// TestManyAddressesLeaveOneItsPlace has `crowd` come from as many addresses as have all places of theirs, and from
// twice as many, again and again: who came before from an address of its own keeps its place. From an address for each
// place the crowd takes it, with as many connections as there are places.
func TestManyAddressesLeaveOneItsPlace(t *testing.T) {
	const members = 3
	for addresses, keeps := range map[int]bool{4: true, 8: true, placesAtDoor(members): false} {
		p := newPorch(nil, members)
		honest, _ := arrive(p, "/ip6/2001:db8::1/tcp/1")
		for i := range 20 * p.all {
			arrive(p, fmt.Sprintf("/ip4/198.51.%d.%d/tcp/1", i%addresses/256, i%addresses%256))
		}
		p.Close()
		select {
		case <-honest.closed:
			if keeps {
				t.Errorf("from %d addresses: it lost its place", addresses)
			}
		default:
			if !keeps {
				t.Errorf("from %d addresses: it kept its place", addresses)
			}
		}
	}
}
