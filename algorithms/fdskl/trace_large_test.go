//go:build !race

package fdskl

import "testing"

// TestLargeContractsSayWhatTheTraceSays has so many features that the race detector would count bytes of vectors for
// minutes.
func TestLargeContractsSayWhatTheTraceSays(t *testing.T) {
	checkTraces(t, Params{Features: 60_000, Lambda: 1}, []string{"a", "b", "c", "d"}, []int{3, 4, 1, 7})
}
