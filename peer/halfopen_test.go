package peer

import (
	"context"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

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

// TestCrowdKeepsMembersOut has `crowd` keep a member out that only dials: its first attempt fails, as all do until the
// silent connections are given up. Without the crowd the first attempt succeeds.
func TestCrowdKeepsMembersOut(t *testing.T) {
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
			if !test.crowd {
				until(t, member, h.Self(), "connected", connected)
				if in := failures(log); len(in) > 0 {
					t.Errorf("without a crowd: %q", in)
				}
				return
			}
			until(t, member, h.Self(), "troubled", func(s PeerStatus) bool { return troubled(s) && len(failures(log)) > 0 })
			if s := statusOf(t, member, h.Self()); s.Connected {
				t.Error("the member is in")
			}
		})
	}
}
