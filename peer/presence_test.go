package peer

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
)

// throughProxy starts two hosts, the first of which knows the second only behind a proxy.
func throughProxy(t *testing.T, change ...func(*Config)) (low, high *Host, p *proxy) {
	t.Helper()
	ks := newKeys(t, 2)
	c := signed(t, draft(ks), ks)
	make := func(k *keys.PrivateKey) *Host {
		cfg := config(k, c)
		for _, f := range change {
			f(&cfg)
		}
		h, err := New(cfg)
		mustDo(t, err)
		return h
	}
	low, high = make(ks[0]), make(ks[1])
	p = newProxy(t, high)
	point(t, low, high.Self(), p.address())
	run(t, low)
	run(t, high)
	meetAll(t, low, high)
	return low, high, p
}

// TestSilence holds the bytes back between two hosts: no connection breaks, but both notice.
func TestSilence(t *testing.T) {
	const silence = 2 * time.Second
	low, high, p := throughProxy(t, func(c *Config) { c.Heartbeat, c.Silence = silence/10, silence })
	meshes := openAll(t, protocol.SessionID{1}, low, high)
	p.stick(true)
	ctx := within(t)
	_, err := meshes[0].Receive(ctx, high.Self(), nil)
	gone, ok := errors.AsType[*protocol.GoneError](err)
	if !ok || gone.Peer != high.Self() || gone.Reason != "no heartbeat for 2s" || gone.Silent < silence {
		t.Errorf("receive from a silent peer: %v (%+v)", err, gone)
	}
	if err := meshes[1].Send(ctx, low.Self(), []byte("x")); err == nil {
		_, err = meshes[1].Receive(ctx, low.Self(), nil)
		if _, ok := errors.AsType[*protocol.GoneError](err); !ok {
			t.Errorf("receive on the other side: %v", err)
		}
	}
	p.stick(false)
	meetAll(t, low, high)
}

// TestBusyIsNotSilent keeps a link without heartbeats alive by data alone.
func TestBusyIsNotSilent(t *testing.T) {
	k := newKeys(t, 1)[0]
	l := &link{peer: k.ID(), heard: new(tally), since: time.Now().Add(-time.Hour)}
	if quiet := l.quietFor(); quiet < 30*time.Minute {
		t.Fatalf("a link nobody was heard on is quiet for %v", quiet)
	}
	m := newMeter()
	p, err := peerID(k.ID())
	mustDo(t, err)
	l.heard = m.of(p)
	m.LogRecvMessageStream(1000, protoSession, p)
	if quiet := l.quietFor(); quiet > time.Minute {
		t.Errorf("a link on which data came is quiet for %v", quiet)
	}
}

// TestReset breaks the connection as a killed process does: pending calls fail, and the link
// comes back.
func TestReset(t *testing.T) {
	low, high, p := throughProxy(t)
	meshes := openAll(t, protocol.SessionID{1}, low, high)
	before := statusOf(t, low, high.Self())
	p.reset()
	_, err := meshes[0].Receive(within(t), high.Self(), nil)
	if gone, ok := errors.AsType[*protocol.GoneError](err); !ok || gone.Reason == "" {
		t.Errorf("receive after a reset: %v", err)
	}
	until(t, low, high.Self(), "connected anew",
		func(s PeerStatus) bool { return s.Connected && s.Since.After(before.Since) })
	openAll(t, protocol.SessionID{2}, low, high)
}

// freePort returns a TCP port of the loopback interface that is free for now, below those that systems hand out for
// outgoing connections, which come and go at any moment.
func freePort(t testing.TB) int {
	t.Helper()
	for range 1000 {
		port := 10_000 + rand.IntN(10_000)
		if l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			l.Close()
			return port
		}
	}
	t.Fatal("no port is free")
	return 0
}

// TestRestart closes a host and starts it again on its port, which the charter names.
func TestRestart(t *testing.T) {
	ks := newKeys(t, 2)
	d := draft(ks)
	d.Members[1].Addresses = []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", freePort(t))}
	c := signed(t, d, ks)
	high := func() *Host {
		cfg := config(ks[1], c)
		cfg.Listen = nil // as the charter says
		return start(t, cfg)
	}
	first := high()
	low := start(t, config(ks[0], c))
	meetAll(t, low, first)
	mustDo(t, first.Close())
	s := until(t, low, first.Self(), "disconnected", func(s PeerStatus) bool { return !s.Connected })
	if want := "it was stopped"; s.Trouble != want && !strings.Contains(s.Trouble, "connection refused") {
		t.Errorf("trouble %q, want %q", s.Trouble, want)
	}
	second := high()
	meetAll(t, low, second)
	openAll(t, protocol.SessionID{1}, low, second)
}

// TestPortInUse starts two hosts on one port.
func TestPortInUse(t *testing.T) {
	ks := newKeys(t, 2)
	c := signed(t, draft(ks), ks)
	first := start(t, config(ks[0], c))
	cfg := config(ks[1], c)
	for listen, want := range map[string]string{
		at(t, first):                      fmt.Sprintf("cannot listen on %s: the port is in use, perhaps by another hanse node on this machine: stop it or choose another port", at(t, first)),
		"/ip4/192.0.2.1/tcp/4001":         "cannot listen on /ip4/192.0.2.1/tcp/4001: no interface of this machine has that address",
		"localhost:4001":                  `cannot listen on "localhost:4001": it is no multiaddr: want the like of /ip4/0.0.0.0/tcp/4001`,
		"/ip4/127.0.0.1/udp/4001/quic-v1": "cannot listen on /ip4/127.0.0.1/udp/4001/quic-v1: it is neither a TCP address nor, with QUIC switched on, a UDP one",
	} {
		cfg.Listen = []string{listen}
		h, err := New(cfg)
		if err == nil {
			h.Close()
		}
		if err == nil || err.Error() != want {
			t.Errorf("error\n%v, want\n%s", err, want)
		}
	}
}

// TestStatus looks at a link from both sides.
func TestStatus(t *testing.T) {
	hosts := federation(t, 2)
	meetAll(t, hosts...)
	for i, h := range hosts {
		other := hosts[1-i]
		s := statusOf(t, h, other.Self())
		if s.Name != nameAt(1-i) || !strings.HasPrefix(s.Address, "/ip4/127.0.0.1/tcp/") || s.RTT <= 0 || s.RTT > patience ||
			s.Trouble != "" || s.Refused != "" || time.Since(s.Heard) > patience {
			t.Errorf("status %+v", s)
		}
		if traffic := h.Traffic()[other.Self()]; traffic.In < 100 || traffic.Out < 100 {
			t.Errorf("traffic %+v, want the hellos at least", traffic)
		}
	}
}

// TestRunEnds ends hosts in all ways there are.
func TestRunEnds(t *testing.T) {
	ks := newKeys(t, 2)
	cfg := config(ks[0], signed(t, draft(ks), ks))
	h, err := New(cfg)
	mustDo(t, err)
	watch := h.Watch()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- h.Run(ctx) }()
	<-h.life.started
	if err := h.Run(ctx); err == nil || err.Error() != "a host runs only once" {
		t.Errorf("a second run: %v", err)
	}
	cancel()
	if err := <-done; err != nil {
		t.Errorf("run: %v", err)
	}
	<-watch
	if err := h.Close(); err != nil {
		t.Errorf("close after run: %v", err)
	}
	if _, err := h.Open(t.Context(), protocol.SessionID{1}, []keys.ID{ks[1].ID()}); !errors.Is(err, session.ErrClosed) {
		t.Errorf("open after close: %v", err)
	}
	if _, err := h.Call(t.Context(), ks[1].ID(), "x", nil); err == nil {
		t.Error("a call after close has no error")
	}
	unused, err := New(cfg)
	mustDo(t, err)
	for range 2 {
		if err := unused.Close(); err != nil {
			t.Errorf("close without run: %v", err)
		}
	}
}

// TestConfig tries configurations that make no host.
func TestConfig(t *testing.T) {
	ks := newKeys(t, 3)
	d := draft(ks[:2])
	c := signed(t, d, ks)
	for _, test := range []struct {
		change func(*Config)
		want   string
	}{
		{func(c *Config) { c.Charter = nil }, "a host needs a key and a charter; a newcomer without a charter uses DialJoin"},
		{func(c *Config) { c.Key = ks[2] }, fmt.Sprintf("the key %s is no member's in charter \"credit\" version 1: check that key file and charter belong together", ks[2].ID())},
		{func(c *Config) { c.Charter = signed(t, d, ks[:1]) }, "charter \"credit\" is not in force: insurer has not signed it"},
		{func(c *Config) { c.Discovery = []string{"gossip"} }, `unknown way of discovery "gossip": want some of ["addresses" "mdns" "dht"]`},
		{func(c *Config) { c.Discovery = []string{DiscoverMDNS} }, `mDNS tells the local network that this node is there, and charter "credit" does not say so: leave it out, or make a version of the charter with "mdns" under discovery`},
		{func(c *Config) { c.Silence = testBeat }, "a silence of 1s with a heartbeat every 1s: want at least two heartbeats"},
	} {
		cfg := config(ks[0], c)
		test.change(&cfg)
		h, err := New(cfg)
		if err == nil {
			h.Close()
		}
		if err == nil || err.Error() != test.want {
			t.Errorf("error\n%v, want\n%s", err, test.want)
		}
	}
}

// TestListenEverywhere rewrites what a charter lists.
func TestListenEverywhere(t *testing.T) {
	public := []string{"/ip4/192.0.2.7/tcp/4001", "/dns4/bank.example/tcp/4001", "/ip6/2001:db8::7/tcp/4001",
		"/dns4/bank.example/udp/4001/quic-v1"}
	for quic, want := range map[bool]string{
		false: "[/ip4/0.0.0.0/tcp/4001 /ip6/::/tcp/4001]",
		true:  "[/ip4/0.0.0.0/tcp/4001 /ip6/::/tcp/4001 /ip4/0.0.0.0/udp/4001/quic-v1]",
	} {
		if got := fmt.Sprint(listenEverywhere(public, quic)); got != want {
			t.Errorf("QUIC %v: %s, want %s", quic, got, want)
		}
	}
	local := []string{"/ip4/127.0.0.1/tcp/4001", "/ip6/::1/tcp/4001", "/dns4/localhost/tcp/4002", "/ip4/10.0.0.7/tcp/4003"}
	want := "[/ip4/127.0.0.1/tcp/4001 /ip6/::1/tcp/4001 /ip4/127.0.0.1/tcp/4002 /ip4/0.0.0.0/tcp/4003]"
	if got := fmt.Sprint(listenEverywhere(local, false)); got != want {
		t.Errorf("loopback: %s, want %s", got, want)
	}
}

// TestSupersedes checks that two sides who see the same two links, each in its own order, keep
// the same one.
func TestSupersedes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		lowDials := [2]bool{rapid.Bool().Draw(t, "low dials first link"), rapid.Bool().Draw(t, "low dials second link")}
		if lowDials[0] == lowDials[1] {
			t.Skip("the second replaces the first on both sides: they come in one order")
		}
		view := func(low bool, order [2]int) int {
			side := func(i int) *link { return &link{dialled: lowDials[i] == low, theirs: hello{Instance: 7}} }
			if supersedes(side(order[1]), side(order[0]), low) {
				return order[1]
			}
			return order[0]
		}
		orders := [][2]int{{0, 1}, {1, 0}}
		low := view(true, rapid.SampledFrom(orders).Draw(t, "order at low"))
		high := view(false, rapid.SampledFrom(orders).Draw(t, "order at high"))
		if low != high || !lowDials[low] {
			t.Fatalf("low keeps link %d, high link %d", low, high)
		}
	})
}

// TestBackoff grows to its limit and no further.
func TestBackoff(t *testing.T) {
	var b backoff
	for i := range 40 {
		got := b.next()
		if want := min(shortestPause<<min(i, 10), longestPause); got < want*3/4 || got > want*5/4 {
			t.Errorf("pause %d is %v, want %v give or take a quarter", i, got, want)
		}
	}
}
