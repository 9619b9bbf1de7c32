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
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/fault"
)

// JoinConn is a newcomer's connection to one member, over which it may use the join protocol.
type JoinConn struct {
	node *node
	link *link
	stop context.CancelFunc
	run  sync.WaitGroup
}

// DialJoin connects somebody who is no member yet to the member at a multiaddr, with or without
// its identity (/p2p/…) at the end. Without it whoever answers is taken for the member, so Peer
// must be compared with the invitation. The member must have invited the key. A proxy makes the connection, unless
// it is nil.
func DialJoin(ctx context.Context, key *keys.PrivateKey, address string, proxy *Proxy) (*JoinConn, error) {
	at, err := multiaddr.NewMultiaddr(address)
	if err != nil {
		return nil, fmt.Errorf("%q is no multiaddr: want the like of /ip4/192.0.2.7/tcp/4001", address)
	}
	at, who := libpeer.SplitAddr(at)
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
	n, err := newNode(nodeParts{key: key, gater: onlyDials(who), meter: meter, members: 1, quic: isUDP(at),
		proxy: proxy})
	if err != nil {
		return nil, err
	}
	l, err := greetAsInvitee(ctx, n, key.ID(), target{name: id.Short(), id: id}, who, at, meter)
	if err != nil {
		n.Close()
		return nil, err
	}
	life, stop := context.WithCancel(context.Background())
	j := &JoinConn{node: n, link: l, stop: stop}
	j.run.Go(func() {
		l.run(life, pulse{beat: time.Second, silence: 4 * time.Second}, observer{
			charter: func(*link, stance) {},
			left:    func(keys.ID, protocol.SessionID) {},
			clock:   func(*link) {},
			program: func() {},
			seen:    func(*link, string) {},
			where:   func(*link, []byte) {},
		})
	})
	return j, nil
}

// onlyDials is the gater of a host that nobody can call.
func onlyDials(who libpeer.ID) gater {
	return gater{
		dials:    func(p libpeer.ID) bool { return p == who },
		receives: func(libpeer.ID, multiaddr.Multiaddr) bool { return false },
		reaches:  func(_ libpeer.ID, a multiaddr.Multiaddr) bool { return discovery.ReachOf(a) > discovery.Nowhere },
	}
}

// greetAsInvitee dials a member and says hello as an invitee.
func greetAsInvitee(
	ctx context.Context, n *node, self keys.ID, t target, who libpeer.ID, at multiaddr.Multiaddr, m *meter,
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
		mine:   hello{version: WireVersion, role: roleInvitee, clock: clockMillis(time.Now())},
		weigh:  weighHost,
		heard:  m.of(who),
		now:    time.Now,
	}.exchange(ctx, conn)
	if err != nil {
		return nil, err
	}
	l.level.Store(uint32(levelJoin))
	return l, nil
}

// weighHost is a newcomer's judgement: any charter will do, since the invitation names the one
// it is about, but the wire version must fit.
func weighHost(theirs hello) verdict {
	if theirs.version != WireVersion {
		return refused(fault.Fault{Code: fault.CodeProgram, Numbers: []int64{int64(theirs.version), WireVersion}},
			"the member speaks wire version %d and this program version %d: the older one must be updated",
			theirs.version, WireVersion)
	}
	return verdict{level: levelJoin}
}

// Peer returns the member's identity, as TLS has proved it.
func (j *JoinConn) Peer() keys.ID { return j.link.peer }

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
func (j *JoinConn) Close() error {
	j.stop()
	j.run.Wait()
	return j.node.Close()
}

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
