//go:build !race

package audit

// raced says that the race detector watches.
const raced = false
