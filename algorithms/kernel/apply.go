package kernel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

// maxScaled bounds a normalised value: a number that far outside the training range is a slip,
// not data, and its angle would be noise.
const maxScaled = 1 << 30

// Apply normalises a table. Columns are found by name; others may be present and are left out,
// though all are validated. An unseen level and a number absurdly far outside the training
// range are *CellErrors.
func (n *Normaliser) Apply(columns []Column) (*Matrix, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	rows, err := validateColumns(columns)
	if err != nil {
		return nil, err
	}
	b := newBuilder(n, rows)
	for i := range n.Columns {
		s := &n.Columns[i]
		c := slices.IndexFunc(columns, func(c Column) bool { return c.Name == s.Column })
		if c < 0 {
			return nil, fmt.Errorf("column %q is missing: the model was trained with it", s.Column)
		}
		if err := b.add(s, &columns[c]); err != nil {
			return nil, err
		}
	}
	return b.finish()
}

// builder makes a matrix column by column.
type builder struct {
	m      *Matrix
	dense  int       // dense columns so far
	binary int       // binary columns so far
	hits   [][]int32 // per source column and row: the binary column set there, or -1
}

// newBuilder allocates a matrix of the normaliser's design.
func newBuilder(n *Normaliser, rows int) *builder {
	dense, binary := n.Names()
	return &builder{m: &Matrix{
		Rows: rows, Dense: dense, Binary: binary,
		Values: make([]float64, rows*len(dense)),
		Starts: make([]uint32, rows+1),
	}}
}

// add puts one column into the matrix as its scale says.
func (b *builder) add(s *Scale, c *Column) error {
	if s.Scaling == Dropped {
		return nil
	}
	if c.categorical() != (s.Scaling == OneHot) {
		return fmt.Errorf("column %q is categorical in one of training and prediction, and numeric in the other", c.Name)
	}
	switch {
	case s.Scaling == OneHot:
		return b.addLevels(s, c)
	case s.Binary:
		return b.addBinary(s, c)
	}
	return b.addDense(s, c)
}

// addDense scales numbers into the next dense column.
func (b *builder) addDense(s *Scale, c *Column) error {
	width := len(b.m.Dense)
	for r, v := range c.Values {
		x, err := s.scaled(c, r, v)
		if err != nil {
			return err
		}
		b.m.Values[r*width+b.dense] = x
	}
	b.dense++
	return nil
}

// addBinary scales numbers into the next binary column; what is neither 0 nor 1 is a stray.
func (b *builder) addBinary(s *Scale, c *Column) error {
	hits := make([]int32, len(c.Values))
	for r, v := range c.Values {
		x, err := s.scaled(c, r, v)
		if err != nil {
			return err
		}
		hits[r] = -1
		switch x {
		case 0:
		case 1:
			hits[r] = int32(b.binary)
		default:
			b.m.Strays = append(b.m.Strays, Stray{uint32(r), uint16(b.binary), x})
		}
	}
	b.hits = append(b.hits, hits)
	b.binary++
	return nil
}

// addLevels gives each level its binary column.
func (b *builder) addLevels(s *Scale, c *Column) error {
	place := make([]int32, len(c.Levels))
	for i, level := range c.Levels {
		place[i] = int32(slices.Index(s.Levels, level))
	}
	hits := make([]int32, len(c.Codes))
	for r, code := range c.Codes {
		if place[code] < 0 {
			return &CellError{c.Name, r, unseen(c.Levels[code], s.Levels)}
		}
		hits[r] = int32(b.binary) + place[code]
	}
	b.hits = append(b.hits, hits)
	b.binary += len(s.Levels)
	return nil
}

// finish assembles the rows' lists of set columns.
func (b *builder) finish() (*Matrix, error) {
	m := b.m
	if uint64(m.Rows)*uint64(len(b.hits)) > math.MaxUint32 {
		return nil, fmt.Errorf("%d rows of %d binary and categorical columns are too many for one matrix: use fewer rows at a time", m.Rows, len(b.hits))
	}
	for r := range m.Rows {
		for _, hits := range b.hits {
			if c := hits[r]; c >= 0 {
				m.Set = append(m.Set, uint16(c))
			}
		}
		m.Starts[r+1] = uint32(len(m.Set))
	}
	slices.SortStableFunc(m.Strays, func(a, b Stray) int { return cmp.Compare(a.Row, b.Row) })
	return m, nil
}

// scaled returns the normalised value of v, which stands in row r of c.
func (s *Scale) scaled(c *Column, r int, v float64) (float64, error) {
	if s.Scaling == Rank {
		return s.rank(v), nil
	}
	x := (v - s.Shift) / s.Divisor
	if !(math.Abs(x) <= maxScaled) {
		return 0, &CellError{c.Name, r, fmt.Sprintf("%v lies absurdly far outside the training rows, which are near %v and spread by %v", v, s.Shift, s.Divisor)}
	}
	return x, nil
}

// rank interpolates the mid-rank of v between the knots, and is constant beyond them.
func (s *Scale) rank(v float64) float64 {
	i, exact := slices.BinarySearch(s.Knots, v)
	switch {
	case exact:
		return s.Ranks[i]
	case i == 0:
		return s.Ranks[0]
	case i == len(s.Knots):
		return s.Ranks[i-1]
	}
	share := (v - s.Knots[i-1]) / (s.Knots[i] - s.Knots[i-1])
	return s.Ranks[i-1] + share*(s.Ranks[i]-s.Ranks[i-1])
}
