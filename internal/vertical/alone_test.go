package vertical

import (
	"math"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/dataset"
)

// squaredError is the mean squared error of scores over that of the labels' mean.
func squaredError(labels, scores []float64) float64 {
	var mean, errors, spread float64
	for _, y := range labels {
		mean += y / float64(len(labels))
	}
	for i, y := range labels {
		errors += (scores[i] - y) * (scores[i] - y)
		spread += (mean - y) * (mean - y)
	}
	return errors / spread
}

// everyRow lists the rows of a table.
func everyRow(t *dataset.Table) []int {
	rows := make([]int, t.Rows())
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// TestAlone fits a wave and a line from one party's own column: the kernel model finds both, the linear one the line
// alone; both are read back as they were written.
func TestAlone(t *testing.T) {
	for _, c := range []struct {
		name   string
		of     func(x float64) float64
		linear bool // whether the linear model can find it
	}{
		{"wave", func(x float64) float64 { return 3000 + 100*math.Cos(2*x) }, false},
		{"line", func(x float64) float64 { return 3000 + 100*x }, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := fdskl.Params{Active: []string{"a"}, Label: "y", Target: joint.Regression, Seed: "s"}.WithDefaults()
			made := func(seed uint64) *dataset.Table {
				all := tables(400, seed)[0]
				for i, x := range all.Columns[0].Values {
					all.Columns[1].Values[i] = c.of(x)
				}
				return all
			}
			prepared, err := PrepareTraining(made(1), p.Goal(), true)
			must(t, err)
			fitted, err := FitAlone(prepared, p, 2)
			must(t, err)
			data, err := fitted.Encode()
			must(t, err)
			a, err := DecodeAlone(data)
			must(t, err)
			m := &joint.Model{Normaliser: prepared.Normaliser, Columns: prepared.Columns}
			fresh := made(2)
			kernels, linear, err := a.Score(fresh.Without("y"), everyRow(fresh), m, 2)
			must(t, err)
			labels := fresh.Columns[1].Values
			if e := squaredError(labels, kernels); e > 0.05 {
				t.Errorf("the kernel model leaves %.3f of the variance", e)
			}
			if e := squaredError(labels, linear); c.linear != (e < 0.05) {
				t.Errorf("the linear model leaves %.3f of the variance", e)
			}
			if g := a.Guess()[0]; math.Abs(g-3000) > 100 {
				t.Errorf("the guess is %v, want the mean of the labels", g)
			}
		})
	}
}

// FuzzAlone: what decodes has numbers that scores can be made of.
func FuzzAlone(f *testing.F) {
	p := fdskl.Params{Active: []string{"a"}, Label: "y", Features: 4, Seed: "s"}.WithDefaults()
	prepared, err := PrepareTraining(tables(40, 1)[0], p.Goal(), true)
	must(f, err)
	fitted, err := FitAlone(prepared, p, 1)
	must(f, err)
	data, err := fitted.Encode()
	must(f, err)
	f.Add(data)
	m := &joint.Model{Normaliser: prepared.Normaliser, Columns: prepared.Columns}
	rows := tables(3, 2)[0].Without("y")
	f.Fuzz(func(t *testing.T, data []byte) {
		a, err := DecodeAlone(data)
		if err != nil {
			return
		}
		if _, _, err := a.Score(rows, everyRow(rows), m, 1); err != nil {
			t.Log(err) // one of another table, or of another kernel
		}
	})
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
