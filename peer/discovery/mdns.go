package discovery

import (
	"context"
	"encoding/hex"
	"log/slog"

	"github.com/libp2p/go-libp2p/core/host"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/p2p/discovery/mdns"

	"github.com/hanse-project/hanse/keys"
)

// Domains of the names that are derived from a charter's.
const (
	mdnsDomain = "hanse mdns v1"
	dhtDomain  = "hanse dht v1"
)

// groupName derives a name under which the members of a charter find each other.
func groupName(domain, charter string) string {
	h := keys.HashOf(domain, []byte(charter))
	return hex.EncodeToString(h[:8])
}

// mdnsService returns the DNS-SD service type under which members of a charter announce
// themselves on the local network.
func mdnsService(charter string) string { return "_hanse-" + groupName(mdnsDomain, charter) + "._udp" }

// notifee hands on what libp2p's mDNS finds. It implements mdns.Notifee.
type notifee func(libpeer.AddrInfo)

func (n notifee) HandlePeerFound(info libpeer.AddrInfo) { n(info) }

// RunMDNS announces a host on the local network, and passes on who else announces itself there,
// until ctx ends. Whom it finds may be anybody. A network without multicast is usual in data
// centres, and no error.
func RunMDNS(ctx context.Context, h host.Host, charter string, found func(libpeer.AddrInfo), log *slog.Logger) {
	service := mdns.NewMdnsService(h, mdnsService(charter), notifee(found))
	defer service.Close()
	if err := service.Start(); err != nil {
		log.Debug("mDNS is not available", "reason", err)
		return
	}
	<-ctx.Done()
}
