package ring

import (
	"math/big"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words draws matrices of random words, of extremes, or of both.
func words(n int) *rapid.Generator[[]uint64] {
	extreme := rapid.SampledFrom([]uint64{0, 1, 1<<63 - 1, 1 << 63, 1<<64 - 2, 1<<64 - 1})
	return rapid.SliceOfN(rapid.OneOf(extreme, rapid.Uint64()), n, n)
}

// filled draws a matrix too large to be drawn word by word.
func filled(t *rapid.T, n int) []uint64 {
	state, v := rapid.Uint64().Draw(t, "seed"), make([]uint64, n)
	for i := range v {
		state = state*6364136223846793005 + 1442695040888963407
		v[i] = state ^ state>>29
	}
	return v
}

// The oracles are the definitions, one word after the other.

func slowMulVec(out, m, v []uint64) {
	for i := range out {
		for j := range v {
			out[i] += m[i*len(v)+j] * v[j]
		}
	}
}

func slowMulVecT(out, m, v []uint64) {
	for i := range v {
		for j := range out {
			out[j] += m[i*len(out)+j] * v[i]
		}
	}
}

func slowSquares(t, u []uint64, d int) {
	for r := 0; r < len(u); r += d {
		at := 0
		for i := range d {
			for j := i; j < d; j++ {
				t[at] += u[r+i] * u[r+j]
				at++
			}
		}
	}
}

func same(t *rapid.T, got, want []uint64) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("word %d is %#x, want %#x", i, got[i], want[i])
		}
	}
}

// TestDotIsTheSumModulo2To64 compares with integers of any size.
func TestDotIsTheSumModulo2To64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 70).Draw(t, "n")
		x, y := words(n).Draw(t, "x"), words(n).Draw(t, "y")
		sum := new(big.Int)
		for i := range x {
			sum.Add(sum, new(big.Int).Mul(new(big.Int).SetUint64(x[i]), new(big.Int).SetUint64(y[i])))
		}
		sum.And(sum, new(big.Int).SetUint64(1<<64-1))
		for _, k := range kinds() {
			if got := k.dot(x, y); got != sum.Uint64() {
				t.Fatalf("%d words: %#x, want %#x", n, got, sum)
			}
		}
		if Dot(x, y) != sum.Uint64() {
			t.Fatal("Dot is not its kernel")
		}
	})
}

func TestProductsOfMatricesAndVectorsAreTheirDefinitions(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, d := rapid.IntRange(0, 12).Draw(t, "rows"), rapid.IntRange(0, 40).Draw(t, "d")
		workers := rapid.IntRange(1, 4).Draw(t, "workers")
		m, v, w := words(rows*d).Draw(t, "m"), words(d).Draw(t, "v"), words(rows).Draw(t, "w")

		got, want := slices.Clone(w), slices.Clone(w)
		slowMulVec(want, m, v)
		MulVec(got, m, v, workers)
		same(t, got, want)

		got, want = slices.Clone(v), slices.Clone(v)
		slowMulVecT(want, m, w)
		MulVecT(got, m, w, workers)
		same(t, got, want)
		for _, k := range kinds() {
			got = slices.Clone(v)
			mulColumns(k, got, m, w, 0, d)
			same(t, got, want)
			got, want := slices.Clone(w), slices.Clone(w)
			slowMulVec(want, m, v)
			mulRows(k, got, m, v)
			same(t, got, want)
		}
	})
}

// TestLargeProductsAreTheSameWithAnyWorkers is large enough for more than one goroutine.
func TestLargeProductsAreTheSameWithAnyWorkers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, d := rapid.IntRange(250, 600).Draw(t, "rows"), rapid.IntRange(100, 200).Draw(t, "d")
		m, v, w := filled(t, rows*d), filled(t, d), filled(t, rows)
		down, across := make([]uint64, rows), make([]uint64, d)
		slowMulVec(down, m, v)
		const n = 3 // vectors, of which the middle one is v
		other := filled(t, 2*d)
		several := slices.Concat(other[:d], v, other[d:])
		all := make([]uint64, n*rows)
		for i := range n {
			slowMulVec(all[i*rows:(i+1)*rows], m, several[i*d:(i+1)*d])
		}
		slowMulVecT(across, m, w)
		for workers := range 5 {
			got := make([]uint64, rows)
			MulVec(got, m, v, workers)
			same(t, got, down)
			got = make([]uint64, n*rows)
			MulVecs(got, m, several, n, workers)
			same(t, got, all)
			got = make([]uint64, d)
			MulVecT(got, m, w, workers)
			same(t, got, across)
		}
	})
}

func TestColumnsAreAdded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, d := rapid.IntRange(0, 11).Draw(t, "rows"), rapid.IntRange(0, 40).Draw(t, "d")
		m, out := words(rows*d).Draw(t, "m"), words(d).Draw(t, "out")
		want, ones := slices.Clone(out), slices.Repeat([]uint64{1}, rows)
		slowMulVecT(want, m, ones)
		AddColumns(out, m)
		same(t, out, want)
	})
}

func TestSquaresAreTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, d := rapid.IntRange(0, 20).Draw(t, "rows"), rapid.IntRange(1, 37).Draw(t, "d")
		checkSquares(t, words(rows*d).Draw(t, "u"), d)
	})
}

// TestLargeSquaresAreTheirDefinition has more than one block and more than one chunk of rows.
func TestLargeSquaresAreTheirDefinition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows, d := rapid.IntRange(1, 290).Draw(t, "rows"), rapid.IntRange(60, 180).Draw(t, "d")
		checkSquares(t, filled(t, rows*d), d)
	})
}

// checkSquares adds the squares of a matrix to some triangle, with every kernel.
func checkSquares(t *rapid.T, u []uint64, d int) {
	t.Helper()
	before := filled(t, d*(d+1)/2)
	want := slices.Clone(before)
	slowSquares(want, u, d)
	workers := rapid.IntRange(1, 4).Draw(t, "workers")
	for _, k := range kinds() {
		got := slices.Clone(before)
		addSquares(k, got, u, d, workers)
		same(t, got, want)
	}
	AddSquares(before, u, d, workers)
	same(t, before, want)
}

func TestNothingIsAddedOfEmptyMatrices(t *testing.T) {
	if got := Dot(nil, nil); got != 0 {
		t.Errorf("no product is %d, want 0", got)
	}
	MulVec(nil, nil, nil, 0)
	MulVecT(nil, nil, nil, 0)
	AddColumns(nil, nil)
	AddSquares(nil, nil, 0, 1)
	out := []uint64{5, 6, 7}
	MulVec(out, nil, nil, 3)
	MulVecT(out, nil, nil, 3)
	AddColumns(out, nil)
	AddSquares(out, nil, 2, 3)
	if !slices.Equal(out, []uint64{5, 6, 7}) {
		t.Errorf("empty matrices changed a sum to %v", out)
	}
}

func TestPairIndexCountsTheUpperTriangle(t *testing.T) {
	for _, d := range []int{1, 2, 7} {
		want := 0
		for i := range d {
			for j := i; j < d; j++ {
				if got := PairIndex(i, j, d); got != want {
					t.Errorf("entry (%d, %d) of %d columns is at %d, want %d", i, j, d, got, want)
				}
				want++
			}
		}
	}
}

// TestRangesCoverEveryRowOnce holds split to its promise for any number of workers.
func TestRangesCoverEveryRowOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, unit := rapid.IntRange(0, 50).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "unit")
		seen := make([]int, n)
		split(n, unit, rapid.IntRange(1, 9).Draw(t, "workers"), func(from, to int) {
			for i := from; i < to; i++ {
				seen[i]++
			}
		})
		if slices.ContainsFunc(seen, func(times int) bool { return times != 1 }) {
			t.Fatalf("rows were taken %v times, want each once", seen)
		}
	})
}
