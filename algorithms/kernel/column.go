package kernel

import (
	"fmt"
	"math"
)

// Limits on what a design may hold; they are checked before anything is allocated.
const (
	MaxRows    = 1 << 28   // rows of a column
	MaxColumns = 1<<16 - 1 // dense, and also binary, columns of a matrix
)

// Column is one column of a party's table: numbers in Values, or categories in Codes, which
// index Levels. Just one of Values and Codes is set. A missing cell is NaN, or code -1.
type Column struct {
	Name   string
	Values []float64
	Codes  []int32
	Levels []string
}

// CellError says which cell of a table is not fit for use. Callers that know how rows map to
// lines of a file use its fields to say so.
type CellError struct {
	Column string
	Row    int // counted from 0
	Reason string
}

// Error implements error; it counts rows from 1.
func (e *CellError) Error() string {
	return fmt.Sprintf("column %q, row %d: %s", e.Column, e.Row+1, e.Reason)
}

// Rows returns the column's length.
func (c *Column) Rows() int { return max(len(c.Values), len(c.Codes)) }

// categorical reports whether the column holds categories.
func (c *Column) categorical() bool { return c.Codes != nil }

// level returns the text of a code; "" is a missing cell's.
func (c *Column) level(code int32) string {
	if code < 0 {
		return ""
	}
	return c.Levels[code]
}

// Validate checks the column's shape and every cell that is not missing: numbers are finite, codes name a level.
func (c *Column) Validate() error {
	switch {
	case c.Name == "":
		return fmt.Errorf("a column has no name")
	case c.Values != nil && c.Codes != nil:
		return fmt.Errorf("column %q has both numbers and categories", c.Name)
	case c.Rows() > MaxRows:
		return fmt.Errorf("column %q has %d rows: at most %d fit", c.Name, c.Rows(), MaxRows)
	}
	for i, v := range c.Values {
		if math.IsInf(v, 0) {
			return &CellError{c.Name, i, fmt.Sprintf("the value is %v: give a finite number", v)}
		}
	}
	for i, code := range c.Codes {
		if code < -1 || int(code) >= len(c.Levels) {
			return &CellError{c.Name, i, fmt.Sprintf("code %d names none of the %d levels", code, len(c.Levels))}
		}
	}
	return nil
}

// validateColumns checks every column, and that they have distinct names and equal lengths.
// It returns the number of rows.
func validateColumns(columns []Column) (rows int, err error) {
	if len(columns) == 0 {
		return 0, fmt.Errorf("the table has no columns")
	}
	rows = columns[0].Rows()
	seen := make(map[string]bool, len(columns))
	for i := range columns {
		c := &columns[i]
		if err := c.Validate(); err != nil {
			return 0, err
		}
		if c.Rows() != rows {
			return 0, fmt.Errorf("column %q has %d rows and column %q has %d", c.Name, c.Rows(), columns[0].Name, rows)
		}
		if seen[c.Name] {
			return 0, fmt.Errorf("column %q occurs twice", c.Name)
		}
		seen[c.Name] = true
	}
	return rows, nil
}
