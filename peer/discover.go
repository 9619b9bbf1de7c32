package peer

import (
	"context"
	"sync/atomic"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	libproto "github.com/libp2p/go-libp2p/core/protocol"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
)

// table is this host's part of the table that only members keep, the DHT. It reaches them over links, and makes none.
type table struct {
	announcer
	dht atomic.Pointer[discovery.DHT] // nil before start, and where it is not to be had
}

// linkTo returns the link to a member that libp2p calls so, or nil.
func (t *table) linkTo(p libpeer.ID) *link {
	id, err := memberID(p)
	if err != nil {
		return nil
	}
	l, _, _, _ := t.members.lookup(id, levelCharter)
	return l
}

// start joins the table.
func (t *table) start() error {
	d, err := discovery.StartDHT(t.node.host, t.cfg.Charter.Name, discovery.Links{
		Member: t.members.isMember,
		Linked: func(p libpeer.ID) bool { return t.linkTo(p) != nil },
		Open: func(ctx context.Context, p libpeer.ID, proto libproto.ID) (network.Stream, error) {
			l := t.linkTo(p)
			if l == nil {
				return nil, discovery.ErrNotLinked
			}
			return openNegotiated(ctx, l.conn, proto, nil)
		},
	})
	if err != nil {
		return err
	}
	t.dht.Store(d)
	return nil
}

// introduce tells the table of the member at the other end of a link, if both have the table.
func (t *table) introduce(l *link) {
	if d := t.dht.Load(); d != nil && l.theirs.DHT {
		d.Introduce(l.conn, t.tellable(l.theirs.Addresses))
	}
}

// ask has the address book keep what the other members say of where a member is. Before, it introduces those to the
// table whose introduction came to nothing.
func (t *table) ask(ctx context.Context, id keys.ID, p libpeer.ID) {
	d := t.dht.Load()
	if d == nil {
		return
	}
	for _, l := range t.members.links() {
		if l.theirs.DHT && !d.Has(l.conn.RemotePeer()) {
			t.introduce(l)
		}
	}
	t.addresses.SetTold(id, d.Find(ctx, p))
}

// close leaves the table.
func (t *table) close() {
	if d := t.dht.Load(); d != nil {
		d.Close()
	}
}

// heardOf takes the addresses of a member that discovery has come up with; nobody vouches for
// them before the handshake. Others are not of interest.
func (h *Host) heardOf(info libpeer.AddrInfo) {
	if id, err := memberID(info.ID); err == nil && h.members.get(id) != nil {
		h.addresses.Found(id, info.Addrs)
	}
}
