package attack

import (
	"context"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// coalition makes a view of 1,000 rows with 20 columns.
func coalition(p *planted) Coalition {
	_, columns := p.columns.Dims()
	equations, _ := p.Design.Dims()
	return Coalition{Rows: p.Rows, Width: equations, Row: p.Row, Angles: true, Columns: columns, Truth: p.truth, Seed: 1}
}

func TestKnownRowsPredictTheRestFromAngles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	r, err := KnownRows(context.Background(),
		coalition(plant(rng, gaussian(rng, 300, 20, 5), mixed(rng, 1000, 20), false)))
	must(t, err)
	if r.Known != 200 || r.Tested != 800 || r.Features != 512 || r.Mean < 0.9 || r.Control > 0.05 {
		t.Errorf("known %d, tested %d, features %d, mean R2 %v, control %v", r.Known, r.Tested, r.Features, r.Mean, r.Control)
	}
	if r.R2[r.BestAt] != r.Best {
		t.Errorf("best is %v at %d, which has %v", r.Best, r.BestAt, r.R2[r.BestAt])
	}
}

func TestKnownRowsPredictNothingFromMaskedWords(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for _, angles := range []bool{true, false} {
		c := coalition(plant(rng, gaussian(rng, 100, 20, 5), mixed(rng, 1000, 20), false))
		c.Angles = angles
		c.Row = func(j int, values []float64) {
			row := rand.New(rand.NewPCG(3, uint64(j)))
			for i := range values {
				values[i] = row.Float64()
			}
		}
		r, err := KnownRows(context.Background(), c)
		must(t, err)
		if r.Best > 0.05 {
			t.Errorf("angles %v: best R2 is %v, control %v", angles, r.Best, r.Control)
		}
	}
}

// TestAWeakLeakIsPredictedAtEverySize hides columns under noise in half of the values, and hides none.
func TestAWeakLeakIsPredictedAtEverySize(t *testing.T) {
	for _, rows := range []int{150, 1000, 6000} {
		rng := rand.New(rand.NewPCG(uint64(rows), 5))
		columns := gaussian(rng, rows, 3, 1/(2*math.Pi))
		width := min(rows/10, 600) // of which at most 512 are used
		for _, leaks := range []bool{false, true} {
			c := Coalition{Rows: rows, Width: width, Columns: 3, Seed: 1,
				Truth: func(j int, x []float64) { copy(x, columns.RawRowView(j)) },
				Row: func(j int, values []float64) {
					row := rand.New(rand.NewPCG(6, uint64(j)))
					for i := range values {
						values[i] = row.NormFloat64()
					}
					for i := 0; leaks && i < width; i += 2 { // not every value is used
						values[i] = columns.At(j, i%3) + row.NormFloat64()/2
					}
				}}
			r, err := KnownRows(context.Background(), c)
			must(t, err)
			if gained := r.Best > max(0, r.Control)+KnownGain; gained != leaks || r.Control > 0.1 {
				t.Errorf("%d rows, leaks %v: best R2 is %v at %d, control %v", rows, leaks, r.Best, r.BestAt, r.Control)
			}
		}
	}
}

// TestRidgeIsThatOfItsNormalEquations holds R2 of a fit, and of shuffled columns beside it, against a plain solution.
func TestRidgeIsThatOfItsNormalEquations(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	x, y := mixed(rng, 90, 7), mixed(rng, 90, 3)
	standardise(x)
	fit, test := newRegression(part(x, 0, 60), part(y, 0, 60)), part(x, 60, 90)
	got, err := fit.score(0.1, test, part(y, 60, 90))
	must(t, err)
	known, wanted := mat.DenseCopyOf(part(x, 0, 60)), mat.DenseCopyOf(part(y, 0, 60))
	meanX, meanY := centreColumns(known), centreColumns(wanted)
	var normal, right, weights, predicted mat.Dense
	normal.Mul(known.T(), known)
	for i := range 7 {
		normal.Set(i, i, normal.At(i, i)+0.1*60)
	}
	right.Mul(known.T(), wanted)
	must(t, weights.Solve(&normal, &right))
	shifted := mat.DenseCopyOf(test)
	shift(shifted, meanX, -1)
	predicted.Mul(shifted, &weights)
	shift(&predicted, meanY, 1)
	for i, want := range explained(&predicted, part(y, 60, 90)) {
		if math.Abs(got[i]-want) > 1e-9 {
			t.Errorf("column %d: R2 is %v, want %v", i, got[i], want)
		}
	}
}

func TestMalformedCoalitionsAreRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	p := plant(rng, gaussian(rng, 10, 4, 5), mixed(rng, 30, 4), true)
	for _, tc := range []struct {
		spoil func(c *Coalition)
		want  string
	}{
		{func(c *Coalition) { c.Rows = 19 }, "known rows: 19 rows, want at least 20"},
		{func(c *Coalition) { c.Width = 0 }, "known rows: 0 values a row, want 1 to 1048576"},
		{func(c *Coalition) { c.Columns = 0 }, "known rows: 0 columns, want 1 to 16384"},
		{func(c *Coalition) { c.Truth = nil }, "known rows: there is no access to the view or to the columns"},
		{func(c *Coalition) { c.Known = 1 }, "known rows: share known is 1, want 0.1 to 0.9"},
		{func(c *Coalition) { c.Row = func(_ int, v []float64) { v[2] = math.Inf(-1) } },
			"known rows: value 2 of row 0 is -Inf, want a finite number"},
	} {
		c := coalition(p)
		tc.spoil(&c)
		if tc.want[len(tc.want)-13:] == "finite number" {
			c.Rows = 30
			c.Seed = firstRowSeed(30)
		}
		if _, err := KnownRows(context.Background(), c); err == nil || err.Error() != tc.want {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}

// firstRowSeed is a seed with which row 0 is read first.
func firstRowSeed(rows int) uint64 {
	seed := uint64(0)
	for newRand(seed, streamKnown).Perm(rows)[0] != 0 {
		seed++
	}
	return seed
}

// noiseSignals are signals that know nothing.
func noiseSignals(rng *rand.Rand, rows int) map[string][]float64 {
	out := make(map[string][]float64)
	for _, name := range []string{"size", "delay", "phase", "rounds"} {
		list := make([]float64, rows)
		for i := range list {
			list[i] = rng.ExpFloat64()
		}
		out[name] = list
	}
	out["constant"] = make([]float64, rows)
	return out
}

// halves are labels -1 and +1 at random.
func halves(rng *rand.Rand, rows int) []float64 {
	out := make([]float64, rows)
	for i := range out {
		out[i] = float64(2*rng.IntN(2) - 1)
	}
	return out
}

func TestLabelsInOrderAreFound(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	signals, labels := noiseSignals(rng, 600), make([]float64, 600)
	position := make([]float64, 600)
	for i := range labels {
		position[i], labels[i] = float64(i), -1
		if i >= 300 {
			labels[i] = 1
		}
	}
	signals["position"] = position
	r, err := Labels(context.Background(), signals, labels, 1)
	must(t, err)
	if s := r.Signals[0]; s.Name != "position" || s.AUC != 1 || s.P > 1.0/1001+1e-12 || s.Tail > 1e-20 {
		t.Errorf("got %+v", s)
	}
	if len(r.Signals) != 5 {
		t.Errorf("%d signals, want 5: one is constant", len(r.Signals))
	}
}

func TestSignalsThatKnowNothingPass(t *testing.T) {
	low := 0
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(6, seed))
		r, err := Labels(context.Background(), noiseSignals(rng, 60), halves(rng, 60), seed)
		must(t, err)
		if r.Signals[0].P < 0.05 {
			low++
		}
	}
	if low > 8 { // 2 are expected
		t.Errorf("%d of 40 have p below 0.05", low)
	}
}

// TestAUCCountsPairs holds the area against a count of all pairs.
func TestAUCCountsPairs(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(8, 30).Draw(rt, "rows")
		values := rapid.SliceOfN(rapid.Float64Range(-3, 3), n, n).Draw(rt, "values")
		labels := make([]float64, n)
		for i := range labels {
			labels[i] = float64(rapid.IntRange(0, 1).Draw(rt, "label"))
			values[i] = math.Round(values[i])
		}
		labels[0], labels[1] = 0, 1
		wins, pairs := 0.0, 0.0
		for i := range n {
			for j := range n {
				if labels[i] > labels[j] {
					pairs++
					switch {
					case values[i] > values[j]:
						wins++
					case values[i] == values[j]:
						wins += 0.5
					}
				}
			}
		}
		if got := auc(newVariable(values), newVariable(labels)); math.Abs(got-wins/pairs) > 1e-12 {
			rt.Fatalf("got %v, want %v", got, wins/pairs)
		}
	})
}

func TestMalformedSignalsAreRefused(t *testing.T) {
	labels := make([]float64, 8)
	for _, tc := range []struct {
		signals map[string][]float64
		labels  []float64
		want    string
	}{
		{nil, labels[:7], "label leakage: 7 labels, want at least 8"},
		{nil, append([]float64{math.NaN()}, labels...), "label leakage: label 0 is NaN, want a finite number"},
		{map[string][]float64{"a": labels[:3]}, labels, "label leakage: signal a has 3 values, want one for each of 8 labels"},
		{map[string][]float64{"a": {0, 1, 2, 3, 4, 5, 6, math.Inf(1)}}, labels, "label leakage: value 7 of signal a is +Inf, want a finite number"},
	} {
		if _, err := Labels(context.Background(), tc.signals, tc.labels, 1); err == nil || err.Error() != tc.want {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}
