package rivals

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
)

// TestFDSVRGReachesTheMinimum of the regularised logistic loss, which L-BFGS finds on the joined columns.
func TestFDSVRGReachesTheMinimum(t *testing.T) {
	parts, labels := world(120, 6)
	f := &FDSVRG{Lambda: 0.01, Epochs: 60, Seed: 1}
	f.Train(each(parts), labels)
	all := Stack(parts...)
	objective := lbfgs.Func(func(w, gradient []float64) float64 {
		value := f.Lambda / 2 * floats.Dot(w, w)
		floats.ScaleTo(gradient, f.Lambda, w)
		for i, y := range labels {
			s := all.Dot(i, w)
			value += kernel.Logistic.Value(s, y) / float64(len(labels))
			addRow(gradient, all, i, kernel.Logistic.Derivative(s, y)/float64(len(labels)))
		}
		return value
	})
	best, _, err := lbfgs.Minimise(t.Context(), objective, make([]float64, all.Columns), nil,
		lbfgs.Settings{Gradient: 1e-10, Decrease: 1e-300}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var w []float64
	for _, part := range f.Weights {
		w = append(w, part...)
	}
	for c, want := range best.Alpha {
		if !(math.Abs(w[c]-want) < 1e-6) {
			t.Errorf("weight %d is %v, the minimum has %v", c, w[c], want)
		}
	}
	if want := 60 * 2 * 120; f.Sums != want {
		t.Errorf("%d numbers were summed over the parties, want %d", f.Sums, want)
	}
	for i, s := range f.Scores(each(parts)) {
		if math.Abs(s-all.Dot(i, w)) > 1e-12 {
			t.Fatalf("score %d is %v, want %v", i, s, all.Dot(i, w))
		}
	}
}
