package peer

import (
	"encoding/hex"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
)

// meetingName derives a name under which the members of a charter find each other and others
// learn nothing but that a group exists. It comes from the charter's name alone, so that
// members on different versions still meet, to bring their versions together. Two charters of
// one name meet in vain: the hello tells them apart.
func meetingName(domain, charter string) string {
	h := keys.HashOf(domain, []byte(charter))
	return hex.EncodeToString(h[:8])
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
		h.book.found(id, info.Addrs)
	}
}

// preferTCP ranks a member's addresses for dialling: QUIC ones wait for a head start of TCP,
// which is the faster one once connected.
func preferTCP(addresses []multiaddr.Multiaddr) []network.AddrDelay {
	const quicDelay = 500 * time.Millisecond
	out := make([]network.AddrDelay, len(addresses))
	tcp := false
	for _, a := range addresses {
		tcp = tcp || !isUDP(a)
	}
	for i, a := range addresses {
		out[i].Addr = a
		if tcp && isUDP(a) {
			out[i].Delay = quicDelay
		}
	}
	return out
}
