//go:build unix

package owner

import "syscall"

// WithoutCores keeps the system from writing this process's memory, which holds keys, to the disk when it crashes. What
// it starts has the same limit.
func WithoutCores() error { return syscall.Setrlimit(syscall.RLIMIT_CORE, &syscall.Rlimit{}) }
