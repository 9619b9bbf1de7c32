package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// cells are one column of a CSV file as it stands there, before anybody has said what it is for. While its different
// texts are few, they are kept: one reading then serves as numbers, as categories and as a label. A column with more
// different texts than a categorical one may have can only be numbers, and those are kept.
type cells struct {
	name      string
	maxLevels int

	texts []string // the different ones, in order of appearance
	first []place  // where each appears first
	code  map[string]int32
	codes []int32 // of each row, indices into texts; -1: empty. nil once there are too many

	// Once there are too many different texts.
	over   bool
	listed *cellError // what is wrong with it as categories
	is     Kind       // what it is when it is not listed as categorical
	bad    *cellError // the first cell that does not fit that
	values []float64  // NaN: empty or no number; nil where it begins with a text

	holes     int
	firstHole place

	numbers *[]float64         // as numbers, once somebody has asked
	levels  *Column            // as categories, once somebody has asked
	means   map[string]float64 // what empty cells become, by the way to treat them
}

// cellError is what is wrong with a cell.
type cellError struct {
	at  place
	err error
}

// newCells starts the column of that name.
func newCells(name string, maxLevels int) *cells {
	return &cells{name: name, maxLevels: maxLevels, code: make(map[string]int32)}
}

// add takes the next row's cell, which has no blanks around it.
func (c *cells) add(cell string, at place) {
	if cell == "" {
		if c.holes == 0 {
			c.firstHole = at
		}
		c.holes++
		c.put(-1, math.NaN())
		return
	}
	if !c.over {
		if code, known := c.code[cell]; known {
			c.codes = append(c.codes, code)
			return
		}
		if len(c.texts) < c.maxLevels {
			cell = strings.Clone(cell)
			code := int32(len(c.texts))
			c.code[cell] = code
			c.texts, c.first, c.codes = append(c.texts, cell), append(c.first, at), append(c.codes, code)
			return
		}
		c.overflowAt(cell, at)
	}
	v, class := parseNumber(cell)
	if class != isNumber {
		v = math.NaN()
		if c.bad == nil { // of one that begins with a text it is not
			c.bad = c.notNumber(cell, class, at)
		}
	}
	c.put(0, v)
}

// put appends a row.
func (c *cells) put(code int32, v float64) {
	switch {
	case !c.over:
		c.codes = append(c.codes, code)
	case c.values != nil:
		c.values = append(c.values, v)
	}
}

// overflowAt goes over from texts to numbers, at the cell that is one text too many. A column that begins with a text
// is of no use any more, and no row of it is kept.
func (c *cells) overflowAt(cell string, at place) {
	c.is, c.bad = c.kind(false)
	c.listed = c.levelError(false)
	if c.is == Categorical && c.bad == nil {
		c.bad = c.oneTooMany(cell, at, true)
	}
	if c.listed == nil {
		c.listed = c.oneTooMany(cell, at, false)
	}
	if c.is == Numeric {
		c.values = c.parsed()
	}
	c.over, c.texts, c.first, c.codes, c.code = true, nil, nil, nil, nil
}

// oneTooMany says of the cell that is one text too many what is wrong with it.
func (c *cells) oneTooMany(cell string, at place, unlisted bool) *cellError {
	if err := c.levelErrorOf(cell, at, unlisted); err != nil {
		return err
	}
	return c.wrong(at, "there are more than %d different texts; ignore the column, or group its values", c.maxLevels)
}

// parsed returns the codes' numbers: NaN where a cell is empty or no number.
func (c *cells) parsed() []float64 {
	of := make([]float64, len(c.texts))
	for i, text := range c.texts {
		v, class := parseNumber(text)
		if of[i] = v; class != isNumber {
			of[i] = math.NaN()
		}
	}
	values := make([]float64, len(c.codes))
	for i, code := range c.codes {
		values[i] = math.NaN()
		if code >= 0 {
			values[i] = of[code]
		}
	}
	return values
}

// numberError finds the first text that is no number.
func (c *cells) numberError() *cellError {
	for i, text := range c.texts {
		if _, class := parseNumber(text); class != isNumber {
			return c.notNumber(text, class, c.first[i])
		}
	}
	return nil
}

// notNumber says of a cell in a numeric column that it is no number.
func (c *cells) notNumber(cell string, class class, at place) *cellError {
	if class == isText {
		return c.wrong(at, "%s is not a number; mend the cell, or list the column as categorical", quote(cell))
	}
	return c.wrong(at, "%s %s", quote(cell), class.why())
}

// kind returns what the column is, listed as categorical or not, and the first cell that does not fit. A column that is
// not listed is what its first cell that is not empty is.
func (c *cells) kind(listed bool) (Kind, *cellError) {
	switch {
	case listed && c.over:
		return Categorical, c.listed
	case listed:
		return Categorical, c.levelError(false)
	case c.over:
		return c.is, c.bad
	case len(c.texts) == 0:
		return Numeric, nil
	}
	if _, class := parseNumber(c.texts[0]); class == isText {
		return Categorical, c.levelError(true)
	}
	return Numeric, c.numberError()
}

// levelError finds the first text that cannot stand in a categorical column; in one that is not listed as such numbers
// cannot.
func (c *cells) levelError(unlisted bool) *cellError {
	for i, text := range c.texts {
		if err := c.levelErrorOf(text, c.first[i], unlisted); err != nil {
			return err
		}
	}
	return nil
}

// levelErrorOf is levelError for one text.
func (c *cells) levelErrorOf(text string, at place, unlisted bool) *cellError {
	if unlisted {
		switch _, class := parseNumber(text); class {
		case isText:
		case isNumber:
			return c.wrong(at, "%s is a number, but %v has %s; mend one of them, or list the column as categorical",
				quote(text), c.first[0], quote(c.texts[0]))
		default:
			return c.wrong(at, "%s %s", quote(text), class.why())
		}
	}
	if why := checkText(text); why != "" {
		return c.wrong(at, "%s %s", quote(text), why)
	}
	return nil
}

// sort brings the rows into the order of their ids.
func (c *cells) sort(order []int) {
	c.code = nil
	if c.values != nil {
		c.values = gather(c.values, order)
	} else if !c.over {
		c.codes = gather(c.codes, order)
	}
}

// asNumbers returns the rows as numbers, NaN where they are empty. Whoever asks shares them.
func (c *cells) asNumbers() []float64 {
	if c.over {
		return c.values
	}
	if c.numbers == nil {
		values := c.parsed()
		c.numbers = &values
	}
	return *c.numbers
}

// asLevels returns the rows as categories, -1 where they are empty. Whoever asks shares them.
func (c *cells) asLevels() Column {
	if c.levels == nil {
		column := Column{Name: c.name, Kind: Categorical, Codes: slices.Clone(c.codes), Levels: c.texts}
		column.sortLevels()
		c.levels = &column
	}
	return *c.levels
}

// column returns the column for a use, and what its empty cells were given. rows is how many there are.
func (c *cells) column(u use, rows int) (column Column, fill *float64, err error) {
	if c.holes == rows && !c.mayBeEmpty(u) {
		return Column{}, nil, fmt.Errorf("column %s is empty in every row; fill it, or ignore the column", quote(c.name))
	}
	kind, _ := c.kind(u.listed)
	if kind == Numeric {
		return c.numeric(u)
	}
	column = c.asLevels()
	if c.holes == 0 || u.label {
		return column, nil, nil
	}
	if !u.missing.levels {
		return Column{}, nil, c.wrong(c.firstHole, "the cell is empty; fill it, or choose %q for missing values",
			u.missing.withLevels()).err
	}
	column.Codes = slices.Clone(column.Codes)
	column.fillLevel()
	column.sortLevels()
	return column, nil, nil
}

// mayBeEmpty reports whether a column without any cell makes sense: labels that others hold, or
// a row or two to predict on, when what to put there does not depend on the column itself.
func (c *cells) mayBeEmpty(u use) bool {
	if u.listed {
		return u.label || u.missing.levels
	}
	_, given := u.fills[c.name]
	return u.label || given
}

// numeric returns a column of numbers. Empty cells of one that is not the label are filled, in a copy.
func (c *cells) numeric(u use) (Column, *float64, error) {
	column := Column{Name: c.name, Kind: Numeric, Values: c.asNumbers()}
	if u.label {
		return column, nil, nil
	}
	fill, given := u.fills[c.name]
	switch {
	case given:
	case u.missing.numbers != nil:
		fill = c.meanBy(u.missing)
	case c.holes > 0:
		return Column{}, nil, c.wrong(c.firstHole, "the cell is empty; fill it, or choose %s for missing values",
			u.missing.withNumbers()).err
	default:
		return column, nil, nil
	}
	if c.holes > 0 {
		column.Values = slices.Clone(column.Values)
		for i, v := range column.Values {
			if math.IsNaN(v) {
				column.Values[i] = fill
			}
		}
	}
	return column, &fill, nil
}

// meanBy returns what a way to treat missing values puts into the column's empty cells. It is computed once.
func (c *cells) meanBy(m missing) float64 {
	way, _, _ := strings.Cut(m.way, ",")
	if v, known := c.means[way]; known {
		return v
	}
	if c.means == nil {
		c.means = make(map[string]float64)
	}
	c.means[way] = m.numbers(present(c.asNumbers()))
	return c.means[way]
}

// present returns a copy of the values that are not NaN.
func present(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), math.IsNaN)
}

// wrong is an error about one cell.
func (c *cells) wrong(at place, format string, args ...any) *cellError {
	return &cellError{at, fmt.Errorf("%v, column %s: "+format, append([]any{at, quote(c.name)}, args...)...)}
}

// use is what one reading of a column is for.
type use struct {
	listed  bool // it is listed as categorical
	label   bool
	missing missing
	fills   map[string]float64
}
