//go:build long

package coverage

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestIntervalsHoldTheTruthLong draws 2,000 tables from each population, and from others that are harder: few positive
// rows, with and without skill, thirty rows, classes that are nearly apart, probabilities that are too sure of
// themselves, numbers with few large errors.
func TestIntervalsHoldTheTruthLong(t *testing.T) {
	const tables = 2000
	for _, p := range append(populations, []population{
		{"few", 100, 0.06, 1.5, 1, 0, 1.5},
		{"few, no skill", 100, 0.06, 0, 0, 0, 0.3},
		{"tiny", 30, 0.3, 1, 0.6, 0, 1},
		{"sure of itself", 400, 0.3, 1, 0.6, 0, 2},
		{"apart", 1000, 0.3, 4, 3, 0, 4},
	}...) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.coverage(t, tables).hold(t, p.name, least)
		})
	}
	laplace := func(rng *rand.Rand) float64 { return rng.ExpFloat64() * float64(1-2*rng.IntN(2)) }
	for _, p := range append(numbers, []numbered{
		{"few numbers", 30, 2, gauss, 1, math.Sqrt(2 / math.Pi)},
		{"many numbers", 400, 0.3, gauss, 1, math.Sqrt(2 / math.Pi)},
		{"numbers with large errors", 400, 1, laplace, 2, 1},
	}...) {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.coverage(t, tables).hold(t, p.name, least)
		})
	}
}
