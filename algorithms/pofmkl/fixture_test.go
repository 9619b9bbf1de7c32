package pofmkl

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// stream is a client's rows and labels.
type stream struct {
	rows   [][]float64
	labels []float64
}

// newStream draws rows of norm at most 1 and labels in [0, 1] that depend on them.
func newStream(rng *rand.Rand, rounds, columns int) stream {
	var s stream
	for range rounds {
		x := make([]float64, columns)
		sum := 0.0
		for c := range x {
			x[c] = (2*rng.Float64() - 1) / float64(columns)
			sum += x[c]
		}
		s.rows = append(s.rows, x)
		s.labels = append(s.labels, min(1, max(0, 0.5+0.4*sum+0.05*rng.NormFloat64())))
	}
	return s
}

// columnNames returns x1 to xn.
func columnNames(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("x%d", i+1))
	}
	return names
}

// newDictionary makes a dictionary or ends the test.
func newDictionary(t testing.TB, p Params, columns int) *Dictionary {
	t.Helper()
	d, err := NewDictionary(p.WithDefaults(), columnNames(columns))
	mustDo(t, err)
	return d
}

// small is a job with few kernels.
func small() Params {
	return Params{Seed: "small", Bandwidths: []float64{0.01, 0.1, 1, 10, 100}, Features: 3, Chosen: 2, Explore: 0.4,
		Rounds: 50}
}

// wantError checks an error's text.
func wantError(t testing.TB, err error, want string) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
}

// mustDo ends the test on an error.
func mustDo(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
