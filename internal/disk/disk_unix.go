//go:build linux || darwin

package disk

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Of returns the room of the file system that a file or folder lies on.
func Of(path string) (Space, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(path, &s); err != nil {
		return Space{}, err
	}
	block := int64(s.Bsize)
	return Space{Total: int64(s.Blocks) * block, Free: int64(s.Bavail) * block}, nil
}

// isQuota reports whether an error says that a quota is used up.
func isQuota(err error) bool { return errors.Is(err, unix.EDQUOT) }
