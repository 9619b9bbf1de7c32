package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// builder gathers one CSV column. Its first cell that is not empty decides the kind.
type builder struct {
	name      string
	listed    bool // categorical by the options
	label     bool
	maxLevels int

	decided bool
	kind    Kind
	values  []float64 // NaN: empty
	codes   []int32   // -1: empty; indices into levels
	levels  []string  // in order of appearance
	code    map[string]int32

	holes     int
	firstHole place
	first     place  // of the cell that decided the kind
	firstCell string // that cell
	fill      *float64
}

// newBuilder starts the column of that name.
func newBuilder(name string, o *Options, maxLevels int) *builder {
	b := &builder{name: name, label: name == o.Label, maxLevels: maxLevels, code: make(map[string]int32)}
	if slices.Contains(o.Categorical, name) {
		b.listed, b.decided, b.kind = true, true, Categorical
	}
	return b
}

// add takes the next row's cell, which has no blanks around it.
func (b *builder) add(cell string, at place) error {
	if cell == "" {
		b.addHole(at)
		return nil
	}
	if b.listed {
		return b.addLevel(cell, at)
	}
	v, c := parseNumber(cell)
	switch c {
	case isNumber:
		return b.addNumber(v, cell, at)
	case isText:
		return b.addText(cell, at)
	}
	return b.errorAt(at, "%s %s", quote(cell), c.why())
}

// addHole takes an empty cell. Whether it is allowed is settled when the column's kind is known.
func (b *builder) addHole(at place) {
	if b.holes == 0 {
		b.firstHole = at
	}
	b.holes++
	if !b.decided {
		return
	}
	b.put(math.NaN(), -1)
}

// addNumber takes a number.
func (b *builder) addNumber(v float64, cell string, at place) error {
	b.decide(Numeric, cell, at)
	if b.kind == Categorical {
		return b.errorAt(at, "%s is a number, but %v has %s; mend one of them, or list the column as categorical", quote(cell), b.first, quote(b.firstCell))
	}
	b.put(v, 0)
	return nil
}

// addText takes a text in a column that is not listed as categorical.
func (b *builder) addText(cell string, at place) error {
	b.decide(Categorical, cell, at)
	if b.kind == Numeric {
		return b.errorAt(at, "%s is not a number; mend the cell, or list the column as categorical", quote(cell))
	}
	return b.addLevel(cell, at)
}

// addLevel takes a text.
func (b *builder) addLevel(cell string, at place) error {
	code, known := b.code[cell]
	if !known {
		if why := checkText(cell); why != "" {
			return b.errorAt(at, "%s %s", quote(cell), why)
		}
		if len(b.levels) == b.maxLevels {
			return b.errorAt(at, "there are more than %d different texts; ignore the column, or group its values", b.maxLevels)
		}
		cell = strings.Clone(cell)
		code = int32(len(b.levels))
		b.code[cell] = code
		b.levels = append(b.levels, cell)
	}
	b.put(0, code)
	return nil
}

// put appends to the slice of the column's kind.
func (b *builder) put(v float64, code int32) {
	if b.kind == Numeric {
		b.values = append(b.values, v)
	} else {
		b.codes = append(b.codes, code)
	}
}

// decide settles the kind at the first cell that is not empty, and catches up with the holes before it.
func (b *builder) decide(kind Kind, cell string, at place) {
	if b.decided {
		return
	}
	b.decided, b.kind = true, kind
	b.first, b.firstCell = at, strings.Clone(cell)
	for range b.holes {
		b.put(math.NaN(), -1)
	}
}

// finish sorts the column's rows and levels, and treats the empty cells.
func (b *builder) finish(order []int, m missing, fills map[string]float64) (Column, error) {
	if b.holes == len(order) && !b.mayBeEmpty(m, fills) {
		return Column{}, fmt.Errorf("column %s is empty in every row; fill it, or ignore the column", quote(b.name))
	}
	b.decide(Numeric, "", place{})
	c := Column{Name: b.name, Kind: b.kind, Values: b.values, Codes: b.codes}.reorder(order)
	if c.Kind == Numeric {
		return c, b.fillNumbers(c.Values, m, fills)
	}
	c.Levels = b.levels
	if b.holes > 0 && !b.label {
		if !m.levels {
			return c, b.errorAt(b.firstHole, "the cell is empty; fill it, or choose %q for missing values",
				m.withLevels())
		}
		c.fillLevel()
	}
	c.sortLevels()
	return c, nil
}

// mayBeEmpty reports whether a column without any cell makes sense: labels that others hold, or
// a row or two to predict on, when what to put there does not depend on the column itself.
func (b *builder) mayBeEmpty(m missing, fills map[string]float64) bool {
	if b.listed {
		return b.label || m.levels
	}
	_, given := fills[b.name]
	return b.label || given
}

// fillNumbers replaces the NaNs of a numeric column that is not the label.
func (b *builder) fillNumbers(values []float64, m missing, fills map[string]float64) error {
	if b.label {
		return nil
	}
	fill, given := fills[b.name]
	switch {
	case given:
	case m.numbers != nil:
		fill = m.numbers(present(values))
	case b.holes > 0:
		return b.errorAt(b.firstHole, "the cell is empty; fill it, or choose %s for missing values", m.withNumbers())
	default:
		return nil
	}
	b.fill = &fill
	for i, v := range values {
		if math.IsNaN(v) {
			values[i] = fill
		}
	}
	return nil
}

// present returns a copy of the values that are not NaN.
func present(values []float64) []float64 {
	return slices.DeleteFunc(slices.Clone(values), math.IsNaN)
}

// errorAt is an error about one cell.
func (b *builder) errorAt(at place, format string, args ...any) error {
	return fmt.Errorf("%v, column %s: "+format, append([]any{at, quote(b.name)}, args...)...)
}
