package main

import (
	"bytes"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestGFMLIsMeasured on a few iterations: all curves, their bytes and the claims are there, and runs
// are the same each time.
func TestGFMLIsMeasured(t *testing.T) {
	folder := t.TempDir()
	var first, second gfmlReport
	lab(t, &first, "gfml", "--runs", "2", "--iterations", "10", "--json", "--plot", folder)
	lab(t, &second, "gfml", "--runs", "2", "--iterations", "10", "--json")
	if len(first.Curves) != 7 || len(first.Claims) != 4 {
		t.Fatalf("%d curves and %d claims, want 7 and 4", len(first.Curves), len(first.Claims))
	}
	for i, c := range first.Curves {
		if len(c.Points) != 1 || len(c.Readings) != 1 || c.Points[0] != second.Curves[i].Points[0] {
			t.Errorf("%s: points %v, again %v, readings %v", c.Name, c.Points, second.Curves[i].Points, c.Readings)
		}
		if c.SentBytes < c.PaperBytes || (c.SentBytes > c.PaperBytes) != strings.HasPrefix(c.Name, "uncoordinated") {
			t.Errorf("%s: %v bytes, the paper counts %v", c.Name, c.SentBytes, c.PaperBytes)
		}
	}
	for _, name := range []string{"gfml.svg", "gfml.png"} {
		if s, err := os.Stat(filepath.Join(folder, name)); err != nil || s.Size() == 0 {
			t.Errorf("%s: error %v", name, err)
		}
	}
	var text bytes.Buffer
	if err := first.print(&text, false); err != nil || !strings.Contains(text.String(), "M = 40 is as good as O-GFML: ") {
		t.Errorf("error %v, the report is\n%s", err, &text)
	}
}

func TestGFMLFlagsThatCannotBe(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"gfml --runs 0", "--runs is 0, want at least 1"},
		{"gfml --iterations 9", "--iterations is 9, want at least 10"},
	} {
		var out, said bytes.Buffer
		code := run(t.Context(), strings.Fields("hanselab "+c.args), nil, &out, &said)
		if code != 1 || said.String() != "hanselab: "+c.want+"\n" {
			t.Errorf("hanselab %s: code %d, says %q, want %q", c.args, code, said.String(), c.want)
		}
	}
}

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
	curves := func(early, late []float64) []gfmlCurve {
		var list []gfmlCurve
		for i := range early {
			list = append(list, gfmlCurve{Readings: []gfmlReading{{Moment: "n = 200", DB: early[i]}, {Moment: "end", DB: late[i]}}})
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
		for _, claim := range gfmlClaims(curves(c.early, late)) {
			got = append(got, claim.Holds)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%v: claims hold %q, want %q", c.early, got, c.want)
		}
	}
}
