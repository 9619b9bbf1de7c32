package ring

// AddGram adds to w, d by d, the product of the transpose of x and u: w[i*d+j] += sum over rows r of
// x[r*d+i] u[r*d+j]. Both matrices have d columns and as many rows.
func AddGram(w, x, u []uint64, d, workers int) { addGram(fastest(), w, x, u, d, workers) }

// addGram pairs the products of successive rows.
func addGram(k kernels, w, x, u []uint64, d, workers int) {
	if d < 1 || len(x) < d {
		return
	}
	byRow, byColumn := make([]uint64, d), make([]uint64, d)
	for at := 0; at+d < len(x); at += 2 * d {
		addProducts(byRow, x[at:at+d], x[at+d:])
		addProducts(byColumn, u[at:at+d], u[at+d:])
	}
	g := gram{
		k: k, d: d, rows: len(x) / d, chunk: 2 * k.depth,
		byRow: byRow, byColumn: byColumn,
		pack: func(left, right *panel, from, to int) {
			left.packRows(x[from*d:to*d], d, false)
			right.packRows(u[from*d:to*d], d, true)
		},
		row: func(i int) []uint64 { return w[i*d : (i+1)*d] },
	}
	g.run(workers)
}

// AddPairs adds to t the upper triangle of X^T X + X^T Y + Y^T X, where X and Y are the matrices x and y of d columns and
// as many rows: t[PairIndex(i, j, d)] += sum over rows r of x_i x_j + x_i y_j + y_i x_j, for i <= j.
// That is half of W + W^T with W = X^T (X + 2 Y). t has d (d + 1) / 2 words, row after row of the triangle.
func AddPairs(t, x, y []uint64, d, workers int) { addPairs(fastest(), t, x, y, d, workers) }

// addPairs pairs the products x_i (x_j + y_j) and y_i x_j: one multiplication, of x_i + x_j and y_i + (x_j + y_j).
func addPairs(k kernels, t, x, y []uint64, d, workers int) {
	if d < 1 || len(x) < d {
		return
	}
	byRow, byColumn := make([]uint64, d), make([]uint64, d)
	for at := 0; at < len(x); at += d {
		addProducts(byRow, x[at:at+d], y[at:])
		addProducts(byColumn, x[at:at+d], x[at:])
	}
	for j, word := range byRow {
		byColumn[j] += word
	}
	g := gram{
		k: k, d: d, rows: len(x) / d, chunk: k.depth, upper: true,
		byRow: byRow, byColumn: byColumn,
		pack: func(left, right *panel, from, to int) {
			left.packPair(x[from*d:to*d], y[from*d:to*d], d)
			right.packPair(x[from*d:to*d], y[from*d:to*d], d)
			right.addFirst()
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
