package nn

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas32"
)

// A tile of a product. gonum cuts what is larger than three of its 64 x 64 blocks into blocks and
// hands them to goroutines of its own; below that it works in the caller's, on whole rows, which
// is also up to twice as fast for one core.
const (
	tileRows    = 64
	tileColumns = 192
)

// matrix lays a matrix of so many rows and columns over data.
func matrix(data []float32, rows, columns int) blas32.General {
	return blas32.General{Rows: rows, Cols: columns, Stride: columns, Data: data[:rows*columns]}
}

// part returns rows [i, i+rows) and columns [j, j+columns) of m.
func part(m blas32.General, i, j, rows, columns int) blas32.General {
	m.Data = m.Data[i*m.Stride+j : (i+rows-1)*m.Stride+j+columns]
	m.Rows, m.Cols = rows, columns
	return m
}

// addProduct adds a b to c. Zeros of a cost next to nothing.
func addProduct(c, a, b blas32.General) {
	eachTile(c, func(i, j int, t blas32.General) {
		blas32.Gemm(blas.NoTrans, blas.NoTrans, 1, part(a, i, 0, t.Rows, a.Cols), part(b, 0, j, b.Rows, t.Cols), 1, t)
	})
}

// addLeftProduct adds the transpose of a, times b, to c. Zeros of a cost next to nothing.
func addLeftProduct(c, a, b blas32.General) {
	eachTile(c, func(i, j int, t blas32.General) {
		blas32.Gemm(blas.Trans, blas.NoTrans, 1, part(a, 0, i, a.Rows, t.Rows), part(b, 0, j, b.Rows, t.Cols), 1, t)
	})
}

// addRightProduct adds a times the transpose of b to c.
func addRightProduct(c, a, b blas32.General) {
	eachTile(c, func(i, j int, t blas32.General) {
		blas32.Gemm(blas.NoTrans, blas.Trans, 1, part(a, i, 0, t.Rows, a.Cols), part(b, j, 0, t.Cols, b.Cols), 1, t)
	})
}

// eachTile calls f with every tile of c and its first row and column.
func eachTile(c blas32.General, f func(i, j int, tile blas32.General)) {
	for j := 0; j < c.Cols; j += tileColumns {
		for i := 0; i < c.Rows; i += tileRows {
			f(i, j, part(c, i, j, min(tileRows, c.Rows-i), min(tileColumns, c.Cols-j)))
		}
	}
}

// transpose writes the transpose of src, rows x columns, to dst, four rows at a time.
func transpose(dst, src []float32, rows, columns int) {
	i := 0
	for ; i+4 <= rows; i += 4 {
		a, b := src[i*columns:][:columns], src[(i+1)*columns:][:columns]
		c, d := src[(i+2)*columns:][:columns], src[(i+3)*columns:][:columns]
		for j, v := range a {
			out := dst[j*rows+i:][:4]
			out[0], out[1], out[2], out[3] = v, b[j], c[j], d[j]
		}
	}
	for ; i < rows; i++ {
		for j, v := range src[i*columns:][:columns] {
			dst[j*rows+i] = v
		}
	}
}

// repeat fills dst with copies of row.
func repeat(dst, row []float32) {
	for ; len(dst) > 0; dst = dst[len(row):] {
		copy(dst, row)
	}
}

// addRows adds the rows of a matrix to sum, one row.
func addRows(sum, rows []float32) {
	for ; len(rows) > 0; rows = rows[len(sum):] {
		addTo(sum, rows[:len(sum)])
	}
}

// addTo adds values to sum.
func addTo(sum, values []float32) {
	n := len(values)
	blas32.Axpy(1, blas32.Vector{N: n, Inc: 1, Data: values}, blas32.Vector{N: n, Inc: 1, Data: sum})
}
