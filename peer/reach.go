package peer

import (
	"slices"

	"github.com/libp2p/go-libp2p/core/network"
	blankhost "github.com/libp2p/go-libp2p/p2p/host/blank"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/peer/discovery"
)

// onMachine reports whether the host belongs to a federation on this machine: it listens on a loopback address by name,
// or, when it listens nowhere, the charter has no other addresses.
func (c Config) onMachine() bool {
	mine, _ := c.Charter.Member(c.Key.ID())
	texts := slices.Concat(c.Listen, mine.Addresses)
	if len(texts) == 0 {
		for _, m := range c.Charter.Members {
			texts = append(texts, m.Addresses...)
		}
		return !slices.ContainsFunc(texts, func(text string) bool { return reachOf(text) != discovery.OnMachine })
	}
	return slices.ContainsFunc(texts, func(text string) bool { return reachOf(text) == discovery.OnMachine })
}

// reachOf is the reach of an address as text; what is no address reaches anywhere.
func reachOf(text string) discovery.Reach {
	a, err := multiaddr.NewMultiaddr(text)
	if err != nil {
		return discovery.Anywhere
	}
	return discovery.ReachOf(a)
}

// reachOver is the reach that a connection shows its two ends to share. A relay shows nothing of its client's network,
// wherever it stands itself.
func reachOver(c network.Conn) discovery.Reach {
	if relayed(c) {
		return discovery.Anywhere
	}
	return discovery.ReachOf(c.RemoteMultiaddr())
}

// announcer decides what this host tells whom of where it is, and of where other members are.
type announcer struct {
	*base
}

// announced lists where this host listens for those whom a connection of this reach leads to: a private address is no
// business of the other side of the Internet, and would be another machine there.
func (a announcer) announced(to discovery.Reach) []multiaddr.Multiaddr {
	return slices.DeleteFunc(a.node.addresses(), func(a multiaddr.Multiaddr) bool { return discovery.ReachOf(a) < to })
}

// localReach is the smallest reach of the addresses that this host is known by: where the members around it are.
func (a announcer) localReach() discovery.Reach {
	mine, _ := a.members.inForce().charter.Member(a.self)
	least := discovery.Anywhere
	if a.cfg.onMachine() {
		least = discovery.OnMachine
	}
	for _, text := range mine.Addresses {
		least = min(least, reachOf(text))
	}
	return least
}

// tellable leaves of a member's addresses those that this host may tell to any other member.
func (a announcer) tellable(addresses []string) []string {
	least := a.localReach()
	return slices.DeleteFunc(slices.Clone(addresses), func(text string) bool { return reachOf(text) < least })
}

// announcing is the host as mDNS sees it: with the addresses that the network around may know.
type announcing struct {
	*blankhost.BlankHost
	addresses func() []multiaddr.Multiaddr
}

// Addrs returns these addresses.
func (a announcing) Addrs() []multiaddr.Multiaddr { return a.addresses() }
