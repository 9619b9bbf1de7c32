package peer

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"slices"
	"time"

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
	sockets  *sockets // of the connections that live
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
	s := &security{self: self, identity: identity, sockets: new(sockets)}
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

// handshake makes a connection secure and says who is at the other end, or closes it.
func (s *security) handshake(
	ctx context.Context, insecure net.Conn, p libpeer.ID, side func(net.Conn, *tls.Config) *tls.Conn,
) (_ sec.SecureConn, err error) {
	defer func() {
		if err != nil {
			insecure.Close()
		}
	}()
	config, proved := s.identity.ConfigForPeer(p)
	config.NextProtos = append(s.muxers[:len(s.muxers):len(s.muxers)], config.NextProtos...)
	below := &gather{Conn: insecure}
	conn := side(below, config)
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
	c := &secureConn{Conn: conn, below: below, local: s.self, remote: remote, key: key, sockets: s.sockets}
	s.sockets.add(insecure)
	if m := conn.ConnectionState().NegotiatedProtocol; slices.Contains(s.muxers, m) {
		c.state = network.ConnectionState{StreamMultiplexer: libproto.ID(m), UsedEarlyMuxerNegotiation: true}
	}
	return c, nil
}

// secureConn is a connection on which TLS has shown who is there. It implements sec.SecureConn.
type secureConn struct {
	*tls.Conn
	below         *gather
	local, remote libpeer.ID
	key           crypto.PubKey // the remote's
	state         network.ConnectionState
	sockets       *sockets
}

// Write implements net.Conn.
func (c *secureConn) Write(b []byte) (int, error) {
	c.below.begin()
	n, err := c.Conn.Write(b)
	if flushed := c.below.flush(); err == nil && flushed != nil {
		return 0, flushed
	}
	return n, err
}

// Close implements net.Conn.
func (c *secureConn) Close() error {
	c.sockets.remove(c)
	if c.below.busy.Load() > 0 { // TLS breaks off its own writes, and would wait for one that is flushed
		c.below.Conn.Close()
	}
	return c.Conn.Close()
}

// LocalPeer implements sec.SecureConn.
func (c *secureConn) LocalPeer() libpeer.ID { return c.local }

// RemotePeer implements sec.SecureConn.
func (c *secureConn) RemotePeer() libpeer.ID { return c.remote }

// RemotePublicKey implements sec.SecureConn.
func (c *secureConn) RemotePublicKey() crypto.PubKey { return c.key }

// ConnState implements sec.SecureConn.
func (c *secureConn) ConnState() network.ConnectionState { return c.state }

// newCertificate returns the template of a node's TLS certificate. It is valid at all times, so
// that a node whose clock is wrong is let in and told so, rather than cut without a word. Its
// dates prove nothing: what names the node is the signature of its long-lived key on the
// certificate's own key, which is drawn when the node starts and dies with it.
func newCertificate() (*x509.Certificate, error) {
	limit := big.NewInt(1 << 62)
	serial, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, err
	}
	subject, err := rand.Int(rand.Reader, limit)
	if err != nil {
		return nil, err
	}
	return &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{SerialNumber: subject.String()}, // RFC 5280 wants an issuer with a name
		NotBefore:    time.Unix(0, 0).UTC(),
		NotAfter:     time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), // what RFC 5280 gives for "never"
	}, nil
}
