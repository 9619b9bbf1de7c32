package kernel

import (
	"testing"

	"github.com/hanse-project/hanse/keys"
)

// TestShortSlicesPanic gives kernels slices that are one too short and have others behind them.
func TestShortSlicesPanic(t *testing.T) {
	const n = 16
	table := Cosines()
	turns, short := make([]uint16, n), make([]uint16, n-1, n)
	for name, do := range map[string]func(){
		"Features":     func() { table.Features(make([]float32, n-1, n), turns) },
		"Features64":   func() { table.Features64(make([]float64, n-1, n), turns) },
		"Pairs64":      func() { table.Pairs64(make([]float64, 2*n-1, 2*n), turns) },
		"addQuantised": func() { addQuantised(turns, make([]float64, n-1, n)) },
		"addFour": func() {
			table.addFour(make([]float64, n), new([passRows]float64), turns, turns, turns, short)
		},
		"Draw": func() {
			Kernel{Kind: Gaussian, Sigma: 1}.Draw(Seed{}, keys.ID{}, "age", 0, n, make([]float64, n-1, n))
		},
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s takes what is behind the end of a slice", name)
				}
			}()
			do()
		}()
	}
}
