package cholesky

import "testing"

// TestShortPanelsPanic gives the inner loops a square, and rows, that are one too short and have others behind them.
func TestShortPanelsPanic(t *testing.T) {
	const lines = 4 * side
	for name, do := range map[string]func(square, columns, rows []float64){
		"subtract": subtract, "plainSubtract": plainSubtract,
	} {
		for what, slices := range map[string][2][]float64{
			"square": {make([]float64, side*side-1, side*side), make([]float64, lines)},
			"rows":   {make([]float64, side*side), make([]float64, lines-1, lines)},
		} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s takes what is behind the end of its %s", name, what)
					}
				}()
				do(slices[0], make([]float64, lines), slices[1])
			}()
		}
	}
}
