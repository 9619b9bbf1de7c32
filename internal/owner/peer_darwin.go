package owner

import "golang.org/x/sys/unix"

// peerOf asks the system who opened the other end of a Unix socket.
func peerOf(fd int) (User, error) {
	credentials, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, err
	}
	return User(credentials.Uid), nil
}

// processOf asks the system which process opened the other end of a Unix socket.
func processOf(fd int) int {
	pid, err := unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	if err != nil {
		return 0
	}
	return pid
}
