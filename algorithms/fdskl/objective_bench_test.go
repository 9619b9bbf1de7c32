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
			o := newObjective(36000, 1024, kernel.Logistic, 1e-6, 0.1, 1)
			o.Workers = workers
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
