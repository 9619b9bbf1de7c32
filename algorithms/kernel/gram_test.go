package kernel

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func mustGram(t testing.TB, features int) *Gram {
	t.Helper()
	g, err := NewGram(NewTable(), features)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// ridgeByQR is the oracle: least squares on [Phi, 1] with rows sqrt(N lambda) I below.
func ridgeByQR(phi, y []float64, d int, lambda float64) []float64 {
	n := len(y)
	a, b := mat.NewDense(n+d, d+1, nil), mat.NewVecDense(n+d, nil)
	for r := range n {
		a.SetRow(r, append(slices.Clone(phi[r*d:(r+1)*d]), 1))
		b.SetVec(r, y[r])
	}
	for i := range d {
		a.Set(n+i, i, math.Sqrt(float64(n)*lambda))
	}
	var x mat.VecDense
	if err := x.SolveVec(a, b); err != nil {
		panic(err)
	}
	return x.RawVector().Data
}

func TestRidgeMatchesLeastSquares(t *testing.T) {
	table := NewTable()
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(2, 300).Draw(t, "rows"), rapid.IntRange(1, 40).Draw(t, "features")
		lambda := math.Pow(10, rapid.Float64Range(-4, 1).Draw(t, "log lambda"))
		turns, y := randomTurns(n*d), randomNumbers(3, n)
		for i := range y {
			y[i] += 5
		}
		g, err := NewGram(table, d)
		if err != nil {
			t.Fatal(err)
		}
		if err := g.Add(turns, y, 2); err != nil {
			t.Fatal(err)
		}
		got, err := g.Solve(lambda, 2)
		if err != nil {
			t.Fatal(err)
		}
		phi := make([]float64, n*d)
		table.Features64(phi, turns)
		want := ridgeByQR(phi, y, d, lambda)
		for i, v := range append(slices.Clone(got.Alpha), got.Intercept) {
			if math.Abs(v-want[i]) > 1e-8*(1+math.Abs(want[i])) {
				t.Fatalf("coefficient %d is %v, want %v", i, v, want[i])
			}
		}
	})
}

// TestGramDoesNotDependOnBlocks adds the same rows whole, in pieces with a Solve between, and
// with more workers: all bits agree.
func TestGramDoesNotDependOnBlocks(t *testing.T) {
	table := NewTable()
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(2, 600).Draw(t, "rows"), rapid.IntRange(1, 80).Draw(t, "features")
		cuts := rapid.SliceOfN(rapid.IntRange(0, n), 0, 5).Draw(t, "cuts")
		slices.Sort(cuts)
		turns, y := randomTurns(n*d), randomNumbers(3, n)
		solve := func(cuts []int, workers int) []float64 {
			g, err := NewGram(table, d)
			if err != nil {
				t.Fatal(err)
			}
			lo := 0
			for _, hi := range append(cuts, n) {
				if err := g.Add(turns[lo*d:hi*d], y[lo:hi], workers); err != nil {
					t.Fatal(err)
				}
				if g.Rows() > 2 {
					if _, err := g.Solve(1, workers); err != nil {
						t.Fatal(err)
					}
				}
				lo = hi
			}
			r, err := g.Solve(1e-3, workers)
			if err != nil {
				t.Fatal(err)
			}
			return append(r.Alpha, r.Intercept)
		}
		if !slices.Equal(solve(nil, 1), solve(slices.Clone(cuts), 3)) {
			t.Fatalf("rows cut at %v by three workers give other coefficients", cuts)
		}
	})
}

func TestGramRefuses(t *testing.T) {
	g := mustGram(t, 3)
	_, none := NewGram(nil, 0)
	_, early := g.Solve(1, 1)
	if err := g.Add(make([]uint16, 6), []float64{1, 2}, 1); err != nil {
		t.Fatal(err)
	}
	_, lambda := g.Solve(0, 1)
	wide := mustGram(t, 20)
	if err := wide.Add(randomTurns(5*20), randomNumbers(1, 5), 1); err != nil {
		t.Fatal(err)
	}
	_, singular := wide.Solve(1e-300, 1)
	tests := []struct {
		err  error
		want string
	}{
		{none, `0 features are out of range for the normal equations: want 1 to 16384`},
		{early, `0 rows are too few to fit anything: want at least two`},
		{lambda, `lambda is 0: want a positive number`},
		{singular, `the normal equations are not positive definite at lambda 1e-300: raise lambda`},
		{g.Add(make([]uint16, 5), []float64{1, 2}, 1), `there are 5 angles for 2 labels: want 3 for each`},
		{g.Add(make([]uint16, 6), []float64{1, math.NaN()}, 1), `label 2 is NaN: want a finite number`},
	}
	for _, test := range tests {
		wantError(t, test.err, test.want)
	}
}
