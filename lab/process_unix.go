//go:build unix

package lab

import (
	"fmt"
	"syscall"
)

// CPU returns the processor seconds that this process has taken, of users and of the system.
func CPU() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return seconds(u.Utime) + seconds(u.Stime)
}

// AllowFiles raises the number of files that this process may open to what the system allows, and
// refuses to go on when that is too few.
func AllowFiles(need int) error {
	var limit syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("limit of open files: %w", err)
	}
	limit.Cur = limit.Max
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &limit); err != nil {
		return fmt.Errorf("raise the limit of open files to %d: %w", limit.Max, err)
	}
	if uint64(need) > uint64(limit.Max) {
		return fmt.Errorf("a process may open %d files here and needs about %d: raise the hard limit (ulimit "+
			"-Hn %d), or measure fewer clients", limit.Max, need, need)
	}
	return nil
}
