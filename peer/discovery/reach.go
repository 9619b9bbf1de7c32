package discovery

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Reach is how far an address means the same machine: a smaller one is good in a smaller network.
type Reach int

// The reaches, from the smallest.
const (
	Nowhere   Reach = iota // no machine's: unspecified, multicast, reserved
	OnMachine              // loopback: another machine at the other end of every cable
	InNetwork              // private and link-local: another machine in every organisation
	Anywhere               // public, and names, which say where they mean
)

// ReachOf returns the reach of an address; of one that goes through a relay, the reach of the relay's own.
func ReachOf(a multiaddr.Multiaddr) Reach {
	if len(a) == 0 {
		return Anywhere
	}
	switch a[0].Protocol().Code {
	case multiaddr.P_DNS, multiaddr.P_DNS4, multiaddr.P_DNS6, multiaddr.P_DNSADDR:
		name := strings.TrimSuffix(strings.ToLower(a[0].Value()), ".")
		if name == "localhost" || strings.HasSuffix(name, ".localhost") { // RFC 6761
			return OnMachine
		}
		return Anywhere
	}
	ip, ok := ipOf(a)
	switch {
	case !ok:
		return Anywhere
	case ip.IsLoopback():
		return OnMachine
	case ip.IsUnspecified(), ip.IsMulticast(), within(ip, nobody):
		return Nowhere
	case ip.IsPrivate(), ip.IsLinkLocalUnicast(), within(ip, someNetwork):
		return InNetwork
	}
	return Anywhere
}

// Networks that net/netip knows nothing of.
var (
	// nobody is where no machine is: "this network", what is reserved, broadcast (RFC 6890), discarded (RFC 6666), IPv4
	// in IPv6 as nobody writes it any more (RFC 4291), and tunnels to an IPv4 address behind NAT (RFC 4380).
	nobody = prefixes("0.0.0.0/8", "240.0.0.0/4", "100::/64", "::/96", "2001::/32")
	// someNetwork means another machine in every network: what providers use behind their own NAT (RFC 6598), a NAT's own
	// way to IPv4 (RFC 8215), and what was once private (RFC 3879).
	someNetwork = prefixes("100.64.0.0/10", "64:ff9b:1::/48", "fec0::/10")
	// nat64 and tunnel6to4 hold an IPv4 address, and lead there (RFC 6052, RFC 3056).
	nat64, tunnel6to4 = netip.MustParsePrefix("64:ff9b::/96"), netip.MustParsePrefix("2002::/16")
)

// prefixes reads a list of networks.
func prefixes(texts ...string) (out []netip.Prefix) {
	for _, text := range texts {
		out = append(out, netip.MustParsePrefix(text))
	}
	return out
}

// within reports whether an address is in one of these networks.
func within(ip netip.Addr, networks []netip.Prefix) bool {
	return slices.ContainsFunc(networks, func(p netip.Prefix) bool { return p.Contains(ip) })
}

// ipOf returns the IP address that a multiaddr leads to: for those of IPv6 that stand for one of IPv4, that one.
func ipOf(a multiaddr.Multiaddr) (netip.Addr, bool) {
	raw, err := manet.ToIP(a)
	if err != nil {
		return netip.Addr{}, false
	}
	ip, ok := netip.AddrFromSlice(raw)
	ip = ip.Unmap()
	if !ok || ip.Is4() || ip == netip.IPv6Loopback() {
		return ip, ok
	}
	all := ip.As16()
	switch {
	case nat64.Contains(ip):
		ip = netip.AddrFrom4([4]byte(all[12:]))
	case tunnel6to4.Contains(ip):
		ip = netip.AddrFrom4([4]byte(all[2:6]))
	}
	return ip, true
}

// Surroundings say which addresses are worth a dial from this machine. Others would lead to whoever has the same
// address here, or to this node itself.
type Surroundings struct {
	// Machine is set for the node of a federation on this machine: loopback addresses are other members'.
	Machine bool
	// Own lists what this node listens on; nil: nothing.
	Own func() []multiaddr.Multiaddr
	// Networks lists the addresses of this machine with their networks; nil: net.InterfaceAddrs.
	Networks func() ([]net.Addr, error)
}

// view is Surroundings at one moment.
type view struct {
	machine  bool
	own      []multiaddr.Multiaddr
	networks []netip.Prefix // private ones that this machine has an address in
}

// look takes the view that a list of addresses needs.
func (s Surroundings) look() view {
	v := view{machine: s.Machine}
	if s.Own != nil {
		v.own = s.Own()
	}
	networks := s.Networks
	if networks == nil {
		networks = net.InterfaceAddrs
	}
	all, err := networks()
	if err != nil {
		return v // what cannot be told apart is not dialled
	}
	for _, a := range all {
		if p, err := netip.ParsePrefix(a.String()); err == nil && !p.Addr().IsLoopback() {
			v.networks = append(v.networks, p.Masked())
		}
	}
	return v
}

// agreed reports whether an address that all have signed is worth a dial: a private one is when this machine is in a
// private network itself, which may have a way there.
func (v view) agreed(a multiaddr.Multiaddr) bool {
	private := func(p netip.Prefix) bool { return p.Addr().IsPrivate() || within(p.Addr(), someNetwork) }
	return v.here(a) || ReachOf(a) == InNetwork && !v.itself(a) && slices.ContainsFunc(v.networks, private)
}

// here reports whether an address that somebody has told is worth a dial: a private one is when this machine has an
// address in the same network.
func (v view) here(a multiaddr.Multiaddr) bool {
	if v.itself(a) {
		return false
	}
	switch ReachOf(a) {
	case Nowhere:
		return false
	case OnMachine:
		return v.machine
	case InNetwork:
		ip, ok := ipOf(a)
		return ok && slices.ContainsFunc(v.networks, func(p netip.Prefix) bool { return p.Contains(ip) })
	default:
		return true
	}
}

// itself reports whether an address is one that this node listens on, however it is written.
func (v view) itself(a multiaddr.Multiaddr) bool {
	ip, ok := ipOf(a)
	return slices.ContainsFunc(v.own, func(own multiaddr.Multiaddr) bool {
		if own.Equal(a) {
			return true
		}
		same, is := ipOf(own)
		return ok && is && same == ip && slices.EqualFunc(own[1:], a[1:], func(x, y multiaddr.Component) bool {
			return x.Equal(&y)
		})
	})
}
