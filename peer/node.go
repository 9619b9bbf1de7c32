package peer

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/core/transport"
	blankhost "github.com/libp2p/go-libp2p/p2p/host/blank"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	circuit "github.com/libp2p/go-libp2p/p2p/protocol/circuitv2/client"
	libtls "github.com/libp2p/go-libp2p/p2p/security/tls"
	libquic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/multiformats/go-multiaddr"
	"github.com/quic-go/quic-go"

	"github.com/hanse-project/hanse/keys"
)

// node is the part of libp2p that Hanse uses: TCP and, if asked for, QUIC; TLS 1.3; yamux. It is
// put together by hand because the ready-made host also brings a second handshake, plaintext
// for tests, WebRTC, a relay, address probing and an identify protocol that tells any caller
// about us; what is not here cannot be attacked, and need not be configured away.
type node struct {
	id     libpeer.ID
	swarm  *swarm.Swarm
	host   *blankhost.BlankHost
	tcp    *sockets
	limits network.ResourceManager
	// outgoing dials TCP; nil: from any port
	outgoing *outgoing
	close    []io.Closer // in the order of construction; closed in reverse
}

// nodeParts says what differs between a member's host and a newcomer's.
type nodeParts struct {
	key     *keys.PrivateKey
	gater   connmgr.ConnectionGater
	meter   metrics.Reporter
	members int
	workers int
	quic    bool
	proxy   *Proxy // nil: none
	onePort bool   // dial from one port, as hole punching needs it; not through a proxy
	// open opens a stream over a direct link, to a relay or to its client; nil for nodes that no relay serves.
	open func(context.Context, libpeer.ID, libproto.ID) (network.Stream, error)
}

// newNode assembles a node that listens nowhere yet. After an error nothing is left running.
func newNode(p nodeParts) (_ *node, err error) {
	n := &node{}
	defer func() {
		if err != nil {
			n.Close()
		}
	}()
	key, err := secretKey(p.key)
	if err != nil {
		return nil, err
	}
	if n.id, err = libpeer.IDFromPrivateKey(key); err != nil {
		return nil, err
	}
	limits, err := newLimits(p.members, p.workers)
	if err != nil {
		return nil, err
	}
	n.limits = limits
	n.close = append(n.close, limits)
	// Makes what keeps connections, and the host that gives streams their protocol.
	store, err := pstoremem.NewPeerstore()
	if err != nil {
		return nil, err
	}
	n.close = append(n.close, store)
	if err := errors.Join(store.AddPrivKey(n.id, key), store.AddPubKey(n.id, key.GetPublic())); err != nil {
		return nil, err
	}
	bus := eventbus.NewBus()
	n.swarm, err = swarm.NewSwarm(n.id, store, bus,
		swarm.WithConnectionGater(p.gater),
		swarm.WithResourceManager(limits),
		swarm.WithMetrics(p.meter),
		swarm.WithDialTimeout(dialTimeout),
		swarm.WithDialTimeoutLocal(dialTimeout), // a whole federation may run on a few processors
		swarm.WithUDPBlackHoleSuccessCounter(nil),
		swarm.WithIPv6BlackHoleSuccessCounter(nil),
		swarm.WithDialRanker(preferTCP))
	if err != nil {
		return nil, err
	}
	n.host = blankhost.NewBlankHost(n.swarm, blankhost.WithEventBus(bus))
	if n.host == nil {
		n.close = append(n.close, n.swarm)
		return nil, errors.New("libp2p refused to make a host of this key")
	}
	n.close = append(n.close, n.host)
	// Adds TCP with TLS 1.3 and yamux, and nothing to fall back to. Ports are not shared (SO_REUSEPORT): two nodes
	// on one port would each get half of the connections, silently.
	muxers := []upgrader.StreamMuxer{{ID: yamux.ID, Muxer: newMuxer(p.members)}}
	security, err := newSecurity(key, muxers)
	if err != nil {
		return nil, err
	}
	n.tcp = security.sockets
	bare, err := upgrader.New([]sec.SecureTransport{security}, muxers, nil, limits, p.gater,
		upgrader.WithAcceptTimeout(handshakeTime))
	if err != nil {
		return nil, err
	}
	up := newPorch(bare, p.members)
	n.close = append([]io.Closer{up}, n.close...) // after the swarm, whose listeners use it
	options := []tcp.Option{tcp.DisableReuseport(), tcp.WithConnectionTimeout(connectTimeout)}
	if p.onePort && p.proxy == nil {
		if n.outgoing, err = newOutgoing(); err != nil {
			return nil, err
		}
		options = append(options, tcp.WithDialerForAddr(func(multiaddr.Multiaddr) (tcp.ContextDialer, error) {
			return n.outgoing, nil
		}))
	}
	plain, err := tcp.NewTCPTransport(up, limits, nil, options...)
	if err != nil {
		return nil, err
	}
	var dials transport.Transport = plain
	if p.proxy != nil {
		dials = &proxied{plain, p.proxy, up, limits}
	}
	if err := n.swarm.AddTransport(dials); err != nil {
		return nil, err
	}
	if p.open != nil {
		if err := n.addCircuits(up, p.open); err != nil {
			return nil, err
		}
	}
	if p.quic {
		return n, n.addQUIC(key, limits, p.gater)
	}
	return n, nil
}

// addresses lists what the node listens on, an address for all interfaces as one of each.
func (n *node) addresses() []multiaddr.Multiaddr {
	return slices.DeleteFunc(n.host.Addrs(), func(a multiaddr.Multiaddr) bool {
		_, err := a.ValueForProtocol(multiaddr.P_CIRCUIT) // no address without a relay's before it
		return err == nil
	})
}

// overLinks is the host as relays and their clients see it: it reaches members over direct links and makes none.
type overLinks struct {
	*blankhost.BlankHost
	open func(context.Context, libpeer.ID, libproto.ID) (network.Stream, error)
}

// NewStream opens a stream over the link to a member.
func (o overLinks) NewStream(ctx context.Context, p libpeer.ID, protos ...libproto.ID) (network.Stream, error) {
	if len(protos) != 1 {
		return nil, fmt.Errorf("%d protocols for one stream", len(protos))
	}
	return o.open(ctx, p, protos[0])
}

// addCircuits lets a node be called, and call, through relays.
func (n *node) addCircuits(
	up transport.Upgrader, open func(context.Context, libpeer.ID, libproto.ID) (network.Stream, error),
) error {
	c, err := circuit.New(overLinks{n.host, open}, up)
	if err != nil {
		return err
	}
	if err := n.swarm.AddTransport(c); err != nil {
		return err
	}
	if err := n.swarm.Listen(multiaddr.Cast(multiaddr.ProtocolWithCode(multiaddr.P_CIRCUIT).VCode)); err != nil {
		return err
	}
	c.Start()
	return nil
}

// addQUIC adds QUIC, which has TLS 1.3 and streams of its own. The two keys only protect
// connection resets and address checks, so they need not outlive the process.
func (n *node) addQUIC(key crypto.PrivKey, limits network.ResourceManager, g connmgr.ConnectionGater) error {
	var reset quic.StatelessResetKey
	var token quic.TokenGeneratorKey
	rand.Read(reset[:])
	rand.Read(token[:])
	sockets, err := quicreuse.NewConnManager(reset, token)
	if err != nil {
		return err
	}
	// Sockets close after the swarm, so they stand before it in the list.
	n.close = append([]io.Closer{sockets}, n.close...)
	template, err := newCertificate()
	if err != nil {
		return err
	}
	udp, err := libquic.NewTransport(key, sockets, nil, g, limits,
		libquic.WithTLSIdentityOption(libtls.WithCertTemplate(template)))
	if err != nil {
		return err
	}
	return n.swarm.AddTransport(udp)
}

// Close ends all connections and waits for libp2p's goroutines.
func (n *node) Close() error {
	var errs []error
	for i := len(n.close) - 1; i >= 0; i-- {
		errs = append(errs, n.close[i].Close())
	}
	n.close = nil
	return errors.Join(errs...)
}

// preferTCP ranks a member's addresses for dialling: QUIC ones wait for a head start of TCP,
// which is the faster one once connected, and relays for one of what leads there directly.
func preferTCP(addresses []multiaddr.Multiaddr) []network.AddrDelay {
	const quicDelay, relayDelay = 500 * time.Millisecond, time.Second
	out := make([]network.AddrDelay, len(addresses))
	tcp := slices.ContainsFunc(addresses, func(a multiaddr.Multiaddr) bool { return !isUDP(a) })
	circuit := func(a multiaddr.Multiaddr) bool {
		_, err := a.ValueForProtocol(multiaddr.P_CIRCUIT)
		return err == nil
	}
	direct := slices.ContainsFunc(addresses, func(a multiaddr.Multiaddr) bool { return !circuit(a) })
	for i, a := range addresses {
		out[i].Addr = a
		switch {
		case direct && circuit(a):
			out[i].Delay = relayDelay
		case tcp && isUDP(a):
			out[i].Delay = quicDelay
		}
	}
	return out
}

// quiet passes libp2p's own log lines on at debug level: what matters in them reaches the
// user as a sentence of ours.
type quiet struct {
	to slog.Handler
}

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.to.Enabled(ctx, slog.LevelDebug)
}

// Handle implements slog.Handler.
func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	r.Level = slog.LevelDebug
	return q.to.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (q quiet) WithAttrs(attrs []slog.Attr) slog.Handler { return quiet{q.to.WithAttrs(attrs)} }

// WithGroup implements slog.Handler.
func (q quiet) WithGroup(name string) slog.Handler { return quiet{q.to.WithGroup(name)} }
