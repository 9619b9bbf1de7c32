package peer

import (
	"context"
	"errors"
	"time"

	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/p2p/host/blank"
	"github.com/multiformats/go-multiaddr"
)

const (
	dhtDomain = "hanse dht v1"
	// findTime bounds one search: a member is dialled again anyhow soon.
	findTime = 5 * time.Second
)

// dhtFinder is a Kademlia table that only members keep and ask. Each answers "where is this
// member?" from the addresses it knows itself, so one common acquaintance is enough.
type dhtFinder struct {
	table *dht.IpfsDHT
	host  *dhtHost
	proto libproto.ID
	ready event.Emitter
}

// dhtPrefix is the protocol prefix of a charter's table.
func dhtPrefix(charter string) libproto.ID {
	return libproto.ID("/hanse/" + meetingName(dhtDomain, charter))
}

// startDHT starts the table. It has no content and no providers, only members' addresses.
func (h *Host) startDHT() {
	f := &dhtFinder{host: &dhtHost{h.node.host, h}}
	prefix := dhtPrefix(h.cfg.Charter.Name)
	f.proto = prefix + "/kad/1.0.0"
	ready, err := f.host.EventBus().Emitter(new(event.EvtPeerIdentificationCompleted))
	if err == nil {
		f.ready = ready
		f.table, err = dht.New(f.host,
			dht.Mode(dht.ModeServer),
			dht.ProtocolPrefix(prefix),
			dht.DisableValues(),
			dht.DisableProviders(),
			dht.AddressFilter(nil),
			dht.RoutingTablePeerDiversityFilter(nil),
			dht.QueryFilter(func(_ any, who libpeer.AddrInfo) bool { return h.mayDial(who.ID) }),
			dht.RoutingTableFilter(func(_ any, p libpeer.ID) bool { return h.mayDial(p) }))
	}
	if err != nil {
		h.log.Warn("the DHT is not available", "reason", err)
		return
	}
	h.finder.Store(f)
}

// introduceAll adds the members whose introduction came to nothing: the table only takes up a
// member that has answered it once.
func (h *Host) introduceAll(f *dhtFinder) {
	h.mu.Lock()
	var links []*link
	for _, m := range h.members {
		if m.link != nil && m.link.theirs.dht && f.table.RoutingTable().Find(m.peer) == "" {
			links = append(links, m.link)
		}
	}
	h.mu.Unlock()
	for _, l := range links {
		f.introduce(l)
	}
}

// introduce adds a member that serves the table too. libp2p's identify protocol, which this
// host does not speak, would do so otherwise.
func (f *dhtFinder) introduce(l *link) {
	p := l.conn.RemotePeer()
	store := f.host.Peerstore()
	var addresses []multiaddr.Multiaddr
	for _, text := range l.theirs.addresses {
		if a, err := multiaddr.NewMultiaddr(text); err == nil {
			addresses = append(addresses, a)
		}
	}
	store.AddAddrs(p, addresses, peerstore.PermanentAddrTTL)
	store.AddProtocols(p, f.proto)
	f.ready.Emit(event.EvtPeerIdentificationCompleted{Peer: p, Conn: l.conn})
}

// find asks the other members for a member's addresses. The table calls the search itself a
// failure, as it cannot dial who it finds, but leaves what it has heard in the peerstore.
func (f *dhtFinder) find(ctx context.Context, p libpeer.ID) []multiaddr.Multiaddr {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	f.table.FindPeer(ctx, p)
	return f.host.Peerstore().Addrs(p)
}

func (f *dhtFinder) close() error {
	return errors.Join(f.table.Close(), f.ready.Close())
}

// errNotLinked keeps the DHT from connecting by itself: connections are made by keepers, say
// hello, and are then open to the DHT as well.
var errNotLinked = errors.New("there is no link to this member")

// dhtHost is the host that the DHT sees: it reaches only members to whom there is a link.
type dhtHost struct {
	*blankhost.BlankHost
	owner *Host
}

// Connect succeeds if there is a link.
func (d *dhtHost) Connect(_ context.Context, info libpeer.AddrInfo) error {
	_, err := d.linkTo(info.ID)
	return err
}

// NewStream opens a stream over the link.
func (d *dhtHost) NewStream(ctx context.Context, p libpeer.ID, protos ...libproto.ID) (network.Stream, error) {
	l, err := d.linkTo(p)
	if err != nil || len(protos) == 0 {
		return nil, errNotLinked
	}
	s, err := openStream(ctx, l.conn, protos[0], nil)
	if err != nil {
		return nil, err
	}
	release := onDone(ctx, s.SetReadDeadline)
	err = readProtocol(s, protos[0])
	if release() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		s.Reset()
		return nil, err
	}
	return s, nil
}

func (d *dhtHost) linkTo(p libpeer.ID) (*link, error) {
	id, err := memberID(p)
	if err != nil {
		return nil, err
	}
	l, _, _, err := d.owner.lookup(id, levelCharter)
	if l == nil || err != nil {
		return nil, errNotLinked
	}
	return l, nil
}
