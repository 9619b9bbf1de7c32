//go:build !linux

package forecast

import "time"

// threadTime and processTime are by the wall clock: other programs that run slow down what is measured.
func threadTime() time.Duration  { return time.Since(started) }
func processTime() time.Duration { return time.Since(started) }
