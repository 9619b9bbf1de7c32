package peer

import (
	"net"
	"sync"
	"testing"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// proxy stands between two hosts and can stop passing bytes on, or break its connections: a
// cable that is pulled, and a process that is killed.
type proxy struct {
	t        *testing.T
	listener net.Listener
	target   string
	copying  sync.WaitGroup

	mu    sync.Mutex
	flow  *sync.Cond // on mu
	stuck bool
	done  bool
	conns []net.Conn
}

// newProxy makes a proxy in front of a host.
func newProxy(t *testing.T, to *Host) *proxy {
	t.Helper()
	a, err := multiaddr.NewMultiaddr(at(t, to))
	mustDo(t, err)
	_, target, err := manet.DialArgs(a)
	mustDo(t, err)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	mustDo(t, err)
	p := &proxy{t: t, listener: l, target: target}
	p.flow = sync.NewCond(&p.mu)
	p.copying.Go(p.accept)
	t.Cleanup(p.close)
	return p
}

// address is the multiaddr of the proxy.
func (p *proxy) address() string {
	a, err := manet.FromNetAddr(p.listener.Addr())
	if err != nil {
		p.t.Fatal(err)
	}
	return a.String()
}

func (p *proxy) accept() {
	for {
		in, err := p.listener.Accept()
		if err != nil {
			return
		}
		out, err := net.Dial("tcp", p.target)
		if err != nil {
			in.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, in, out)
		p.mu.Unlock()
		p.copying.Go(func() { p.pump(in, out) })
		p.copying.Go(func() { p.pump(out, in) })
	}
}

// pump passes bytes on while the proxy flows.
func (p *proxy) pump(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		p.mu.Lock()
		for p.stuck && !p.done {
			p.flow.Wait()
		}
		p.mu.Unlock()
		if err != nil {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}

// stick stops or starts the flow; connections stay open.
func (p *proxy) stick(stuck bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stuck = stuck
	p.flow.Broadcast()
}

// reset breaks all connections as the kernel does for a process that is killed.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	p.conns = nil
}

func (p *proxy) close() {
	p.listener.Close()
	p.reset()
	p.mu.Lock()
	p.done = true
	p.flow.Broadcast()
	p.mu.Unlock()
	p.copying.Wait()
}
