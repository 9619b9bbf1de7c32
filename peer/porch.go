package peer

import (
	"errors"
	"net/netip"
	"sync"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// handshakeTime is how long a connection that somebody makes to this host may take to show a key. On a line of half a
// second that is two round trips, with a packet lost in the first and one in the second.
const handshakeTime = 5 * time.Second

// Places of connections that others make and whose key has not shown itself.
const (
	strangersPerAddress = 32 // of one address, besides one for each member: all of them may sit behind it
	addressesAtOnce     = 4  // that have all their places taken
)

// placesPerAddress is how many handshakes of one address may be under way.
func placesPerAddress(members int) int { return members + strangersPerAddress }

// placesAtDoor is how many handshakes may be under way in all.
func placesAtDoor(members int) int { return addressesAtOnce * placesPerAddress(members) }

// origin is who shares the places of one address: an IPv4 address, the 2^64 addresses of an IPv6 network that one
// customer has, all of 127.0.0.0/8, or a relay, of whose callers this host sees nothing before TLS.
type origin struct {
	network netip.Prefix
	relay   string
}

// originOf returns whose places a connection from an address takes. What has no address shares those of nobody.
func originOf(from multiaddr.Multiaddr) origin {
	if _, err := from.ValueForProtocol(multiaddr.P_CIRCUIT); err == nil {
		relay, err := from.ValueForProtocol(multiaddr.P_P2P)
		if err != nil {
			relay = "none"
		}
		return origin{relay: relay}
	}
	ip, err := manet.ToIP(from)
	if err != nil {
		return origin{}
	}
	a, _ := netip.AddrFromSlice(ip)
	a = a.Unmap()
	bits := a.BitLen()
	switch {
	case a.Is6():
		bits = 64
	case a.IsLoopback():
		bits = 8
	}
	network, err := a.Prefix(bits)
	if err != nil {
		return origin{}
	}
	return origin{network: network}
}

// porch is where those stand who have connected and not shown a key yet. There is always a place for one more: where an
// address has all of its places, its oldest handshake is given up; where all places are taken, the oldest is of the
// address that has most of them. So who has an address of its own keeps its place as long as any other address has two,
// and loses it to as many newer connections as there are places otherwise. Within an address it is lost to as many
// newer ones as the address has places: they come at the rate that newLimits gives one address.
//
// It stands between libp2p's listeners and its handshakes, as the transport.Upgrader that both ask.
type porch struct {
	transport.Upgrader
	each, all int // places

	mu      sync.Mutex
	number  uint64                // of connections that came
	taken   int                   // places
	by      map[origin][]*visitor // the oldest first; none is empty
	closing sync.WaitGroup        // of those given up: a relay's connection may take its time
}

// visitor is a connection on the porch, and then what libp2p accounts for it by: its network.ConnManagementScope.
type visitor struct {
	network.ConnManagementScope
	porch  *porch
	conn   manet.Conn
	from   origin
	number uint64
	stands bool // it has a place
	gone   bool // its place was given to another
}

// newPorch makes the porch of a host for a charter of so many members.
func newPorch(up transport.Upgrader, members int) *porch {
	return &porch{Upgrader: up, each: placesPerAddress(members), all: placesAtDoor(members),
		by: make(map[origin][]*visitor)}
}

// Close waits until those that were given up are closed.
func (p *porch) Close() error {
	p.closing.Wait()
	return nil
}

// GateMaListener lets in by the porch what a listener accepts.
func (p *porch) GateMaListener(l manet.Listener) transport.GatedMaListener {
	return door{p.Upgrader.GateMaListener(l), p}
}

// UpgradeListener is for transports that do not ask for the gate themselves.
func (p *porch) UpgradeListener(t transport.Transport, l manet.Listener) transport.Listener {
	return p.UpgradeGatedMaListener(t, p.GateMaListener(l))
}

// door is a listener before the porch.
type door struct {
	transport.GatedMaListener
	porch *porch
}

// Accept takes in who comes next.
func (d door) Accept() (manet.Conn, network.ConnManagementScope, error) {
	conn, scope, err := d.GatedMaListener.Accept()
	if err != nil {
		return nil, nil, err
	}
	return conn, d.porch.enter(conn, scope), nil
}

// enter gives a connection a place, if need be that of another.
func (p *porch) enter(conn manet.Conn, scope network.ConnManagementScope) *visitor {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.number++
	v := &visitor{ConnManagementScope: scope, porch: p, conn: conn, from: originOf(conn.RemoteMultiaddr()),
		number: p.number, stands: true}
	switch {
	case len(p.by[v.from]) >= p.each:
		p.giveUp(p.by[v.from][0])
	case p.taken >= p.all:
		p.giveUp(p.oldestOfMost())
	}
	p.by[v.from] = append(p.by[v.from], v)
	p.taken++
	return v
}

// oldestOfMost finds the oldest connection of those addresses that have the most places. mu is held.
func (p *porch) oldestOfMost() (oldest *visitor) {
	most := 0
	for _, all := range p.by {
		if len(all) > most || len(all) == most && all[0].number < oldest.number {
			oldest, most = all[0], len(all)
		}
	}
	return oldest
}

// giveUp takes a connection's place, and closes it. mu is held.
func (p *porch) giveUp(v *visitor) {
	p.leave(v)
	v.gone = true
	v.ConnManagementScope.Done()
	p.closing.Go(func() { v.conn.Close() })
}

// leave frees a connection's place, if it has one. mu is held.
func (p *porch) leave(v *visitor) {
	if !v.stands {
		return
	}
	v.stands = false
	p.taken--
	all := p.by[v.from]
	for i := range all {
		if all[i] == v {
			all = append(all[:i:i], all[i+1:]...)
			break
		}
	}
	if len(all) == 0 {
		delete(p.by, v.from)
		return
	}
	p.by[v.from] = all
}

// errGivenUp ends a handshake whose place another one has.
var errGivenUp = errors.New("newer connections have all the places of its address")

// SetPeer is called when the handshake has shown a key that may say hello: the connection counts as that key's then.
func (v *visitor) SetPeer(id libpeer.ID) error {
	v.porch.mu.Lock()
	defer v.porch.mu.Unlock()
	if v.gone {
		return errGivenUp
	}
	v.porch.leave(v)
	return v.ConnManagementScope.SetPeer(id)
}

// Done ends what is accounted for the connection.
func (v *visitor) Done() {
	v.porch.mu.Lock()
	defer v.porch.mu.Unlock()
	v.porch.leave(v)
	v.ConnManagementScope.Done()
}
