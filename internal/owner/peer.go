package owner

import (
	"fmt"
	"net"
)

// Process returns the process at the other end of a Unix socket; 0 where the system does not say.
func Process(conn net.Conn) (pid int) {
	if socket, ok := conn.(*net.UnixConn); ok {
		if raw, err := socket.SyscallConn(); err == nil {
			raw.Control(func(fd uintptr) { pid = processOf(int(fd)) })
		}
	}
	return pid
}

// Peer returns the user at the other end of a Unix socket, as the system says: ErrUnknown where it does not.
func Peer(conn net.Conn) (who User, err error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return 0, fmt.Errorf("the user at the other end of a %s connection is not known", conn.RemoteAddr().Network())
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var failed error
	if err := raw.Control(func(fd uintptr) { who, failed = peerOf(int(fd)) }); err != nil {
		return 0, err
	}
	return who, failed
}
