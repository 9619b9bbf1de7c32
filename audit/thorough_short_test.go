//go:build !long

package audit

// How thoroughly tests go through cases; the long tests try all.
const (
	thorough = false
	cutStep  = 5
)
