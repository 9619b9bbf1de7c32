package peer

import (
	"context"
	"errors"
	"net"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
	blankhost "github.com/libp2p/go-libp2p/p2p/host/blank"
	"github.com/libp2p/go-libp2p/p2p/protocol/holepunch"
	"github.com/libp2p/go-libp2p/p2p/protocol/identify"
	"github.com/libp2p/go-reuseport"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/peer/discovery"
	"github.com/hanse-project/hanse/peer/session"
)

// Hole punching (libp2p's DCUtR): two members behind NATs, whom a relay has just connected, dial each other at the
// same moment at the addresses at which the relay sees them. Most NATs take that for answers to calls from inside. It
// happens before the hello, so that a link never changes its way while something runs over it.
const (
	punchTry   = 2 * time.Second    // one attempt; there are up to three
	punchWait  = 4 * time.Second    // for the direct connection, before the relay's is used
	punchPause = 10 * time.Minute   // after an attempt in vain
	protoPunch = holepunch.Protocol // its stream goes over the relay's connection
)

// outgoing dials from one port, so that a NAT shows this node to all others at one address. It implements
// tcp.ContextDialer.
type outgoing struct {
	port int
}

// newOutgoing finds a port that is free.
func newOutgoing() (*outgoing, error) {
	config := net.ListenConfig{Control: reuseport.Control}
	l, err := config.Listen(context.Background(), "tcp", ":0")
	if err != nil {
		return nil, err
	}
	defer l.Close()
	return &outgoing{l.Addr().(*net.TCPAddr).Port}, nil
}

// DialContext dials from the port, or from any where that one cannot be had: for a second connection to one address.
func (o *outgoing) DialContext(ctx context.Context, kind, address string) (net.Conn, error) {
	d := net.Dialer{LocalAddr: &net.TCPAddr{Port: o.port}, Control: reuseport.Control}
	conn, err := d.DialContext(ctx, kind, address)
	if errors.Is(err, syscall.EADDRINUSE) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		return new(net.Dialer).DialContext(ctx, kind, address)
	}
	return conn, err
}

// puncher makes direct connections in place of those that relays carry.
type puncher struct {
	*base

	mu      sync.Mutex
	service *holepunch.Service               // nil where it is not tried
	said    map[libpeer.ID]time.Time         // when this host last dialled a member that says hello then
	waits   map[libpeer.ID]chan network.Conn // who waits for a direct connection to a member
	vain    map[libpeer.ID]time.Time         // when an attempt was last in vain
}

func newPuncher(b *base) *puncher {
	return &puncher{base: b, said: make(map[libpeer.ID]time.Time), waits: make(map[libpeer.ID]chan network.Conn),
		vain: make(map[libpeer.ID]time.Time)}
}

// start lets this host and those that a relay connects it with reach each other directly, from when it knows at
// which address others see it.
func (p *puncher) start() {
	if len(p.seen()) == 0 {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.service != nil {
		return
	}
	s, err := holepunch.NewService(punchHost{p.node.host, p}, identified{}, p.seen,
		holepunch.DirectDialTimeout(punchTry), holepunch.WithAddrFilter(punchFilter{p}))
	if err != nil {
		p.log.Warn("connections through relays stay there", "reason", err)
		return
	}
	p.service = s
}

// close ends what start began.
func (p *puncher) close() {
	p.mu.Lock()
	s := p.service
	p.mu.Unlock()
	if s != nil {
		s.Close()
	}
}

// seen lists the addresses at which others see connections from the port that this host dials from.
func (p *puncher) seen() []multiaddr.Multiaddr {
	var out []multiaddr.Multiaddr
	for _, l := range p.members.links() {
		at, ok := l.seenAt()
		if !ok || p.node.outgoing == nil || discovery.ReachOf(at) == discovery.OnMachine {
			continue // there is no NAT on this machine
		}
		port, err := l.conn.LocalMultiaddr().ValueForProtocol(multiaddr.P_TCP)
		if err == nil && port == strconv.Itoa(p.node.outgoing.port) && len(out) < maxAddresses &&
			!slices.ContainsFunc(out, at.Equal) {
			out = append(out, at)
		}
	}
	return out
}

// await waits for a direct connection in place of a relay's, which it then closes. The relay's stays if there is
// none in time.
func (p *puncher) await(ctx context.Context, circuit network.Conn, direct <-chan network.Conn) network.Conn {
	to := circuit.RemotePeer()
	if len(p.seen()) == 0 || p.wasVain(to) {
		return circuit
	}
	timer := time.NewTimer(punchWait)
	defer timer.Stop()
	select {
	case c := <-direct:
		circuit.Close()
		return c
	case <-timer.C:
		p.mu.Lock()
		p.vain[to] = time.Now()
		p.mu.Unlock()
	case <-ctx.Done():
	}
	return circuit
}

// wasVain reports whether an attempt with a member was in vain not long ago.
func (p *puncher) wasVain(to libpeer.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.vain[to]) < punchPause
}

// expect registers that a direct connection to a member is waited for until release is called.
func (p *puncher) expect(to libpeer.ID) (direct <-chan network.Conn, release func()) {
	c := make(chan network.Conn, 1)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waits[to] = c
	return c, func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.waits, to)
	}
}

// came hands a new connection to whoever waits for it.
func (p *puncher) came(c network.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if waits := p.waits[c.RemotePeer()]; waits != nil && c.Stat().Direction == network.DirOutbound && !relayed(c) {
		select {
		case waits <- c:
		default:
		}
	}
}

// comesIn reports whether the other side says hello on a connection: it has dialled it, or both have, by hole punching,
// and it is the one that called through the relay.
func (p *puncher) comesIn(c network.Conn) bool {
	if c.Stat().Direction == network.DirInbound {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return !relayed(c) && time.Since(p.said[c.RemotePeer()]) < session.AnswerTime
}

// punchHost is the host as hole punching sees it.
type punchHost struct {
	*blankhost.BlankHost
	puncher *puncher
}

// NewStream opens a stream over the relay's connection to a member.
func (p punchHost) NewStream(ctx context.Context, to libpeer.ID, protos ...libproto.ID) (network.Stream, error) {
	for _, c := range p.Network().ConnsToPeer(to) {
		if relayed(c) && len(protos) == 1 {
			return openNegotiated(ctx, c, protos[0], nil)
		}
	}
	return nil, errors.New("no relay connects it")
}

// Connect dials a member directly, though a relay connects it.
func (p punchHost) Connect(ctx context.Context, info libpeer.AddrInfo) error {
	if ok, client, _ := network.GetSimultaneousConnect(ctx); ok && !client {
		p.puncher.mu.Lock()
		p.puncher.said[info.ID] = time.Now()
		p.puncher.mu.Unlock()
	}
	p.Peerstore().AddAddrs(info.ID, info.Addrs, peerstore.TempAddrTTL)
	p.puncher.node.swarm.Backoff().Clear(info.ID)
	_, err := p.Network().DialPeer(ctx, info.ID)
	return err
}

// punchFilter keeps hole punching to addresses that are worth a dial from here. It implements holepunch.AddrFilter.
type punchFilter struct{ *puncher }

// FilterLocal passes what this host may say of itself to a member: public addresses, and where the relay sees it that
// connects the two. What others see in a private network of theirs is no business of the other end.
func (f punchFilter) FilterLocal(to libpeer.ID, list []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	var out, seen []multiaddr.Multiaddr
	for _, c := range f.node.swarm.ConnsToPeer(to) {
		if id, ok := relayOf(c); ok {
			if l := f.members.linkOf(id); l != nil {
				if at, ok := l.seenAt(); ok {
					seen = append(seen, at)
				}
			}
		}
	}
	for _, a := range list {
		if discovery.ReachOf(a) == discovery.Anywhere || slices.ContainsFunc(seen, a.Equal) {
			out = append(out, a)
		}
	}
	return out
}

// FilterRemote passes what the other end may say of itself.
func (f punchFilter) FilterRemote(_ libpeer.ID, list []multiaddr.Multiaddr) []multiaddr.Multiaddr {
	return f.addresses.Worth(list)
}

// identified stands for libp2p's identify protocol, which hosts do not speak: what it would find out, the hello and
// links say. It implements identify.IDService.
type identified struct{}

var _ identify.IDService = identified{}

// IdentifyConn has nothing to do.
func (identified) IdentifyConn(network.Conn) {}

// IdentifyWait says that it is done.
func (identified) IdentifyWait(network.Conn) <-chan struct{} {
	done := make(chan struct{})
	close(done)
	return done
}

// Start has nothing to do.
func (identified) Start() {}

// Close has nothing to do.
func (identified) Close() error { return nil }
