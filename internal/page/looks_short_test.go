//go:build !long

package page

// allLooks has every page looked at in every size and scheme; without it, each size and each scheme once.
const allLooks = false
