package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// cells are one column of a CSV file as it stands there, before anybody has said what it is for. While its different
// texts are few, they are kept: one reading then serves as numbers, as categories and as a label. A column with more
// different texts than a categorical one may have can only be numbers, and those are kept.
type cells struct {
	name      string
	home      *home // where the table's options are written
	maxLevels int
	na        map[string]bool // what stands for a missing cell, beside the empty one
	missed    map[string]bool // what of it the table has
	numbered  *notation       // how its numbers are written
	fault     *cellError      // why a source's cells cannot be read
	coded     string          // a cell that loses something when it is read as a number

	texts []string // the different ones, in order of appearance
	first []place  // where each appears first
	code  map[string]uint16
	codes []uint16 // of each row, indices into texts, from 1 on; 0: missing. nil once there are too many
	dates dates    // how all texts so far can be read as dates

	// Once there are too many different texts.
	over   bool
	listed *cellError // what is wrong with it as categories
	start  sample     // its first text
	is     Kind       // what it is when it is not listed as categorical
	bad    sample     // the first cell that does not fit that
	order  string     // how its dates are read; "": they are none
	units  []string   // of its numbers, while they are few; several stand for a doubt
	values []float64  // NaN: missing or no number; nil where it begins with a text

	holes     int
	firstHole place

	written *numerals // how the cells are written; nil until somebody asks, or there are too many texts

	// What is said of the column when all are looked at together.
	said   string   // how its numbers or dates are written, and what stands for a missing cell
	cured  bool     // options read it, which the advice has
	unsure bool     // it could be read in two ways
	mend   bool     // no option reads it, and its texts are hardly categories
	odd    bool     // it is written in another way than the others, or in several
	absent []sample // texts that seem to stand for a missing cell

	numbers map[string][]float64 // as numbers, once somebody has asked, by the order of dates
	levels  *Column              // as categories, once somebody has asked
}

// cellError is what is wrong with a cell.
type cellError struct {
	at   place
	err  error
	mend string // which option leaves the column out; "" where it is not for an option to mend
}

// leaves says how a column that only its owner can mend is left out.
func (c *cells) leaves(e *cellError) *cellError {
	e.mend = c.home.ignoring(c.name)
	return e
}

// add takes the next row's cell, which has no blanks around it.
func (c *cells) add(cell string, at place) {
	if cell == "" || c.na[cell] {
		if cell != "" && !c.missed[cell] {
			c.missed[strings.Clone(cell)] = true
		}
		if c.holes == 0 {
			c.firstHole = at
		}
		c.holes++
		c.put(0, math.NaN())
		return
	}
	if c.coded == "" && looksCoded(cell, c.numbered) {
		c.coded = strings.Clone(cell)
	}
	if !c.over {
		if code, known := c.code[cell]; known {
			c.codes = append(c.codes, code)
			return
		}
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
		c.order = c.dates.order()
		c.study()
		c.is, _ = c.kind(use{order: c.order})
		if c.is == Numeric {
			for i, text := range c.texts {
				if c.notNumber(text, c.order, c.first[i]) != nil {
					c.bad = sample{text, c.first[i], 1}
					break
				}
			}
			c.values = c.parsed(c.order)
		}
		if c.listed = c.levelError(false); c.listed == nil {
			c.listed = c.levelErrorOf(cell, at, false)
		}
		if c.order != "" {
			c.written.nines = c.endsOfTime(c.order)
		}
		c.start = sample{c.texts[0], c.first[0], 1}
		c.over, c.texts, c.first, c.codes, c.code = true, nil, nil, nil, nil
	}
	v := c.value(cell, c.order)
	switch {
	case c.order == "" && c.written.are() && (math.IsNaN(v) || slices.ContainsFunc(c.written.units, isShare)):
		c.written.add(cell, at, 1, c.numbered) // of other texts nothing more is to be learnt
	case isNines(v) && c.order == "", c.order != "" && isEndOfTime(v):
		c.written.noteNines(cell, at, 1)
	}
	if math.IsNaN(v) && c.bad.cells == 0 {
		c.bad = sample{strings.Clone(cell), at, 1}
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

// notNumber says why a cell is no number, or no date where an order is given; nil where it is one.
func (c *cells) notNumber(cell, order string, at place) *cellError {
	if order != "" {
		if _, ok := parseDate(cell, order); ok {
			return nil
		}
		if c.said != "" {
			return c.wrong(at, "%s is not a date as the others are: mend the cell; %s", quote(cell), c.said)
		}
		return c.leaves(c.wrong(at, "%s is not a date as the others are: mend the cell"+orIgnore, quote(cell)))
	}
	switch _, class := c.numbered.parse(cell); class {
	case isNumber:
		return nil
	case isText:
		return c.mixed()
	default:
		return c.wrong(at, "%s %s", quote(cell), class.why())
	}
}

// mixed says what is wrong with a column that has numbers and texts, or numbers that are not read as such.
func (c *cells) mixed() *cellError {
	s := c.study()
	few := len(s.strays) > 0 && !s.more && 2*s.numbers >= s.texts
	first := s.hidden
	for _, t := range s.strays {
		if (few || s.are()) && (first.cells == 0 || t.at.row < first.at.row) {
			first = t
		}
	}
	if first.cells == 0 {
		first = s.plain
	}
	switch {
	case c.odd:
		return c.leaves(&cellError{at: s.hidden.at, err: fmt.Errorf("column %s: %s", quote(c.name), c.said)})
	case s.hidden.cells > 0 && c.said != "":
		return c.wrong(s.hidden.at, "%s is not read as a number: %s", s.hidden.quoted(), c.said)
	case c.said != "":
		return c.wrong(first.at, "%s", c.said)
	case few:
		var list []string
		for i := range s.strays {
			list = append(list, s.strays[i].counted())
		}
		is := "is not a number: mend it"
		if len(list) > 1 {
			is = "are no numbers: mend them"
		}
		return c.wrong(first.at, "%s %s, or %s", wording.List(list, "and"), is, c.asMissing())
	case s.are():
		return c.wrong(first.at, "%s is not a number, as the others are: mend the cells, or %s", quote(first.text),
			c.asCodes())
	}
	if s.plain.cells > 0 {
		first = s.plain
	}
	return c.wrong(first.at, "%s is a number, and the others are texts: mend the cells, or %s", quote(first.text),
		c.asCodes())
}

// asMissing says what to do with a column of numbers where its few texts say that the value is missing.
func (c *cells) asMissing() string {
	var words []string
	for _, s := range c.study().strays {
		words = append(words, s.text)
	}
	says := " if it says that the value is missing"
	if len(words) > 1 {
		says = " if they say that the value is missing"
	}
	return c.home.put(optionList("na", union(c.home.na(c.missed), words))) + says
}

// asCodes says what to do with a column of numbers and texts that are codes.
func (c *cells) asCodes() string {
	return c.home.put(optionList("categorical", union(c.home.categorical, []string{c.name}))) + " if these are codes"
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

// tooMany is the error for a column with too many texts to be categories.
func (c *cells) tooMany() *cellError {
	return c.leaves(&cellError{at: c.start.at, err: fmt.Errorf("column %s has more than %d different texts: group its "+
		"values"+orIgnore, quote(c.name), c.maxLevels)})
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
	case u.listed && c.over && c.listed != nil:
		return Categorical, c.listed
	case u.listed && c.over:
		return Categorical, c.tooMany()
	case u.listed:
		return Categorical, c.levelError(false)
	case c.over && u.order != c.order && len(c.values) > 0:
		return Numeric, c.wrong(place{1, 2}, "the cells are %s, and those of the training were %s", inWords(c.order),
			inWords(u.order))
	case c.over && c.is == Categorical:
		return Categorical, c.overTexts()
	case c.over && c.bad.cells == 0:
		return Numeric, nil
	case c.over:
		return Numeric, c.notNumber(c.bad.text, c.order, c.bad.at)
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

// overTexts says what is wrong with a column that begins with a text and has too many for categories.
func (c *cells) overTexts() *cellError {
	switch s := c.study(); {
	case s.hidden.cells > 0 && s.are(), s.plain.cells > 0:
		return c.mixed()
	case c.listed != nil:
		return c.listed
	}
	return c.tooMany()
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
			return c.mixed()
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

// column returns the column for a use, of a table with so many rows. mend says what to do about it, where
// options read it.
func (c *cells) column(u use, rows int, mend string) (Column, error) {
	kind, _ := c.kind(u)
	accepted, way := u.missing.levels, Level
	if kind == Categorical && u.missing.numbers {
		way = u.missing.way + "," + Level
	} else if kind == Numeric {
		accepted = u.missing.numbers
	}
	if c.holes > 0 && c.holes < rows && !accepted && !u.label {
		return Column{}, c.wrong(c.firstHole, "the cell is missing: fill it, or %s",
			c.home.put(optionLine("missing", way))).err
	}
	if kind == Numeric {
		return Column{Name: c.name, Kind: Numeric, Values: c.asNumbers(u.order)}, nil
	}
	if c.levels == nil {
		column := Column{Name: c.name, Kind: Categorical, Codes: make([]int32, len(c.codes)), Levels: c.texts,
			doubt: c.doubtfulTexts(), mend: mend}
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
	return &cellError{at: at, err: fmt.Errorf("%v, column %s: "+format, append([]any{at, quote(c.name)}, args...)...)}
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
