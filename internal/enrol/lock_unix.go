//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package enrol

import (
	"errors"
	"os"
	"syscall"
)

// lockFolder waits until no other program, and nobody else in this one, has locked a folder, locks
// it, and returns what ends that. A lock ends with its program, and leaves no file behind. A folder
// that cannot be locked is used without.
func lockFolder(path string) (unlock func()) {
	dir, err := os.Open(path)
	if err != nil {
		return func() {}
	}
	for {
		err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return func() { dir.Close() }
		}
	}
}
