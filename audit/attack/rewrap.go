package attack

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// maxRewraps is how often least squares and unwrapping take turns.
const maxRewraps = 20

// settle solves by least squares, unwraps the values by the solution, and again, until no value
// moves by a turn. It changes z, rows by equations, and reports per row whether what remains
// unexplained is at the level of noise.
func (b *basis) settle(z *mat.Dense, wrapped bool, limit float64) []bool {
	rows, _ := z.Dims()
	solved := make([]bool, rows)
	for range maxRewraps {
		f := b.fit(z)
		moved := false
		for j := range rows {
			if !solved[j] && wrapped && move(z.RawRowView(j), f.RawRowView(j)) {
				moved = true
				continue
			}
			solved[j] = distance(z.RawRowView(j), f.RawRowView(j)) <= limit
		}
		if !moved {
			break
		}
	}
	return solved
}

// move adds whole turns to each value, so that it is within half a turn of its fit. It reports
// whether any value changed.
func move(z, fit []float64) bool {
	moved := false
	for i, f := range fit {
		if k := math.RoundToEven(f - z[i]); k != 0 {
			z[i] += k
			moved = true
		}
	}
	return moved
}

// distance is the root mean square of differences.
func distance(a, b []float64) float64 {
	sum := 0.0
	for i, x := range a {
		sum += (x - b[i]) * (x - b[i])
	}
	return math.Sqrt(sum / float64(len(a)))
}

// near returns y plus the whole turns that bring it next to a fit.
func near(y, fit *mat.Dense) *mat.Dense {
	z := mat.DenseCopyOf(y)
	rows, _ := z.Dims()
	for j := range rows {
		move(z.RawRowView(j), fit.RawRowView(j))
	}
	return z
}
