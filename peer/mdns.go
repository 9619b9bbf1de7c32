package peer

import (
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"
)

// mdnsDomain separates the mDNS service's name from other names derived from a charter's.
const mdnsDomain = "hanse mdns v1"

// mdnsService returns the DNS-SD service type under which members of a charter announce
// themselves on the local network.
func mdnsService(charter string) string {
	return "_hanse-" + meetingName(mdnsDomain, charter) + "._udp"
}

// mdnsListener takes what libp2p's mDNS finds.
type mdnsListener struct {
	heard func(libpeer.AddrInfo)
}

// HandlePeerFound implements mdns.Notifee.
func (l mdnsListener) HandlePeerFound(info libpeer.AddrInfo) { l.heard(info) }

// runMDNS announces this host on the local network and listens for others until the host's
// life ends. A network without multicast is usual in data centres, and no error.
func (h *Host) runMDNS() {
	service := mdns.NewMdnsService(h.node.host, mdnsService(h.cfg.Charter.Name), mdnsListener{h.heardOf})
	if err := service.Start(); err != nil {
		h.log.Debug("mDNS is not available", "reason", err)
		service.Close()
		return
	}
	<-h.life.Done()
	service.Close()
}
