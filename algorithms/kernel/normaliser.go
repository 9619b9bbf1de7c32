package kernel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
)

// Scaling says how a column enters the design.
type Scaling string

// The scalings. A job chooses among the first three; the others follow from the column.
const (
	MinMax   Scaling = "minmax"   // to [0, 1] by the training rows' range
	Standard Scaling = "standard" // to mean 0 and deviation 1 on the training rows
	Rank     Scaling = "rank"     // mid-rank among the training rows, in (0, 1)
	OneHot   Scaling = "onehot"   // one binary column per level
	Dropped  Scaling = "dropped"  // constant on the training rows, left out
)

// ParseScaling reads the name of a scaling for numeric columns.
func ParseScaling(s string) (Scaling, error) {
	names := []string{string(MinMax), string(Standard), string(Rank)}
	_, err := parseName("scaling", names, s)
	return Scaling(s), err
}

// Normaliser turns a party's columns into a Matrix. It is fitted on training rows only, is the
// party's own, and is stored with the party's part of the model.
type Normaliser struct {
	Columns []Scale
}

// Scale is what a Normaliser knows about one column.
type Scale struct {
	Column  string
	Scaling Scaling
	Shift   float64   // MinMax, Standard: x becomes (x - Shift) / Divisor
	Divisor float64   // MinMax, Standard: positive
	Binary  bool      // MinMax: the training rows hold two values only
	Knots   []float64 // Rank: the distinct training values, ascending
	Ranks   []float64 // Rank: their mid-ranks, ascending, in (0, 1)
	Levels  []string  // OneHot: the levels that occur in the training rows; "" is the level of empty cells
}

// maxKnots bounds the distinct values of a ranked column.
const maxKnots = 1 << 24

// Validate checks a normaliser that comes from a file.
func (n *Normaliser) Validate() error {
	if len(n.Columns) > MaxColumns {
		return fmt.Errorf("the normaliser has %d columns: at most %d fit", len(n.Columns), MaxColumns)
	}
	for i := range n.Columns {
		if err := n.Columns[i].validate(); err != nil {
			return fmt.Errorf("normaliser, column %q: %w", n.Columns[i].Column, err)
		}
	}
	dense, binary := n.Names()
	if len(dense) > MaxColumns || len(binary) > MaxColumns {
		return fmt.Errorf("the normaliser makes %d dense and %d binary columns: at most %d of each fit", len(dense), len(binary), MaxColumns)
	}
	return validateNames(dense, binary)
}

// validate checks the fields that the scaling uses.
func (s *Scale) validate() error {
	switch s.Scaling {
	case MinMax, Standard:
		return s.validateAffine()
	case Rank:
		return s.validateRanks()
	case OneHot:
		if len(s.Levels) < 2 {
			return fmt.Errorf("it has %d levels: want two or more", len(s.Levels))
		}
		return s.validateLevels()
	case Dropped:
		return nil
	}
	return fmt.Errorf("unknown scaling %.40q", s.Scaling)
}

// validateLevels refuses repeated levels. One of them may be empty: the level of empty cells.
func (s *Scale) validateLevels() error {
	seen := make(map[string]bool, len(s.Levels))
	for _, level := range s.Levels {
		if seen[level] {
			return fmt.Errorf("level %.40q occurs twice", level)
		}
		seen[level] = true
	}
	return nil
}

// validateAffine checks shift and divisor.
func (s *Scale) validateAffine() error {
	if !finite(s.Shift) || !finite(s.Divisor) || s.Divisor <= 0 {
		return fmt.Errorf("shift %v and divisor %v must be finite, and the divisor positive", s.Shift, s.Divisor)
	}
	if s.Binary && s.Scaling != MinMax {
		return fmt.Errorf("only scaling %q makes binary columns", MinMax)
	}
	return nil
}

// validateRanks checks that knots and ranks are finite and strictly ascending.
func (s *Scale) validateRanks() error {
	if len(s.Knots) < 2 || len(s.Knots) > maxKnots || len(s.Ranks) != len(s.Knots) {
		return fmt.Errorf("it has %d knots and %d ranks: want as many of each, from 2 to %d", len(s.Knots), len(s.Ranks), maxKnots)
	}
	for i, k := range s.Knots {
		r := s.Ranks[i]
		if !finite(k) || !(r > 0 && r < 1) {
			return fmt.Errorf("knot %d is %v with rank %v: want a finite knot and a rank in (0, 1)", i+1, k, r)
		}
		if i > 0 && (k <= s.Knots[i-1] || r <= s.Ranks[i-1]) {
			return fmt.Errorf("knot %d does not lie above the one before", i+1)
		}
	}
	return nil
}

// Names returns the design columns that Apply makes: "column" for numbers, "column=level" for
// categories. Frequencies are drawn by these names.
func (n *Normaliser) Names() (dense, binary []string) {
	for i := range n.Columns {
		s := &n.Columns[i]
		switch {
		case s.Scaling == OneHot:
			for _, level := range s.Levels {
				binary = append(binary, s.Column+"="+level)
			}
		case s.Binary:
			binary = append(binary, s.Column)
		case s.Scaling != Dropped:
			dense = append(dense, s.Column)
		}
	}
	return dense, binary
}

// finite reports whether x is neither NaN nor infinite.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// unseen is the error text for a level that training did not meet.
func unseen(level string, levels []string) string {
	const most = 8
	shown := slices.Clone(levels[:min(most, len(levels))])
	for i := range shown {
		shown[i] = cmp.Or(shown[i], "(empty)")
	}
	known := strings.Join(shown, ", ")
	if len(levels) > most {
		known += ", …"
	}
	if level == "" {
		return fmt.Sprintf("the cell is empty, as none was in the training rows, which have %s: fill it", known)
	}
	return fmt.Sprintf("level %.40q does not occur in the training rows, which have %s", level, known)
}
