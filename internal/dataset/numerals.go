package dataset

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// sample is a text of a column that stands for others like it.
type sample struct {
	text  string
	at    place // where it stands first
	cells int   // how many there are of the kind
}

// note counts cells; the first text says what they are.
func (s *sample) note(text string, at place, cells int) {
	if s.cells == 0 || at.row < s.at.row {
		s.text, s.at = strings.Clone(text), at
	}
	s.cells += cells
}

// counted says what the sample is and in how many rows.
func (s *sample) counted() string {
	return fmt.Sprintf("%s in %s", quote(s.text), wording.Count(s.cells, "row"))
}

// signs say what the commas and points in the numbers of a column can be, and what else stands between the thousands.
type signs struct {
	decimalComma, decimalPoint     sample // a number that has one which can be nothing else
	thousandsComma, thousandsPoint sample
	eitherComma, eitherPoint       sample // 1,234: a number that has one which can be both
	blank, apostrophe              sample
	short, long                    sample // a number without any, with at most three digits and with more
	chapters                       chapters

	different struct{ commas, points, short, zeros int } // zeros: points with a zero last
}

// add looks at the digits of a number and what stands between them.
func (s *signs) add(body, text string, at place, cells int) {
	note := func(kind *sample) { kind.note(text, at, cells) }
	if strings.ContainsAny(body, blanks) {
		note(&s.blank)
	}
	if strings.ContainsAny(body, "'’") {
		note(&s.apostrophe)
	}
	comma, point := strings.LastIndex(body, ","), strings.LastIndex(body, ".")
	either := func(sign string) bool {
		whole, rest, _ := strings.Cut(body, sign)
		return 1 <= len(whole) && len(whole) <= 3 && whole[0] != '0' && len(rest) == 3
	}
	switch {
	case comma >= 0 && point > comma:
		note(&s.thousandsComma)
		note(&s.decimalPoint)
	case point >= 0 && comma > point:
		note(&s.thousandsPoint)
		note(&s.decimalComma)
	case strings.Count(body, ",") > 1:
		note(&s.thousandsComma)
	case strings.Count(body, ".") > 1:
		note(&s.thousandsPoint)
	case comma >= 0 && either(","):
		note(&s.eitherComma)
		s.different.commas++
	case comma >= 0:
		note(&s.decimalComma)
	case point >= 0 && either("."):
		note(&s.eitherPoint)
		s.different.points++
		if strings.HasSuffix(body, "0") {
			s.different.zeros++
		}
	case point >= 0:
		note(&s.decimalPoint)
		s.chapters.add(body)
	case s.blank.cells+s.apostrophe.cells > 0:
	case len(body) <= 3:
		note(&s.short)
		s.different.short++
	default:
		note(&s.long)
	}
}

// leastPoints is how many different numbers with a point that could be both, and how many short ones without any, there
// are before points are doubted.
const leastPoints = 3

// areThousands reports whether points, or commas, can stand between thousands: 17.123 beside 345, and hardly a 1234. In
// a table with semicolons, as where commas stand before decimals, and in one with tabs a single 17.123 is enough; with
// semicolons several are without a 345, too.
func (s *signs) areThousands(sign string, separator rune) bool {
	either, different := s.eitherPoint.cells, s.different.points
	if sign == "," {
		either, different = s.eitherComma.cells, s.different.commas
	}
	switch {
	case either == 0 || s.blank.cells+s.apostrophe.cells > 0,
		s.long.cells > 1 && longShare*s.long.cells > s.short.cells+s.long.cells+either:
		return false
	case s.different.short >= leastPoints && (separator == ';' || separator == '\t'):
		return true
	}
	return different >= leastPoints && (s.different.short >= leastPoints || separator == ';')
}

// areDoubted reports whether points can stand between thousands where no column says what they are: as areThousands
// has it, or all numbers have three digits behind them, 144.390 as well, of which programs that write decimals leave
// the zero out.
func (s *signs) areDoubted(separator rune) bool {
	return s.areThousands(".", separator) ||
		s.different.zeros >= leastPoints && s.blank.cells+s.apostrophe.cells+s.long.cells == 0
}

// longShare is of how many cells one may be a number of more than three digits without points where others have points
// between their thousands.
const longShare = 20

// chapters follow whether numbers could be those of chapters: 1.1, 1.2, 2.1, which say nothing of how a table has its
// amounts.
type chapters struct {
	last map[string]int // the highest below each chapter
	seen map[string]bool
	none bool
}

// mostChapters is how many different ones are kept.
const mostChapters = 256

// add looks at a number with one point.
func (c *chapters) add(body string) {
	whole, below, _ := strings.Cut(body, ".")
	n, err := strconv.Atoi(below)
	if c.none = c.none || err != nil || below[0] == '0' || len(whole) > 2 || len(below) > 2 ||
		len(c.seen) == mostChapters; c.none {
		return
	}
	if c.seen == nil {
		c.last, c.seen = make(map[string]int), make(map[string]bool)
	}
	c.last[whole] = max(c.last[whole], n)
	c.seen[whole+"."+below] = true
}

// are reports whether there are several chapters, each with all from 1 to its last.
func (c *chapters) are() bool {
	all := 0
	for _, n := range c.last {
		all += n
	}
	return !c.none && len(c.last) > 1 && all == len(c.seen) && all > len(c.last)
}

// points returns a number that says for certain that points stand before the decimals; nil where there is none.
func (s *signs) points() *sample { return certain(&s.decimalPoint, &s.thousandsComma) }

// commas returns a number that says for certain that commas stand before the decimals; nil where there is none.
func (s *signs) commas() *sample { return certain(&s.decimalComma, &s.thousandsPoint) }

// certain returns the sample that is there, and of two the first.
func certain(a, b *sample) *sample {
	switch {
	case a.cells > 0:
		return a
	case b.cells > 0:
		return b
	}
	return nil
}

// mostStrays is how many different texts beside a column's numbers are kept: those that stand for a missing cell are
// few.
const mostStrays = 8

// numerals are how the cells of a column are written where most are numbers: of its different texts, and once those are
// too many of each cell that is read as none.
type numerals struct {
	signs
	texts, numbers, lettered, bare int // different ones: all, those that are numbers, with units in letters, with no units
	minuses                        int // different ones with a minus behind
	brackets                       bool
	units                          []string
	beside                         [][2]string // the units before and behind the numbers
	hidden                         sample      // numbers that are not read as such
	plain                          sample      // numbers that are
	strays                         []sample    // texts that are no numbers, the first ones
	more                           bool        // there are others
	nines                          []sample    // numbers of nines alone
}

// add looks at some cells with one text.
func (s *numerals) add(text string, at place, cells int, n *notation) {
	if i := slices.IndexFunc(s.strays, func(known sample) bool { return known.text == text }); i >= 0 {
		s.strays[i].note(text, at, cells)
		return
	}
	s.texts++
	v, class := n.parse(text)
	if class == isNumber && isNines(v) {
		s.noteNines(text, at, cells)
	}
	d, ok := disguise{body: strings.TrimLeft(text, "+-")}, true
	if class != isNumber || strings.Trim(d.body, "0123456789.") != "" {
		d, ok = undisguise(text)
	}
	if !ok && class == isNumber { // with units of the owner's own
		body, _, _, _ := n.bare(text)
		d, ok = undisguise(body)
	}
	if !ok {
		switch {
		case class != isText && class != isNumber:
		case class == isNumber:
			s.numbers++
			s.plain.note(text, at, cells)
		case len(s.strays) < mostStrays:
			s.strays = append(s.strays, sample{strings.Clone(text), at, cells})
		default:
			s.more = true
		}
		return
	}
	s.numbers++
	if class == isText {
		s.hidden.note(text, at, cells)
	} else {
		s.plain.note(text, at, cells)
	}
	if d.front+d.back == "" {
		s.bare++
	} else if with := [2]string{d.front, d.back}; !slices.Contains(s.beside, with) && len(s.beside) <= mostUnits {
		s.beside = append(s.beside, with)
	}
	for _, u := range []string{d.front, d.back} {
		if u != "" && !slices.Contains(s.units, u) && len(s.units) <= mostUnits {
			s.units = append(s.units, u)
		}
		if u != "" && isLettered(u) {
			s.lettered++
		}
	}
	s.brackets = s.brackets || d.brackets
	if d.minus {
		s.minuses++
	}
	s.signs.add(d.body, text, at, cells)
}

// mostNines is how many different texts of nines are kept.
const mostNines = 16

// noteNines counts cells that are a number of nines.
func (s *numerals) noteNines(text string, at place, cells int) {
	i := slices.IndexFunc(s.nines, func(known sample) bool { return known.text == text })
	switch {
	case i >= 0:
		s.nines[i].note(text, at, cells)
	case len(s.nines) < mostNines:
		s.nines = append(s.nines, sample{strings.Clone(text), at, cells})
	}
}

// are reports whether a column is one of numbers, or would be if they were read as such.
func (s *numerals) are() bool {
	return len(s.units) <= mostUnits && 2*s.numbers > s.texts && (s.lettered == 0 || s.numbers >= leastLettered) &&
		(s.minuses == 0 || s.minuses < s.numbers)
}

// fault says why no options read the numbers of a column; "" where some do.
func (s *numerals) fault() string {
	commas, points := s.commas(), s.points()
	switch {
	case commas != nil && points != nil:
		return fmt.Sprintf("%s has a comma before the decimals, and %s a point: write all alike", commas, points)
	case commas == nil && points == nil && s.eitherComma.cells > 0 && s.eitherPoint.cells > 0:
		return fmt.Sprintf("%s has a comma, and %s a point: write all alike", &s.eitherComma, &s.eitherPoint)
	case s.blank.cells > 0 && s.apostrophe.cells > 0:
		return fmt.Sprintf("%s has blanks between thousands, and %s apostrophes: write all alike", &s.blank, &s.apostrophe)
	}
	if len(s.units) > 0 {
		if why := unlike(s.beside, s.bare); why != "" {
			return fmt.Sprintf("its cells are numbers with %s, %s: write all in one", wording.List(quoted(s.units), "and"), why)
		}
	}
	return ""
}

// String says what the sample is and where.
func (s *sample) String() string { return fmt.Sprintf("%s in %v", s.quoted(), s.at) }

// quoted quotes a number with the blanks of a keyboard in the place of typesetting's.
func (s *sample) quoted() string {
	return quote(strings.Map(func(r rune) rune {
		if strings.ContainsRune(blanks, r) {
			return ' '
		}
		return r
	}, s.text))
}

// wanted returns the units that a table's options need for the column.
func (s *numerals) wanted() []string {
	units := slices.Clone(s.units)
	if s.minuses > 0 {
		units = append(units, behind)
	}
	if s.brackets {
		units = append(units, bracketed)
	}
	return units
}

// between returns what stands between the thousands of a column where this stands before the decimals, as
// Options.Thousands has it; "": nothing.
func (s *numerals) between(decimal string) string {
	switch {
	case s.blank.cells > 0:
		return space
	case s.apostrophe.cells > 0:
		return "'"
	case decimal == "." && s.thousandsComma.cells+s.eitherComma.cells > 0:
		return ","
	case decimal == "," && s.thousandsPoint.cells+s.eitherPoint.cells > 0:
		return "."
	}
	return ""
}

// describe says how the numbers are written where this stands before the decimals: "" is not known.
func (s *numerals) describe(decimal string) string {
	with := quoted(s.units)
	if s.minuses > 0 {
		with = append(with, "the minus behind")
	}
	if s.brackets {
		with = append(with, "brackets for those below zero")
	}
	if between := s.between(decimal); between != "" {
		name := map[string]string{".": "points", ",": "commas", space: "blanks", "'": "apostrophes"}[between]
		with = append(with, name+" between thousands")
	}
	switch {
	case decimal == "" && s.eitherComma.cells > 0:
		with = append(with, "commas, which could stand between thousands or before decimals")
	case decimal == "" && s.eitherPoint.cells > 0:
		with = append(with, "points, which could stand between thousands or before decimals")
	case decimal == "," && s.decimalComma.cells+s.eitherComma.cells > 0:
		with = append(with, "decimal commas")
	case decimal == "." && s.decimalPoint.cells > 0:
		with = append(with, "decimal points")
	}
	if len(with) == 0 {
		return ""
	}
	return "with " + wording.List(with, "and")
}
