package peer

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/libp2p/go-libp2p/core/crypto"
	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	libproto "github.com/libp2p/go-libp2p/core/protocol"
	"github.com/libp2p/go-libp2p/core/sec"
	"github.com/libp2p/go-libp2p/p2p/net/upgrader"
	libtls "github.com/libp2p/go-libp2p/p2p/security/tls"
)

// security is TLS 1.3 over TCP as libp2p speaks it. Checks of certificates and of identities are
// libp2p's own. Its ready-made transport makes certificates that are not valid before the hour
// in which the node started, and has no option for others, so the handshake stands here.
type security struct {
	self     libpeer.ID
	identity *libtls.Identity
	muxers   []string // offered along with the handshake
}

var _ sec.SecureTransport = (*security)(nil)

// newSecurity draws a certificate for the key. Nothing in muxers leaves the choice for later.
func newSecurity(key crypto.PrivKey, muxers []upgrader.StreamMuxer) (*security, error) {
	self, err := libpeer.IDFromPrivateKey(key)
	if err != nil {
		return nil, err
	}
	template, err := newCertificate()
	if err != nil {
		return nil, err
	}
	identity, err := libtls.NewIdentity(key, libtls.WithCertTemplate(template))
	if err != nil {
		return nil, err
	}
	s := &security{self: self, identity: identity}
	for _, m := range muxers {
		s.muxers = append(s.muxers, string(m.ID))
	}
	return s, nil
}

// ID implements sec.SecureTransport.
func (s *security) ID() libproto.ID { return libtls.ID }

// SecureInbound is the server's side of a handshake. No id stands for anybody.
func (s *security) SecureInbound(ctx context.Context, insecure net.Conn, p libpeer.ID) (sec.SecureConn, error) {
	return s.handshake(ctx, insecure, p, tls.Server)
}

// SecureOutbound is the client's side of a handshake. It succeeds before the server has judged
// the client's certificate.
func (s *security) SecureOutbound(ctx context.Context, insecure net.Conn, p libpeer.ID) (sec.SecureConn, error) {
	return s.handshake(ctx, insecure, p, tls.Client)
}

// handshake makes a connection secure, or closes it.
func (s *security) handshake(
	ctx context.Context, insecure net.Conn, p libpeer.ID, side func(net.Conn, *tls.Config) *tls.Conn,
) (sec.SecureConn, error) {
	config, proved := s.identity.ConfigForPeer(p)
	config.NextProtos = append(s.muxers[:len(s.muxers):len(s.muxers)], config.NextProtos...)
	conn := side(insecure, config)
	c, err := s.finish(ctx, conn, proved)
	if err != nil {
		insecure.Close()
		return nil, err
	}
	return c, nil
}

// finish runs a handshake and says who is at the other end.
func (s *security) finish(ctx context.Context, conn *tls.Conn, proved <-chan crypto.PubKey) (*secureConn, error) {
	if err := conn.HandshakeContext(ctx); err != nil {
		return nil, err
	}
	var key crypto.PubKey
	select {
	case key = <-proved:
	default:
	}
	if key == nil {
		return nil, errors.New("the TLS handshake has proved no key")
	}
	remote, err := libpeer.IDFromPublicKey(key)
	if err != nil {
		return nil, err
	}
	c := &secureConn{Conn: conn, local: s.self, remote: remote, key: key}
	for _, m := range s.muxers {
		if m == conn.ConnectionState().NegotiatedProtocol {
			c.state = network.ConnectionState{StreamMultiplexer: libproto.ID(m), UsedEarlyMuxerNegotiation: true}
		}
	}
	return c, nil
}

// secureConn is a connection on which TLS has shown who is there. It implements sec.SecureConn.
type secureConn struct {
	*tls.Conn
	local, remote libpeer.ID
	key           crypto.PubKey // the remote's
	state         network.ConnectionState
}

// LocalPeer implements sec.SecureConn.
func (c *secureConn) LocalPeer() libpeer.ID { return c.local }

// RemotePeer implements sec.SecureConn.
func (c *secureConn) RemotePeer() libpeer.ID { return c.remote }

// RemotePublicKey implements sec.SecureConn.
func (c *secureConn) RemotePublicKey() crypto.PubKey { return c.key }

// ConnState implements sec.SecureConn.
func (c *secureConn) ConnState() network.ConnectionState { return c.state }
