package owner

import "golang.org/x/sys/unix"

// peerOf asks the system who opened the other end of a Unix socket.
func peerOf(fd int) (User, error) {
	credentials, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0, err
	}
	return User(credentials.Uid), nil
}

// processOf asks the system which process opened the other end of a Unix socket.
func processOf(fd int) int {
	credentials, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(credentials.Pid)
}
