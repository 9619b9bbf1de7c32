//go:build !linux && !darwin

package disk

import "errors"

// Of does not know here.
func Of(string) (Space, error) { return Space{}, errors.ErrUnsupported }

// isQuota does not know here.
func isQuota(error) bool { return false }
