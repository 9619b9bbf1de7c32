//go:build !linux

package peer

import "syscall"

// segmentsOf does not know here.
func segmentsOf(syscall.RawConn) (Segments, bool) { return Segments{}, false }
