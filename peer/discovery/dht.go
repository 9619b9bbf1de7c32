package discovery

import (
	"context"
	"errors"
	"sync"
	"time"

	dht "github.com/libp2p/go-libp2p-kad-dht"
	"github.com/libp2p/go-libp2p/core/event"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/routing"
	blankhost "github.com/libp2p/go-libp2p/p2p/host/blank"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/multiformats/go-multiaddr"
)

// findTime bounds one search: a member is dialled again anyhow soon.
const findTime = 5 * time.Second

// ErrNotLinked is what the DHT hears about an identity to which there is no link. It makes no
// connections itself: links are made by package peer, after a hello, and then carry the DHT too.
var ErrNotLinked = errors.New("there is no link to this member")

// Links is how the DHT reaches other members.
type Links struct {
	Member func(libpeer.ID) bool // is it a member's identity?
	Linked func(libpeer.ID) bool // is there a link that may carry the DHT?
	// Open opens a stream over the link, or fails with ErrNotLinked.
	Open func(context.Context, libpeer.ID, libproto.ID) (network.Stream, error)
}

// DHT is a Kademlia table that only members keep and ask. Each answers "where is this member?"
// from the addresses it knows itself, so one common acquaintance is enough. The table holds no
// content and no providers, only members' addresses.
type DHT struct {
	table *dht.IpfsDHT
	host  *linkedHost
	proto libproto.ID
	ready event.Emitter
}

// maxAnswer is the most addresses that one answer of the table has for one member.
const maxAnswer = addressesKept

// dhtPrefix is the protocol prefix of a charter's table.
func dhtPrefix(charter string) libproto.ID {
	return libproto.ID("/hanse/" + groupName(dhtDomain, charter))
}

// StartDHT starts the table of a charter on a host. Close ends it.
func StartDHT(h *blankhost.BlankHost, charter string, links Links) (*DHT, error) {
	prefix := dhtPrefix(charter)
	// What the table hears, and tells, stays apart from what the host dials: the host knows addresses that are good in
	// its network alone.
	store, err := pstoremem.NewPeerstore()
	if err != nil {
		return nil, err
	}
	d := &DHT{host: &linkedHost{h, links, store}, proto: prefix + "/kad/1.0.0"}
	if d.ready, err = h.EventBus().Emitter(new(event.EvtPeerIdentificationCompleted)); err != nil {
		return nil, errors.Join(err, store.Close())
	}
	d.table, err = dht.New(d.host,
		dht.Mode(dht.ModeServer),
		dht.ProtocolPrefix(prefix),
		dht.DisableValues(),
		dht.DisableProviders(),
		dht.AddressFilter(func(list []multiaddr.Multiaddr) []multiaddr.Multiaddr {
			return list[:min(len(list), maxAnswer)]
		}),
		dht.RoutingTablePeerDiversityFilter(nil),
		dht.QueryFilter(func(_ any, who libpeer.AddrInfo) bool { return links.Member(who.ID) }),
		dht.RoutingTableFilter(func(_ any, p libpeer.ID) bool { return links.Member(p) }))
	if err != nil {
		return nil, errors.Join(err, d.ready.Close(), store.Close())
	}
	return d, nil
}

// Has reports whether the table has taken a member up. It only does so once the member has
// answered it.
func (d *DHT) Has(p libpeer.ID) bool { return d.table.RoutingTable().Find(p) != "" }

// Introduce adds a member that serves the table too, over its link and with the addresses from
// its hello. libp2p's identify protocol, which hosts do not speak, would do so otherwise.
func (d *DHT) Introduce(c network.Conn, addresses []string) {
	p := c.RemotePeer()
	var list []multiaddr.Multiaddr
	for _, text := range addresses {
		if a, err := multiaddr.NewMultiaddr(text); err == nil {
			list = append(list, a)
		}
	}
	d.host.store.ClearAddrs(p) // what others have said
	d.host.store.AddAddrs(p, list, peerstore.PermanentAddrTTL)
	d.host.store.AddProtocols(p, d.proto)
	d.ready.Emit(event.EvtPeerIdentificationCompleted{Peer: p, Conn: c})
}

// Find asks the other members for a member's addresses and returns what each has answered, in no order. The table calls
// the search itself a failure, as it cannot dial who it finds.
func (d *DHT) Find(ctx context.Context, p libpeer.ID) (answers [][]multiaddr.Multiaddr) {
	ctx, cancel := context.WithTimeout(ctx, findTime)
	defer cancel()
	asking, events := routing.RegisterForQueryEvents(ctx)
	var search sync.WaitGroup
	search.Go(func() {
		defer cancel() // ends the events
		d.table.FindPeer(asking, p)
	})
	said := make(map[libpeer.ID][]multiaddr.Multiaddr)
	for e := range events {
		if e.Type != routing.PeerResponse {
			continue
		}
		for _, info := range e.Responses {
			if list := said[e.ID]; info.ID == p {
				said[e.ID] = append(list, info.Addrs[:min(len(info.Addrs), maxAnswer-len(list))]...)
			}
		}
	}
	search.Wait()
	for _, list := range said {
		answers = append(answers, list)
	}
	return answers
}

// Close ends the table.
func (d *DHT) Close() error {
	return errors.Join(d.table.Close(), d.ready.Close(), d.host.store.Close())
}

// linkedHost is the host that the table sees: it reaches only members to whom there is a link.
type linkedHost struct {
	*blankhost.BlankHost
	links Links
	store peerstore.Peerstore
}

// Peerstore is the table's own.
func (l *linkedHost) Peerstore() peerstore.Peerstore { return l.store }

// Connect succeeds if there is a link.
func (l *linkedHost) Connect(_ context.Context, info libpeer.AddrInfo) error {
	if !l.links.Linked(info.ID) {
		return ErrNotLinked
	}
	return nil
}

// NewStream opens a stream over the link.
func (l *linkedHost) NewStream(ctx context.Context, p libpeer.ID, protos ...libproto.ID) (network.Stream, error) {
	if len(protos) == 0 {
		return nil, ErrNotLinked
	}
	return l.links.Open(ctx, p, protos[0])
}
