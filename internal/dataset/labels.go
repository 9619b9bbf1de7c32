package dataset

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// LabelKind says what a label column is used for.
type LabelKind int

const (
	// Classification wants two different labels or more, up to MaxClasses.
	Classification LabelKind = iota
	// Regression wants numbers.
	Regression
)

// MaxClasses is the most different labels of a classification.
const MaxClasses = 64

// Labels are what a model is to learn, one for each row of the table.
type Labels struct {
	Kind    LabelKind
	Values  []float64 // of two classes -1 or +1, of more the place in Classes, or the real value; 0 where Present is false
	Present []bool    // whether the row is labelled here
	Classes []string  // classification: the different labels; of two those that became -1 and +1
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

// Labels reads the label column of that name. For classification the labelled rows must have two
// different values or more: numbers are in order of size, texts byte by byte, and of two the later
// becomes +1. For regression they must be numbers that are not all equal. Empty cells are rows not
// labelled here.
func (t *Table) Labels(name string, kind LabelKind) (*Labels, error) {
	return t.labels(name, kind, nil)
}

// LabelsOf reads the label column of that name, of rows that a model is tried on, as one of these classes. The error
// names a label that is none of them.
func (t *Table) LabelsOf(name string, classes []string) (*Labels, error) {
	return t.labels(name, Classification, classes)
}

// labels is Labels, or with classes LabelsOf.
func (t *Table) labels(name string, kind LabelKind, classes []string) (*Labels, error) {
	c, err := t.Column(name)
	if err != nil {
		return nil, err
	}
	l := &Labels{Kind: kind, Values: make([]float64, t.Rows()), Present: c.present(), Classes: classes}
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

// classify finds the classes, unless they are given, and maps each row's label to its own. ids are for errors.
func (l *Labels) classify(c *Column, ids []string) error {
	if l.Classes == nil {
		seen := c.distinct(l.Present, MaxClasses+1)
		switch {
		case len(seen) == 1:
			return c.constant(seen[0])
		case len(seen) > MaxClasses:
			return fmt.Errorf("has more than %d different labels, at id %s %s: want at most as many classes, or numbers and "+
				"target = \"regression\"", MaxClasses, quote(ids[seen[MaxClasses]]), quote(c.cell(seen[MaxClasses])))
		}
		slices.SortFunc(seen, func(a, b int) int { return cmp.Compare(c.rank(a), c.rank(b)) })
		for _, row := range seen {
			l.Classes = append(l.Classes, c.cell(row))
		}
	}
	places, stray := c.places(l.Present, l.Classes)
	if stray >= 0 {
		return fmt.Errorf("has %s at id %s, which is none of the classes %s", quote(c.cell(stray)), quote(ids[stray]),
			listNames(l.Classes))
	}
	for row, k := range places {
		switch {
		case k < 0:
		case len(l.Classes) == 2:
			l.Values[row] = float64(2*k - 1)
		default:
			l.Values[row] = float64(k)
		}
	}
	return nil
}

// Classed tells of which of some classes each row of a label column is, -1 where its cell is empty. Classes are called
// as Labels calls them; another label is an error that names its row.
func (t *Table) Classed(name string, classes []string) ([]int, error) {
	c, err := t.Column(name)
	if err != nil {
		return nil, err
	}
	of, stray := c.places(c.present(), classes)
	if stray >= 0 {
		return nil, t.errorf("row with id %s: the label is %s, and the model knows %q", quote(t.IDs[stray]),
			quote(c.cell(stray)), classes)
	}
	return of, nil
}

// places returns the number of each row's class, as Known finds it, -1 of rows that are not in. stray is the first row
// whose cell is none of the classes, -1 where there is none.
func (c *Column) places(in []bool, classes []string) (of []int, stray int) {
	numbers, known := make(map[string]int, len(classes)), NewKnown(classes)
	for k, name := range classes {
		numbers[name] = k
	}
	of = make([]int, len(in))
	for row, is := range in {
		if of[row] = -1; !is {
			continue
		}
		cell := c.cell(row)
		k, ok := numbers[cell]
		if !ok {
			name, is := known.Find(cell)
			if !is {
				return nil, row
			}
			k = numbers[name]
			numbers[cell] = k
		}
		of[row] = k
	}
	return of, -1
}

// distinct returns the first row of each different cell among the rows that are in, and stops at so many.
func (c *Column) distinct(in []bool, most int) (first []int) {
	seen := make(map[float64]bool)
	for row, is := range in {
		if is && !seen[c.rank(row)] {
			seen[c.rank(row)] = true
			if first = append(first, row); len(first) == most {
				break
			}
		}
	}
	return first
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

// SayTheEvent reports whether two classes say by their names which is the event, the later of them: 1 beside 0 or -1,
// however written, and true beside false.
func SayTheEvent(classes []string) bool {
	if len(classes) != 2 {
		return false
	}
	a, b := strings.ToLower(classes[0]), strings.ToLower(classes[1])
	for _, name := range []*string{&a, &b} {
		if plain, ok := wording.Whole(*name); ok {
			*name = plain
		}
	}
	return b == "1" && (a == "0" || a == "-1") || a == "false" && b == "true"
}

// LaterClass returns which of two names of classes is later in the order of Labels: the larger number, or else the
// later text byte by byte.
func LaterClass(a, b string) string {
	x, errX := strconv.ParseFloat(a, 64)
	y, errY := strconv.ParseFloat(b, 64)
	if errX == nil && errY == nil && x > y || (errX != nil || errY != nil) && a > b {
		return a
	}
	return b
}

// constant is the error for a label that never changes.
func (c *Column) constant(row int) error {
	return fmt.Errorf("is constant: every labelled row has %s, so there is nothing to learn", quote(c.cell(row)))
}
