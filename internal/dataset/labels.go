package dataset

import (
	"fmt"
	"math"
	"slices"
)

// LabelKind says what a label column is used for.
type LabelKind int

const (
	// Classification wants exactly two different labels.
	Classification LabelKind = iota
	// Regression wants numbers.
	Regression
)

// Labels are what a model is to learn, one for each row of the table.
type Labels struct {
	Kind    LabelKind
	Values  []float64 // -1 or +1, or the real value; 0 where Present is false
	Present []bool    // whether the row is labelled here
	Classes [2]string // classification: the labels that became -1 and +1
}

// Count returns the number of labelled rows.
func (l *Labels) Count() int {
	n := 0
	for _, p := range l.Present {
		if p {
			n++
		}
	}
	return n
}

// Labels reads the label column of that name. For classification the labelled rows must have
// exactly two different values; the larger number, or the later text byte by byte, becomes +1.
// For regression they must be numbers that are not all equal. Empty cells are rows not labelled here.
func (t *Table) Labels(name string, kind LabelKind) (*Labels, error) {
	c, err := t.Column(name)
	if err != nil {
		return nil, err
	}
	l := &Labels{Kind: kind, Values: make([]float64, t.Rows()), Present: c.present()}
	if l.Count() == 0 {
		return nil, t.errorf("label column %s is empty: no row is labelled here", quote(name))
	}
	switch {
	case kind == Classification:
		err = l.classify(c, t.IDs)
	case c.Kind == Categorical:
		err = fmt.Errorf("holds texts; regression wants numbers")
	default:
		err = l.regress(c)
	}
	if err != nil {
		return nil, t.errorf("label column %s %w", quote(name), err)
	}
	return l, nil
}

// present tells which rows have a cell.
func (c *Column) present() []bool {
	there := make([]bool, max(len(c.Values), len(c.Codes)))
	for i := range there {
		if c.Kind == Categorical {
			there[i] = c.Codes[i] >= 0
		} else {
			there[i] = !math.IsNaN(c.Values[i])
		}
	}
	return there
}

// rank returns each row's label as a number that sorts as the labels do.
func (c *Column) rank(row int) float64 {
	if c.Kind == Categorical {
		return float64(c.Codes[row])
	}
	return c.Values[row]
}

// classify maps the smaller of two labels to -1 and the larger to +1. ids are for the error.
func (l *Labels) classify(c *Column, ids []string) error {
	var seen []int // the first row of each label
	for row, there := range l.Present {
		if !there || slices.ContainsFunc(seen, func(r int) bool { return c.rank(r) == c.rank(row) }) {
			continue
		}
		if seen = append(seen, row); len(seen) == 3 {
			return fmt.Errorf("has more than two labels: %s, %s and, at id %s, %s; classification wants two",
				quote(c.cell(seen[0])), quote(c.cell(seen[1])), quote(ids[row]), quote(c.cell(row)))
		}
	}
	if len(seen) == 1 {
		return c.constant(seen[0])
	}
	low, high := seen[0], seen[1]
	if c.rank(low) > c.rank(high) {
		low, high = high, low
	}
	l.Classes = [2]string{c.cell(low), c.cell(high)}
	for row, there := range l.Present {
		switch {
		case !there:
		case c.rank(row) == c.rank(low):
			l.Values[row] = -1
		default:
			l.Values[row] = 1
		}
	}
	return nil
}

// regress copies the numbers.
func (l *Labels) regress(c *Column) error {
	first, differs := slices.Index(l.Present, true), false
	for row, there := range l.Present {
		if there {
			l.Values[row] = c.Values[row]
			differs = differs || c.Values[row] != c.Values[first]
		}
	}
	if !differs {
		return c.constant(first)
	}
	return nil
}

// constant is the error for a label that never changes.
func (c *Column) constant(row int) error {
	return fmt.Errorf("is constant: every labelled row has %s, so there is nothing to learn", quote(c.cell(row)))
}
