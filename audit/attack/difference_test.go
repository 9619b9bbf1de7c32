package attack

import (
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// attackOn runs the attack against the truth.
func attackOn(t testing.TB, p *planted, o Options) *Recovery {
	t.Helper()
	o.Truth = p.truth
	r, err := Difference(context.Background(), p.System, o)
	must(t, err)
	return r
}

func TestExactNumbersAreSolvedToRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	p := plant(rng, gaussian(rng, 64, 30, 5), mixed(rng, 300, 30), true)
	r := attackOn(t, p, Options{})
	if r.Solved != 1 || r.RecoveredShare != 1 || r.RMS > 1e-12 || r.Rank != 30 {
		t.Errorf("solved %v, recovered %v, RMS %v, rank %d", r.Solved, r.RecoveredShare, r.RMS, r.Rank)
	}
	if r.ControlRMS < 0.1 || r.ControlShare > 0.05 {
		t.Errorf("the control has RMS %v and share %v", r.ControlRMS, r.ControlShare)
	}
}

// TestWrappedAnglesAreSolved takes 16-bit angles of which a fifth and more wrap.
func TestWrappedAnglesAreSolved(t *testing.T) {
	for _, tc := range []struct {
		columns          int
		sigma            float64
		shareLo, shareHi float64
	}{
		{30, 5.657, 0, 0.01},
		{30, 1.0, 0.15, 0.35},
		{60, 1.5, 0.05, 0.3},
		{95, 1.6, 0.15, 0.35},
	} {
		rng := rand.New(rand.NewPCG(2, uint64(tc.columns)))
		p := plant(rng, gaussian(rng, 256, tc.columns, tc.sigma), mixed(rng, 600, tc.columns), false)
		r := attackOn(t, p, Options{})
		t.Logf("%d columns, sigma %v: %.3f wrapped, RMS %.1e", tc.columns, tc.sigma, p.share, r.RMS)
		if p.share < tc.shareLo || p.share > tc.shareHi {
			t.Errorf("%d columns, sigma %v: a share %v wraps, want %v to %v", tc.columns, tc.sigma,
				p.share, tc.shareLo, tc.shareHi)
		}
		if r.Solved != 1 || r.RecoveredShare != 1 || r.RMS > 2e-4 {
			t.Errorf("%d columns, sigma %v: solved %v, recovered %v, RMS %v", tc.columns, tc.sigma,
				r.Solved, r.RecoveredShare, r.RMS)
		}
	}
}

// TestHeavyTailedDesignsAreSolved takes the designs of a Laplace kernel, whose coefficients have
// no variance.
func TestHeavyTailedDesignsAreSolved(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 1))
	design := gaussian(rng, 256, 40, 1)
	design.Apply(func(_, _ int, _ float64) float64 { return math.Tan(math.Pi*(rng.Float64()-0.5)) / (2 * math.Pi * 10) },
		design)
	r := attackOn(t, plant(rng, design, mixed(rng, 400, 40), false), Options{})
	if r.RecoveredShare != 1 {
		t.Errorf("solved %v, recovered %v, RMS %v", r.Solved, r.RecoveredShare, r.RMS)
	}
}

func TestNoiseIsGivenUp(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 1))
	p := plant(rng, gaussian(rng, 256, 40, 5), mixed(rng, 1000, 40), false)
	p.Row = func(j int, values []float64) {
		row := rand.New(rand.NewPCG(5, uint64(j)))
		for i := range values {
			values[i] = row.Float64()
		}
	}
	r := attackOn(t, p, Options{})
	if r.Solved != 0 || r.RecoveredShare != 0 || r.Rounds != 1 {
		t.Errorf("solved %v, recovered %v, %d rounds", r.Solved, r.RecoveredShare, r.Rounds)
	}
	if r.RMS < 0.9*r.ControlRMS {
		t.Errorf("RMS %v, control %v", r.RMS, r.ControlRMS)
	}
}

// TestWhatIsSolvedIsTrue: the attack never believes a row that is wrong.
func TestWhatIsSolvedIsTrue(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		columns := rapid.IntRange(1, 25).Draw(rt, "columns")
		equations := columns + rapid.IntRange(margin, 60).Draw(rt, "spare")
		sigma := rapid.Float64Range(0.2, 6).Draw(rt, "sigma")
		p := plant(rng, gaussian(rng, equations, columns, sigma), mixed(rng, 40, columns), false)
		r, err := Difference(context.Background(), p.System, Options{Truth: p.truth})
		must(rt, err)
		if r.RecoveredShare+1e-9 < r.Solved {
			rt.Fatalf("%d equations, %d columns, sigma %v: solved %v, recovered %v", equations, columns, sigma, r.Solved, r.RecoveredShare)
		}
	})
}

func TestWorkersDoNotChangeTheResult(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	p := plant(rng, gaussian(rng, 128, 40, 1.2), mixed(rng, 500, 40), false)
	one, four := attackOn(t, p, Options{Workers: 1, MaxRows: 300, Seed: 9}), attackOn(t, p,
		Options{Workers: 4, MaxRows: 300, Seed: 9})
	if !reflect.DeepEqual(one, four) {
		t.Errorf("one worker: %+v\nfour: %+v", one, four)
	}
	if one.Rows != 300 || len(one.Sample) != 400 {
		t.Errorf("%d rows, %d points", one.Rows, len(one.Sample))
	}
}

// TestTooFewEquationsGiveTheShortestSolution compares with the pseudo-inverse by hand.
func TestTooFewEquationsGiveTheShortestSolution(t *testing.T) {
	design := mat.NewDense(1, 2, []float64{0.03, 0.04})
	columns := mat.NewDense(3, 2, []float64{0, 0, 1, 0, 1, 1})
	p := plant(rand.New(rand.NewPCG(7, 1)), design, columns, true)
	r := attackOn(t, p, Options{})
	if r.Proved || r.Solved != 0 || r.Rank != 1 {
		t.Errorf("proved %v, solved %v, rank %d", r.Proved, r.Solved, r.Rank)
	}
	// Row 1 is found as (0.36, 0.48), row 2 as (0.84, 1.12): errors of column 0 are 0.64 and 0.16.
	if want := math.Sqrt((0.64*0.64 + 0.16*0.16) / 3); math.Abs(r.Columns[0].RMS-want) > 1e-9 {
		t.Errorf("column 0 has RMS %v, want %v", r.Columns[0].RMS, want)
	}
}

// TestDuplicatedColumnsShareTheirDifference: of two columns with equal coefficients only the sum is determined.
func TestDuplicatedColumnsShareTheirDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	design := gaussian(rng, 80, 10, 4)
	for i := range 80 {
		design.Set(i, 9, design.At(i, 8))
	}
	x := mat.NewDense(200, 10, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return rng.Float64() }, x)
	r := attackOn(t, plant(rng, design, x, false), Options{})
	if r.Rank != 9 || r.Solved != 1 || r.RecoveredShare > 0.1 {
		t.Errorf("rank %d, solved %v, recovered %v", r.Rank, r.Solved, r.RecoveredShare)
	}
	if r.Columns[0].R2 < 0.9999 || r.Columns[8].R2 > 0.9 {
		t.Errorf("R2 is %v of a column that is determined and %v of one that is not", r.Columns[0].R2, r.Columns[8].R2)
	}
}

func TestConstantColumnsDoNotCount(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 1))
	x := mixed(rng, 100, 12)
	for j := range 100 {
		x.Set(j, 3, 0.7)
	}
	r := attackOn(t, plant(rng, gaussian(rng, 60, 12, 4), x, false), Options{})
	if !r.Columns[3].Constant || r.RecoveredShare != 1 {
		t.Errorf("column 3 is %+v, recovered %v", r.Columns[3], r.RecoveredShare)
	}
}

func TestRealRowsAreSolved(t *testing.T) {
	x := adult(t, 1000)
	_, columns := x.Dims()
	rng := rand.New(rand.NewPCG(10, 1))
	r := attackOn(t, plant(rng, gaussian(rng, 256, columns, 5.657), x, false), Options{})
	if r.RecoveredShare != 1 || r.RMS > 1e-4 {
		t.Errorf("solved %v, recovered %v, RMS %v", r.Solved, r.RecoveredShare, r.RMS)
	}
}

func TestMalformedSystemsAreRefused(t *testing.T) {
	good := func() System {
		return System{Design: mat.NewDense(2, 1, []float64{1, 2}), Rows: 2, Row: func(_ int, v []float64) { clear(v) }}
	}
	for _, tc := range []struct {
		spoil func(s *System)
		want  string
	}{
		{func(s *System) { s.Design = nil }, "difference attack: there is no design"},
		{func(s *System) { s.Rows = 1 }, "difference attack: 1 rows, want at least 2"},
		{func(s *System) { s.Row = nil }, "difference attack: there is no access to the values"},
		{func(s *System) { s.Noise = math.NaN() }, "difference attack: noise is NaN turns, want 0 to 0.015625"},
		{func(s *System) { s.Design.Set(1, 0, math.Inf(1)) }, "difference attack: coefficient of equation 1 and column 0 is +Inf, want a finite number"},
		{func(s *System) { s.Design.Zero() }, "difference attack: all coefficients are 0"},
		{func(s *System) { s.Row = func(_ int, v []float64) { v[1] = math.NaN() } }, "difference attack: value of row 0 and equation 1 is NaN, want a finite number"},
	} {
		s := good()
		tc.spoil(&s)
		_, err := Difference(context.Background(), s, Options{})
		if err == nil || err.Error() != tc.want {
			t.Errorf("got %v, want %s", err, tc.want)
		}
	}
}

func TestACancelledAttackEnds(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 1))
	p := plant(rng, gaussian(rng, 64, 10, 4), mixed(rng, 300, 10), false)
	ctx, cancel := context.WithCancel(context.Background())
	o := Options{Progress: func(int, int) { cancel() }}
	if _, err := Difference(ctx, p.System, o); err != context.Canceled {
		t.Errorf("got %v", err)
	}
}

// TestUnfoldSumsOverAllTurns holds the closed weights against a plain sum of densities.
func TestUnfoldSumsOverAllTurns(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.Float64Range(-2, 2).Draw(rt, "value")
		mean := rapid.Float64Range(-2, 2).Draw(rt, "mean")
		variance := rapid.Float64Range(1e-3, 0.3).Draw(rt, "variance")
		var total, first, second float64
		for k := -9.0; k <= 9; k++ {
			x := value + k
			w := math.Exp(-(x - mean) * (x - mean) / (2 * variance))
			total, first, second = total+w, first+w*x, second+w*x*x
		}
		m, v := unfold(value, mean, variance)
		if math.Abs(m-first/total) > 1e-6 || math.Abs(v-(second/total-first*first/total/total)) > 1e-6 {
			rt.Fatalf("got %v and %v, want %v and %v", m, v, first/total, second/total-first*first/total/total)
		}
	})
}

// TestSolveIsLeastSquares holds the solution against normal equations solved by elimination.
func TestSolveIsLeastSquares(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 2))
		columns := rapid.IntRange(1, 6).Draw(rt, "columns")
		equations := columns + rapid.IntRange(2, 9).Draw(rt, "spare")
		a, y := gaussian(rng, equations, columns, 1), make([]float64, equations)
		for i := range y {
			y[i] = rng.NormFloat64()
		}
		b, err := newBasis(a)
		must(rt, err)
		got := b.solve(mat.NewDense(1, equations, y)).RawRowView(0)
		for c, want := range eliminated(a, y) {
			if math.Abs(got[c]-want) > 1e-6*(1+math.Abs(want)) {
				rt.Fatalf("unknown %d is %v, want %v", c, got[c], want)
			}
		}
	})
}

// eliminated solves the normal equations by Gauss and Jordan's elimination.
func eliminated(a *mat.Dense, y []float64) []float64 {
	equations, n := a.Dims()
	m := make([][]float64, n)
	for r := range n {
		m[r] = make([]float64, n+1)
		for i := range equations {
			for c := range n {
				m[r][c] += a.At(i, r) * a.At(i, c)
			}
			m[r][n] += a.At(i, r) * y[i]
		}
	}
	for p := range n {
		for r := range n {
			if r == p {
				continue
			}
			f := m[r][p] / m[p][p]
			for c := range n + 1 {
				m[r][c] -= f * m[p][c]
			}
		}
	}
	x := make([]float64, n)
	for r := range n {
		x[r] = m[r][n] / m[r][r]
	}
	return x
}
