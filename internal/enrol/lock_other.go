//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package enrol

// lockFolder does nothing: here folders cannot be locked.
func lockFolder(string) (unlock func()) { return func() {} }
