//go:build long

package audit

// How thoroughly tests go through cases: thorough says whether all that are encrypted are tried, and cutStep how many
// records lie between two cuts of a transcript.
const (
	thorough = true
	cutStep  = 1
)
