package ring

import (
	"fmt"
	"testing"
)

// benchmarkRows is how many rows one call takes: a block of the sealed mode.
const benchmarkRows = 512

// perSecond reports multiply-adds of the definition, in units of 10^9 per second.
func perSecond(b *testing.B, each int) {
	b.ReportMetric(float64(b.N)*float64(each)/1e9/b.Elapsed().Seconds(), "Gmuladd/s")
}

// numbers are words that no branch or multiplier could find easy.
func numbers(n int) []uint64 {
	v, state := make([]uint64, n), uint64(n)
	for i := range v {
		state = state*6364136223846793005 + 1442695040888963407
		v[i] = state
	}
	return v
}

// BenchmarkAddSquares counts the d (d + 1) / 2 products of a row.
func BenchmarkAddSquares(b *testing.B) {
	for _, d := range []int{512, 1024, 2048} {
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d/workers=%d", d, workers), func(b *testing.B) {
				t, u := make([]uint64, d*(d+1)/2), numbers(benchmarkRows*d)
				for b.Loop() {
					AddSquares(t, u, d, workers)
				}
				perSecond(b, benchmarkRows*d*(d+1)/2)
			})
		}
	}
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
