package peer

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/libp2p/go-libp2p/core/network"
	libpeer "github.com/libp2p/go-libp2p/core/peer"
	"github.com/libp2p/go-libp2p/core/transport"
	"github.com/libp2p/go-libp2p/p2p/transport/tcp"
	"github.com/multiformats/go-multiaddr"
	manet "github.com/multiformats/go-multiaddr/net"
	"golang.org/x/net/http/httpproxy"

	"github.com/hanse-project/hanse/peer/session"
)

// Proxy is the way out of a network in which an HTTP proxy makes all connections (CONNECT, RFC 9110). nil is no proxy.
type Proxy struct {
	choose func(*url.URL) (*url.URL, error) // the proxy for an address, nil for a direct dial
}

// NewProxy reads the URL of a proxy, http://proxy.example:3128 or https://…, with name and password before an @ if it
// asks for them. Without one, that of the environment is taken, HTTPS_PROXY, if there is any. NO_PROXY of the
// environment lists what is dialled directly; this machine's own addresses always are.
func NewProxy(address string) (*Proxy, error) {
	config := httpproxy.FromEnvironment()
	if address != "" {
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return nil, errors.New("the proxy is no URL: want the like of http://proxy.example:3128")
		}
		config.HTTPSProxy = address
	}
	if config.HTTPSProxy == "" {
		return nil, nil
	}
	return &Proxy{config.ProxyFunc()}, nil
}

// via returns the proxy for host:port, or nil for a direct dial.
func (p *Proxy) via(hostPort string) (*url.URL, error) {
	if p == nil {
		return nil, nil
	}
	u, err := p.choose(&url.URL{Scheme: "https", Host: hostPort})
	if err != nil {
		return nil, errors.New("HTTPS_PROXY holds no URL of a proxy: want the like of http://proxy.example:3128")
	}
	return u, nil
}

// maxProxyAnswer is the longest head of a proxy's answer, in bytes.
const maxProxyAnswer = 64 << 10

// dial connects to host:port, through the proxy if that is the way.
func (p *Proxy) dial(ctx context.Context, kind, hostPort string) (net.Conn, error) {
	u, err := p.via(hostPort)
	if err != nil {
		return nil, err
	}
	var d net.Dialer
	if u == nil {
		return d.DialContext(ctx, kind, hostPort)
	}
	at := u.Host
	if u.Port() == "" {
		at = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	conn, err := d.DialContext(ctx, "tcp", at)
	if err != nil {
		return nil, fmt.Errorf("the proxy %s: %s", at, explainCause(err))
	}
	release := session.InterruptIO(ctx, conn.SetDeadline)
	if u.Scheme == "https" {
		conn = tls.Client(conn, &tls.Config{ServerName: u.Hostname(), MinVersion: tls.VersionTLS12})
	}
	over, err := connectThrough(conn, u, hostPort)
	if release() {
		err = errors.Join(err, ctx.Err())
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("the proxy %s: %w", at, err)
	}
	return over, nil
}

// connectThrough asks a proxy for a tunnel to host:port.
func connectThrough(conn net.Conn, u *url.URL, hostPort string) (net.Conn, error) {
	ask := http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: hostPort}, Host: hostPort,
		Header: http.Header{"User-Agent": {"hanse"}}}
	if secret, ok := u.User.Password(); ok {
		ask.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(u.User.Username()+":"+secret)))
	}
	if err := ask.Write(conn); err != nil {
		return nil, errors.New(explainCause(err))
	}
	limited := &limitedConn{Conn: conn, left: maxProxyAnswer}
	reader := bufio.NewReaderSize(limited, 4096)
	answer, err := http.ReadResponse(reader, &ask)
	if err != nil {
		return nil, fmt.Errorf("it does not answer as an HTTP proxy does: %s", explainCause(err))
	}
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("it answers %q to CONNECT %s: ask those who run it to let this node out to that port",
			clip(plain(answer.Status), 80), hostPort)
	}
	limited.left = -1
	return bufferedConn{conn, reader}, nil
}

// limitedConn ends what is read of a connection after so many bytes; negative is no limit.
type limitedConn struct {
	net.Conn
	left int
}

// Read reads within the limit.
func (l *limitedConn) Read(b []byte) (int, error) {
	if l.left < 0 {
		return l.Conn.Read(b)
	}
	if l.left == 0 {
		return 0, errors.New("the answer is too long")
	}
	n, err := l.Conn.Read(b[:min(len(b), l.left)])
	l.left -= n
	return n, err
}

// bufferedConn is a connection of which some bytes were read already.
type bufferedConn struct {
	net.Conn
	from *bufio.Reader
}

// Read reads these bytes first.
func (b bufferedConn) Read(p []byte) (int, error) { return b.from.Read(p) }

// proxied is TCP through a proxy. Names go to the proxy as they are: a network with a proxy may resolve none. It
// implements transport.Transport and transport.SkipResolver.
type proxied struct {
	plain    *tcp.TcpTransport
	proxy    *Proxy
	upgrader transport.Upgrader
	limits   network.ResourceManager
}

var (
	_ transport.Transport    = (*proxied)(nil)
	_ transport.SkipResolver = (*proxied)(nil)
)

// goes reports whether an address is dialled through the proxy.
func (t *proxied) goes(a multiaddr.Multiaddr) bool {
	_, hostPort, err := manet.DialArgs(a)
	if err != nil || len(a) != 2 || a[1].Protocol().Code != multiaddr.P_TCP {
		return false
	}
	u, err := t.proxy.via(hostPort)
	return err == nil && u != nil
}

// CanDial reports whether this transport dials an address.
func (t *proxied) CanDial(a multiaddr.Multiaddr) bool { return t.goes(a) || t.plain.CanDial(a) }

// SkipResolve leaves the name to the proxy.
func (t *proxied) SkipResolve(_ context.Context, a multiaddr.Multiaddr) bool { return t.goes(a) }

// Listen listens without the proxy.
func (t *proxied) Listen(a multiaddr.Multiaddr) (transport.Listener, error) { return t.plain.Listen(a) }

// Protocols lists what addresses end in.
func (t *proxied) Protocols() []int { return t.plain.Protocols() }

// Proxy says that addresses are no relays'.
func (t *proxied) Proxy() bool { return false }

// Dial connects to a member.
func (t *proxied) Dial(ctx context.Context, a multiaddr.Multiaddr, p libpeer.ID) (transport.CapableConn, error) {
	if !t.goes(a) {
		return t.plain.Dial(ctx, a, p)
	}
	scope, err := t.limits.OpenConnection(network.DirOutbound, true, a)
	if err != nil {
		return nil, err
	}
	conn, err := t.dial(ctx, a, p, scope)
	if err != nil {
		scope.Done()
	}
	return conn, err
}

// dial makes the connection within a scope.
func (t *proxied) dial(
	ctx context.Context, a multiaddr.Multiaddr, p libpeer.ID, scope network.ConnManagementScope,
) (transport.CapableConn, error) {
	if err := scope.SetPeer(p); err != nil {
		return nil, err
	}
	kind, hostPort, err := manet.DialArgs(a)
	if err != nil {
		return nil, err
	}
	raw, err := t.proxy.dial(ctx, kind, hostPort)
	if err != nil {
		return nil, err
	}
	conn := proxiedConn{Conn: raw, to: a, from: multiaddr.StringCast("/ip4/0.0.0.0/tcp/0")}
	if local, err := manet.FromNetAddr(raw.LocalAddr()); err == nil {
		conn.from = local
	}
	return t.upgrader.Upgrade(ctx, t, conn, network.DirOutbound, p, scope)
}

// proxiedConn is a connection whose other end is the member and not the proxy. It implements manet.Conn.
type proxiedConn struct {
	net.Conn
	from, to multiaddr.Multiaddr
}

// LocalMultiaddr is this end.
func (c proxiedConn) LocalMultiaddr() multiaddr.Multiaddr { return c.from }

// RemoteMultiaddr is what the proxy was asked for.
func (c proxiedConn) RemoteMultiaddr() multiaddr.Multiaddr { return c.to }
