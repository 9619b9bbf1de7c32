package kernel

import (
	"math"
	"testing"
)

func TestMatrixValidateRefuses(t *testing.T) {
	good := func() *Matrix {
		return &Matrix{Rows: 2, Dense: []string{"a"}, Binary: []string{"b", "c"},
			Values: []float64{1, 2}, Starts: []uint32{0, 2, 2}, Set: []uint16{0, 1}, Strays: []Stray{{1, 1, 0.5}}}
	}
	if err := good().Validate(); err != nil {
		t.Fatal(err)
	}
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
