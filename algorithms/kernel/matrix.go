package kernel

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Matrix is a normalised table, ready for the feature map. Dense columns hold numbers; binary
// columns hold 0 or 1, and a row lists those where it has 1.
type Matrix struct {
	Rows   int
	Dense  []string  // names of the dense columns
	Binary []string  // names of the binary columns
	Values []float64 // [Rows][len(Dense)], row-major
	Starts []uint32  // [Rows+1]: row r has Set[Starts[r]:Starts[r+1]]
	Set    []uint16  // places in Binary, ascending within a row
	Strays []Stray   // cells of binary columns that are neither 0 nor 1, by row
}

// Stray is a cell of a binary column whose value is another number: a column that held two
// values in the training rows may hold a third one later. It is rare.
type Stray struct {
	Row    uint32
	Binary uint16 // place in Matrix.Binary
	Value  float64
}

// NoColumns returns a matrix of so many rows and no columns: what a party brings that has nothing but labels.
func NoColumns(rows int) *Matrix { return &Matrix{Rows: rows, Starts: make([]uint32, rows+1)} }

// Columns returns the number of columns.
func (m *Matrix) Columns() int { return len(m.Dense) + len(m.Binary) }

// EachInRow calls f with every column of row j that is not zero and its value; dense columns are
// numbered first, then binary ones.
func (m *Matrix) EachInRow(j int, f func(column int, value float64)) {
	d := len(m.Dense)
	for c, v := range m.Values[j*d : (j+1)*d] {
		if v != 0 {
			f(c, v)
		}
	}
	for _, c := range m.Set[m.Starts[j]:m.Starts[j+1]] {
		f(d+int(c), 1)
	}
	for _, s := range m.Strays {
		if int(s.Row) == j {
			f(d+int(s.Binary), s.Value)
		}
	}
}

// Cut returns rows [lo, hi) as a matrix of their own, which has its cells in common with m.
func (m *Matrix) Cut(lo, hi int) *Matrix {
	d, first := len(m.Dense), m.Starts[lo]
	part := &Matrix{Rows: hi - lo, Dense: m.Dense, Binary: m.Binary, Values: m.Values[lo*d : hi*d],
		Starts: make([]uint32, hi-lo+1), Set: m.Set[first:m.Starts[hi]]}
	for i := range part.Starts {
		part.Starts[i] = m.Starts[lo+i] - first
	}
	for _, s := range m.Strays {
		if r := int(s.Row); r >= lo && r < hi {
			part.Strays = append(part.Strays, Stray{uint32(r - lo), s.Binary, s.Value})
		}
	}
	return part
}

// Validate checks all sizes and indices, and that every number is finite.
func (m *Matrix) Validate() error {
	switch {
	case m.Rows < 0 || m.Rows > MaxRows:
		return fmt.Errorf("the matrix has %d rows: want 0 to %d", m.Rows, MaxRows)
	case len(m.Dense) > MaxColumns || len(m.Binary) > MaxColumns:
		return fmt.Errorf("the matrix has %d dense and %d binary columns: at most %d of each fit", len(m.Dense),
			len(m.Binary), MaxColumns)
	case len(m.Values) != m.Rows*len(m.Dense):
		return fmt.Errorf("the matrix has %d dense values: want %d rows of %d", len(m.Values), m.Rows, len(m.Dense))
	case len(m.Starts) != m.Rows+1:
		return fmt.Errorf("the matrix has %d row starts: want %d", len(m.Starts), m.Rows+1)
	case m.Starts[0] != 0 || int(m.Starts[m.Rows]) != len(m.Set):
		return fmt.Errorf("the matrix's row starts do not span its %d set cells", len(m.Set))
	}
	if err := validateNames(m.Dense, m.Binary); err != nil {
		return err
	}
	for r := range m.Rows {
		lo, hi := m.Starts[r], m.Starts[r+1]
		if lo > hi || int(hi) > len(m.Set) {
			return fmt.Errorf("row %d of the matrix ends before it starts", r+1)
		}
		last := -1
		for _, c := range m.Set[lo:hi] {
			if int(c) <= last || int(c) >= len(m.Binary) {
				return fmt.Errorf("row %d of the matrix lists binary column %d after %d of %d", r+1, c, last, len(m.Binary))
			}
			last = int(c)
		}
	}
	for i, v := range m.Values {
		if !parameters.IsFinite(v) {
			return &CellError{m.Dense[i%len(m.Dense)], i / len(m.Dense), fmt.Sprintf("the normalised value is %v", v)}
		}
	}

	// Checks that stray cells are finite, in range and ordered by row.
	last := uint32(0)
	for _, s := range m.Strays {
		switch {
		case int(s.Row) >= m.Rows || int(s.Binary) >= len(m.Binary) || s.Row < last:
			return fmt.Errorf("the matrix has a stray cell at row %d, binary column %d, out of range or order", s.Row+1,
				s.Binary)
		case !parameters.IsFinite(s.Value):
			return &CellError{m.Binary[s.Binary], int(s.Row), fmt.Sprintf("the normalised value is %v", s.Value)}
		}
		last = s.Row
	}
	return nil
}

// validateNames refuses empty and repeated names: two columns of one name would draw the same
// frequencies.
func validateNames(lists ...[]string) error {
	seen := map[string]bool{}
	for _, names := range lists {
		for _, name := range names {
			if name == "" || seen[name] {
				return fmt.Errorf("name %.40q is empty or occurs twice", name)
			}
			seen[name] = true
		}
	}
	return nil
}
