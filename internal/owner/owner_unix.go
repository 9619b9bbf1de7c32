//go:build unix

package owner

import (
	"io/fs"
	"syscall"
)

// ownerOf returns the user whom a file belongs to.
func ownerOf(info fs.FileInfo) (User, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return User(stat.Uid), true
}
