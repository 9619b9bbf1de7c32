package peer

import (
	"context"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	libproto "github.com/libp2p/go-libp2p/core/protocol"

	"github.com/hanse-project/hanse/peer/discovery"
)

// startDHT starts the table that only members keep. It reaches them over links, and makes none.
func (h *Host) startDHT() {
	linkTo := func(p libpeer.ID) *link {
		id, err := memberID(p)
		if err != nil {
			return nil
		}
		l, _, _, _ := h.lookup(id, levelCharter)
		return l
	}
	d, err := discovery.StartDHT(h.node.host, h.cfg.Charter.Name, discovery.Links{
		Member: h.mayDial,
		Linked: func(p libpeer.ID) bool { return linkTo(p) != nil },
		Open: func(ctx context.Context, p libpeer.ID, proto libproto.ID) (network.Stream, error) {
			l := linkTo(p)
			if l == nil {
				return nil, discovery.ErrNotLinked
			}
			return openNegotiated(ctx, l.conn, proto, nil)
		},
	})
	if err != nil {
		h.log.Warn("the DHT is not available", "reason", err)
		return
	}
	h.dht.Store(d)
}

// heardOf takes the addresses of a member that discovery has come up with; nobody vouches for
// them before the handshake. Others are not of interest.
func (h *Host) heardOf(info libpeer.AddrInfo) {
	id, err := memberID(info.ID)
	if err != nil {
		return
	}
	h.mu.Lock()
	_, ok := h.members[id]
	h.mu.Unlock()
	if ok {
		h.addresses.Found(id, info.Addrs)
	}
}
