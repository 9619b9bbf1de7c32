package rivals

import (
	"context"
	"fmt"
	"math"
)

// KernelMatrix holds K(x_i, x_j) of all pairs of rows.
type KernelMatrix struct {
	n      int
	values []float32 // [n][n], symmetric
}

// kernelCell is the bytes of one entry of a KernelMatrix.
const kernelCell = 4

// MatrixBytes returns what the kernel matrix of so many rows takes.
func MatrixBytes(rows int) int64 { return kernelCell * int64(rows) * int64(rows) }

// Len returns the number of rows.
func (k *KernelMatrix) Len() int { return k.n }

// Row returns the kernel of row i with every row.
func (k *KernelMatrix) Row(i int) []float32 { return k.values[i*k.n : (i+1)*k.n] }

// sumWords is about how many entries of the matrix are summed at a time.
const sumWords = 1 << 20

// Sum adds the parties' vectors, which all have the same length.
type Sum func(ctx context.Context, addends [][]float64) (total []float64, err error)

// PPSVMV computes the Gaussian kernel matrix of rows whose columns several parties hold (Yu, Vaidya and Jiang,
// "Privacy-preserving SVM classification on vertically partitioned data", PAKDD 2006): each party has the inner
// products of its own columns, a secure sum opens their totals x_i . x_j to the one with the labels, and the kernel
// follows from |x_i - x_j|^2 = x_i.x_i + x_j.x_j - 2 x_i.x_j. Every party's addends are n (n+1)/2 numbers, and
// whoever trains holds n^2: beyond limit bytes it is refused.
func PPSVMV(ctx context.Context, parts []*Rows, sigma float64, limit int64, sum Sum) (*KernelMatrix, error) {
	n := parts[0].Len()
	if need := MatrixBytes(n); need > limit {
		return nil, fmt.Errorf("PP-SVMV: the kernel matrix of %d rows takes %d bytes, and %d are allowed: use "+
			"fewer rows "+
			"or allow more memory", n, need, limit)
	}
	k := &KernelMatrix{n: n, values: make([]float32, n*n)}
	squares := make([]float64, n)
	for lo := 0; lo < n; {
		hi := lo + 1
		for hi < n && (hi+1-lo)*(hi+1) <= sumWords {
			hi++
		}
		addends := make([][]float64, len(parts))
		for p, part := range parts {
			addends[p] = InnerProducts(part, lo, hi, nil)
		}
		total, err := sum(ctx, addends)
		if err != nil {
			return nil, fmt.Errorf("PP-SVMV: rows %d to %d: %w", lo+1, hi, err)
		}
		for i := lo; i < hi; i++ {
			squares[i], total = k.fill(i, total, squares, sigma)
		}
		lo = hi
	}
	return k, nil
}

// InnerProducts returns x_i . x_j of the rows i from lo to hi-1 with the rows j up to i, by the columns that are
// owned; nil: all are.
func InnerProducts(r *Rows, lo, hi int, owned func(column int) bool) []float64 {
	var out []float64
	x := make([]float64, r.Columns)
	for i := lo; i < hi; i++ {
		columns, values := r.At(i)
		for k, c := range columns {
			if owned == nil || owned(int(c)) {
				x[c] = values[k]
			}
		}
		for j := range i + 1 {
			out = append(out, r.Dot(j, x))
		}
		clear(x)
	}
	return out
}

// fill writes row i, and column i above the diagonal, from the inner products at the front of total; it returns
// x_i . x_i and what is behind.
func (k *KernelMatrix) fill(i int, total, squares []float64, sigma float64) (square float64, rest []float64) {
	square = total[i]
	for j, dot := range total[:i+1] {
		other := squares[j]
		if j == i {
			other = square
		}
		v := float32(math.Exp(-max(0, square+other-2*dot) / (2 * sigma * sigma)))
		k.values[i*k.n+j], k.values[j*k.n+i] = v, v
	}
	return square, total[i+1:]
}
