package pofmkl

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestServerDividesByTheJobsClients applies one client's upload in a job of four.
func TestServerDividesByTheJobsClients(t *testing.T) {
	d := newDictionary(t, small(), 2)
	s, sum := NewServer(d), make([]float64, 30)
	sum[7] = 0.5
	mustDo(t, s.Apply(0, sum, 4))
	if s.Theta()[7] != -0.125 || s.Applied() != 1 {
		t.Errorf("theta is %v after %d sums", s.Theta()[7], s.Applied())
	}
}

// TestBadSums are refused and leave theta as it is.
func TestBadSums(t *testing.T) {
	d := newDictionary(t, small(), 2)
	s := NewServer(d)
	sum := make([]float64, 30)
	wantError(t, s.Apply(0, sum, 0), "sum 1: it is of 0 clients, want at least 1")
	wantError(t, s.Apply(0, sum[:29], 2), "sum 1 has 29 words, want 30")
	sum[0], sum[3] = 1, math.NaN()
	wantError(t, s.Apply(0, sum, 2), "sum 1: element 4 is NaN, want a number of magnitude at most 4")
	sum[3] = 1e9
	wantError(t, s.Apply(0, sum, 2), "sum 1: element 4 is 1e+09, want a number of magnitude at most 4")
	if s.Theta()[0] != 0 || s.Applied() != 0 {
		t.Error("a refused sum was applied")
	}
}

// TestFederationsRefuseWrongSizes names the numbers.
func TestFederationsRefuseWrongSizes(t *testing.T) {
	d := newDictionary(t, small(), 2)
	_, err := NewFederation(d, 0, [32]byte{})
	wantError(t, err, "the federation has 0 clients, want at least 1")
	f, err := NewFederation(d, 2, [32]byte{})
	mustDo(t, err)
	row := []float64{0, 0}
	wantError(t, f.Round([][]float64{row}, []float64{0, 0}, []float64{0, 0}),
		"1 rows, 2 labels and room for 2 predictions, want 2, the number of clients")
	wantError(t, f.Round([][]float64{row, row}, []float64{0, 2}, []float64{0, 0}), `client 2: row 1, label column "": the label is 2, want a number from 0 to 1`)
}

// TestErrorsFallAndRegretsAreSubLinear learns a stream of 400 rounds.
func TestErrorsFallAndRegretsAreSubLinear(t *testing.T) {
	const clients, rounds = 6, 400
	f, err := NewFederation(newDictionary(t, Params{Seed: "course", Features: 20, Rounds: rounds}, 4), clients,
		[32]byte{9})
	mustDo(t, err)
	rng := rand.New(rand.NewPCG(2, 3))
	var streams []stream
	for range clients {
		streams = append(streams, newStream(rng, rounds, 4))
	}
	rows, labels, predictions := make([][]float64, clients), make([]float64, clients), make([]float64, clients)
	var errors [4]float64
	var half float64
	for r := range rounds {
		for k, s := range streams {
			rows[k], labels[k] = s.rows[r], s.labels[r]
		}
		mustDo(t, f.Round(rows, labels, predictions))
		for k, y := range predictions {
			errors[r*4/rounds] += (y - labels[k]) * (y - labels[k])
		}
		if r == rounds/2-1 {
			half = f.Regret(0)
		}
	}
	if !(errors[3] < errors[1] && errors[1] < errors[0]) {
		t.Errorf("squared errors by quarters are %v", errors)
	}
	if end := f.Regret(0); !(end < 1.5*half) {
		t.Errorf("the regret is %v after half the rounds and %v after all", half, end)
	}
}
