package peer

import (
	"net"
	"sync"
	"syscall"

	manet "github.com/multiformats/go-multiaddr/net"

	"github.com/hanse-project/hanse/keys"
)

// Segments is what the system says of a TCP connection: segments that it sent, and those among them that it sent again
// because no word came that they had arrived.
type Segments struct {
	Sent, Again int64
}

// Segments returns those of the connection to a member; false where there is none over TCP, or the system does not say.
func (h *Host) Segments(id keys.ID) (Segments, bool) {
	h.mu.Lock()
	m := h.members[id]
	var l *link
	if m != nil {
		l = m.link
	}
	h.mu.Unlock()
	if l == nil {
		return Segments{}, false
	}
	local, err := manet.ToNetAddr(l.conn.LocalMultiaddr())
	if err != nil {
		return Segments{}, false
	}
	remote, err := manet.ToNetAddr(l.conn.RemoteMultiaddr())
	if err != nil {
		return Segments{}, false
	}
	raw := h.node.tcp.get(local, remote)
	if raw == nil {
		return Segments{}, false
	}
	return segmentsOf(raw)
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
