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
	g, err := NewGram(Cosines(), features)
	must(t, err)
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
	table := Cosines()
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(2, 300).Draw(t, "rows"), 2*rapid.IntRange(1, 20).Draw(t, "angles")
		lambda := math.Pow(10, rapid.Float64Range(-4, 1).Draw(t, "log lambda"))
		turns, y := randomTurns(n*d/2), randomNumbers(3, n)
		for i := range y {
			y[i] += 5
		}
		g, err := NewGram(table, d)
		must(t, err)
		must(t, g.Add(turns, y, 2))
		got, err := g.Solve(lambda, 2)
		must(t, err)
		phi := make([]float64, n*d)
		for i, turn := range turns {
			phi[2*i] = math.Sqrt2 * math.RoundToEven(2048*Cosine(turn)) / 2048
			phi[2*i+1] = math.Sqrt2 * math.RoundToEven(2048*Sine(turn)) / 2048
		}
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
	table := Cosines()
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(2, 600).Draw(t, "rows"), 2*rapid.IntRange(1, 40).Draw(t, "angles")
		cuts := rapid.SliceOfN(rapid.IntRange(0, n), 0, 5).Draw(t, "cuts")
		slices.Sort(cuts)
		turns, y := randomTurns(n*d/2), randomNumbers(3, n)
		solve := func(cuts []int, workers int) []float64 {
			g, err := NewGram(table, d)
			must(t, err)
			lo := 0
			for _, hi := range append(cuts, n) {
				must(t, g.Add(turns[lo*d/2:hi*d/2], y[lo:hi], workers))
				if g.Rows() > 2 {
					if _, err := g.Solve(1, workers); err != nil {
						t.Fatal(err)
					}
				}
				lo = hi
			}
			r, err := g.Solve(1e-3, workers)
			must(t, err)
			return append(r.Alpha, r.Intercept)
		}
		if !slices.Equal(solve(nil, 1), solve(slices.Clone(cuts), 3)) {
			t.Fatalf("rows cut at %v by three workers give other coefficients", cuts)
		}
	})
}

func TestGramRefuses(t *testing.T) {
	g := mustGram(t, 6)
	_, none := NewGram(nil, 0)
	_, odd := NewGram(nil, 7)
	_, early := g.Solve(1, 1)
	must(t, g.Add(make([]uint16, 6), []float64{1, 2}, 1))
	_, lambda := g.Solve(0, 1)
	wide := mustGram(t, 20)
	must(t, wide.Add(randomTurns(5*10), randomNumbers(1, 5), 1))
	_, singular := wide.Solve(1e-300, 1)
	tests := []struct {
		err  error
		want string
	}{
		{none, `0 features are out of range for the normal equations: want an even number from 2 to 16384`},
		{odd, `7 features are out of range for the normal equations: want an even number from 2 to 16384`},
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

// TestRightSidesAreSolvedApart adds rows in pieces with several right sides: each has the bits that it has alone.
func TestRightSidesAreSolvedApart(t *testing.T) {
	table := Cosines()
	rapid.Check(t, func(t *rapid.T) {
		n, d := rapid.IntRange(2, 400).Draw(t, "rows"), 2*rapid.IntRange(1, 35).Draw(t, "angles")
		sides, cut := rapid.IntRange(1, 7).Draw(t, "sides"), rapid.IntRange(0, n).Draw(t, "cut")
		turns, labels := randomTurns(n*d/2), randomNumbers(3, n*sides)
		all, err := NewGramOf(table, d, sides)
		must(t, err)
		for _, part := range [][2]int{{0, cut}, {cut, n}} {
			must(t, all.Add(turns[part[0]*d/2:part[1]*d/2], labels[part[0]*sides:part[1]*sides], 2))
		}
		got, err := all.SolveEach(1e-3, 2)
		if err != nil || len(got) != sides || all.Rows() != n {
			t.Fatalf("%d solutions of %d rows: %v", len(got), all.Rows(), err)
		}
		for side, r := range got {
			alone, err := NewGram(table, d)
			must(t, err)
			own := make([]float64, n)
			for row := range own {
				own[row] = labels[row*sides+side]
			}
			must(t, alone.Add(turns, own, 1))
			want, err := alone.Solve(1e-3, 1)
			must(t, err)
			if !slices.Equal(r.Alpha, want.Alpha) || r.Intercept != want.Intercept {
				t.Fatalf("right side %d of %d has other coefficients than alone", side+1, sides)
			}
		}
	})
}

// TestGramIsWhatItsRowsAre adds rows in another order, in runs whose words are added up, and with rows that are taken
// out and put back: words, solution and squared errors have the same bits, and the errors are those of the rows.
func TestGramIsWhatItsRowsAre(t *testing.T) {
	table := Cosines()
	rapid.Check(t, func(t *rapid.T) {
		n, each := rapid.IntRange(4, 300).Draw(t, "rows"), rapid.IntRange(1, 20).Draw(t, "angles")
		sides, d := rapid.IntRange(1, 3).Draw(t, "sides"), 2*each
		turns, labels := randomTurns(n*each), randomNumbers(rapid.Uint64().Draw(t, "labels"), n*sides)
		order := rapid.Permutation(rowNumbers(n)).Draw(t, "order")
		add := func(g *Gram, rows []int) *Gram {
			for _, j := range rows {
				must(t, g.Add(turns[j*each:(j+1)*each], labels[j*sides:(j+1)*sides], 1))
			}
			return g
		}
		empty := func() *Gram {
			g, err := NewGramOf(table, d, sides)
			must(t, err)
			return g
		}
		whole := add(empty(), rowNumbers(n))
		want := whole.Words(1)
		if len(want) != GramWords(d, sides) {
			t.Fatalf("%d words, want %d", len(want), GramWords(d, sides))
		}
		summed := empty()
		for lo := 0; lo < n; {
			hi := rapid.IntRange(lo+1, n).Draw(t, "end")
			must(t, summed.AddWords(add(empty(), order[lo:hi]).Words(2), 1))
			lo = hi
		}
		out := add(empty(), order[:n/2])
		whole.Remove(out, 2)
		rest := add(empty(), order[n/2:])
		if !slices.Equal(whole.Words(1), rest.Words(1)) {
			t.Fatal("without some rows there is something else than the others")
		}
		whole.Merge(out, 2)
		for name, g := range map[string]*Gram{"runs in another order": summed, "taken out and put back": whole} {
			if !slices.Equal(g.Words(1), want) || g.Rows() != n {
				t.Fatalf("%s: other words than of all rows, or %d rows in place of %d", name, g.Rows(), n)
			}
		}
		first, err := whole.SolveEach(1e-3, 1)
		must(t, err)
		again, err := summed.SolveEach(1e-3, 2)
		must(t, err)
		for side, f := range first {
			if !slices.Equal(f.Alpha, again[side].Alpha) || f.Intercept != again[side].Intercept {
				t.Fatal("the solution is another one")
			}
			var squares, errors float64
			for j := range n {
				y, score := labels[j*sides+side], f.Intercept
				for i, turn := range turns[j*each : (j+1)*each] {
					score += math.Sqrt2 * math.RoundToEven(2048*Cosine(turn)) / 2048 * f.Alpha[2*i]
					score += math.Sqrt2 * math.RoundToEven(2048*Sine(turn)) / 2048 * f.Alpha[2*i+1]
				}
				squares += y * y
				errors += (score - y) * (score - y)
			}
			got := whole.SquaredErrors(side, f, squares, 1)
			if math.Abs(got-errors) > 1e-9*squares {
				t.Fatalf("squared errors are %v, of the rows %v", got, errors)
			}
			if got != summed.SquaredErrors(side, f, squares, 3) {
				t.Fatal("squared errors depend on workers")
			}
		}
	})
}

// rowNumbers are the numbers of n rows.
func rowNumbers(n int) []int {
	rows := make([]int, n)
	for i := range rows {
		rows[i] = i
	}
	return rows
}

// TestLabelsAreTwoDigits, which give the label back to 2^-41.
func TestLabelsAreTwoDigits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		y := rapid.Float64Range(-1e6, 1e6).Draw(t, "label")
		d := digits(y)
		back := float64(d[0])/(1<<labelBits) + float64(d[1])/(1<<(2*labelBits))
		if math.Abs(back-y) > 0x1p-41+math.Abs(y)*0x1p-53 || d[1] < -1<<(labelBits-1) || d[1] > 1<<(labelBits-1) {
			t.Fatalf("%v has the digits %v, which are %v", y, d, back)
		}
	})
	for _, y := range []float64{-1, 0, 1} {
		if d := digits(y); d != [2]int64{int64(y) << labelBits, 0} {
			t.Errorf("%v has the digits %v", y, d)
		}
	}
}

// TestGramRefusesSums that could pass 64 bits, or are of another shape.
func TestGramRefusesSums(t *testing.T) {
	g := mustGram(t, 6)
	must(t, g.Add(make([]uint16, 6), []float64{1 << 30, -1 << 29}, 1))
	words := g.Words(1)
	for _, y := range []float64{1 << 29, 1e300} {
		wantError(t, g.Add(make([]uint16, 3), []float64{y}, 1), `the labels' sizes add up to 2.15e+09 or more: want less`)
	}
	wantError(t, g.AddWords(words, 1), `sums of 2 rows, whose labels' sizes add up to 1.61e+09: out of range`)
	wantError(t, g.AddWords(words[1:], 1), `42 words of sums, want 43 for 6 features and 1 right sides`)
	words[27] = 1 << 40 // what the column of ones adds up to
	wantError(t, mustGram(t, 6).AddWords(words, 1),
		`sums of 1099511627776 rows, whose labels' sizes add up to 1.61e+09: out of range`)
	if !slices.Equal(g.Words(1)[:27], words[:27]) || g.Rows() != 2 {
		t.Error("what was refused was added")
	}
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
