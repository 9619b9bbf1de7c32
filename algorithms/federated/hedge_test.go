package federated_test

import (
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// TestSharesAreThoseOfTheExponents wherever the logarithms lie.
func TestSharesAreThoseOfTheExponents(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		logs := rapid.SliceOfN(rapid.Float64Range(-5, 5), 1, 20).Draw(t, "logs")
		far := rapid.Float64Range(-1e6, 1e6).Draw(t, "far")
		total := 0.0
		for _, l := range logs {
			total += math.Exp(l)
		}
		moved, shares := make([]float64, len(logs)), make([]float64, len(logs))
		for i, l := range logs {
			moved[i] = l + far
		}
		federated.Hedge(shares, moved)
		for i, l := range logs {
			if want := math.Exp(l) / total; math.Abs(shares[i]-want) > 1e-8 {
				t.Fatalf("share %d is %v, want %v", i+1, shares[i], want)
			}
		}
	})
}
