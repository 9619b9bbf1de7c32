//go:build unix

package ring

import (
	"fmt"
	"math"
	"syscall"
	"testing"
	"time"
)

// benchmarkRows is how many rows one call takes: a block of the sealed mode.
const benchmarkRows = 512

// numbers are words that no branch or multiplier could find easy.
func numbers(n int) []uint64 {
	v, state := make([]uint64, n), uint64(n)
	for i := range v {
		state = state*6364136223846793005 + 1442695040888963407
		v[i] = state
	}
	return v
}

// BenchmarkAddSquares counts the d (d + 1) / 2 products of a row. Its figure is for a second of the processor, in the
// call that took least of it: other programs on the machine hardly change it.
func BenchmarkAddSquares(b *testing.B) {
	for _, d := range []int{512, 1024, 2048} {
		for _, workers := range []int{1, 2} {
			name := fmt.Sprintf("%d/workers=%d", d, workers)
			u := numbers(benchmarkRows * d)
			words, small := make([]uint32, len(u)), make([]int16, len(u))
			for i, v := range u {
				words[i], small[i] = uint32(v>>32), int16(v>>32)%MaxNumber16
			}
			b.Run("16/"+name, func(b *testing.B) { benchmarkSquares(b, AddSquares16, small, d, workers) })
			b.Run("16plain/"+name, func(b *testing.B) { benchmarkSquares(b, plainSquares[int64], small, d, workers) })
			b.Run("32/"+name, func(b *testing.B) { benchmarkSquares(b, AddSquares, words, d, workers) })
			b.Run("32plain/"+name, func(b *testing.B) { benchmarkSquares(b, plainSquares[uint32], words, d, workers) })
			b.Run("64/"+name, func(b *testing.B) { benchmarkSquares(b, AddSquares, u, d, workers) })
			b.Run("64plain/"+name, func(b *testing.B) { benchmarkSquares(b, plainSquares[uint64], u, d, workers) })
		}
	}
}

func benchmarkSquares[T total, N number](b *testing.B, add func(t []T, u []N, d, workers int), u []N, d, workers int) {
	t := make([]T, d*(d+1)/2)
	least := time.Duration(math.MaxInt64)
	for b.Loop() {
		began := processor(b)
		add(t, u, d, workers)
		least = min(least, processor(b)-began)
	}
	const each = benchmarkRows / 1e9
	b.ReportMetric(each*float64(d*(d+1)/2)/least.Seconds(), "Gmuladd/CPU-s")
}

// processor returns the processor time that this process has taken.
func processor(b *testing.B) time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// The matrix of the next three is 256 MiB, more than any cache holds.
const (
	tallRows    = 1 << 15
	tallColumns = 1 << 10
)

func BenchmarkMulVec(b *testing.B) {
	m, v, out := numbers(tallRows*tallColumns), numbers(tallColumns), make([]uint64, tallRows)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.SetBytes(8 * tallRows * tallColumns)
			for b.Loop() {
				MulVec(out, m, v, workers)
			}
		})
	}
}

// BenchmarkMulVecs is three vectors, whose time is held against that of BenchmarkMulVec.
func BenchmarkMulVecs(b *testing.B) {
	const n = 3
	m, v, out := numbers(tallRows*tallColumns), numbers(n*tallColumns), make([]uint64, n*tallRows)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.SetBytes(8 * tallRows * tallColumns)
			for b.Loop() {
				MulVecs(out, m, v, n, workers)
			}
		})
	}
}

func BenchmarkMulVecT(b *testing.B) {
	m, v, out := numbers(tallRows*tallColumns), numbers(tallRows), make([]uint64, tallColumns)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.SetBytes(8 * tallRows * tallColumns)
			for b.Loop() {
				MulVecT(out, m, v, workers)
			}
		})
	}
}

// BenchmarkCopy is what MulVec and MulVecT are held against: the bytes read by a copy of the same matrix.
func BenchmarkCopy(b *testing.B) {
	m, out := numbers(tallRows*tallColumns), make([]uint64, tallRows*tallColumns)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			b.SetBytes(8 * tallRows * tallColumns)
			for b.Loop() {
				split(len(m), 8, workers, func(from, to int) { copy(out[from:to], m[from:to]) })
			}
		})
	}
}

func BenchmarkAddColumns(b *testing.B) {
	m, out := numbers(benchmarkRows*tallColumns), make([]uint64, tallColumns)
	b.SetBytes(8 * benchmarkRows * tallColumns)
	for b.Loop() {
		AddColumns(out, m)
	}
}

func BenchmarkDot(b *testing.B) {
	x, y := numbers(tallColumns), numbers(tallColumns)
	b.SetBytes(16 * tallColumns)
	var sum uint64
	for b.Loop() {
		sum += Dot(x, y)
	}
	if sum == 1 {
		b.Log("the sum is used")
	}
}
