package floatsteps

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestOptimumHasNoSlope of rare events: differences of the objective, written out anew, are 0 in every direction.
func TestOptimumHasNoSlope(t *testing.T) {
	const n, d, ridge, aside = 3000, 4, 1e-3, 1e-4
	rng := rand.New(rand.NewPCG(1, 2))
	z, y := mat.NewDense(n, d, nil), make([]float64, n)
	for j := range n {
		sum := -4.0
		for i := range d {
			v := rng.NormFloat64()
			z.Set(j, i, v)
			sum += v
		}
		y[j] = math.Copysign(1, 1/(1+math.Exp(-sum))-rng.Float64())
	}
	beta, intercept, err := Optimum(z, y, ridge)
	if err != nil {
		t.Fatal(err)
	}
	at := append(append([]float64(nil), beta.RawVector().Data...), intercept)
	objective := func() (sum float64) {
		for j := range n {
			score := at[d]
			for i := range d {
				score += at[i] * z.At(j, i)
			}
			sum += math.Log(1+math.Exp(-y[j]*score)) / n
		}
		for _, b := range at[:d] {
			sum += ridge / 2 * b * b
		}
		return sum
	}
	for i, v := range at {
		at[i] = v + aside
		more := objective()
		at[i] = v - aside
		less := objective()
		at[i] = v
		if slope := (more - less) / (2 * aside); math.Abs(slope) > 1e-9 {
			t.Errorf("the slope in direction %d is %v, want 0", i, slope)
		}
	}
}
