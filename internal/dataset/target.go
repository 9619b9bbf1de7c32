package dataset

import "math"

// What numbers must be to be taken for codes of classes.
const (
	mostCodes     = 10  // different ones, at most
	leastOfCode   = 3   // rows of each, at least
	shareOfCode   = 200 // and one row in so many
	spanOfCodes   = 2   // the largest is less than so many times their number above the smallest
	binaryNumbers = 2   // so many different numbers are two classes, whatever they are
)

// TargetOf says what a label column is taken for where nobody says it, and how many classes it has, 0 for numbers.
// Texts are classes. Numbers are where they are two, or look like codes: whole numbers, 3 to 10 different ones close
// together, each in some rows. The long tail of counts makes numbers of them.
func (t *Table) TargetOf(name string) (kind LabelKind, classes int, err error) {
	c, err := t.Column(name)
	if err != nil {
		return 0, 0, err
	}
	if c.Kind == Categorical || len(c.distinct(c.present(), binaryNumbers+1)) <= binaryNumbers {
		l, err := t.Labels(name, Classification)
		if err != nil {
			return 0, 0, err
		}
		return Classification, len(l.Classes), nil
	}
	if n := c.codes(); n > 0 {
		return Classification, n, nil
	}
	return Regression, 0, nil
}

// codes returns how many classes numbers are codes of, 0 where they do not look like it.
func (c *Column) codes() int {
	counts, rows := make(map[float64]int), 0
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range c.Values {
		if math.IsNaN(v) {
			continue
		}
		rows++
		counts[v]++
		low, high = min(low, v), max(high, v)
		if v != math.Trunc(v) || len(counts) > mostCodes {
			return 0
		}
	}
	if high-low >= float64(spanOfCodes*len(counts)) {
		return 0
	}
	for _, n := range counts {
		if n < leastOfCode || n*shareOfCode < rows {
			return 0
		}
	}
	return len(counts)
}
