//go:build long

package page

// allLooks has every page looked at in every size and scheme.
const allLooks = true
