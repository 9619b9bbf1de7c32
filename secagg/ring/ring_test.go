package ring

import (
	"math/big"
	"os"
	"os/exec"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// words draws matrices of random words, of extremes, or of both.
func words[W Word](n int) *rapid.Generator[[]W] {
	extreme := rapid.SampledFrom([]W{0, 1, ^W(0) / 2, ^W(0)/2 + 1, ^W(0) - 1, ^W(0)})
	return rapid.SliceOfN(rapid.OneOf(extreme, rapid.Map(rapid.Uint64(), func(v uint64) W { return W(v) })), n, n)
}

// filled draws a matrix too large to be drawn word by word.
func filled[N int16 | int64 | uint32 | uint64](t *rapid.T, n int) []N {
	state, v := rapid.Uint64().Draw(t, "seed"), make([]N, n)
	for i := range v {
		state = state*6364136223846793005 + 1442695040888963407
		v[i] = N(state ^ state>>29)
	}
	return v
}

// The oracles are the definitions, one word after the other.

func slowMulVec[W Word](out, m, v []W) {
	for i := range out {
		for j := range v {
			out[i] += m[i*len(v)+j] * v[j]
		}
	}
}

func slowMulVecT[W Word](out, m, v []W) {
	for i := range v {
		for j := range out {
			out[j] += m[i*len(out)+j] * v[i]
		}
	}
}

func slowSquares[T total, N number](t []T, u []N, d int) {
	for r := 0; r < len(u); r += d {
		at := 0
		for i := range d {
			for j := i; j < d; j++ {
				t[at] += T(u[r+i]) * T(u[r+j])
				at++
			}
		}
	}
}

func same[T total](t *rapid.T, what string, got, want []T) {
	t.Helper()
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%s: word %d is %#x, want %#x", what, i, got[i], want[i])
		}
	}
}

// each runs a property of words of both lengths.
func each(t *testing.T, of32, of64 func(t *rapid.T)) {
	t.Run("32", func(t *testing.T) { rapid.Check(t, of32) })
	t.Run("64", func(t *testing.T) { rapid.Check(t, of64) })
}

// TestDotIsTheSumModuloAPowerOfTwo compares with integers of any size.
func TestDotIsTheSumModuloAPowerOfTwo(t *testing.T) { each(t, checkDot[uint32], checkDot[uint64]) }

func checkDot[W Word](t *rapid.T) {
	n := rapid.IntRange(0, 70).Draw(t, "n")
	x, y := words[W](n).Draw(t, "x"), words[W](n).Draw(t, "y")
	sum := new(big.Int)
	for i := range x {
		sum.Add(sum, new(big.Int).Mul(new(big.Int).SetUint64(uint64(x[i])), new(big.Int).SetUint64(uint64(y[i]))))
	}
	sum.And(sum, new(big.Int).SetUint64(uint64(^W(0))))
	if got := Dot(x, y); uint64(got) != sum.Uint64() {
		t.Fatalf("%d words: %#x, want %#x", n, got, sum)
	}
}

func TestProductsOfMatricesAndVectorsAreTheirDefinitions(t *testing.T) {
	each(t, checkProducts[uint32], checkProducts[uint64])
}

func checkProducts[W Word](t *rapid.T) {
	rows, d := rapid.IntRange(0, 12).Draw(t, "rows"), rapid.IntRange(0, 40).Draw(t, "d")
	workers := rapid.IntRange(1, 4).Draw(t, "workers")
	m, v, w := words[W](rows*d).Draw(t, "m"), words[W](d).Draw(t, "v"), words[W](rows).Draw(t, "w")

	got, want := slices.Clone(w), slices.Clone(w)
	slowMulVec(want, m, v)
	MulVec(got, m, v, workers)
	same(t, "MulVec", got, want)

	got, want = slices.Clone(v), slices.Clone(v)
	slowMulVecT(want, m, w)
	MulVecT(got, m, w, workers)
	same(t, "MulVecT", got, want)
}

// TestLargeProductsAreTheSameWithAnyWorkers is large enough for more than one goroutine.
func TestLargeProductsAreTheSameWithAnyWorkers(t *testing.T) {
	each(t, checkLargeProducts[uint32], checkLargeProducts[uint64])
}

func checkLargeProducts[W Word](t *rapid.T) {
	rows, d := rapid.IntRange(250, 600).Draw(t, "rows"), rapid.IntRange(100, 200).Draw(t, "d")
	m, v, w := filled[W](t, rows*d), filled[W](t, d), filled[W](t, rows)
	down, across := make([]W, rows), make([]W, d)
	slowMulVec(down, m, v)
	const n = 3 // vectors, of which the middle one is v
	other := filled[W](t, 2*d)
	several := slices.Concat(other[:d], v, other[d:])
	all := make([]W, n*rows)
	for i := range n {
		slowMulVec(all[i*rows:(i+1)*rows], m, several[i*d:(i+1)*d])
	}
	slowMulVecT(across, m, w)
	for workers := range 5 {
		got := make([]W, rows)
		MulVec(got, m, v, workers)
		same(t, "MulVec", got, down)
		got = make([]W, n*rows)
		MulVecs(got, m, several, n, workers)
		same(t, "MulVecs", got, all)
		got = make([]W, d)
		MulVecT(got, m, w, workers)
		same(t, "MulVecT", got, across)
	}
}

func TestColumnsAreAdded(t *testing.T) { each(t, checkColumns[uint32], checkColumns[uint64]) }

func checkColumns[W Word](t *rapid.T) {
	rows, d := rapid.IntRange(0, 11).Draw(t, "rows"), rapid.IntRange(0, 40).Draw(t, "d")
	m, out := words[W](rows*d).Draw(t, "m"), words[W](d).Draw(t, "out")
	want, ones := slices.Clone(out), slices.Repeat([]W{1}, rows)
	slowMulVecT(want, m, ones)
	AddColumns(out, m)
	same(t, "AddColumns", out, want)
}

func TestSquaresAreTheirDefinition(t *testing.T) {
	small := func(t *rapid.T) (rows, d int) {
		return rapid.IntRange(0, 20).Draw(t, "rows"), rapid.IntRange(1, 37).Draw(t, "d")
	}
	each(t, func(t *rapid.T) {
		rows, d := small(t)
		checkSquares(t, words[uint32](rows*d).Draw(t, "u"), d, AddSquares)
	}, func(t *rapid.T) {
		rows, d := small(t)
		checkSquares(t, words[uint64](rows*d).Draw(t, "u"), d, AddSquares)
	})
	t.Run("16", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, d := small(t)
			n := rapid.Int16Range(-MaxNumber16, MaxNumber16)
			checkSquares(t, rapid.SliceOfN(n, rows*d, rows*d).Draw(t, "u"), d, AddSquares16)
		})
	})
}

// TestLargeSquaresAreTheirDefinition has more than one block and more than one chunk of rows.
func TestLargeSquaresAreTheirDefinition(t *testing.T) {
	large := func(t *rapid.T) (rows, d int) {
		return rapid.IntRange(1, 290).Draw(t, "rows"), rapid.IntRange(60, 180).Draw(t, "d")
	}
	each(t, func(t *rapid.T) {
		rows, d := large(t)
		checkSquares(t, filled[uint32](t, rows*d), d, AddSquares)
	}, func(t *rapid.T) {
		rows, d := large(t)
		checkSquares(t, filled[uint64](t, rows*d), d, AddSquares)
	})
	t.Run("16", func(t *testing.T) {
		rapid.Check(t, func(t *rapid.T) {
			rows, d := large(t)
			u := filled[int16](t, rows*d)
			for i := range u {
				u[i] %= MaxNumber16 + 1
			}
			checkSquares(t, u, d, AddSquares16)
		})
	})
}

// TestTheLargestNumbersOf16BitsFit has sums that are as far from zero as they can be.
func TestTheLargestNumbersOf16BitsFit(t *testing.T) {
	const rows, d = 2000, 18
	u := slices.Repeat([]int16{MaxNumber16}, rows*d)
	for i := range u {
		if i%d%2 == 1 {
			u[i] = -MaxNumber16
		}
	}
	got := make([]int64, d*(d+1)/2)
	AddSquares16(got, u, d, 1)
	for i := range d {
		for j := i; j < d; j++ {
			want := int64(rows * MaxNumber16 * MaxNumber16)
			if (i+j)%2 == 1 {
				want = -want
			}
			if sum := got[PairIndex(i, j, d)]; sum != want {
				t.Errorf("entry (%d, %d) is %d, want %d", i, j, sum, want)
			}
		}
	}
}

// FuzzSquares has matrices of any shape, and as many rows as several panels have.
func FuzzSquares(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18}, uint16(1100), uint8(17), uint8(2))
	f.Add([]byte{0xff, 0, 0x80, 0x7f}, uint16(511), uint8(1), uint8(1))
	f.Add([]byte{0, 8, 0, 0xf8}, uint16(1021), uint8(33), uint8(3))
	f.Fuzz(func(t *testing.T, from []byte, rows uint16, columns, workers uint8) {
		d, n := 1+int(columns)%40, int(rows)%1200
		d32, d64, d16 := make([]uint32, n*d), make([]uint64, n*d), make([]int16, n*d)
		state := uint64(len(from))
		for i := range d64 {
			if len(from) > 0 {
				state = state<<8 ^ state>>56 ^ uint64(from[i%len(from)])
			}
			d64[i], d32[i], d16[i] = state, uint32(state>>16), int16(state)%(MaxNumber16+1)
		}
		compareSquares(t, d64, d, int(workers%4), AddSquares)
		compareSquares(t, d32, d, int(workers%4), AddSquares)
		compareSquares(t, d16, d, int(workers%4), AddSquares16)
	})
}

// compareSquares holds the fastest squares against those in plain Go.
func compareSquares[T total, N number](t *testing.T, u []N, d, workers int, add func(t []T, u []N, d, workers int)) {
	got, want := make([]T, d*(d+1)/2), make([]T, d*(d+1)/2)
	plainSquares(want, u, d, 1)
	add(got, u, d, workers)
	if !slices.Equal(got, want) {
		t.Errorf("%d columns of %T: the fastest sums are not those of plain Go", d, u)
	}
}

// TestInstructionsCanBeSwitchedOff starts this test again without vector instructions.
func TestInstructionsCanBeSwitchedOff(t *testing.T) {
	if os.Getenv("PLAIN") != "" {
		if got := Instructions(); got != plainGo {
			t.Errorf("sums are computed with %s, want %s", got, plainGo)
		}
		return
	}
	again := exec.Command(os.Args[0], "-test.run", "^TestInstructionsCanBeSwitchedOff$")
	again.Env = append(os.Environ(), "PLAIN=yes", "GODEBUG=cpu.avx2=off")
	if out, err := again.CombinedOutput(); err != nil {
		t.Errorf("without AVX2: %v\n%s", err, out)
	}
}

// checkSquares adds the squares of a matrix to some triangle, with every kernel.
func checkSquares[T total, N number](t *rapid.T, u []N, d int, add func(t []T, u []N, d, workers int)) {
	t.Helper()
	before := filled[T](t, d*(d+1)/2)
	want, plain := slices.Clone(before), slices.Clone(before)
	slowSquares(want, u, d)
	workers := rapid.IntRange(1, 4).Draw(t, "workers")
	plainSquares(plain, u, d, workers)
	same(t, "plain Go", plain, want)
	add(before, u, d, workers)
	same(t, "the fastest", before, want)
}

func TestNothingIsAddedOfEmptyMatrices(t *testing.T) {
	if got := Dot[uint64](nil, nil); got != 0 {
		t.Errorf("no product is %d, want 0", got)
	}
	MulVec[uint64](nil, nil, nil, 0)
	MulVecT[uint32](nil, nil, nil, 0)
	AddColumns[uint32](nil, nil)
	AddSquares[uint32](nil, nil, 0, 1)
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
