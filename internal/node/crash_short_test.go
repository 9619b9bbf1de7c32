//go:build !long

package node

// crashStep is how many writes lie between two kills. The long tests try all.
const crashStep = 11
