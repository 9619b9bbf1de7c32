package forecast

import (
	"time"

	"golang.org/x/sys/unix"
)

// threadTime is what this thread has had of a processor, and processTime what all threads of the process had: other
// programs that run do not count. The clock by the wall stands in where the system refuses.
func threadTime() time.Duration  { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }
func processTime() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

// clock reads one of the system's clocks.
func clock(id int32) time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(id, &t); err != nil {
		return time.Since(started)
	}
	return time.Duration(t.Nano())
}
