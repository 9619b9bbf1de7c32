package pofmkl

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"pgregory.net/rapid"
)

// exactSine returns sin(2 pi turns) for 0 <= turns < 1/4, by its series in 200 bits.
func exactSine(turns *big.Float) *big.Float {
	pi, _ := new(big.Float).SetPrec(200).SetString("3.14159265358979323846264338327950288419716939937510582097494459")
	x := new(big.Float).SetPrec(200).Mul(turns, pi)
	x.Mul(x, big.NewFloat(2))
	xx := new(big.Float).SetPrec(200).Mul(x, x)
	sum, term := new(big.Float).SetPrec(200).Set(x), new(big.Float).SetPrec(200).Set(x)
	for n := 1; n < 25; n++ {
		term.Mul(term, xx)
		term.Quo(term, big.NewFloat(float64(-2*n*(2*n+1))))
		sum.Add(sum, term)
	}
	return sum
}

// TestSinesAreExactTo4e16 compares with the series at points of the first quarter of the circle.
func TestSinesAreExactTo4e16(t *testing.T) {
	c, worst := newCircle(1), 0.0
	rng := rand.New(rand.NewPCG(5, 6))
	sin, cos := make([]float64, 1), make([]float64, 1)
	for range 4000 {
		u := rng.Float64() * arcs / 4
		c.write(sin, cos, []float64{u})
		turns := new(big.Float).SetPrec(200).Quo(big.NewFloat(u), big.NewFloat(arcs))
		rest := new(big.Float).SetPrec(200).Sub(big.NewFloat(0.25), turns)
		worst = max(worst, distance(sin[0], exactSine(turns)), distance(cos[0], exactSine(rest)))
	}
	if worst > 4e-16 {
		t.Errorf("the largest error is %v", worst)
	}
}

// distance returns |a - b|.
func distance(a float64, b *big.Float) float64 {
	d, _ := new(big.Float).SetPrec(200).Sub(new(big.Float).SetPrec(200).SetFloat64(a), b).Float64()
	return math.Abs(d)
}

// TestSinesAnywhere compares with the library over many turns, whose own rounding counts.
func TestSinesAnywhere(t *testing.T) {
	c := newCircle(0.1)
	rapid.Check(t, func(t *rapid.T) {
		turns := rapid.Float64Range(-1e4, 1e4).Draw(t, "turns")
		sin, cos := make([]float64, 1), make([]float64, 1)
		c.write(sin, cos, []float64{turns * arcs})
		_, part := math.Modf(turns)
		s, k := math.Sincos(2 * math.Pi * part)
		if math.Abs(sin[0]-0.1*s) > 2e-16 || math.Abs(cos[0]-0.1*k) > 2e-16 {
			t.Fatalf("sine and cosine are %v and %v, want %v and %v", sin[0], cos[0], 0.1*s, 0.1*k)
		}
	})
}
