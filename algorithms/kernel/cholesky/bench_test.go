package cholesky

import (
	"fmt"
	"math"
	"testing"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// BenchmarkFactorise counts rows^3 / 3 operations; so it does for gonum beside it, which takes all cores.
func BenchmarkFactorise(b *testing.B) {
	for _, rows := range []int{1024, 2048, 4096} {
		a := make([]float64, rows*rows)
		entries := func(i int, row []float64) {
			for j := range row {
				row[j] = math.Sin(float64(j*(i+1))) / float64(rows)
			}
			row[0] += 2
		}
		row := make([]float64, rows)
		for i := range rows {
			entries(i, row[i:])
			for j := i; j < rows; j++ {
				a[j*rows+i] = row[j]
			}
		}
		report := func(b *testing.B) {
			b.ReportMetric(math.Pow(float64(rows), 3)/3*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
		}
		m, filled := New(rows), New(rows)
		filled.Fill(2, entries)
		for _, workers := range []int{1, 2} {
			b.Run(fmt.Sprintf("%d/workers=%d", rows, workers), func(b *testing.B) {
				for b.Loop() {
					copy(m.panels, filled.panels)
					m.Factorise(workers)
				}
				report(b)
			})
		}
		b.Run(fmt.Sprintf("%d/gonum", rows), func(b *testing.B) {
			lower := blas64.Symmetric{Uplo: blas.Lower, N: rows, Stride: rows, Data: make([]float64, rows*rows)}
			for b.Loop() {
				copy(lower.Data, a)
				lapack64.Potrf(lower)
			}
			report(b)
		})
		b.Run(fmt.Sprintf("%d/Solve", rows), func(b *testing.B) {
			x := make([]float64, rows)
			for b.Loop() {
				m.Solve(x)
			}
		})
	}
}
