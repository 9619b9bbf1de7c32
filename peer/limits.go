package peer

import (
	"net/netip"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	"github.com/libp2p/go-libp2p/x/rate"

	"github.com/hanse-project/hanse/protocol"
)

// Limits per member. A pair uses one connection, two while a new one replaces an old one, and a
// stream for each session and each call in progress.
const (
	connsPerPeer   = 4
	streamsPerPeer = 256
	memoryPerPeer  = 256 << 20
)

// Limits for the whole host. They bound what peers can make it buffer by sending what nobody
// reads; nothing of it is taken beforehand.
const (
	memoryMost  = 4 << 30
	memoryLeast = 512 << 20
)

// Windows are what a stream takes in before it is read, in bytes.
const (
	windowLeast = 256 << 10                  // what yamux grants every stream
	windowFirst = protocol.MaxFrame + 64<<10 // one frame of the largest size, whatever it is
	windowMost  = 16 << 20                   // what it grows to on lines with a long delay
	windowShare = 16                         // streams per member that the memory is shared among
)

// firstWindow is the window that a stream starts with. In a federation of up to 63 a whole
// frame fits, so that two parties who both send before they receive do not block each other;
// larger ones share the memory.
func firstWindow(members int) int {
	return min(max(memoryMost/(windowShare*members), windowLeast), windowFirst)
}

// newLimits sizes libp2p's resource manager for a charter of so many members. Its defaults are
// made for a public network: they admit 64 connections per GiB of memory and eight per address,
// which a federation of hundreds, or one site behind a single address, exceeds at once.
func newLimits(members int) (network.ResourceManager, error) {
	conns := connsPerPeer*members + 64
	all := rcmgr.ResourceLimits{
		Conns:         rcmgr.LimitVal(conns),
		ConnsInbound:  rcmgr.LimitVal(conns),
		ConnsOutbound: rcmgr.LimitVal(conns),
		FD:            rcmgr.LimitVal(conns + 64),
		Streams:       rcmgr.LimitVal(128*members + 1024),
		Memory:        rcmgr.LimitVal64(memoryFor(members)),
	}
	// What has not said who it is, or what it wants, yet: all members at once after a restart,
	// and room for as many strangers.
	transient := rcmgr.ResourceLimits{
		Conns:   rcmgr.LimitVal(2*members + 64),
		FD:      rcmgr.LimitVal(2*members + 64),
		Streams: rcmgr.LimitVal(8*members + 256),
		Memory:  rcmgr.LimitVal64(memoryFor(members) / 2),
	}
	each := rcmgr.ResourceLimits{
		Conns:           connsPerPeer,
		Streams:         2 * streamsPerPeer,
		StreamsInbound:  streamsPerPeer,
		StreamsOutbound: streamsPerPeer,
		Memory:          memoryPerPeer,
	}
	limits := rcmgr.PartialLimitConfig{System: all, Transient: transient, PeerDefault: each}
	perAddress := 2*members + 32
	return rcmgr.NewResourceManager(
		rcmgr.NewFixedLimiter(limits.Build(rcmgr.InfiniteLimits)),
		rcmgr.WithMetricsDisabled(),
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: perAddress}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 64, ConnCount: perAddress}}),
		rcmgr.WithConnRateLimiters(newRateLimiter(members)))
}

// newRateLimiter bounds the connections per second from or to one address, behind which all
// members may sit. There is no bound for all addresses together: strangers could use it up.
func newRateLimiter(members int) *rate.Limiter {
	each := rate.Limit{RPS: float64(members + 10), Burst: 4*members + 64}
	return &rate.Limiter{
		NetworkPrefixLimits: []rate.PrefixLimit{
			{Prefix: netip.MustParsePrefix("127.0.0.0/8")},
			{Prefix: netip.MustParsePrefix("::1/128")},
		},
		SubnetRateLimiter: rate.SubnetLimiter{
			IPv4SubnetLimits: []rate.SubnetLimit{{PrefixLength: 32, Limit: each}},
			IPv6SubnetLimits: []rate.SubnetLimit{{PrefixLength: 64, Limit: each}},
			GracePeriod:      time.Minute,
		},
	}
}

// memoryFor is the most that unread data may take in all, in bytes.
func memoryFor(members int) int64 {
	wanted := min(max(int64(members)*memoryPerPeer, memoryLeast), memoryMost)
	return max(wanted, int64(members)*windowShare*windowLeast)
}
