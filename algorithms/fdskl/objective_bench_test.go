package fdskl

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

// BenchmarkPass is one evaluation of the solver's objective over 36,000 rows and 1,024 features.
func BenchmarkPass(b *testing.B) {
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			o := benchObjective(36000, 1024, workers)
			x, grad := make([]float64, o.size()), make([]float64, o.size())
			for i := range x {
				x[i] = rand.Float64() - 0.5
			}
			for b.Loop() {
				if _, err := o.Evaluate(b.Context(), x, grad); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// benchObjective makes an objective over random angles.
func benchObjective(rows, features, workers int) *local {
	p := Params{Features: features}.WithDefaults()
	t := &trainer{Party: &Party{Params: p, Rows: rows, Workers: workers}, cosine: kernel.NewTable(), loss: kernel.Logistic}
	held := &angles{turns: make([]uint16, rows*p.Angles()), count: p.Angles()}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range held.turns {
		held.turns[i] = uint16(rng.Uint32())
	}
	t.target.values = make([]float64, rows)
	for j := range t.target.values {
		t.target.values[j] = float64(2*rng.IntN(2) - 1)
	}
	return t.newLocal(held, 1e-6, nil)
}
