package peer

import (
	"net"
	"sync"
	"syscall"

	"github.com/libp2p/go-libp2p/core/network"
	manet "github.com/multiformats/go-multiaddr/net"
)

// Segments is what the system says of a TCP connection: segments that it sent, and those among them that it sent again
// because no word came that they had arrived.
type Segments struct {
	Sent, Again int64
}

// sockets finds the system's sockets of connections by the addresses of their two ends.
type sockets struct {
	mu sync.Mutex
	by map[[2]string]syscall.RawConn
}

func endsOf(local, remote net.Addr) [2]string { return [2]string{local.String(), remote.String()} }

// add keeps the socket of a connection, where it has one, until remove.
func (s *sockets) add(conn net.Conn) {
	c, ok := conn.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := c.SyscallConn()
	if err != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.by == nil {
		s.by = make(map[[2]string]syscall.RawConn)
	}
	s.by[endsOf(conn.LocalAddr(), conn.RemoteAddr())] = raw
}

func (s *sockets) remove(conn net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.by, endsOf(conn.LocalAddr(), conn.RemoteAddr()))
}

func (s *sockets) get(local, remote net.Addr) syscall.RawConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.by[endsOf(local, remote)]
}

// segments returns those of a connection; false where it is not over TCP, or the system does not say.
func (s *sockets) segments(conn network.Conn) (Segments, bool) {
	local, err := manet.ToNetAddr(conn.LocalMultiaddr())
	if err != nil {
		return Segments{}, false
	}
	remote, err := manet.ToNetAddr(conn.RemoteMultiaddr())
	if err != nil {
		return Segments{}, false
	}
	raw := s.get(local, remote)
	if raw == nil {
		return Segments{}, false
	}
	return segmentsOf(raw)
}
