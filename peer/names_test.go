package peer

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"golang.org/x/net/dns/dnsmessage"
)

// nameServer answers what names are looked up as, until the test ends. Tests with one do not run in parallel.
func nameServer(t *testing.T, zone map[string]string) {
	t.Helper()
	at, err := net.ListenPacket("udp", "127.0.0.1:0")
	mustDo(t, err)
	goesFirst, dial := net.DefaultResolver.PreferGo, net.DefaultResolver.Dial
	net.DefaultResolver.PreferGo = true
	net.DefaultResolver.Dial = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", at.LocalAddr().String())
	}
	served := make(chan struct{})
	t.Cleanup(func() {
		net.DefaultResolver.PreferGo, net.DefaultResolver.Dial = goesFirst, dial
		at.Close()
		<-served
	})
	go func() {
		defer close(served)
		for {
			packet := make([]byte, 1024)
			n, from, err := at.ReadFrom(packet)
			if err != nil {
				return
			}
			var m dnsmessage.Message
			if m.Unpack(packet[:n]) != nil || len(m.Questions) != 1 {
				continue
			}
			q := m.Questions[0]
			m.Response, m.Additionals = true, nil
			ip, _ := netip.ParseAddr(zone[strings.TrimSuffix(q.Name.String(), ".")])
			if !ip.IsValid() { // a machine may look for names below its own domains first
				m.RCode = dnsmessage.RCodeNameError
			}
			head := dnsmessage.ResourceHeader{Name: q.Name, Type: q.Type, Class: q.Class, TTL: 1}
			switch {
			case q.Type == dnsmessage.TypeA && ip.Is4():
				m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AResource{A: ip.As4()}}}
			case q.Type == dnsmessage.TypeAAAA && ip.Is6():
				m.Answers = []dnsmessage.Resource{{Header: head, Body: &dnsmessage.AAAAResource{AAAA: ip.As16()}}}
			}
			if packet, err = m.Pack(); err == nil {
				at.WriteTo(packet, from)
			}
		}
	}()
}

// TestNamesThatLeadBack gives a member names that lead to the machine that looks them up, in every way of writing that,
// and to nobody. None is dialled, but by a node whose federation is on its machine: there the loopback address is.
func TestNamesThatLeadBack(t *testing.T) {
	leads := map[string]string{"loopback.example": "127.0.0.1", "loopback-six.example": "::1",
		"mapped.example": "::ffff:127.0.0.1", "zero.example": "0.0.0.0", "zero-six.example": "::",
		"mapped-zero.example": "::ffff:0.0.0.0", "translated.example": "64:ff9b::7f00:1", "tunnel.example": "2002:7f00:1::",
		"group.example": "224.0.0.1", "group-six.example": "ff02::1", "reserved.example": "240.0.0.1",
		"all.example": "255.255.255.255"}
	nameServer(t, leads)
	for listen, machine := range map[string]bool{"/ip4/0.0.0.0/tcp/0": false, "/ip4/127.0.0.1/tcp/0": true} {
		t.Run(map[bool]string{true: "machine", false: "network"}[machine], func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			mustDo(t, err)
			var calls atomic.Int64
			served := make(chan struct{})
			go func() {
				defer close(served)
				for {
					conn, err := l.Accept()
					if err != nil {
						return
					}
					calls.Add(1)
					conn.Close()
				}
			}()
			t.Cleanup(func() {
				l.Close()
				<-served
			})
			ks := newKeys(t, 4)
			d := draft(ks)
			for i, name := range slices.Sorted(maps.Keys(leads)) {
				if m := &d.Members[1+i%3]; !machine || strings.Contains(leads[name], "127.0.0.1") {
					m.Addresses = append(m.Addresses, fmt.Sprintf("/dns/%s/tcp/%d", name, l.Addr().(*net.TCPAddr).Port))
				}
			}
			cfg := config(ks[0], signed(t, d, ks))
			cfg.Listen = []string{listen}
			h := start(t, cfg)
			for _, m := range d.Members[1:] {
				if len(m.Addresses) == 0 {
					continue
				}
				until(t, h, m.ID, "tried", troubled)
				e, err := h.Examine(within(t), m.ID)
				if err != nil || len(e.Attempts) == 0 {
					t.Fatalf("%+v, %v", e, err)
				}
				for _, attempt := range e.Attempts {
					const refusal = "it leads to this machine, to none, or into a network"
					if strings.HasPrefix(attempt.Text, refusal) == machine {
						t.Errorf("%s: %s", attempt.Address, attempt.Text)
					}
				}
			}
			if dialled := calls.Load() > 0; dialled != machine {
				t.Errorf("it dials this machine: %v, want %v", dialled, machine)
			}
		})
	}
	for _, cause := range []error{swarm.ErrDialToSelf, swarm.ErrGaterDisallowedConnection} {
		if text := explainCause(cause); !strings.HasPrefix(text, "it leads to this machine") {
			t.Errorf("%v is told as %q", cause, text)
		}
	}
}
