package peer

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/libp2p/go-libp2p/core/network"
	"github.com/multiformats/go-multiaddr"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/peer/session"
	"github.com/hanse-project/hanse/protocol"
)

// What a worker sizes its own limits by, since it knows nothing of its node's charter. A node of the largest
// federation whose first windows take in a whole frame has fewer streams open with it.
const (
	membersOfWorker = 16
	streamsToNode   = 1024
)

// WorkerConn is a worker's connection to the node of its party.
type WorkerConn struct{ *guest }

// DialNode connects a worker to the node of its party at a multiaddr, with or without the node's identity (/p2p/…) at
// the end, or at host:port, which is TCP. Without the identity whoever answers is taken for the node, so Peer must be
// compared with what the worker knows. The node must list the key as a worker's (Config.Worker). A proxy makes the
// connection, unless it is nil. A lost connection is not made again.
func DialNode(ctx context.Context, key *keys.PrivateKey, address string, proxy *Proxy) (*WorkerConn, error) {
	at, err := nodeAddress(address)
	if err != nil {
		return nil, err
	}
	g, err := dialGuest(ctx, key, at, proxy, asWorker)
	if err != nil {
		return nil, err
	}
	if err := grant(g.node.limits, g.link.conn.RemotePeer(), streamsToNode, memoryMost); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return &WorkerConn{g}, nil
}

// nodeAddress reads a multiaddr or host:port.
func nodeAddress(text string) (multiaddr.Multiaddr, error) {
	want := fmt.Errorf("%.300q is no address of a node: want the like of node.example:4001 or /ip4/192.0.2.7/tcp/4001",
		text)
	if strings.HasPrefix(text, "/") {
		at, err := multiaddr.NewMultiaddr(text)
		if err != nil {
			return nil, want
		}
		return at, nil
	}
	name, port, err := net.SplitHostPort(text)
	if err != nil || name == "" {
		return nil, want
	}
	if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
		return nil, want
	}
	kind := "dns"
	if ip, err := netip.ParseAddr(name); err == nil {
		ip = ip.Unmap()
		name, kind = ip.String(), "ip6"
		if ip.Is4() {
			kind = "ip4"
		}
	}
	var parts [2]*multiaddr.Component
	for i, part := range [][2]string{{kind, name}, {"tcp", port}} {
		if parts[i], err = multiaddr.NewComponent(part[0], part[1]); err != nil {
			return nil, want
		}
	}
	return multiaddr.Multiaddr{*parts[0], *parts[1]}, nil
}

// Open opens a stream and returns it once the node has taken it. It may be called concurrently.
func (w *WorkerConn) Open(ctx context.Context) (session.RawStream, error) {
	ctx, cancel := context.WithTimeout(ctx, session.AnswerTime)
	defer cancel()
	s, err := openNegotiated(ctx, w.link.conn, protoWorker, nil)
	if err != nil {
		return nil, w.explainOpen(ctx, err)
	}
	release := session.InterruptIO(ctx, s.SetReadDeadline)
	var answer [1]byte
	_, err = io.ReadFull(s, answer[:])
	switch {
	case release():
		err = ctx.Err()
	case err == nil && answer[0] != workerIn:
		err = fmt.Errorf("the answer to a stream is %d", answer[0])
	}
	if err != nil {
		s.Reset()
		return nil, w.explainOpen(ctx, err)
	}
	return s, nil
}

// explainOpen says why the node has not taken a stream.
func (w *WorkerConn) explainOpen(ctx context.Context, err error) error {
	node := w.link.name
	switch {
	case w.Lost() != nil:
		return w.Lost()
	case ctx.Err() != nil:
		return fmt.Errorf("%s has not taken a worker's stream: %w", node, ctx.Err())
	case errors.Is(err, network.ErrResourceLimitExceeded):
		return fmt.Errorf("too many streams to %s are open", node)
	case ended(err):
		return &protocol.GoneError{Peer: w.Peer(), Reason: "it does not take a worker's stream, or no more of them"}
	default:
		return fmt.Errorf("a worker's stream to %s: %s", node, explainCause(err))
	}
}

// Over is closed when the connection has ended, by whatever: Lost says why.
func (w *WorkerConn) Over() <-chan struct{} { return w.link.over }

// Lost returns why the connection is over, or nil while it is not.
func (w *WorkerConn) Lost() *protocol.GoneError { return w.link.Lost() }
