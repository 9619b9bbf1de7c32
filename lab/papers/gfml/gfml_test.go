package gfml

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestStreamsAreStationary: an input has, from the start, the mean and the spread that it has in the
// long run, and neighbouring values the correlation theta.
func TestStreamsAreStationary(t *testing.T) {
	s := newARStream(rand.New(rand.NewPCG(3, 3)), 1)
	s.theta, s.mean, s.spread = 0.6, 0.2, 0.8
	mean := func(n int, value func() float64) float64 {
		sum := 0.0
		for range n {
			sum += value() / float64(n)
		}
		return sum
	}
	level, n := 0.2*math.Sqrt(1-0.36)/0.4, 200000
	long := mean(n, func() float64 { s.advance(); return s.x[0] })
	product := mean(n, func() float64 { s.advance(); return (s.x[0] - level) * (s.x[1] - level) })
	fresh := mean(n, func() float64 { s.start(); return (s.x[3] - level) * (s.x[3] - level) })
	for _, c := range [][2]float64{{long, level}, {product, 0.6 * 0.64}, {fresh, 0.64}} {
		if math.Abs(c[0]-c[1]) > 0.02 {
			t.Errorf("a mean is %v, want about %v", c[0], c[1])
		}
	}
}

// TestClaimsAreRead from curves that fulfil them, or some of them.
func TestClaimsAreRead(t *testing.T) {
	curves := func(early, late []float64) []Curve {
		var list []Curve
		for i := range early {
			list = append(list, Curve{Readings: []Reading{{Moment: "n = 200", DB: early[i]}, {Moment: "end",
				DB: late[i]}}})
		}
		return list
	}
	late := []float64{-11.83, -11.70, -11.43, -10.98, -11.67, -11.37, -10.86}
	for _, c := range []struct {
		early []float64
		want  string
	}{
		{[]float64{-9.22, -7.44, -6.62, -5.23, -7.27, -6.12, -3.24}, "yes yes at the end only yes"},
		{[]float64{-9.22, -9.12, -6.62, -5.23, -9.10, -6.12, -5.20}, "yes yes yes no"},
		{[]float64{-4.22, -4.12, -4.62, -5.23, -3.10, -6.12, -5.20}, "no no at the end only no"},
	} {
		var got []string
		for _, claim := range claimsOf(curves(c.early, late)) {
			got = append(got, claim.Holds)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: claims hold %q, want %q", c.early, got, c.want)
		}
	}
}
