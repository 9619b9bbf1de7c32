package peer

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
	"github.com/hanse-project/hanse/protocol/fault"
)

// The ways to find members that Config.Discovery may name.
const (
	DiscoverAddresses = "addresses" // those in the charter
	DiscoverMDNS      = "mdns"      // multicast on the local network
	DiscoverDHT       = "dht"       // a Kademlia table that only members keep
)

// Config says who a host is and how it meets the others.
type Config struct {
	Key     *keys.PrivateKey
	Charter *keys.SignedCharter // in force: signed by all its members, of whom Key is one

	// Listen holds the multiaddrs to listen on, /ip4/…/tcp/… for example. If it is empty, the
	// host listens on all interfaces at the ports that the charter gives this member; a member
	// without addresses there only dials out. A loopback address is listened on as it stands.
	Listen []string
	// QUIC adds QUIC to TCP: each TCP port is listened on as a UDP port too, and QUIC
	// addresses of others are dialled where TCP leads nowhere. QUIC connects in fewer round
	// trips, moves bulk data several times slower, and takes in 512 KiB of a session before
	// it is read where TCP takes in a whole frame.
	QUIC bool
	// Proxy makes this host's TCP connections to others; nil: it makes them itself. QUIC passes no proxy.
	Proxy *Proxy
	// Discovery names the ways to find members; nil means those that the charter names.
	Discovery []string
	// Neighbours are the members that the host keeps links with: it dials them again and again
	// and keeps their addresses. nil means all members; ids that are no members', or this one's
	// own, do not count. The other members cost nothing until they connect, or until a session
	// or a call names them: from then on they are kept as well.
	Neighbours []keys.ID
	// StateDir is the folder where addresses that worked are kept (peers.toml); empty: nowhere.
	StateDir string

	// Invited reports whether somebody who is no member may use the join protocol. It is
	// called often and concurrently; nil invites nobody.
	Invited func(keys.ID) bool

	// Worker reports whether a key that is no member's is that of a worker of this node. It is called often and
	// concurrently; nil: nobody's is.
	Worker func(keys.ID) bool
	// Spent tells a key that was a worker's of this node, and is none any more, from a stranger's: its owner is let hear
	// why it is refused, and nothing else. nil: nobody's is.
	Spent func(keys.ID) (fault.Fault, bool)
	// WorkerCame hears that a worker was let in, and from where; it may be nil. It may take as long as a write to the
	// disk.
	WorkerCame func(id keys.ID, address string)
	// Workers is how many workers are let in at once, at most keys.MaxMembers. What keys that are known may have here
	// grows by it, so that workers take no place of members; what has not shown its key has no more places.
	Workers int
	// Working reports whether there is work for workers. While there is none, a few are let in, who hear so. It is called
	// often and concurrently; nil: there always is.
	Working func() bool

	// Now is the time of day, which the host tells other members and compares with theirs. What
	// it waits for, it measures by a clock that nobody sets. nil: time.Now.
	Now func() time.Time

	// Program is the version of the program, which members are told so that people see who is behind; empty: they are
	// not. At most 64 bytes of it are said.
	Program string

	Log *slog.Logger // nil: no log

	Heartbeat time.Duration // between heartbeats; default 1 s
	Silence   time.Duration // without a byte before a member counts as gone; default 4 s
}

// complete checks the configuration and fills in what was left out.
func (c Config) complete() (Config, error) {
	if c.Key == nil || c.Charter == nil {
		return c, errors.New("a host needs a key and a charter; a newcomer without a charter uses DialJoin")
	}
	if err := c.Charter.Complete(); err != nil {
		return c, err
	}
	self := c.Key.ID()
	mine, ok := c.Charter.Member(self)
	if !ok {
		return c, fmt.Errorf("the key %s is no member's in charter %q version %d: check that key file and charter belong "+
			"together",
			self, c.Charter.Name, c.Charter.Version)
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Discovery == nil {
		c.Discovery = c.Charter.Rules.Discovery
	}
	if len(c.Listen) == 0 {
		c.Listen = listenEverywhere(mine.Addresses, c.QUIC)
	}
	known := []string{DiscoverAddresses, DiscoverMDNS, DiscoverDHT}
	for _, way := range c.Discovery {
		if !slices.Contains(known, way) {
			return c, fmt.Errorf("unknown way of discovery %q: want some of %q", way, known)
		}
		if way == DiscoverMDNS && !slices.Contains(c.Charter.Rules.Discovery, way) {
			return c, fmt.Errorf("mDNS tells the local network that this node is there, and charter %q does not say so: "+
				"leave it out, or make a version of the charter with \"mdns\" under discovery", c.Charter.Name)
		}
	}
	if c.Workers < 0 || c.Workers > keys.MaxMembers {
		return c, fmt.Errorf("%d workers at once: want 0 to %d", c.Workers, keys.MaxMembers)
	}
	if c.Workers == 0 {
		c.Worker = nil
	}
	if c.Heartbeat == 0 {
		c.Heartbeat = time.Second
	}
	if c.Silence == 0 {
		c.Silence = 4 * time.Second
	}
	if c.Heartbeat < 0 || c.Silence < 2*c.Heartbeat {
		return c, fmt.Errorf("a silence of %v with a heartbeat every %v: want at least two heartbeats", c.Silence,
			c.Heartbeat)
	}
	return c, nil
}

// neighbourhood returns the question whether a member is one that links are kept with.
func (c Config) neighbourhood() func(keys.ID) bool {
	if c.Neighbours == nil {
		return func(keys.ID) bool { return true }
	}
	near := make(map[keys.ID]bool, len(c.Neighbours))
	for _, id := range c.Neighbours {
		near[id] = true
	}
	return func(id keys.ID) bool { return near[id] }
}

// discovers reports whether a way of discovery is switched on.
func (c Config) discovers(way string) bool { return slices.Contains(c.Discovery, way) }

// listenEverywhere rewrites a member's public addresses to the ones it listens on: the port
// stays, and the host part becomes all interfaces, since behind NAT or in a container the
// public address belongs to no interface of this machine. A loopback address is what it says.
func listenEverywhere(public []string, quic bool) []string {
	var out []string
	for _, text := range public {
		a, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			continue // the charter's checks are stricter than this parser
		}
		host, port := multiaddr.SplitFirst(a)
		if host == nil || len(port) == 0 || isUDP(port) && !quic {
			continue
		}
		everywhere := "/ip4/0.0.0.0"
		if code := host.Protocol().Code; code == multiaddr.P_IP6 || code == multiaddr.P_DNS6 {
			everywhere = "/ip6/::"
		}
		if discovery.ReachOf(a) == discovery.OnMachine {
			everywhere = "/ip4/127.0.0.1"
			if code := host.Protocol().Code; code == multiaddr.P_IP4 || code == multiaddr.P_IP6 {
				everywhere = host.String()
			}
		}
		if at := everywhere + port.String(); !slices.Contains(out, at) {
			out = append(out, at)
		}
	}
	return out
}

// isUDP reports whether an address, with or without its host part, is a UDP one.
func isUDP(a multiaddr.Multiaddr) bool {
	return slices.ContainsFunc(a, func(c multiaddr.Component) bool { return c.Protocol().Code == multiaddr.P_UDP })
}
