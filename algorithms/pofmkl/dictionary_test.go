package pofmkl

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestFeaturesApproachTheKernels compares z(x)^T z(x') with exp(-|x-x'|^2/(2 sigma)).
func TestFeaturesApproachTheKernels(t *testing.T) {
	p := Params{Seed: "kernels", Bandwidths: []float64{0.1, 1, 10}, Features: 20000}
	d := newDictionary(t, p, 4)
	a, b := d.NewFeatures(), d.NewFeatures()
	x, y := []float64{0.1, 0.2, -0.3, 0.4}, []float64{0.3, -0.1, 0.2, 0}
	mustDo(t, a.Set(1, x))
	mustDo(t, b.Set(1, y))
	distance := 0.0
	for c := range x {
		distance += (x[c] - y[c]) * (x[c] - y[c])
	}
	for i, sigma := range p.Bandwidths {
		var dot, norm float64
		for j, v := range a.Kernel(i) {
			dot += v * b.Kernel(i)[j]
			norm += v * v
		}
		near(t, "kernel value", dot, math.Exp(-distance/(2*sigma)), 0.02)
		near(t, "norm of features", norm, 1, 1e-13)
	}
}

// TestDictionariesDependOnPublicNumbersAlone makes one twice, and others.
func TestDictionariesDependOnPublicNumbersAlone(t *testing.T) {
	d := newDictionary(t, small(), 3)
	same := newDictionary(t, small(), 3)
	other := small()
	other.Seed = "other"
	for i := range d.frequencies {
		if d.frequencies[i] != same.frequencies[i] {
			t.Fatal("the same parameters give other frequencies")
		}
	}
	if d.fingerprint != same.fingerprint || d.fingerprint == newDictionary(t, other, 3).fingerprint ||
		d.fingerprint == newDictionary(t, small(), 4).fingerprint {
		t.Error("fingerprints do not tell dictionaries apart")
	}
	seen := make(map[float64]bool)
	for i, v := range d.frequencies {
		if i%d.width < 3 && seen[v] {
			t.Fatalf("frequency %v occurs twice", v)
		}
		seen[v] = true
	}
}

// TestBadDictionaries names what is wrong with columns and sizes.
func TestBadDictionaries(t *testing.T) {
	for _, c := range []struct {
		columns []string
		want    string
	}{
		{nil, "there are 0 input columns, want 1 to 4096"},
		{make([]string, 4097), "there are 4097 input columns, want 1 to 4096"},
		{[]string{"a", ""}, "input column 2 has no name"},
		{[]string{"a", "b", "a"}, `input column "a" occurs twice`},
	} {
		_, err := NewDictionary(small().WithDefaults(), c.columns)
		wantError(t, err, c.want)
	}
	p := Params{Features: 40000}.WithDefaults()
	_, err := NewDictionary(p, columnNames(40))
	wantError(t, err, "40 columns with 2040000 random features are too many: at most 67108864 frequencies fit")
	_, err = NewDictionary(Params{}, columnNames(1))
	wantError(t, err, "bandwidths has 0 numbers")
}

// TestBadRows names row, column and value.
func TestBadRows(t *testing.T) {
	p := small()
	p.InputNorm, p.Label, p.LabelLow, p.LabelHigh = 2, "NO2", 10, 20
	d := newDictionary(t, p, 3)
	c, theta := NewClient(d, "c", [32]byte{}), make([]float64, d.params.Words())
	if _, err := c.Round(theta, []float64{1, 2, 3}, 12); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []struct {
		x    []float64
		y    float64
		want string
	}{
		{[]float64{1, 2}, 12, "row 2 has 2 values, want 3, one for each input column"},
		{[]float64{1, 2, 3, 4}, 12, "row 2 has 4 values, want 3, one for each input column"},
		{[]float64{1, math.NaN(), 3}, 12, `row 2, column "x2": the value is NaN, want a finite number of magnitude at most 2.097152e+06`},
		{[]float64{1, 2, math.Inf(-1)}, 12, `row 2, column "x3": the value is -Inf, want`},
		{[]float64{1e300, 2, 3}, 12, `row 2, column "x1": the value is 1e+300, want`},
		{[]float64{1, 2, 3}, 9.9, `row 2, label column "NO2": the label is 9.9, want a number from 10 to 20`},
		{[]float64{1, 2, 3}, 20.1, `row 2, label column "NO2": the label is 20.1, want a number from 10 to 20`},
		{[]float64{1, 2, 3}, math.NaN(), `row 2, label column "NO2": the label is NaN, want a number from 10 to 20`},
	} {
		if c.Due() {
			mustDo(t, c.Upload(make([]float64, d.params.Words())))
		}
		_, err := c.Round(theta, bad.x, bad.y)
		wantError(t, err, bad.want)
	}
	if c.Rounds() != 1 {
		t.Errorf("%d rounds were learned, want 1", c.Rounds())
	}
	mustDo(t, c.Learn(15)) // the refused label can be given again
	wantError(t, c.Learn(15), "row 3: a label came before its prediction")
	_, err := c.Predict(theta[1:], []float64{1, 2, 3})
	wantError(t, err, "row 3: theta has 29 words, want 30")
	theta[0] = math.NaN()
	_, err = c.Predict(theta, []float64{1, 2, 3})
	wantError(t, err, "row 3: the prediction is NaN: theta has diverged, want a smaller step")
}

// TestScaledInputsAreTheSameFeatures divides rows by the norm before and inside.
func TestScaledInputsAreTheSameFeatures(t *testing.T) {
	p := small()
	plain := newDictionary(t, p, 3).NewFeatures()
	p.InputNorm = 8
	scaled := newDictionary(t, p, 3).NewFeatures()
	rng := rand.New(rand.NewPCG(1, 1))
	x := []float64{rng.Float64(), rng.Float64(), rng.Float64()}
	mustDo(t, plain.Set(1, x))
	mustDo(t, scaled.Set(1, []float64{8 * x[0], 8 * x[1], 8 * x[2]}))
	for i, v := range plain.z {
		if scaled.z[i] != v {
			t.Fatalf("feature %d is %v, want %v", i+1, scaled.z[i], v)
		}
	}
}
