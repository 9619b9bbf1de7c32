package peer

import (
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/libp2p/go-libp2p/core/connmgr"
	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/metrics"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/host/blank"
	"github.com/libp2p/go-libp2p/p2p/host/eventbus"
	"github.com/libp2p/go-libp2p/p2p/host/peerstore/pstoremem"
	"github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-libp2p/p2p/net/swarm"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	libtls "github.com/libp2p/go-libp2p/p2p/security/tls"
	libquic "github.com/libp2p/go-libp2p/p2p/transport/quic"
	"github.com/libp2p/go-libp2p/p2p/transport/quicreuse"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/quic-go/quic-go"

	"github.com/hanse-project/hanse/keys"
)

// dialTimeout limits a dial. It is the same to an address on this machine, where a whole
// federation may run on a few processors.
const dialTimeout = 10 * time.Second

// node is the part of libp2p that Hanse uses: TCP and, if asked for, QUIC; TLS 1.3; yamux. It is
// put together by hand because the ready-made host also brings a second handshake, plaintext
// for tests, WebRTC, a relay, address probing and an identify protocol that tells any caller
// about us; what is not here cannot be attacked, and need not be configured away.
type node struct {
	id    libpeer.ID
	swarm *swarm.Swarm
	host  *blankhost.BlankHost
	close []io.Closer // in the order of construction; closed in reverse
}

// nodeParts says what differs between a member's host and a newcomer's.
type nodeParts struct {
	key     *keys.PrivateKey
	gater   connmgr.ConnectionGater
	meter   metrics.Reporter
	members int
	quic    bool
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
	limits, err := newLimits(p.members)
	if err != nil {
		return nil, err
	}
	n.close = append(n.close, limits)
	if err := n.addSwarm(key, limits, p); err != nil {
		return nil, err
	}
	if err := n.addTCP(key, limits, p); err != nil {
		return nil, err
	}
	if p.quic {
		return n, n.addQUIC(key, limits, p.gater)
	}
	return n, nil
}

// addSwarm makes what keeps connections, and the host that gives streams their protocol.
func (n *node) addSwarm(key crypto.PrivKey, limits network.ResourceManager, p nodeParts) error {
	store, err := pstoremem.NewPeerstore()
	if err != nil {
		return err
	}
	n.close = append(n.close, store)
	if err := errors.Join(store.AddPrivKey(n.id, key), store.AddPubKey(n.id, key.GetPublic())); err != nil {
		return err
	}
	bus := eventbus.NewBus()
	n.swarm, err = swarm.NewSwarm(n.id, store, bus,
		swarm.WithConnectionGater(p.gater),
		swarm.WithResourceManager(limits),
		swarm.WithMetrics(p.meter),
		swarm.WithDialTimeout(dialTimeout),
		swarm.WithDialTimeoutLocal(dialTimeout),
		swarm.WithUDPBlackHoleSuccessCounter(nil),
		swarm.WithIPv6BlackHoleSuccessCounter(nil),
		swarm.WithDialRanker(preferTCP))
	if err != nil {
		return err
	}
	n.host = blankhost.NewBlankHost(n.swarm, blankhost.WithEventBus(bus))
	if n.host == nil {
		n.close = append(n.close, n.swarm)
		return errors.New("libp2p refused to make a host of this key")
	}
	n.close = append(n.close, n.host)
	return nil
}

// addTCP adds TCP with TLS 1.3 and yamux, and nothing to fall back to. Ports are not shared
// (SO_REUSEPORT): two nodes on one port would each get half of the connections, silently.
func (n *node) addTCP(key crypto.PrivKey, limits network.ResourceManager, p nodeParts) error {
	muxers := []upgrader.StreamMuxer{{ID: yamux.ID, Muxer: newMuxer(p.members)}}
	security, err := newSecurity(key, muxers)
	if err != nil {
		return err
	}
	up, err := upgrader.New([]sec.SecureTransport{security}, muxers, nil, limits, p.gater)
	if err != nil {
		return err
	}
	transport, err := tcp.NewTCPTransport(up, limits, nil, tcp.DisableReuseport())
	if err != nil {
		return err
	}
	return n.swarm.AddTransport(transport)
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
	transport, err := libquic.NewTransport(key, sockets, nil, g, limits,
		libquic.WithTLSIdentityOption(libtls.WithCertTemplate(template)))
	if err != nil {
		return err
	}
	return n.swarm.AddTransport(transport)
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
