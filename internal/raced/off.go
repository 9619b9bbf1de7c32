//go:build !race

package raced

// Read says that this goroutine reads the whole slice.
func Read[T byte | int16 | uint16 | uint32 | uint64 | float64](s []T) {}

// Write says that this goroutine writes the whole slice.
func Write[T byte | int16 | uint16 | uint32 | uint64 | float64](s []T) {}
