package kernel

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// tileBytes is the size of a tile of frequencies: with a row of x it stays in the first cache.
const tileBytes = 24 << 10

// lane is what columns and features are padded to: gonum's matrix-vector kernel works on four
// rows and four columns at a time, and so treats every feature alike.
const lane = 4

// denseMap multiplies dense columns by frequencies.
//
// gonum's matrix-vector product keeps four sums in registers, where its matrix product adds into
// memory; on rows that fit the first cache it is 2.5 times as fast.
type denseMap struct {
	count   int
	columns int
	width   int       // columns, padded
	tile    int       // features in a tile
	w       []float64 // [count, padded][width], in units of 2^-16 turn
}

// newDenseMap allocates the table.
func newDenseMap(count, columns int) denseMap {
	if columns == 0 {
		return denseMap{count: count}
	}
	width := pad(columns)
	tile := min(max(tileBytes/8/width&^(lane-1), 2*lane), 512)
	return denseMap{count, columns, width, tile, make([]float64, pad(count)*width)}
}

// pad rounds n up to a multiple of lane.
func pad(n int) int { return (n + lane - 1) &^ (lane - 1) }

// add adds the dense columns' angles of rows lo to hi-1 to out.
func (d *denseMap) add(x *Matrix, lo, hi int, out []uint16) {
	if d.columns == 0 {
		return
	}
	rows := make([]float64, (hi-lo)*d.width)
	for r := lo; r < hi; r++ {
		copy(rows[(r-lo)*d.width:], x.Values[r*d.columns:(r+1)*d.columns])
	}
	sums := make([]float64, d.tile)
	for first := 0; first < d.count; first += d.tile {
		n := min(d.tile, d.count-first)
		for r := range hi - lo {
			d.product(first, n, rows[r*d.width:(r+1)*d.width], sums)
			addQuantised(out[r*d.count+first:][:n], sums)
		}
	}
}

// product writes the sums of features first to first+n-1 for one padded row of x.
func (d *denseMap) product(first, n int, row, sums []float64) {
	n = pad(n)
	blas64.Gemv(blas.NoTrans, 1,
		blas64.General{Rows: n, Cols: d.width, Stride: d.width, Data: d.w[first*d.width : (first+n)*d.width]},
		blas64.Vector{N: d.width, Inc: 1, Data: row},
		0, blas64.Vector{N: n, Inc: 1, Data: sums[:n]})
}
