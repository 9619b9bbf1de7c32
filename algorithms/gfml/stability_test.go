package gfml

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/floats"
)

// inf returns positive infinity.
func inf() float64 { return math.Inf(1) }

// samples returns features of standard normal rows.
func samples(t testing.TB, p *Plan, n int) [][]float64 {
	t.Helper()
	f, draw, list := p.Features(), rand.New(rand.NewPCG(4, 4)), make([][]float64, n)
	for i := range list {
		list[i] = make([]float64, p.Params().Features)
		must(t, f.Map(list[i], []float64{draw.NormFloat64(), draw.NormFloat64()}))
	}
	return list
}

// powerIteration returns the largest eigenvalue of the mean of z z^T.
func powerIteration(list [][]float64) float64 {
	v := make([]float64, len(list[0]))
	v[0] = 1
	norm := 0.0
	for range 5000 {
		next := make([]float64, len(v))
		for _, z := range list {
			floats.AddScaled(next, floats.Dot(z, v)/float64(len(list)), z)
		}
		norm = floats.Norm(next, 2)
		floats.ScaleTo(v, 1/norm, next)
	}
	return norm
}

func TestStepsThatAreTooLarge(t *testing.T) {
	base := plan(t, func(*Params) {})
	list := samples(t, base, 400)
	largest, square := powerIteration(list), meanSquare(list)
	if square <= largest || square > 2 {
		t.Fatalf("largest eigenvalue %v, mean square %v: bad samples for this test", largest, square)
	}
	for _, c := range []struct {
		step  float64
		rules []string
	}{
		{0.75, nil},
		{1.99 / square, nil},
		{2.01 / square, []string{"E|z|^2"}},
		{1.99 / largest, []string{"E|z|^2"}},
		{2.01 / largest, []string{"equation 19", "E|z|^2"}},
	} {
		p := plan(t, func(p *Params) { p.Step = c.step })
		got, err := p.StepWarnings(list)
		must(t, err)
		if len(got) != len(c.rules) {
			t.Fatalf("step %v: warnings %v, want those of %v", c.step, got, c.rules)
		}
		for i, w := range got {
			if !strings.Contains(w.Rule, c.rules[i]) || w.Step != c.step || math.Abs(w.Bound*w.Estimate-2) > 1e-12 {
				t.Errorf("step %v: warning %+v", c.step, w)
			}
		}
	}
	w := Warning{Rule: "E|z|^2 (mean square)", Estimate: 1.01, Bound: 1.98, Step: 2.1}
	if got, want := w.String(), "step is 2.1, want a learning rate below 1.98: E|z|^2 (mean square) is about 1.01"; got != want {
		t.Errorf("the warning is %q, want %q", got, want)
	}
}

func TestTheLargestEigenvalueIsFound(t *testing.T) {
	for _, n := range []int{1, 5, 12, 512} {
		list := samples(t, plan(t, func(*Params) {}), n)
		got, err := largestEigenvalue(list)
		must(t, err)
		if want := powerIteration(list); math.Abs(got/want-1) > 1e-9 {
			t.Errorf("of %d samples it is %v, want %v", n, got, want)
		}
	}
	if got := len(thin(make([][]float64, 5000))); got != maxSamples {
		t.Errorf("5000 samples are thinned out to %d", got)
	}
}

// TestPublicNumbersDiscloseTheMeanSquare: |z|^2 is about 1 whatever the rows are, and equation 19 bites no
// earlier.
func TestPublicNumbersDiscloseTheMeanSquare(t *testing.T) {
	list := samples(t, plan(t, func(p *Params) { p.Features = 400 }), 300)
	if square := meanSquare(list); math.Abs(square-1) > 0.1 {
		t.Errorf("mean square %v, want about 1", square)
	}
	for step, want := range map[float64]string{
		0.75: "[]", 1.99: "[]",
		2:   "[step is 2, want a learning rate below 2: E|z|^2 (mean square) is about 1]",
		3.5: "[step is 3.5, want a learning rate below 2: E|z|^2 (mean square) is about 1]",
	} {
		if got := fmt.Sprint(plan(t, func(p *Params) { p.Step = step }).PublicWarnings()); got != want {
			t.Errorf("step %v: %s, want %s", step, got, want)
		}
	}
}

func TestRowsAheadFitIntoMemory(t *testing.T) {
	for features, want := range map[int]int{12: 256, 1 << 14: 256, 1<<14 + 1: 255, maxFeatures: 64} {
		if got := plan(t, func(p *Params) { p.Features = features }).RowsAhead(); got != want {
			t.Errorf("of %d features %d rows are read ahead, want %d", features, got, want)
		}
	}
}

func TestSamplesThatSayNothing(t *testing.T) {
	p := plan(t, func(*Params) {})
	_, err := p.StepWarnings(nil)
	wantError(t, err, "there are no samples to estimate a bound of the learning rate from")
	_, err = p.StepWarnings([][]float64{make([]float64, 12), make([]float64, 3)})
	wantError(t, err, "sample 1 has 3 features, want 12")
}

// TestDivergenceStops: a step far too large stops the run with the party, the iteration and what was seen, and
// long before numbers overflow.
func TestDivergenceStops(t *testing.T) {
	for _, entries := range []int{12, 4} {
		p := plan(t, func(p *Params) { p.Step, p.Entries, p.Bound = 4, entries, maxBound })
		st, f := newStreams(t, p, 400, 0, 3), federation(t, p, p.NewServer)
		err := error(nil)
		n := 0
		for ; n < len(st.z) && err == nil; n++ {
			err = f.Step(n, st.round(n))
		}
		out := (*DivergenceError)(nil)
		if !errors.As(err, &out) || out.Iteration != n-1 || out.Step != 4 || !strings.Contains(out.What, "has risen to") &&
			!strings.Contains(out.What, "beyond the bound") {
			t.Errorf("%d entries: after %d iterations error %v", entries, n, err)
		}
	}
}

// TestTheWatch: noise, drift and a change of the task are no divergence; growth and what is not finite are.
func TestTheWatch(t *testing.T) {
	draw := rand.New(rand.NewPCG(8, 8))
	w, n := watch{}, 0
	for range 100000 {
		n++
		e, y := draw.NormFloat64(), draw.NormFloat64()*math.Exp(3*math.Sin(float64(n)/1000))
		if why := w.observe(e*e*y*y, y*y); why != "" {
			t.Fatalf("row %d: %s", n, why)
		}
	}
	w = watch{}
	for n = 1; n < 1000; n++ {
		if w.observe(math.Pow(1.05, float64(n)), 1) != "" {
			break
		}
	}
	if n != 250 {
		t.Errorf("growth is noticed after %d rows, want 250", n)
	}
	if got, want := new(watch).observe(inf(), 1), "the squared error is +Inf"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
	if got, want := new(watch).observe(math.NaN(), 1), "the squared error is NaN"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
