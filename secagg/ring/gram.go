package ring

// AddSquares adds to t the upper triangle of the product of a matrix's transpose and itself:
// t[PairIndex(i, j, d)] += sum over rows of u_i u_j, for i <= j. u has d columns; t has d (d + 1) / 2 words, row after
// row of the triangle.
func AddSquares(t, u []uint64, d, workers int) { addSquares(fastest(), t, u, d, workers) }

// addSquares pairs the products of successive rows.
func addSquares(k kernels, t, u []uint64, d, workers int) {
	if d < 1 || len(u) < d {
		return
	}
	corrections := make([]uint64, d)
	for at := 0; at+d < len(u); at += 2 * d {
		addProducts(corrections, u[at:at+d], u[at+d:])
	}
	g := gram{
		k: k, d: d, rows: len(u) / d, corrections: corrections,
		pack: func(left, right *panel, from, to int) {
			left.packRows(u[from*d:to*d], d, false)
			right.packRows(u[from*d:to*d], d, true)
		},
		// Row i so that entry j is at j; the words before i are of other rows, and not touched.
		row: func(i int) []uint64 { return t[PairIndex(i, 0, d) : PairIndex(i, d-1, d)+1] },
	}
	g.run(workers)
}

// PairIndex returns where entry (i, j), i <= j, of the upper triangle of a d by d matrix is in a slice of its
// rows, one after the other.
func PairIndex(i, j, d int) int { return i*d - i*(i+1)/2 + j }

// addProducts adds a[j] b[j] to out[j].
func addProducts(out, a, b []uint64) {
	a, b = a[:len(out)], b[:len(out)]
	for j := range out {
		out[j] += a[j] * b[j]
	}
}
