//go:build race

package raced

import (
	"runtime"
	"unsafe"
)

// Read says that this goroutine reads the whole slice.
func Read[T byte | int16 | uint16 | uint32 | uint64 | float64](s []T) {
	if len(s) > 0 {
		runtime.RaceReadRange(unsafe.Pointer(&s[0]), len(s)*int(unsafe.Sizeof(s[0])))
	}
}

// Write says that this goroutine writes the whole slice.
func Write[T byte | int16 | uint16 | uint32 | uint64 | float64](s []T) {
	if len(s) > 0 {
		runtime.RaceWriteRange(unsafe.Pointer(&s[0]), len(s)*int(unsafe.Sizeof(s[0])))
	}
}
