package rules

import "testing"

// TestKnownKindsAreCountedByTheirSums: what one party tells all is no value of a kind whose values are sums.
func TestKnownKindsAreCountedByTheirSums(t *testing.T) {
	for _, kind := range []string{"scores", "angles", "derivatives", "distances", "points"} {
		if n := (&Learning{Kind: kind, Told: 5}).Values(kind); n != 0 {
			t.Errorf("%d %s were counted, of which none was summed", n, kind)
		}
	}
}
