package peer

import (
	"net"

	"github.com/libp2p/go-libp2p/core/network"
	libyamux "github.com/libp2p/go-libp2p/p2p/muxer/yamux"
	"github.com/libp2p/go-yamux/v5"
)

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
