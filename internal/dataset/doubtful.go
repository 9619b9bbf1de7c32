package dataset

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
)

// What is read without fault may still not be what it seems: a date that is a number, a code, a word written in two
// ways. Nothing of it is guessed; hanse table check and the node's log say it.

// keptDigits are how many digits a number keeps for sure.
const keptDigits = 15

// looksCoded reports whether a cell loses something when it is read as a number: zeros in front, or its last digits.
func looksCoded(cell string) bool {
	return (len(cell) > 1 && cell[0] == '0' || len(cell) > keptDigits) && allDigits(cell)
}

// doubtfulNumbers says what numbers seem to be, where they are hardly amounts.
func (c *cells) doubtfulNumbers(values []float64) string {
	switch {
	case c.coded != "" && c.coded[0] == '0':
		return fmt.Sprintf("%s has zeros in front, which a number has not: if it holds codes, list it in categorical, or "+
			"ignore it", quote(c.coded))
	case c.coded != "":
		return fmt.Sprintf("%s has more digits than a number keeps: if it holds codes, ignore it, or list it in categorical",
			quote(c.coded))
	}
	if c.numbered == nil && c.points.areThousands() {
		return fmt.Sprintf("%s and %s stand in it, and no cell that is certainly a decimal: if points stand between "+
			"thousands, say thousands = \".\" and decimal = \",\"", c.points.long, c.points.short)
	}
	if day := packedDate(values, 20000101, 3, "20060102"); day != "" {
		return fmt.Sprintf("its numbers read as days, as %s, and 31 January would be 70 from 1 February: write %s", day,
			day[:4]+"-"+day[4:6]+"-"+day[6:])
	}
	if month := packedDate(values, 200001, 1, "200601"); month != "" {
		return fmt.Sprintf("its numbers read as months, as %s, and December would be 89 from January: write %s-01", month,
			month[:4]+"-"+month[4:])
	}
	if v, rows := standsForMissing(values); rows > 0 {
		text := formatNumber(v)
		return fmt.Sprintf("it is %s in %d rows, far from all others: if that stands for a missing cell, list %s in na", text,
			rows, quote(text))
	}
	return ""
}

// points say of a column's numbers whether their points can stand between thousands: 17.123 beside 345, and neither
// 17.1 nor 1234.
type points struct {
	grouped, whole int
	long, short    string // one of each
	otherwise      bool   // some number says that they do not
}

// leastPoints is how many different numbers of both kinds there are before points are doubted.
const leastPoints = 3

// add looks at one text.
func (p *points) add(cell string) {
	body := strings.TrimPrefix(cell, "-")
	parts := strings.Split(body, ".")
	switch {
	case p.otherwise:
	case strings.Trim(body, "0123456789.") != "" || len(parts[0]) == 0 || len(parts[0]) > 3,
		len(parts) > 1 && (parts[0][0] == '0' || slices.ContainsFunc(parts[1:], func(s string) bool { return len(s) != 3 })):
		p.otherwise = true
	case len(parts) > 1:
		p.grouped++
		p.long = strings.Clone(cell)
	default:
		p.whole++
		p.short = strings.Clone(cell)
	}
}

// areThousands reports whether points stand where thousands would have them, and nowhere else.
func (p *points) areThousands() bool {
	return !p.otherwise && p.grouped >= leastPoints && p.whole >= leastPoints
}

// leastPacked is how many different numbers there are before they are taken for dates.
const leastPacked = 8

// packedDate returns the least of numbers that are all dates without signs between, of years around like's, in so many
// different months at least; "" where they are not.
func packedDate(values []float64, like float64, months int, layout string) string {
	different, inMonths := make(map[float64]bool), make(map[int]bool)
	for _, v := range values {
		if math.IsNaN(v) || different[v] {
			continue
		}
		if v != math.Trunc(v) || v < like*.95 || v > like*1.05 {
			return ""
		}
		t, err := time.Parse(layout, formatNumber(v))
		if err != nil {
			return ""
		}
		different[v], inMonths[12*t.Year()+int(t.Month())] = true, true
	}
	if len(different) < leastPacked || len(inMonths) < months {
		return ""
	}
	least := math.Inf(1)
	for v := range different {
		least = min(least, v)
	}
	return formatNumber(least)
}

// standsForMissing returns a number of nines alone, as -9, 99 or -999, that is farther from all others of a column than
// those are from each other, and in how many rows it stands; 0 rows where there is none, or one row.
func standsForMissing(values []float64) (of float64, rows int) {
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values { // NaN is neither less nor more
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
	}
	for _, v := range []float64{low, high} {
		if nines := strings.Trim(formatNumber(v), "9"); nines != "-" && nines != "" || v == 9 {
			continue
		}
		count, least, most := 0, math.Inf(1), math.Inf(-1)
		for _, w := range values {
			switch {
			case w == v:
				count++
			case !math.IsNaN(w):
				least, most = min(least, w), max(most, w)
			}
		}
		if count > 1 && most > least && max(least-v, v-most) > most-least {
			return v, count
		}
	}
	return 0, 0
}

// Texts that are dates or times in ways that are not read.
const monthNames = `(jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*\.?`

var (
	clocked = regexp.MustCompile(`^\d{1,3}:[0-5]\d(:[0-5]\d([.,]\d+)?)?( ?[AaPp][Mm])?$`)
	monthly = regexp.MustCompile(`(?i)^(` + monthNames + `[-/ ]*(\d\d|\d{4})|` +
		`(19|20)\d\d[-/. ]?[qw]\d\d?|(19|20)\d\d[-/.]\d\d?|\d\d?[-/.](19|20)\d\d|q\d[-/ ]?(19|20)\d\d)$`)
	monthWord = regexp.MustCompile(`(?i)^([a-z]+,? )?(\d\d?(\.|st|nd|rd|th)? ` + monthNames + `,? \d{4}|` +
		monthNames + ` \d\d?(st|nd|rd|th)?,? \d{4})`)
)

// doubtfulTexts says what texts seem to be, where they are hardly categories, with what to do about it.
func (c *cells) doubtfulTexts() string {
	if numbers := c.inDisguise(); numbers != "" {
		return numbers
	}
	dated, short, times, months, named, foreign, words := 0, 0, 0, 0, 0, 0, 0
	for _, text := range c.texts {
		for _, order := range []string{ISO, DayMonthYear, MonthDayYear} {
			if _, ok := parseDate(text, order); ok {
				dated++
				break
			}
		}
		for _, kind := range []struct {
			is    bool
			count *int
		}{
			{shortYear.MatchString(text), &short}, {clocked.MatchString(text), &times},
			{monthly.MatchString(text), &months}, {monthWord.MatchString(text), &named},
			{strings.ContainsFunc(text, func(r rune) bool { return r > unicode.MaxASCII && unicode.IsDigit(r) }), &foreign},
		} {
			if kind.is {
				*kind.count++
			}
		}
		words += len(strings.Fields(text))
	}
	n := len(c.texts)
	switch {
	case 2*short > n:
		return "its cells are dates whose years have two digits: write years with four, or ignore the column"
	case 2*named > n:
		return "its cells are dates with the month as a word: write them as 2006-01-31, or ignore the column"
	case 2*months > n:
		return "its cells are months, weeks or quarters: write a day of each, as 2006-01-01, or ignore the column"
	case 2*times > n:
		return "its cells are times of the day, or durations: write them as numbers of hours, or ignore the column"
	case 2*foreign > n:
		return "its cells have digits that are not 0 to 9: write them so"
	case dated == n && len(c.dates.orders) > 1:
		return `its dates could be day/month or month/day: say dates = "dmy" or "mdy"`
	case dated == n && c.dates.want != DatesAreTexts:
		return "its cells are dates that are written in several ways: write all as 2006-01-31, or ignore the column"
	case 2*dated > n && c.dates.want != DatesAreTexts:
		return fmt.Sprintf("%d of its %d different texts are dates and the others are not, or are written otherwise: "+
			"mend them, or ignore the column", dated, n)
	case words >= 4*n:
		return "it holds free text, of which each different one is a category: ignore it"
	}
	return ""
}

// nearlyAlike names two levels that differ by capitals or blanks alone; "" where there are none.
func nearlyAlike(levels []string) string {
	folded := make(map[string]string)
	for _, level := range slices.Sorted(slices.Values(levels)) {
		key := strings.ToLower(strings.Join(strings.Fields(level), ""))
		if other, known := folded[key]; known {
			return fmt.Sprintf("its texts %s and %s differ by capitals or blanks alone and are two categories: write them "+
				"alike if they are one", quote(other), quote(level))
		}
		folded[key] = level
	}
	return ""
}
