//go:build !long

package node

// How thoroughly tests go through cases: crashStep is how many writes lie between two kills, and thorough says whether
// costly modes are tried that others stand for. The long tests try all.
const (
	crashStep = 11
	thorough  = false
)
