package kernel

import (
	"math"
	"testing"

	"pgregory.net/rapid"
)

func TestQuantileInvertsDistribution(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := rapid.Float64Range(0x1p-53, 0.5).Draw(t, "p")
		z := quantile(p)
		back := 0.5 * math.Erfc(-z/math.Sqrt2)
		// The distribution function turns a relative error of z into z^2 times as much.
		if math.Abs(back-p) > 1e-14*p*(1+z*z) {
			t.Fatalf("quantile(%g) = %g, whose probability is %g", p, z, back)
		}
		if q := 1 - p; 1-q == p && quantile(q) != -z {
			t.Fatalf("quantile(1-%g) = %g, want %g", p, quantile(q), -z)
		}
	})
}

func TestQuantileKnownValues(t *testing.T) {
	// The last three are the check values of the algorithm's own paper.
	tests := []struct{ p, want float64 }{
		{0.5, 0},
		{0.25, -0.6744897501960817},
		{0.001, -3.090232306167814},
		{1e-20, -9.262340089798408},
	}
	for _, test := range tests {
		if got := quantile(test.p); math.Abs(got-test.want) > 2e-15*math.Abs(test.want) {
			t.Errorf("quantile(%g) = %.17g, want %.17g", test.p, got, test.want)
		}
	}
}

func TestLogarithmMatchesLibrary(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-700, 700).Draw(t, "exponent"))
		got, want := logarithm(x), math.Log(x)
		if math.Abs(got-want) > 0x1p-52*math.Abs(want) {
			t.Fatalf("logarithm(%g) = %.17g, want %.17g", x, got, want)
		}
	})
}
