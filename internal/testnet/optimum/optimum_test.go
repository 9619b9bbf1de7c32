package optimum

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// TestOneColumnHasAClosedForm: of one column of 0 and 1 without a ridge the scores are the log odds of the two kinds of
// rows, and the standard errors those of a table of four cells.
func TestOneColumnHasAClosedForm(t *testing.T) {
	cells := [4]int{40, 3, 25, 32} // x y: 0 0, 0 1, 1 0, 1 1
	var xs, y []float64
	for cell, times := range cells {
		for range times {
			xs, y = append(xs, float64(cell/2)), append(y, float64(cell%2))
		}
	}
	l, err := Fit(mat.NewDense(len(y), 1, xs), y, []float64{0})
	if err != nil {
		t.Fatal(err)
	}
	base, other := math.Log(3.0/40), math.Log(32.0/25)
	if math.Abs(l.Intercept-base) > 1e-9 || math.Abs(l.Weights[0]-(other-base)) > 1e-9 {
		t.Errorf("the intercept is %v and the weight %v, want %v and %v", l.Intercept, l.Weights[0], base, other-base)
	}
	var inverse mat.Dense
	if err := inverse.Inverse(l.Information); err != nil {
		t.Fatal(err)
	}
	if want := 1.0/40 + 1.0/3 + 1.0/25 + 1.0/32; math.Abs(inverse.At(0, 0)-want) > 1e-8 {
		t.Errorf("the weight's variance is %v, want %v", inverse.At(0, 0), want)
	}
	if p := l.Probabilities[99]; math.Abs(p-32.0/57) > 1e-10 {
		t.Errorf("the last row has probability %v, want %v", p, 32.0/57)
	}
}

// TestTheGradientIsNothing at the optimum of every made table: by differences of the objective, to what 64 bits tell,
// and nothing near it is lower.
func TestTheGradientIsNothing(t *testing.T) {
	for _, table := range Tables() {
		n, d := table.X.Dims()
		ridge := make([]float64, d)
		for j := range ridge {
			ridge[j] = .2 / float64(n) * float64(table.Columns)
		}
		l, err := Fit(table.X, table.Y, ridge)
		if err != nil {
			t.Errorf("%s: %v", table.Name, err)
			continue
		}
		at := append(l.Weights, l.Intercept)
		best := value(table.X, table.Y, ridge, at)
		for j := range at {
			const h = 1e-4
			before := at[j]
			at[j] = before + h
			up := value(table.X, table.Y, ridge, at)
			at[j] = before - h
			down := value(table.X, table.Y, ridge, at)
			at[j] = before
			if slope := (up - down) / (2 * h); math.Abs(slope) > 1e-10 || up < best || down < best {
				t.Errorf("%s: number %d has slope %v, or beside it the value %v or %v is below %v", table.Name, j, slope, up,
					down, best)
			}
		}
	}
}

// TestFitRefuses what has no optimum.
func TestFitRefuses(t *testing.T) {
	x := mat.NewDense(4, 2, []float64{1, 0, 0, 1, 1, 0, 0, 1})
	for what, c := range map[string][2][]float64{
		"one kind of label":   {{0, 0, 0, 0}, {1, 1}},
		"a label of another":  {{0, 1, 2, 0}, {1, 1}},
		"too few labels":      {{0, 1}, {1, 1}},
		"columns that follow": {{0, 1, 1, 0}, {0, 0}},
	} {
		if _, err := Fit(x, c[0], c[1]); err == nil {
			t.Errorf("%s: there is no error", what)
		}
	}
}
