package kernel

import (
	"fmt"
	"math"
	"slices"
)

// FitOptions are a job's choices for a Normaliser.
type FitOptions struct {
	Numeric      Scaling // MinMax, Standard or Rank
	DropConstant bool    // leave constant columns out; otherwise they are an error
}

// Fit learns a normaliser from the given rows of columns, all rows for nil. Only those rows
// count: a held-out row leaves no trace in the result.
func Fit(columns []Column, rows []int, o FitOptions) (*Normaliser, error) {
	if _, err := ParseScaling(string(o.Numeric)); err != nil {
		return nil, err
	}
	total, err := validateColumns(columns)
	if err != nil {
		return nil, err
	}
	rows, err = trainingRows(rows, total)
	if err != nil {
		return nil, err
	}
	n := &Normaliser{Columns: make([]Scale, len(columns))}
	for i := range columns {
		if n.Columns[i], err = fitColumn(&columns[i], rows, o); err != nil {
			return nil, err
		}
	}
	return n, n.Validate()
}

// trainingRows checks the rows to fit on, and lists all of them for nil.
func trainingRows(rows []int, total int) ([]int, error) {
	if rows == nil {
		rows = make([]int, total)
		for i := range rows {
			rows[i] = i
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("there are no training rows to normalise by")
	}
	for _, r := range rows {
		if r < 0 || r >= total {
			return nil, fmt.Errorf("training row %d does not exist: the table has %d rows", r+1, total)
		}
	}
	return rows, nil
}

// fitColumn fits one column and deals with a constant one as the options say.
func fitColumn(c *Column, rows []int, o FitOptions) (Scale, error) {
	s := Scale{Column: c.Name, Scaling: o.Numeric}
	var constant bool
	var err error
	if c.categorical() {
		s.Scaling = OneHot
		constant = s.fitLevels(c, rows)
	} else {
		constant, err = s.fitNumbers(gather(c.Values, rows))
	}
	switch {
	case err != nil:
		return Scale{}, err
	case constant && !o.DropConstant:
		return Scale{}, fmt.Errorf("column %q is constant on the training rows: leave it out, or let the job drop constant columns", c.Name)
	case constant:
		return Scale{Column: c.Name, Scaling: Dropped}, nil
	}
	return s, nil
}

// gather returns the values of the given rows.
func gather(values []float64, rows []int) []float64 {
	out := make([]float64, len(rows))
	for i, r := range rows {
		out[i] = values[r]
	}
	return out
}

// fitLevels keeps the levels that occur, in the column's order.
func (s *Scale) fitLevels(c *Column, rows []int) (constant bool) {
	occurs := make([]bool, len(c.Levels))
	for _, r := range rows {
		occurs[c.Codes[r]] = true
	}
	for i, level := range c.Levels {
		if occurs[i] {
			s.Levels = append(s.Levels, level)
		}
	}
	return len(s.Levels) < 2
}

// fitNumbers fits the scaling that s names; it may reorder values.
func (s *Scale) fitNumbers(values []float64) (constant bool, err error) {
	low, high := slices.Min(values), slices.Max(values)
	if low == high {
		return true, nil
	}
	switch s.Scaling {
	case MinMax:
		s.Shift, s.Divisor = low, high-low
		s.Binary = twoValued(values, low, high)
	case Standard:
		s.Shift, s.Divisor = moments(values)
	case Rank:
		s.Knots, s.Ranks = midRanks(values)
	}
	if err := s.validate(); err != nil {
		return false, fmt.Errorf("column %q from %v to %v cannot be scaled: %w", s.Column, low, high, err)
	}
	return false, nil
}

// twoValued reports whether no value lies strictly between low and high.
func twoValued(values []float64, low, high float64) bool {
	return !slices.ContainsFunc(values, func(v float64) bool { return v != low && v != high })
}

// moments returns the mean and the standard deviation (divisor n) of values.
func moments(values []float64) (mean, deviation float64) {
	n := float64(len(values))
	for _, v := range values {
		mean += v / n
	}
	for _, v := range values {
		deviation += (v - mean) * (v - mean) / n
	}
	return mean, math.Sqrt(deviation)
}

// midRanks returns the distinct values and, for each, (#less + #equal/2) / n. It sorts values.
func midRanks(values []float64) (knots, ranks []float64) {
	slices.Sort(values)
	n := float64(len(values))
	for lo := 0; lo < len(values); {
		hi := lo + 1
		for hi < len(values) && values[hi] == values[lo] {
			hi++
		}
		knots = append(knots, values[lo])
		ranks = append(ranks, float64(lo+hi)/2/n)
		lo = hi
	}
	return knots, ranks
}
