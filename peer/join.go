package peer

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/peerstore"
	libtls "github.com/libp2p/go-libp2p/p2p/security/tls"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"github.com/multiformats/go-multistream"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/discovery"
	"github.com/hanse-project/hanse/peer/session"
)

// JoinConn is a newcomer's connection to one member, over which it may use the join protocol.
type JoinConn struct{ *guest }

// DialJoin connects somebody who is no member yet to the member at a multiaddr, with or without
// its identity (/p2p/…) at the end. Without it whoever answers is taken for the member, so Peer
// must be compared with the invitation. The member must have invited the key. A proxy makes the connection, unless
// it is nil.
func DialJoin(ctx context.Context, key *keys.PrivateKey, address string, proxy *Proxy) (*JoinConn, error) {
	at, err := multiaddr.NewMultiaddr(address)
	if err != nil {
		return nil, fmt.Errorf("%q is no multiaddr: want the like of /ip4/192.0.2.7/tcp/4001", address)
	}
	g, err := dialGuest(ctx, key, at, proxy, asInvitee)
	if err != nil {
		return nil, err
	}
	return &JoinConn{g}, nil
}

// guest is a connection to one member that somebody has made who is no member.
type guest struct {
	node  *node
	link  *link
	stop  context.CancelFunc
	run   sync.WaitGroup
	close func() error
}

// guestKind is as what somebody who is no member connects.
type guestKind struct {
	role    role
	level   level
	members int // the charter's members that the guest's own limits are sized for
}

var (
	asInvitee = guestKind{role: roleInvitee, level: levelJoin, members: 1}
	asWorker  = guestKind{role: roleWorker, level: levelWorker, members: membersOfWorker}
)

// dialGuest connects to the member at an address and says hello.
func dialGuest(
	ctx context.Context, key *keys.PrivateKey, at multiaddr.Multiaddr, proxy *Proxy, as guestKind,
) (*guest, error) {
	at, who := libpeer.SplitAddr(at)
	var err error
	if who == "" {
		if who, err = whoIs(ctx, key, at, proxy); err != nil {
			return nil, fmt.Errorf("cannot learn who answers at %s: %s", at, explainCause(err))
		}
	}
	id, err := memberID(who)
	if err != nil {
		return nil, fmt.Errorf("who answers at %s is no hanse node: %w", at, err)
	}
	meter := newMeter()
	n, err := newNode(nodeParts{key: key, gater: onlyDials(who), meter: meter, members: as.members, quic: isUDP(at),
		proxy: proxy})
	if err != nil {
		return nil, err
	}
	l, err := greetAsGuest(ctx, n, as, key.ID(), target{name: id.Short(), id: id}, who, at, meter)
	if err != nil {
		n.Close()
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	g := &guest{node: n, link: l, stop: stop}
	g.close = sync.OnceValue(func() error {
		g.stop()
		g.run.Wait()
		return g.node.Close()
	})
	g.run.Go(func() { l.run(life, pulse{beat: time.Second, silence: 4 * time.Second}, deaf) })
	return g, nil
}

// onlyDials is the gater of a host that nobody can call.
func onlyDials(who libpeer.ID) gater {
	return gater{
		dials:    func(p libpeer.ID) bool { return p == who },
		receives: func(libpeer.ID, multiaddr.Multiaddr) bool { return false },
		reaches:  func(_ libpeer.ID, a multiaddr.Multiaddr) bool { return discovery.ReachOf(a) > discovery.Nowhere },
	}
}

// greetAsGuest dials a member and says hello.
func greetAsGuest(
	ctx context.Context, n *node, as guestKind, self keys.ID, t target, who libpeer.ID, at multiaddr.Multiaddr, m *meter,
) (*link, error) {
	n.host.Peerstore().AddAddr(who, at, peerstore.PermanentAddrTTL)
	conn, err := n.swarm.DialPeer(ctx, who)
	if err != nil {
		if ctx.Err() != nil {
			return nil, fmt.Errorf("no connection to %s: %w", at, ctx.Err())
		}
		return nil, t.explainDial(err)
	}
	l, err := greeting{
		target: t,
		self:   self,
		mine:   hello{Version: WireVersion, Role: as.role, Instance: newInstance(), Clock: clockMillis(time.Now())},
		runs:   program{who: "this program", wire: WireVersion},
		weigh:  anyCharter,
		heard:  m.of(who),
		now:    time.Now,
	}.exchange(ctx, conn)
	if err != nil {
		return nil, err
	}
	l.level.Store(uint32(as.level))
	return l, nil
}

// anyCharter is a guest's judgement: an invitation names the charter that it is about, and a worker its node.
func anyCharter(hello) verdict { return verdict{} }

// Peer returns the member's identity, as TLS has proved it.
func (g *guest) Peer() keys.ID { return g.link.peer }

// ClockTrouble returns a sentence when the member's clock and this machine's differ, empty if not.
func (j *JoinConn) ClockTrouble() string {
	ahead, _ := j.link.clock.get()
	return clockView{}.of(j.link.name, ahead, time.Now())
}

// Call makes one call; its method must start with "join/".
func (j *JoinConn) Call(ctx context.Context, method string, request []byte) ([]byte, error) {
	if err := checkCall(method, request); err != nil {
		return nil, err
	}
	return call(ctx, j.link, method, request)
}

// Close ends the connection and waits until nothing of it is left.
func (g *guest) Close() error { return g.close() }

// whoIs makes a TLS handshake with whoever listens at a TCP address and hangs up: libp2p dials
// only identities that are known beforehand.
func whoIs(
	ctx context.Context, key *keys.PrivateKey, at multiaddr.Multiaddr, proxy *Proxy,
) (libpeer.ID, error) {
	if isUDP(at) {
		return "", fmt.Errorf("a QUIC address must name the member: add /p2p/ and its identity")
	}
	network, host, err := manet.DialArgs(at)
	if err != nil {
		return "", err
	}
	secret, err := secretKey(key)
	if err != nil {
		return "", err
	}
	security, err := newSecurity(secret, nil)
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := proxy.dial(ctx, network, host)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	release := session.InterruptIO(ctx, conn.SetDeadline)
	defer release()
	if err := multistream.SelectProtoOrFail(libtls.ID, io.ReadWriteCloser(conn)); err != nil {
		return "", err
	}
	secure, err := security.SecureOutbound(ctx, conn, "")
	if err != nil {
		return "", err
	}
	return secure.RemotePeer(), nil
}
