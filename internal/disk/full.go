package disk

import (
	"errors"
	"syscall"
)

// IsFull reports whether an error says that a disk, or the part of it that its user may fill, is full.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || isQuota(err) }
