package gfml

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// TestFeaturesAreTheirFormula: sqrt(2/D) cos(Omega x + b) with a matrix Omega, one entry after the other.
func TestFeaturesAreTheirFormula(t *testing.T) {
	p := plan(t, func(p *Params) { p.Sigma = 0.7 })
	x, z, want := []float64{-1.5, 0.25}, make([]float64, 12), make([]float64, 12)
	must(t, p.Features().Map(z, x))
	b := phases(p.Params().PublicSeed(), 12)
	for i := range want {
		angle := b[i]
		for c, name := range p.Params().Columns {
			turns := make([]float64, 1)
			kernel.Kernel{Kind: kernel.Gaussian, Sigma: 0.7}.Draw(p.Params().PublicSeed(), keys.ID{}, name, i, 1, turns)
			angle += 2 * math.Pi * turns[0] * x[c]
		}
		want[i] = math.Sqrt(2.0/12) * math.Cos(angle)
	}
	wantNear(t, "z", z, want, 1e-12)
}

// TestFeaturesGiveTheKernel: z(x)^T z(y) is close to the Gaussian kernel of many features.
func TestFeaturesGiveTheKernel(t *testing.T) {
	const d = 1 << 15
	p := plan(t, func(p *Params) { p.Features, p.Sigma = d, 1.5 })
	f, draw, k := p.Features(), rand.New(rand.NewPCG(1, 2)), kernel.Kernel{Kind: kernel.Gaussian, Sigma: 1.5}
	u, v := make([]float64, d), make([]float64, d)
	for range 20 {
		x, y := []float64{draw.NormFloat64(), draw.NormFloat64()}, []float64{draw.NormFloat64(), draw.NormFloat64()}
		must(t, f.Map(u, x))
		must(t, f.Map(v, y))
		if got, want := floats.Dot(u, v), k.Value(x, y); math.Abs(got-want) > 6/math.Sqrt(d) {
			t.Errorf("z(x)z(y) is %v, want about %v", got, want)
		}
	}
}

func TestRowsThatHaveNoFeatures(t *testing.T) {
	f := plan(t, func(*Params) {}).Features()
	z := make([]float64, 12)
	wantError(t, f.Map(z, []float64{1}), "row of 1 inputs to 12 features, want 2 and 12")
	wantError(t, f.Map(z[:3], []float64{1, 2}), "row of 2 inputs to 3 features, want 2 and 12")
	wantError(t, f.Map(z, []float64{1, math.NaN()}), `input "x2" is NaN, want a finite number of magnitude at most 1073741824`)
	wantError(t, f.Map(z, []float64{-2e9, 0}), `input "x1" is -2e+09, want a finite number of magnitude at most 1073741824`)
}

// TestBelowIsUniform on a number that does not divide 2^64.
func TestBelowIsUniform(t *testing.T) {
	s, counts := newStream("test"), make([]int, 7)
	for range 70000 {
		counts[s.below(7)]++
	}
	for i, c := range counts {
		if c < 9500 || c > 10500 {
			t.Errorf("%d comes %d times in 70000", i, c)
		}
	}
	if s.below(1) != 0 {
		t.Error("below(1) is not 0")
	}
}
