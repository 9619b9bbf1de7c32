package peer

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// segmentsOf asks the system.
func segmentsOf(raw syscall.RawConn) (s Segments, ok bool) {
	err := raw.Control(func(fd uintptr) {
		info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if err == nil {
			s, ok = Segments{Sent: int64(info.Segs_out), Again: int64(info.Total_retrans)}, true
		}
	})
	return s, ok && err == nil
}
