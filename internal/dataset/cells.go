package dataset

import (
	"cmp"
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
	na        map[string]bool // what stands for a missing cell, beside the empty one
	numbered  *notation       // how its numbers are written
	fault     *cellError      // why a source's cells cannot be read
	coded     string          // a cell that loses something when it is read as a number
	points    points          // whether points can stand between thousands

	texts []string // the different ones, in order of appearance
	first []place  // where each appears first
	code  map[string]uint16
	codes []uint16 // of each row, indices into texts, from 1 on; 0: missing. nil once there are too many
	dates dates    // how all texts so far can be read as dates

	// Once there are too many different texts.
	over   bool
	listed *cellError // what is wrong with it as categories
	is     Kind       // what it is when it is not listed as categorical
	bad    *cellError // the first cell that does not fit that
	hint   string     // what the first texts are where they are numbers in disguise
	order  string     // how its dates are read; "": they are none
	units  []string   // of its numbers, while they are few; several stand for a doubt
	values []float64  // NaN: missing or no number; nil where it begins with a text

	holes     int
	firstHole place

	numbers map[string][]float64 // as numbers, once somebody has asked, by the order of dates
	levels  *Column              // as categories, once somebody has asked
}

// cellError is what is wrong with a cell.
type cellError struct {
	at  place
	err error
}

// add takes the next row's cell, which has no blanks around it.
func (c *cells) add(cell string, at place) {
	if cell == "" || c.na[cell] {
		if c.holes == 0 {
			c.firstHole = at
		}
		c.holes++
		c.put(0, math.NaN())
		return
	}
	if c.coded == "" && looksCoded(cell) {
		c.coded = strings.Clone(cell)
	}
	if !c.over {
		if code, known := c.code[cell]; known {
			c.codes = append(c.codes, code)
			return
		}
		c.points.add(cell) // of more texts than a column keeps, the first ones say it
		if len(c.texts) < c.maxLevels {
			cell = strings.Clone(cell)
			c.dates.add(cell)
			c.texts, c.first = append(c.texts, cell), append(c.first, at)
			code := uint16(len(c.texts))
			c.code[cell], c.codes = code, append(c.codes, code)
			return
		}

		// Goes over from texts to numbers, at the cell that is one text too many. A column that begins with a text
		// is of no use any more, and no row of it is kept.
		c.order, c.hint = c.dates.order(), disguised(c.texts, c.numbered)
		c.is, c.bad = c.kind(use{order: c.order})
		c.listed = c.levelError(false)
		if c.is == Categorical && c.bad == nil {
			c.bad = c.oneTooMany(cell, at, true)
		}
		if c.listed == nil {
			c.listed = c.oneTooMany(cell, at, false)
		}
		if c.is == Numeric {
			c.values = c.parsed(c.order)
		}
		c.over, c.texts, c.first, c.codes, c.code = true, nil, nil, nil, nil
	}
	v := c.value(cell, c.order)
	if math.IsNaN(v) && c.bad == nil { // of one that begins with a text it is not
		c.bad = c.notNumber(cell, c.order, at)
	}
	c.put(0, v)
}

// value reads a cell as a number, or as a date where an order is given; NaN is neither, and notNumber says why.
func (c *cells) value(cell, order string) float64 {
	v, ok := 0.0, false
	if order != "" {
		v, ok = parseDate(cell, order)
	} else {
		var class class
		v, class = c.numbered.parse(cell)
		if ok = class == isNumber; ok {
			c.addUnits(cell)
		}
	}
	if !ok {
		return math.NaN()
	}
	return v
}

// fewUnits is how many units of a column are named.
const fewUnits = 3

// addUnits notes the units of a number where the table has several.
func (c *cells) addUnits(cell string) {
	if c.numbered == nil || len(c.numbered.units) < 2 || len(c.units) == fewUnits {
		return
	}
	if _, _, units, _ := c.numbered.bare(cell); units != "" && !slices.Contains(c.units, units) {
		c.units = append(c.units, units)
	}
}

// notNumber says why a cell is no number, or no date where an order is given; nil where it is one. It may look at all
// texts, and is not asked of each cell.
func (c *cells) notNumber(cell, order string, at place) *cellError {
	if order != "" {
		if _, ok := parseDate(cell, order); ok {
			return nil
		}
		return c.wrong(at, "%s is not a date as the others are; mend the cell, or list the column as categorical",
			quote(cell))
	}
	switch _, class := c.numbered.parse(cell); class {
	case isNumber:
		return nil
	case isText:
		if hint := cmp.Or(c.inDisguise(), disguised([]string{cell}, c.numbered)); hint != "" {
			return c.wrong(at, "%s is not read as a number: %s", quote(cell), hint)
		}
		return c.wrong(at, "%s is not a number; mend the cell, list the column as categorical, or give the text in na if "+
			"it says that the value is missing", quote(cell))
	default:
		return c.wrong(at, "%s %s", quote(cell), class.why())
	}
}

// inDisguise says what the texts are where they are numbers in disguise, of those before there were too many.
func (c *cells) inDisguise() string {
	if c.over {
		return c.hint
	}
	return disguised(c.texts, c.numbered)
}

// put appends a row.
func (c *cells) put(code uint16, v float64) {
	switch {
	case !c.over:
		c.codes = append(c.codes, code)
	case c.values != nil:
		c.values = append(c.values, v)
	}
}

// oneTooMany says of the cell that is one text too many what is wrong with it.
func (c *cells) oneTooMany(cell string, at place, unlisted bool) *cellError {
	if err := c.levelErrorOf(cell, at, unlisted); err != nil {
		return err
	}
	if unlisted && c.hint != "" {
		return c.wrong(at, "%s is not read as a number: %s", quote(cell), c.hint)
	}
	return c.wrong(at, "there are more than %d different texts; ignore the column, or group its values", c.maxLevels)
}

// parsed returns the codes' numbers, or days: NaN where a cell is missing or neither.
func (c *cells) parsed(order string) []float64 {
	of := make([]float64, 1+len(c.texts))
	of[0] = math.NaN()
	for i, text := range c.texts {
		of[1+i] = c.value(text, order)
	}
	values := make([]float64, len(c.codes))
	for i, code := range c.codes {
		values[i] = of[code]
	}
	return values
}

// numberError finds the first text that is no number, or no date.
func (c *cells) numberError(order string) *cellError {
	for i, text := range c.texts {
		if err := c.notNumber(text, order, c.first[i]); err != nil {
			return err
		}
	}
	return nil
}

// kind returns what the column is for a use, and the first cell that does not fit. A column that is not listed is what
// its first cell that is not missing is, and numbers where all are dates.
func (c *cells) kind(u use) (Kind, *cellError) {
	switch {
	case c.fault != nil:
		return Numeric, c.fault
	case u.listed && c.over:
		return Categorical, c.listed
	case u.listed:
		return Categorical, c.levelError(false)
	case c.over && u.order != c.order && len(c.values) > 0:
		return Numeric, c.wrong(place{1, 2}, "the cells are %s, and those of the training were %s", inWords(c.order),
			inWords(u.order))
	case c.over:
		return c.is, c.bad
	case len(c.texts) == 0:
		return Numeric, nil
	case u.order != "":
		return Numeric, c.numberError(u.order)
	}
	if _, class := c.numbered.parse(c.texts[0]); class == isText {
		return Categorical, c.levelError(true)
	}
	return Numeric, c.numberError("")
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
		switch _, class := c.numbered.parse(text); class {
		case isText:
		case isNumber:
			if hint := c.inDisguise(); hint != "" {
				return c.wrong(at, "%s is read as a number, and %v has %s: %s", quote(text), c.first[0], quote(c.texts[0]), hint)
			}
			return c.wrong(at, "%s is a number, but %v has %s; mend one of them, list the column as categorical, or give "+
				"the text in na if it says that the value is missing", quote(text), c.first[0], quote(c.texts[0]))
		default:
			return c.wrong(at, "%s %s", quote(text), class.why())
		}
	}
	if why := checkText(text); why != "" {
		return c.wrong(at, "%s %s", quote(text), why)
	}
	return nil
}

// asNumbers returns the rows as numbers or days, NaN where they are missing. Whoever asks shares them.
func (c *cells) asNumbers(order string) []float64 {
	if c.over {
		return c.values
	}
	values, known := c.numbers[order]
	if !known {
		if c.numbers == nil {
			c.numbers = make(map[string][]float64)
		}
		values = c.parsed(order)
		c.numbers[order] = values
	}
	return values
}

// column returns the column for a use, of a table with so many rows.
func (c *cells) column(u use, rows int) (Column, error) {
	kind, _ := c.kind(u)
	accepted, choices := u.missing.levels, `"level", "mean,level" or "median,level"`
	if kind == Numeric {
		accepted, choices = u.missing.numbers, `"level", "mean" or "median"`
	}
	if c.holes > 0 && c.holes < rows && !accepted && !u.label {
		return Column{}, c.wrong(c.firstHole, "the cell is missing; fill it, or choose %s for missing values", choices).err
	}
	if kind == Numeric {
		return Column{Name: c.name, Kind: Numeric, Values: c.asNumbers(u.order)}, nil
	}
	if c.levels == nil {
		column := Column{Name: c.name, Kind: Categorical, Codes: make([]int32, len(c.codes)), Levels: c.texts,
			doubt: c.doubtfulTexts()}
		for i, code := range c.codes {
			column.Codes[i] = int32(code) - 1
		}
		column.sortLevels()
		column.unite()
		c.levels = &column
	}
	column := *c.levels
	column.Listed = u.listed
	return column, nil
}

// wrong is an error about one cell.
func (c *cells) wrong(at place, format string, args ...any) *cellError {
	return &cellError{at, fmt.Errorf("%v, column %s: "+format, append([]any{at, quote(c.name)}, args...)...)}
}

// use is what one reading of a column is for.
type use struct {
	listed  bool // it is listed as categorical
	label   bool
	order   string // how its cells are read as dates; "": they are none
	missing missing
}

// useOf says what a column is for as the options say.
func (c *cells) useOf(o *Options, m missing) use {
	u := use{listed: slices.Contains(o.Categorical, c.name), label: c.name == o.Label, missing: m}
	switch {
	case u.listed || u.label:
	case o.DateOrders != nil:
		u.order = o.DateOrders[c.name]
	case c.over:
		u.order = c.order
	default:
		u.order = c.dates.order()
	}
	return u
}
