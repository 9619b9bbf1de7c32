//go:build !long

package node

// crashStep is how many writes lie between two kills; the long tests kill at each.
const crashStep = 7
