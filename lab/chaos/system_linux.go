package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// unableToStop says why processes cannot be stopped here.
func unableToStop(context.Context, *lab) error { return nil }

// mountMemory mounts a disk of some bytes of memory.
func mountMemory(dir string, size int) error {
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%d,mode=700", size)); err != nil {
		return fmt.Errorf("mount a small disk at %s: %w", dir, err)
	}
	return nil
}

// unmount takes it away, with what is in it.
func unmount(dir string) error { return unix.Unmount(dir, unix.MNT_DETACH) }

// unableToMount says why no disk can be mounted here.
func unableToMount(_ context.Context, l *lab) error {
	dir, err := os.MkdirTemp(l.Dir, "mount-")
	if err != nil {
		return err
	}
	defer os.Remove(dir)
	if err := mountMemory(dir, 1<<20); err != nil {
		return err
	}
	return unmount(dir)
}

// openFiles counts the files that a process has open.
func openFiles(pid int) (int, error) {
	entries, err := os.ReadDir(filepath.Join("/proc", fmt.Sprint(pid), "fd"))
	return len(entries), err
}

// limitFiles sets how many files a process may open, below the limit that only the system's owner may raise, and
// returns what it was before.
func limitFiles(pid int, n uint64) (before uint64, err error) {
	var old unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &old); err != nil {
		return 0, fmt.Errorf("limit of open files of process %d: %w", pid, err)
	}
	limit := unix.Rlimit{Cur: min(n, old.Max), Max: old.Max}
	return old.Cur, unix.Prlimit(pid, unix.RLIMIT_NOFILE, &limit, nil)
}

// unableToLimit says why a process's files cannot be limited here.
func unableToLimit(context.Context, *lab) error {
	before, err := limitFiles(os.Getpid(), 1<<62)
	if err != nil {
		return err
	}
	_, err = limitFiles(os.Getpid(), before)
	return err
}
