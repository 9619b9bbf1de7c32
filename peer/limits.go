package peer

import (
	"net"
	"net/netip"
	"time"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	rcmgr "github.com/libp2p/go-libp2p/p2p/host/resource-manager"
	libyamux "github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/x/rate"
	"github.com/libp2p/go-yamux/v5"

	"github.com/hanse-project/hanse/protocol"
)

// Limits per member. A pair uses one connection, two while a new one replaces an old one, and a
// stream for each session and each call in progress.
const (
	connsPerPeer   = 4
	streamsPerPeer = 256
	memoryPerPeer  = 256 << 20
)

// connsPerWorker is how many connections a worker uses: one, and a new one that replaces it.
const connsPerWorker = 2

// Limits of who is no member, or has not said hello yet.
const (
	streamsBefore = 64
	memoryBefore  = 64 << 20
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

// streamsOfWorker is how many streams a worker may have open: one to each party, two others, and as many that end.
func streamsOfWorker(members int) int { return max(2*(members+2), streamsBefore) }

// memoryOfWorker is how much unread data of a worker there may be, in bytes. yamux lets windows grow up to a half of
// it, so that first windows always find theirs.
func memoryOfWorker(members int) int64 {
	return max(2*int64(members+2)*int64(firstWindow(members)), memoryBefore)
}

// acceptedAtOnce is how many connections may be accepted before the porch has made room for them: one a listener.
const acceptedAtOnce = 32

// newLimits sizes libp2p's resource manager for a charter of so many members, and for so many workers of this node,
// whose share comes on top and is bounded by admission: neither takes the other's places. Its defaults are
// made for a public network: they admit 64 connections per GiB of memory and eight per address,
// which a federation of hundreds, or one site behind a single address, exceeds at once.
func newLimits(members, workers int) (network.ResourceManager, error) {
	// What has not said who it is has the places of the porch, whoever it may turn out to be: workers have theirs when
	// their keys have shown themselves. It takes no place of what this host dials: whoever fills the port cannot cut
	// it off.
	in, out := placesAtDoor(members)+acceptedAtOnce, 2*members+32
	conns := connsPerPeer*members + connsPerWorker*workers
	streams, memory := workers*streamsOfWorker(members), int64(workers)*memoryOfWorker(members)
	all := rcmgr.ResourceLimits{
		Conns:         rcmgr.LimitVal(conns + in + out),
		ConnsInbound:  rcmgr.LimitVal(conns + in),
		ConnsOutbound: rcmgr.LimitVal(conns + out),
		FD:            rcmgr.LimitVal(conns + in + out),
		Streams:       rcmgr.LimitVal(128*members + 1024 + streams),
		Memory:        rcmgr.LimitVal64(memoryFor(members) + memory),
	}
	transient := rcmgr.ResourceLimits{
		Conns:         rcmgr.LimitVal(in + out),
		ConnsInbound:  rcmgr.LimitVal(in),
		ConnsOutbound: rcmgr.LimitVal(out),
		FD:            rcmgr.LimitVal(in + out),
		Streams:       rcmgr.LimitVal(8*members + 256 + streams),
		Memory:        rcmgr.LimitVal64(memoryFor(members)/2 + memory),
	}
	each := rcmgr.ResourceLimits{
		Conns:           connsPerPeer,
		Streams:         2 * streamsBefore,
		StreamsInbound:  streamsBefore,
		StreamsOutbound: streamsBefore,
		Memory:          memoryBefore,
	}
	limits := rcmgr.PartialLimitConfig{System: all, Transient: transient, PeerDefault: each}
	// Connections from or to one address, behind which all members may sit, and all workers: those of keys that are
	// known are bounded by key, others by the porch. There is no rate for all addresses together: strangers could use
	// it up. Nor is there one for this machine's own address, where whole federations are tried: whoever runs there
	// would keep the others out by using it up, and may use up the processor anyhow.
	perAddress := conns + placesPerAddress(members) + acceptedAtOnce + out
	perSecond := rate.Limit{RPS: float64(members + workers + 10), Burst: 4*members + 64 + connsPerWorker*workers}
	return rcmgr.NewResourceManager(
		rcmgr.NewFixedLimiter(limits.Build(rcmgr.InfiniteLimits)),
		rcmgr.WithMetricsDisabled(),
		rcmgr.WithLimitPerSubnet(
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 32, ConnCount: perAddress}},
			[]rcmgr.ConnLimitPerSubnet{{PrefixLength: 64, ConnCount: perAddress}}),
		rcmgr.WithConnRateLimiters(&rate.Limiter{
			NetworkPrefixLimits: []rate.PrefixLimit{
				{Prefix: netip.MustParsePrefix("127.0.0.0/8")},
				{Prefix: netip.MustParsePrefix("::1/128")},
			},
			SubnetRateLimiter: rate.SubnetLimiter{
				IPv4SubnetLimits: []rate.SubnetLimit{{PrefixLength: 32, Limit: perSecond}},
				IPv6SubnetLimits: []rate.SubnetLimit{{PrefixLength: 64, Limit: perSecond}},
				GracePeriod:      time.Minute,
			},
		}))
}

// admit gives an identity the streams and the memory of a member.
func admit(limits network.ResourceManager, p libpeer.ID) error {
	return grant(limits, p, streamsPerPeer, memoryPerPeer)
}

// grant gives an identity so many streams each way, and so much memory for what is not read yet.
func grant(limits network.ResourceManager, p libpeer.ID, streams int, memory int64) error {
	return limits.ViewPeer(p, func(s network.PeerScope) error {
		if scope, ok := s.(rcmgr.ResourceScopeLimiter); ok {
			scope.SetLimit(&rcmgr.BaseLimit{
				Conns: connsPerPeer, ConnsInbound: connsPerPeer, ConnsOutbound: connsPerPeer, FD: connsPerPeer,
				Streams: 2 * streams, StreamsInbound: streams, StreamsOutbound: streams,
				Memory: memory,
			})
		}
		return nil
	})
}

// memoryFor is the most that unread data may take in all, in bytes.
func memoryFor(members int) int64 {
	wanted := min(max(int64(members)*memoryPerPeer, memoryLeast), memoryMost)
	return max(wanted, int64(members)*windowShare*windowLeast)
}

// muxer is yamux with a first window of our own: the usual 256 KiB would hold a sender up in the
// middle of a frame until the other side reads. It implements network.Multiplexer.
type muxer struct {
	config *yamux.Config
}

func newMuxer(members int) muxer {
	config := *libyamux.DefaultTransport.Config()
	config.InitialStreamWindowSize = uint32(firstWindow(members))
	config.MaxStreamWindowSize = windowMost
	return muxer{&config}
}

// NewConn puts yamux on a secured connection.
func (m muxer) NewConn(c net.Conn, server bool, scope network.PeerScope) (network.MuxedConn, error) {
	memory := func() (yamux.MemoryManager, error) {
		span, err := scope.BeginSpan()
		return &windowSpan{ResourceScopeSpan: span, first: int(m.config.InitialStreamWindowSize)}, err
	}
	if scope == nil {
		memory = nil
	}
	side := yamux.Client
	if server {
		side = yamux.Server
	}
	session, err := side(c, m.config, memory)
	if err != nil {
		return nil, err
	}
	return libyamux.NewMuxedConn(session), nil
}

// windowSpan accounts for one stream's window. yamux reserves its standard window at the start
// whatever is configured, so the first reservation is raised to the window that is granted.
type windowSpan struct {
	network.ResourceScopeSpan
	first int
}

// ReserveMemory implements yamux.MemoryManager.
func (w *windowSpan) ReserveMemory(size int, priority uint8) error {
	size = max(size, w.first)
	w.first = 0
	return w.ResourceScopeSpan.ReserveMemory(size, priority)
}
