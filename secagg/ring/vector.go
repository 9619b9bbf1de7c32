package ring

// Dot returns the sum of x[i] y[i]. Both have the same length.
func Dot[W Word](x, y []W) W { return dot(x, First(y, len(x))) }

// AddColumns adds to out[j] the sum of column j of m, a matrix of len(out) columns.
func AddColumns[W Word](out, m []W) {
	d := len(out)
	if d == 0 {
		return
	}
	for ; len(m) >= 4*d; m = m[4*d:] {
		addRows(out, m[:d], m[d:2*d], m[2*d:3*d], m[3*d:4*d])
	}
	for ; len(m) >= d; m = m[d:] {
		for j, word := range m[:d] {
			out[j] += word
		}
	}
}

// addRows adds four rows to out.
func addRows[W Word](out, a, b, c, e []W) {
	a, b, c, e = a[:len(out)], b[:len(out)], c[:len(out)], e[:len(out)]
	for j := range out {
		out[j] += a[j] + b[j] + c[j] + e[j]
	}
}

// MulVec adds to out the product of m, a matrix of len(out) rows and len(v) columns, and v.
func MulVec[W Word](out, m, v []W, workers int) {
	d := len(v)
	m = First(m, len(out)*d)
	split(len(out), 8, workersFor(len(m), workers), func(from, to int) {
		mulRows(out[from:to], m[from*d:to*d], v)
	})
}

// cached is how many words of a matrix are multiplied by several vectors in turn: they stay in the second-level cache.
const cached = 1 << 14

// MulVecs is MulVec for n vectors, one behind the other in v and in out, of which the matrix is read from memory once.
func MulVecs[W Word](out, m, v []W, n, workers int) {
	rows, d := len(out)/n, len(v)/n
	m = First(m, rows*d)
	split(rows, 8, workersFor(len(m), workers), func(from, to int) {
		few := max(8, cached/max(d, 1)&^7)
		for ; from < to; from += few {
			end := min(from+few, to)
			for i := range n {
				mulRows(out[i*rows+from:i*rows+end], m[from*d:end*d], v[i*d:(i+1)*d])
			}
		}
	})
}

// stream is how many rows in succession are read while three others are, as far on: memory is faster with four long
// streams than with four rows side by side.
const stream = 64

// mulRows is MulVec on one core.
func mulRows[W Word](out, m, v []W) {
	d := len(v)
	for len(out) > 0 {
		n := min(len(out), 4*stream)
		mulFew(out[:n], m[:n*d], v)
		out, m = out[n:], m[n*d:]
	}
}

// mulFew is mulRows for at most four streams.
func mulFew[W Word](out, m, v []W) {
	n, d := len(out)/4, len(v)
	row := func(i int) []W { return m[i*d : (i+1)*d] }
	for i := range n {
		a, b, c, e := dot4(row(i), row(i+n), row(i+2*n), row(i+3*n), v)
		out[i] += a
		out[i+n] += b
		out[i+2*n] += c
		out[i+3*n] += e
	}
	for i := 4 * n; i < len(out); i++ {
		out[i] += dot(row(i), v)
	}
}

// MulVecT adds to out the product of the transpose of m, a matrix of len(v) rows and len(out) columns, and v.
func MulVecT[W Word](out, m, v []W, workers int) {
	d := len(out)
	m = First(m, len(v)*d)
	split(d, 8, workersFor(len(m), workers), func(from, to int) {
		mulColumns(out, m, v, from, to)
	})
}

// mulColumns is the columns from, ..., to-1 of MulVecT on one core.
func mulColumns[W Word](out, m, v []W, from, to int) {
	d := len(out)
	for len(v) > 0 {
		n := min(len(v), 4*stream)
		row := func(i int) []W { return m[i*d+from : i*d+to] }
		addFew(out[from:to], row, v[:n])
		m, v = m[n*d:], v[n:]
	}
}

// addFew adds the rows of at most four streams, each times its word of v. The last, fewer than four, are
// made four by taking others zero times.
func addFew[W Word](out []W, row func(i int) []W, v []W) {
	n := len(v) / 4
	for i := range n {
		add4(out, row(i), row(i+n), row(i+2*n), row(i+3*n), [4]W{v[i], v[i+n], v[i+2*n], v[i+3*n]})
	}
	for i := 4 * n; i < len(v); i++ {
		add4(out, row(i), row(i), row(i), row(i), [4]W{v[i]})
	}
}
