package kernel

import (
	"maps"
	"math"
	"testing"
)

func TestMatrixValidateRefuses(t *testing.T) {
	good := func() *Matrix {
		return &Matrix{Rows: 2, Dense: []string{"a"}, Binary: []string{"b", "c"},
			Values: []float64{1, 2}, Starts: []uint32{0, 2, 2}, Set: []uint16{0, 1}, Strays: []Stray{{1, 1, 0.5}}}
	}
	must(t, good().Validate())
	tests := []struct {
		spoil func(m *Matrix)
		want  string
	}{
		{func(m *Matrix) { m.Rows = -1 }, `the matrix has -1 rows: want 0 to 268435456`},
		{func(m *Matrix) { m.Values = m.Values[:1] }, `the matrix has 1 dense values: want 2 rows of 1`},
		{func(m *Matrix) { m.Starts = m.Starts[:2] }, `the matrix has 2 row starts: want 3`},
		{func(m *Matrix) { m.Starts[2] = 1 }, `the matrix's row starts do not span its 2 set cells`},
		{func(m *Matrix) { m.Starts[1] = 9 }, `row 1 of the matrix ends before it starts`},
		{func(m *Matrix) { m.Set[1] = 0 }, `row 1 of the matrix lists binary column 0 after 0 of 2`},
		{func(m *Matrix) { m.Set[1] = 2 }, `row 1 of the matrix lists binary column 2 after 0 of 2`},
		{func(m *Matrix) { m.Binary[0] = "a" }, `name "a" is empty or occurs twice`},
		{func(m *Matrix) { m.Values[1] = math.Inf(1) }, `column "a", row 2: the normalised value is +Inf`},
		{func(m *Matrix) { m.Strays[0].Row = 2 }, `the matrix has a stray cell at row 3, binary column 1, out of range or order`},
		{func(m *Matrix) { m.Strays[0].Value = math.NaN() }, `column "c", row 2: the normalised value is NaN`},
	}
	for _, test := range tests {
		m := good()
		test.spoil(m)
		wantError(t, m.Validate(), test.want)
	}
}

// TestCutsHaveTheirRows: a cut has the cells of its rows, strays among them, and is a matrix.
func TestCutsHaveTheirRows(t *testing.T) {
	m := &Matrix{Rows: 4, Dense: []string{"x"}, Binary: []string{"a", "b"}, Values: []float64{1, 2, 3, 4},
		Starts: []uint32{0, 1, 1, 3, 4}, Set: []uint16{1, 0, 1, 0}, Strays: []Stray{{1, 0, 0.5}, {3, 1, 0.25}}}
	cells := func(m *Matrix, j int) map[int]float64 {
		row := make(map[int]float64)
		m.EachInRow(j, func(c int, v float64) { row[c] = v })
		return row
	}
	for lo := range m.Rows {
		for hi := lo; hi <= m.Rows; hi++ {
			part := m.Cut(lo, hi)
			if err := part.Validate(); err != nil || part.Rows != hi-lo {
				t.Fatalf("rows %d to %d: %d rows, %v", lo, hi, part.Rows, err)
			}
			for j := lo; j < hi; j++ {
				if got, want := cells(part, j-lo), cells(m, j); !maps.Equal(got, want) {
					t.Errorf("row %d of rows %d to %d is %v, want %v", j, lo, hi, got, want)
				}
			}
		}
	}
}
