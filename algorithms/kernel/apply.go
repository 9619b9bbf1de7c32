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
// though all are validated. A missing number where the training had no fill, a number absurdly far outside the
// training range and, in a strict column, an unseen level are *CellErrors; in others such a level is all zeros.
func (n *Normaliser) Apply(columns []Column) (*Matrix, error) {
	if err := n.Validate(); err != nil {
		return nil, err
	}
	rows, err := validateColumns(columns)
	if err != nil {
		return nil, err
	}
	dense, binary := n.Names()
	b := &builder{m: &Matrix{
		Rows: rows, Dense: dense, Binary: binary,
		Values: make([]float64, rows*len(dense)),
		Starts: make([]uint32, rows+1),
	}}
	for i := range n.Columns {
		s := &n.Columns[i]
		if s.Scaling == Dropped && !s.Indicator {
			continue
		}
		c := slices.IndexFunc(columns, func(c Column) bool { return c.Name == s.Column })
		if c < 0 {
			return nil, fmt.Errorf("column %q is missing: the model was trained with it", s.Column)
		}
		if err := b.add(s, &columns[c]); err != nil {
			return nil, err
		}
	}
	// Assembles the rows' lists of set columns.
	m := b.m
	if uint64(m.Rows)*uint64(len(b.hits)) > math.MaxUint32 {
		return nil, fmt.Errorf("%d rows of %d binary and categorical columns are too many for one matrix: "+
			"use fewer rows at a time", m.Rows, len(b.hits))
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

// builder makes a matrix column by column.
type builder struct {
	m      *Matrix
	dense  int       // dense columns so far
	binary int       // binary columns so far
	hits   [][]int32 // per source column and row: the binary column set there, or -1
}

// add puts one column into the matrix as its scale says.
func (b *builder) add(s *Scale, c *Column) error {
	if s.Scaling == Binned {
		return b.addBins(s, c)
	}
	if c.categorical() != (s.Scaling == OneHot) {
		return fmt.Errorf("column %q is categorical in one of training and prediction, and numeric in the other", c.Name)
	}
	switch {
	case s.Scaling == OneHot:
		place := s.places(c)
		hits := make([]int32, len(c.Codes))
		for r, code := range c.Codes {
			at := place[code+1]
			if at < 0 && s.Strict {
				return &CellError{c.Name, r, unseen(c.level(code), s.Levels)}
			}
			if hits[r] = -1; at >= 0 {
				hits[r] = int32(b.binary) + at
			}
		}
		b.hits = append(b.hits, hits)
		b.binary += len(s.Levels)
	case s.Binary:

		// Scales numbers into the next binary column; what is neither 0 nor 1 is a stray.
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
	case s.Scaling != Dropped:
		width := len(b.m.Dense)
		for r, v := range c.Values {
			x, err := s.scaled(c, r, v)
			if err != nil {
				return err
			}
			b.m.Values[r*width+b.dense] = x
		}
		b.dense++
	}
	if s.Indicator {
		hits := make([]int32, len(c.Values))
		for r, v := range c.Values {
			if hits[r] = -1; math.IsNaN(v) {
				hits[r] = int32(b.binary)
			}
		}
		b.hits = append(b.hits, hits)
		b.binary++
	}
	return nil
}

// scaled returns the normalised value of v, which stands in row r of c.
func (s *Scale) scaled(c *Column, r int, v float64) (float64, error) {
	if math.IsNaN(v) {
		if s.Fill == nil {
			return 0, &CellError{c.Name, r, "the cell is missing, and the training says nothing of what to put there: fill it"}
		}
		v = *s.Fill
	}
	if s.Scaling == Rank {
		return s.rank(v), nil
	}
	x := (v - s.Shift) / s.Divisor
	if s.Scaling == Log {
		x = (math.Asinh(x) - s.Low) / s.Span
	}
	if !(math.Abs(x) <= maxScaled) {
		return 0, &CellError{c.Name, r, fmt.Sprintf("%v lies absurdly far outside the training rows, which are near %v "+
			"and spread by %v", v, s.Shift, s.Divisor)}
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
