package kernel

import (
	"fmt"
	"math"
	"slices"
)

// FitOptions are a job's choices for a Normaliser.
type FitOptions struct {
	Numeric      Scaling // Auto, MinMax, Standard or Rank; or Binned, for categories too
	DropConstant bool    // leave constant columns out; otherwise they are an error
	Fill         Fill    // what missing numbers become
	Indicate     bool    // where numbers are missing in training rows, that is a binary column of its own
	Level        bool    // missing categories are the level ""; otherwise they are an error
	Strict       bool    // a level that training did not meet is an error; otherwise it is none of the known

	Bins    int                  // Binned: about how many bins a column of numbers has
	MinCell int                  // Binned: how many training rows a bin has at least
	Edges   map[string][]float64 // Binned: edges of bins, by column, in place of quantiles
}

// Fill says what missing numbers become: a figure of the training rows' cells that are not missing.
type Fill string

// The fills.
const (
	Refuse Fill = ""       // they are an error
	Mean   Fill = "mean"   // the arithmetic mean
	Median Fill = "median" // the middle value, the mean of the two in the middle; of two-valued columns the lower of them
)

// Fit learns a normaliser from the given rows of columns, all rows for nil. Only those rows
// count: a held-out row leaves no trace in the result. A column without any value is left out.
func Fit(columns []Column, rows []int, o FitOptions) (*Normaliser, error) {
	if _, err := ParseScaling(string(o.Numeric)); err != nil && o.Numeric != Binned {
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
	if o.Numeric == Binned {
		return fitBins(c, rows, o)
	}
	missing := slices.IndexFunc(rows, func(r int) bool {
		return c.categorical() && c.Codes[r] < 0 || !c.categorical() && math.IsNaN(c.Values[r])
	})
	if missing >= 0 && (c.categorical() && !o.Level || !c.categorical() && o.Fill == Refuse) {
		return Scale{}, &CellError{c.Name, rows[missing], "the cell is missing: fill it, or choose what missing cells become"}
	}
	s := Scale{Column: c.Name, Scaling: o.Numeric}
	var constant, empty bool
	if c.categorical() {
		s.Scaling, s.Strict = OneHot, o.Strict
		constant = s.fitLevels(c, rows)
		empty = constant && missing >= 0
	} else {
		values := present(c.Values, rows)
		empty = len(values) == 0
		var err error
		if constant, err = s.fitNumbers(values, o.Fill, missing >= 0); err != nil {
			return Scale{}, err
		}
		s.Indicator = o.Indicate && missing >= 0 && !empty
	}
	switch {
	case constant && !empty && !s.Indicator && !o.DropConstant:
		return Scale{}, fmt.Errorf("column %q is constant on the training rows: leave it out, or let the job drop "+
			"constant columns", c.Name)
	case constant:
		return Scale{Column: c.Name, Scaling: Dropped, Indicator: s.Indicator}, nil
	}
	return s, nil
}

// present returns the values of the given rows that are not missing.
func present(values []float64, rows []int) []float64 {
	out := make([]float64, 0, len(rows))
	for _, r := range rows {
		if v := values[r]; !math.IsNaN(v) {
			out = append(out, v)
		}
	}
	return out
}

// fitLevels keeps the levels that occur, in the column's order, that of missing cells before the others.
func (s *Scale) fitLevels(c *Column, rows []int) (constant bool) {
	occurs := make([]bool, 1+len(c.Levels))
	for _, r := range rows {
		occurs[c.Codes[r]+1] = true
	}
	for i, level := range append([]string{""}, c.Levels...) {
		if occurs[i] {
			s.Levels = append(s.Levels, level)
		}
	}
	return len(s.Levels) < 2
}

// fitNumbers fits the scaling that s names, and what missing cells are given; it may reorder values.
func (s *Scale) fitNumbers(values []float64, fill Fill, missing bool) (constant bool, err error) {
	if len(values) == 0 {
		return true, nil
	}
	low, high := slices.Min(values), slices.Max(values)
	if low == high {
		return true, nil
	}
	two := !slices.ContainsFunc(values, func(v float64) bool { return v != low && v != high })
	switch fill {
	case Mean:
		v, _ := moments(values)
		s.Fill = &v
	case Median:
		slices.Sort(values)
		n := len(values)
		v := values[(n-1)/2]
		if !two {
			v = (v + values[n/2]) / 2
		}
		s.Fill = &v
	}
	if s.Scaling == Auto {
		if s.Scaling = MinMax; !two && squeezed(values) {
			s.Scaling = Log
		}
	}
	switch s.Scaling {
	case MinMax:
		s.Shift, s.Divisor = low, high-low
		s.Binary = two && (!missing || *s.Fill == low || *s.Fill == high)
	case Standard:
		s.Shift, s.Divisor = moments(values)
		s.Low, s.Span = (low-s.Shift)/s.Divisor, (high-low)/s.Divisor
	case Rank:
		s.Knots, s.Ranks = midRanks(values)
	case Log:
		s.Shift, s.Divisor = values[len(values)/2], middle(values, 4)/2
		if s.Divisor == 0 { // most values are the same
			s.Divisor = 1
		}
		s.Low = math.Asinh((low - s.Shift) / s.Divisor)
		s.Span = math.Asinh((high-s.Shift)/s.Divisor) - s.Low
	}
	if err := s.validate(); err != nil {
		return false, fmt.Errorf("column %q from %v to %v cannot be scaled: %w", s.Column, low, high, err)
	}
	return false, nil
}

// Of columns with outliers, for Auto.
const (
	fewValues = 8 // a column of no more different values holds codes or grades, which have no outliers
	squeeze   = 4 // its range is so many times as wide as the middle 95 %; twice is what normal values have
)

// squeezed reports whether a few values are so far from the others that on a scale of the range the others would lie on
// less than a fourth of it. It sorts values.
func squeezed(values []float64) bool {
	slices.Sort(values)
	different := 1
	for i := 1; i < len(values); i++ {
		if values[i] != values[i-1] {
			different++
		}
	}
	return different > fewValues && values[len(values)-1]-values[0] > squeeze*middle(values, 40)
}

// middle is how wide sorted values are without a part of them at each end, the part-th.
func middle(values []float64, part int) float64 {
	n := len(values)
	return values[n-1-n/part] - values[n/part]
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
