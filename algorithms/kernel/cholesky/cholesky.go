package cholesky

import (
	"math"

	"github.com/hanse-project/hanse/internal/parallel"
	"github.com/hanse-project/hanse/internal/raced"
)

// side is the number of rows of a panel, and of columns that are solved for at once.
const side = 8

// half is the number of columns of a tile; a square is two.
const half = side / 2

// Columns are factorised so many panels at a time, and products of so many columns are subtracted in one go: of two
// panels these fit the first-level cache. The result depends on neither.
const (
	blockPanels = 8
	chunk       = 256
)

// mul multiplies, and rounds: no product is fused with a subtraction.
func mul(a, b float64) float64 { return float64(a * b) }

// Matrix is a symmetric positive definite matrix, of which the lower triangle is kept, or its factor.
type Matrix struct {
	rows   int
	panels []float64 // see the package's comment
}

// New returns a matrix of zeros.
func New(rows int) *Matrix {
	m := &Matrix{rows: rows}
	count := m.count()
	m.panels = make([]float64, side*side*count*(count+1)/2)
	for i := rows; i < count*side; i++ { // rows that fill up the last panel
		m.panel(count - 1)[i*side+i%side] = 1
	}
	return m
}

// count returns the number of panels.
func (m *Matrix) count() int { return (m.rows + side - 1) / side }

// panel returns the rows from 8 i on: their columns as far as the last one's diagonal.
func (m *Matrix) panel(i int) []float64 {
	return m.panels[side*side*i*(i+1)/2:][:side*side*(i+1)]
}

// Fill sets all entries: row writes those of row i from the diagonal on, which are also those of the column. Rows are
// asked for in any order, and several at the same time by workers.
func (m *Matrix) Fill(workers int, row func(i int, entries []float64)) {
	parallel.All(workers, m.count(), func(part int) {
		entries := make([]float64, m.rows)
		for i := part * side; i < min((part+1)*side, m.rows); i++ {
			row(i, entries[i:])
			m.setColumn(i, entries[i:])
		}
	})
}

// setColumn sets the entries of a column from the diagonal on.
//
//go:norace
func (m *Matrix) setColumn(i int, entries []float64) {
	raced.Read(entries)
	for row := i; row < m.rows; {
		n := min(side-row%side, m.rows-row)
		copy(m.panel(row / side)[i*side+row%side:], entries[row-i:][:n])
		row += n
	}
}

// Factorise replaces the matrix by its lower factor, whose product with its transpose it is. It returns false where the
// matrix is not positive definite; what it holds is of no use then.
func (m *Matrix) Factorise(workers int) bool {
	count := m.count()
	for first := 0; first < count; first += blockPanels {
		end := min(first+blockPanels, count)
		parallel.All(workers, end-first, func(i int) { m.update(end-1-i, first, end) })
		for i := first; i < end; i++ {
			if !m.finish(i, first, end) {
				return false
			}
		}
		parallel.All(workers, count-end, func(i int) {
			m.update(count-1-i, first, end)
			m.finish(count-1-i, first, end)
		})
	}
	return true
}

// update subtracts from panel i's columns of panels first to end-1 the products of all columns before those.
func (m *Matrix) update(i, first, end int) {
	rows := m.panel(i)
	for from := 0; from < first*side; from += chunk {
		to := min(from+chunk, first*side)
		for j := first; j < min(end, i+1); j++ {
			subtract(rows[side*side*j:][:side*side], m.panel(j)[side*from:side*to], rows[side*from:side*to])
		}
	}
}

// finish turns panel i's columns of panels first to end-1, from which the products of all columns before those are
// subtracted, into the factor's. It returns false where the diagonal has no root.
func (m *Matrix) finish(i, first, end int) bool {
	rows := m.panel(i)
	for j := first; j < min(end, i+1); j++ {
		square, columns := rows[side*side*j:][:side*side], m.panel(j)
		subtract(square, columns[side*side*first:side*side*j], rows[side*side*first:side*side*j])
		if i == j {
			return factorise(square)
		}
		solve(square, columns[side*side*j:])
	}
	return true
}

// factorise replaces a square on the diagonal by its factor.
//
//go:norace
func factorise(square []float64) bool {
	raced.Write(square)
	for c := range side {
		for k := range c {
			l := square[side*k+c]
			for r := c; r < side; r++ {
				square[side*c+r] -= mul(square[side*k+r], l)
			}
		}
		d := square[side*c+c]
		if !(d > 0) {
			return false
		}
		d = math.Sqrt(d)
		square[side*c+c] = d
		for r := c + 1; r < side; r++ {
			square[side*c+r] /= d
		}
	}
	return true
}

// solve multiplies a square below the diagonal by the inverse of the transposed factor of the one on the diagonal.
//
//go:norace
func solve(square, factor []float64) {
	raced.Read(factor)
	raced.Write(square)
	for c := range side {
		column := (*[side]float64)(square[side*c:])
		for k := range c {
			l, before := factor[side*k+c], (*[side]float64)(square[side*k:])
			for r := range column {
				column[r] -= mul(before[r], l)
			}
		}
		d := factor[side*c+c]
		for r := range column {
			column[r] /= d
		}
	}
}

// Solve replaces b by the solution of the equations whose right side it is. The matrix must have been factorised.
//
//go:norace
func (m *Matrix) Solve(b []float64) {
	raced.Read(m.panels)
	raced.Write(b)
	x := make([]float64, m.count()*side)
	copy(x, b)
	for i := range m.count() { // forth
		lines, own := m.panel(i), (*[side]float64)(x[side*i:])
		for k, v := range x[:side*i] {
			line := (*[side]float64)(lines[side*k:])
			for r := range own {
				own[r] -= mul(line[r], v)
			}
		}
		for c := range side {
			line := lines[side*(side*i+c):]
			own[c] /= line[c]
			for r := c + 1; r < side; r++ {
				own[r] -= mul(line[r], own[c])
			}
		}
	}
	clear(x[m.rows:])                     // rows that fill up, no numbers where 0 times infinity came in
	for i := m.count() - 1; i >= 0; i-- { // and back
		lines, own := m.panel(i), (*[side]float64)(x[side*i:])
		for c := side - 1; c >= 0; c-- {
			line := lines[side*(side*i+c):]
			for r := side - 1; r > c; r-- {
				own[c] -= mul(line[r], own[r])
			}
			own[c] /= line[c]
		}
		for k := range x[:side*i] {
			line := (*[side]float64)(lines[side*k:])
			v := x[k]
			for r := side - 1; r >= 0; r-- {
				v -= mul(line[r], own[r])
			}
			x[k] = v
		}
	}
	copy(b, x)
}

// plainSubtract is subtract in plain Go.
//
//go:norace
func plainSubtract(square, columns, rows []float64) {
	raced.Read(columns)
	raced.Read(rows)
	raced.Write(square)
	rows = rows[:len(columns):len(rows)]
	for c := 0; c < side; c += half {
		for r := 0; r < side; r += 2 {
			t := square[side*c+r:]
			c0, c1, c2, c3 := t[0], t[side], t[2*side], t[3*side]
			d0, d1, d2, d3 := t[1], t[side+1], t[2*side+1], t[3*side+1]
			for k := 0; k <= len(columns)-side; k += side {
				v, w := columns[k+c:k+c+half:k+c+half], rows[k+r:k+r+2:k+r+2]
				c0 -= mul(v[0], w[0])
				c1 -= mul(v[1], w[0])
				c2 -= mul(v[2], w[0])
				c3 -= mul(v[3], w[0])
				d0 -= mul(v[0], w[1])
				d1 -= mul(v[1], w[1])
				d2 -= mul(v[2], w[1])
				d3 -= mul(v[3], w[1])
			}
			t[0], t[side], t[2*side], t[3*side] = c0, c1, c2, c3
			t[1], t[side+1], t[2*side+1], t[3*side+1] = d0, d1, d2, d3
		}
	}
}
