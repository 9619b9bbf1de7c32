package chaos

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/localnet"
)

// relays stand at the addresses that the charter gives, and carry connections on to where the nodes listen.
type relays struct {
	listeners []net.Listener
	ports     *localnet.Ports // where the nodes listen

	mu    sync.Mutex
	links map[*relayed]bool
	shut  map[int]bool  // members to whom nothing is carried
	hold  bool          // what cannot be carried is held back, not refused
	open  chan struct{} // closed while nothing is held back
}

// relayed is one connection on its way to a member's node.
type relayed struct {
	to       int
	from, on net.Conn
}

// newRelays prepares relays that let everything through.
func newRelays() *relays {
	r := &relays{links: make(map[*relayed]bool), shut: make(map[int]bool), open: make(chan struct{})}
	close(r.open)
	return r
}

// relayAll puts relays before all nodes of a trial.
func relayAll(_ context.Context, a *attempt) error {
	ports, err := localnet.FreePorts(len(a.fed.Names))
	if err != nil {
		return err
	}
	r := newRelays()
	r.ports = ports
	a.relays = r
	for i, name := range a.fed.Names {
		l, err := net.Listen("tcp", a.fed.Address(name))
		if err != nil {
			return err
		}
		r.listeners = append(r.listeners, l)
		a.fed.listen[name] = fmt.Sprintf("/ip4/127.0.0.1/tcp/%d", ports.Numbers[i])
		go r.accept(l, i, fmt.Sprintf("127.0.0.1:%d", ports.Numbers[i]))
	}
	return nil
}

// accept takes connections to a member.
func (r *relays) accept(l net.Listener, member int, address string) {
	for {
		from, err := l.Accept()
		if err != nil {
			return
		}
		go r.carry(from, member, address)
	}
}

// carry carries a connection to a member's node until one of its ends is closed.
func (r *relays) carry(from net.Conn, member int, address string) {
	defer from.Close()
	r.mu.Lock()
	refused := r.shut[member] && !r.hold
	r.mu.Unlock()
	if refused {
		return
	}
	on, err := net.Dial("tcp", address)
	if err != nil {
		return
	}
	defer on.Close()
	c := &relayed{member, from, on}
	r.mu.Lock()
	r.links[c] = true
	r.mu.Unlock()
	defer func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.links, c)
	}()
	var both sync.WaitGroup
	both.Go(func() { r.pipe(on, from, member) })
	both.Go(func() { r.pipe(from, on, member) })
	both.Wait()
}

// pipe carries one direction.
func (r *relays) pipe(dst, src net.Conn, member int) {
	defer dst.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := src.Read(buffer)
		r.passable(member)
		if n > 0 {
			if _, err := dst.Write(buffer[:n]); err != nil {
				io.Copy(io.Discard, src)
				return
			}
		}
		if err != nil {
			return
		}
	}
}

// passable returns when nothing to a member is held back.
func (r *relays) passable(member int) {
	for {
		r.mu.Lock()
		held, open := r.shut[member] && r.hold, r.open
		r.mu.Unlock()
		if !held {
			return
		}
		<-open
	}
}

// cut cuts the lines to members, or holds back what goes over them.
func (r *relays) cut(members []int, hold bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.hold, r.open = hold, make(chan struct{})
	for _, m := range members {
		r.shut[m] = true
	}
	for c := range r.links {
		if !hold && r.shut[c.to] {
			c.from.Close()
			c.on.Close()
		}
	}
}

// heal lets everything through again.
func (r *relays) heal() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.shut) > 0 {
		clear(r.shut)
		close(r.open)
	}
}

// close stops taking connections; those that there are end with their nodes.
func (r *relays) close() {
	r.heal()
	for _, l := range r.listeners {
		l.Close()
	}
	if r.ports != nil {
		r.ports.Close()
	}
}

// Bounds of how long lines are cut.
const (
	cutLeast = 300 * time.Millisecond
	cutMost  = 15 * time.Second
)

// cutAWhile cuts the lines to the victim, or all lines, or holds everything back on them, for a while.
func cutAWhile(ctx context.Context, a *attempt) error {
	d := a.drawWhile(cutLeast, cutMost)
	members, which := []int{a.scene.job.Index(a.victim)}, "lines to "+a.victim
	if a.draw.IntN(2) == 0 {
		members, which = nil, "all lines"
		for i := range a.fed.Names {
			members = append(members, i)
		}
	}
	hold, how := a.draw.IntN(2) == 0, "cut"
	if hold {
		how = "silent"
	}
	a.fault = fmt.Sprintf("%s %s for %.1f s", which, how, d.Seconds())
	a.relays.cut(members, hold)
	defer a.relays.heal()
	return pause(ctx, d)
}
