package peer

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// crowdVariable names the environment variable that sets how many clients the crowd has.
const crowdVariable = "HANSE_CROWD"

// crowdFrame is the size of the frame that each client sends, in bytes.
const crowdFrame = 80_000

// crowd is a server and its clients in one process, each client with the server as its only
// neighbour and without a port of its own.
type crowd struct {
	*testing.T
	server  *Host
	clients []*Host
	ids     []keys.ID
	before  usage
}

// TestCrowd has many clients connect to one server at once, gathers them, and takes in a frame
// of each. It logs what that takes; HANSE_CROWD=1000 makes the crowd larger.
func TestCrowd(t *testing.T) {
	n := 50
	if text := os.Getenv(crowdVariable); text != "" {
		var err error
		if n, err = strconv.Atoi(text); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := newCrowd(t, n)
	c.step("connect", func() { c.connect(ctx) })
	c.step("idle for 5 s", func() { c.idle(ctx) })
	var mesh protocol.Mesh
	var theirs []protocol.Mesh
	c.step("gather", func() { mesh, theirs = c.gather(ctx) })
	for range 3 {
		c.step("move", func() { c.move(ctx, mesh, theirs) })
	}
	c.step("close", func() { closeAll(append(theirs, mesh)) })
}

// newCrowd makes the hosts, which do not run yet.
func newCrowd(t *testing.T, n int) *crowd {
	c := &crowd{T: t, before: measure(t)}
	ks := newKeys(t, n+1)
	at := n / 2 // so that it dials one half of the session streams and answers the other
	var charter *keys.SignedCharter
	c.step("sign", func() {
		d := draft(ks)
		d.Members[at].Addresses = []string{fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", freePort(t))}
		charter = signed(t, d, ks)
	})
	c.step("create", func() {
		for i, k := range ks {
			cfg := Config{Key: k, Charter: charter, Discovery: []string{DiscoverAddresses}, Neighbours: []keys.ID{ks[at].ID()}}
			if i == at {
				cfg.Neighbours = []keys.ID{}
			}
			h, err := New(cfg)
			mustDo(t, err)
			if i == at {
				c.server = h
				continue
			}
			c.clients = append(c.clients, h)
			c.ids = append(c.ids, h.Self())
		}
	})
	return c
}

// connect runs all hosts and waits until the server has a link to every client.
func (c *crowd) connect(ctx context.Context) {
	run(c, c.server)
	for _, h := range c.clients {
		run(c, h)
	}
	awaitLinks(ctx, c, c.server, len(c.clients))
}

// awaitLinks waits until a host has links to so many members.
func awaitLinks(ctx context.Context, t testing.TB, h *Host, want int) {
	t.Helper()
	for {
		change := h.Watch()
		linked := 0
		for _, s := range h.Status() {
			if s.Connected {
				linked++
			}
		}
		if linked == want {
			return
		}
		select {
		case <-change:
		case <-ctx.Done():
			t.Fatalf("%d members are connected, want %d", linked, want)
		}
	}
}

// idle lets heartbeats pass; only a measured crowd does.
func (c *crowd) idle(ctx context.Context) {
	if os.Getenv(crowdVariable) == "" {
		return
	}
	select {
	case <-time.After(5 * time.Second):
	case <-ctx.Done():
	}
}

// gather has the server gather the clients, who open the session.
func (c *crowd) gather(ctx context.Context) (protocol.Mesh, []protocol.Mesh) {
	theirs := make([]protocol.Mesh, len(c.clients))
	var opening sync.WaitGroup
	for i, h := range c.clients {
		opening.Go(func() {
			m, err := h.Open(ctx, protocol.SessionID{1}, []keys.ID{c.server.Self()})
			if err != nil {
				c.Errorf("client %d: %v", i, err)
			}
			theirs[i] = m
		})
	}
	mesh, absent, err := c.server.Gather(ctx, protocol.SessionID{1}, c.ids)
	opening.Wait()
	if err != nil || len(absent) > 0 || c.Failed() {
		c.Fatalf("gathered without %v: %v", absent, err)
	}
	return mesh, theirs
}

// move has every client send a frame that the server takes in.
func (c *crowd) move(ctx context.Context, mesh protocol.Mesh, theirs []protocol.Mesh) {
	var sending sync.WaitGroup
	defer sending.Wait()
	for i, m := range theirs {
		sending.Go(func() {
			if err := m.Send(ctx, c.server.Self(), crowdContent(c.ids[i])); err != nil {
				c.Errorf("client %d: %v", i, err)
			}
		})
	}
	box := inbox.New(mesh, c.ids)
	defer box.Close()
	came := make(map[keys.ID]bool)
	for range c.ids {
		a, err := box.Next(ctx)
		if err = cmp.Or(err, a.Err); err != nil {
			c.Fatalf("%d frames came: %v", len(came), err)
		}
		if came[a.From] || !bytes.Equal(a.Frame, crowdContent(a.From)) {
			c.Fatalf("a frame of %s came twice, or changed", a.From.Short())
		}
		came[a.From] = true
		box.Release(a.Frame)
	}
}

// crowdContent is what a client sends.
func crowdContent(id keys.ID) []byte { return bytes.Repeat(id[:], crowdFrame/len(id)) }

// closeAll closes meshes at once.
func closeAll(meshes []protocol.Mesh) {
	var closing sync.WaitGroup
	for _, m := range meshes {
		closing.Go(func() { m.Close() })
	}
	closing.Wait()
}

// usage is what a process holds.
type usage struct {
	goroutines, files int
	memory            int64 // resident, in bytes
	cpu               time.Duration
}

// measure looks at this process.
func measure(t *testing.T) usage {
	runtime.GC()
	u := usage{goroutines: runtime.NumGoroutine(), cpu: cpuTime(t)}
	if list, err := os.ReadDir("/proc/self/fd"); err == nil {
		u.files = len(list)
	}
	if text, err := os.ReadFile("/proc/self/statm"); err == nil {
		pages, _ := strconv.ParseInt(strings.Fields(string(text))[1], 10, 64)
		u.memory = pages * int64(os.Getpagesize())
	}
	return u
}

// cpuTime is what the process has used of its processors.
func cpuTime(t *testing.T) time.Duration {
	var r syscall.Rusage
	mustDo(t, syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// step runs a part of the test and logs what it took.
func (c *crowd) step(name string, f func()) {
	begin, before := time.Now(), cpuTime(c.T)
	f()
	took, cpu := time.Since(begin), cpuTime(c.T)-before
	u, hosts := measure(c.T), max(len(c.clients), 1)
	c.Logf("%-12s %7.2f s, %7.2f s of processors; per client %.1f goroutines, %.2f files, %.0f kB", name,
		took.Seconds(), cpu.Seconds(),
		float64(u.goroutines-c.before.goroutines)/float64(hosts),
		float64(u.files-c.before.files)/float64(hosts),
		float64(u.memory-c.before.memory)/float64(hosts)/1000)
}
