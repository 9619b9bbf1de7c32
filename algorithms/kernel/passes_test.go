package kernel

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func randomNumbers(seed uint64, n int) []float64 {
	r := rand.New(rand.NewPCG(seed, 2))
	out := make([]float64, n)
	for i := range out {
		out[i] = r.NormFloat64()
	}
	return out
}

// TestPassesMatchFeatures holds the fused passes against plain loops over Features64.
func TestPassesMatchFeatures(t *testing.T) {
	table := Cosines()
	rapid.Check(t, func(t *rapid.T) {
		rows, d := rapid.IntRange(0, 20).Draw(t, "rows"), rapid.IntRange(1, 1100).Draw(t, "features")
		turns, phi := randomTurns(rows*d), make([]float64, rows*d)
		table.Features64(phi, turns)
		alpha, c := randomNumbers(1, d), randomNumbers(2, rows)
		scores, gradient := make([]float64, rows), slices.Clone(alpha)
		must(t, table.Scores(scores, turns, alpha, 2))
		must(t, table.AddGradient(gradient, c, turns, 2))
		want := slices.Clone(alpha)
		for r := range rows {
			score := 0.0
			for i, v := range phi[r*d : (r+1)*d] {
				score += v * alpha[i]
				want[i] += v * c[r]
			}
			if math.Abs(scores[r]-score) > 1e-10 {
				t.Fatalf("score %d is %v, want %v", r, scores[r], score)
			}
		}
		for i := range want {
			if math.Abs(gradient[i]-want[i]) > 1e-12 {
				t.Fatalf("gradient %d is %v, want %v", i, gradient[i], want[i])
			}
		}
	})
}

func TestPassesDoNotDependOnWorkers(t *testing.T) {
	const rows, d = 700, 1500
	table, turns := Cosines(), randomTurns(rows*d)
	alpha, c := randomNumbers(1, d), randomNumbers(2, rows)
	pass := func(workers int) []float64 {
		scores, gradient := make([]float64, rows), make([]float64, d)
		must(t, table.Scores(scores, turns, alpha, workers))
		must(t, table.AddGradient(gradient, c, turns, workers))
		return append(scores, gradient...)
	}
	if !slices.Equal(pass(1), pass(3)) {
		t.Error("three workers give other sums than one")
	}
}

func TestPassesRefuse(t *testing.T) {
	table := Cosines()
	wantError(t, table.Scores(make([]float64, 2), make([]uint16, 5), make([]float64, 3), 1),
		`there are 5 angles for 2 rows of 3 features`)
	wantError(t, table.AddGradient(make([]float64, 3), make([]float64, 2), make([]uint16, 5), 1),
		`there are 5 angles for 2 rows of 3 features`)
}
