package memory

import (
	"math"

	"golang.org/x/sys/unix"
)

// machine is how much memory the machine has, 0 where it does not say.
func machine() int64 {
	n, err := unix.SysctlUint64("hw.memsize")
	if err != nil || n > math.MaxInt64 {
		return 0
	}
	return int64(n)
}
