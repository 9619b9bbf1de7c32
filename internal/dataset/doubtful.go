package dataset

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/internal/wording"
)

// What is read without fault may still not be what it seems: a date that is a number, a code, a word written in two
// ways. Nothing of it is guessed; hanse table check and the node's log say it.

// keptDigits are how many digits a number keeps for sure.
const keptDigits = 15

// looksCoded reports whether a cell loses something when it is read as a number: zeros in front, or the last digits of
// a whole number.
func looksCoded(cell string, n *notation) bool {
	if len(cell) > 1 && cell[0] == '0' && allDigits(cell) {
		return true
	}
	if len(cell) <= keptDigits {
		return false
	}
	text, ok := n.plain(cell)
	whole, fraction, _ := strings.Cut(strings.TrimLeft(text, "+-"+minus), ".")
	return ok && len(whole) > keptDigits && allDigits(whole) && strings.Trim(fraction, "0") == ""
}

// doubtfulNumbers says what numbers seem to be, where they are hardly amounts.
func (c *cells) doubtfulNumbers(values []float64) string {
	switch {
	case c.coded != "" && c.coded[0] == '0':
		return fmt.Sprintf("%s has zeros in front, which a number has not: %s", quote(c.coded), c.asCodes())
	case c.coded != "":
		return fmt.Sprintf("%s has more digits than a number keeps: %s if these are codes", quote(c.coded),
			c.home.ignoring(c.name))
	}
	for _, p := range packings {
		if said := p.says(values); said != "" {
			return said
		}
	}
	return ""
}

// Texts that are dates or times in ways that are not read.
const monthNames = `(jan|feb|mar|mär|apr|may|mai|jun|jul|aug|sep|oct|okt|nov|dec|dez)[a-zä]*\.?`

var (
	clocked = regexp.MustCompile(`^\d{1,3}:[0-5]\d(:[0-5]\d([.,]\d+)?)?( ?[AaPp][Mm])?$`)
	monthly = regexp.MustCompile(`(?i)^(` + monthNames + `[-/ ]*(\d\d|\d{4})|` +
		`(19|20)\d\d[-/. ]?[qw]\d\d?|(19|20)\d\d[-/.]\d\d?|\d\d?[-/.](19|20)\d\d|q\d[-/ ]?(19|20)\d\d)$`)
	evenSum     = regexp.MustCompile(`^[^-–—]*\d[.,] ?[-–—]+$`)
	minusBehind = regexp.MustCompile(`^[0-9.,]+ ?-$`)
	monthWord   = regexp.MustCompile(`(?i)^([a-z]+,? )?(\d\d?(\.|st|nd|rd|th)? ` + monthNames + `,? \d{4}|` +
		monthNames + ` \d\d?(st|nd|rd|th)?,? \d{4})`)
)

// orIgnore ends what is said of a column that only its owner can mend.
const orIgnore = ", or ignore the column"

// mendCells ends what is said of a column that is of use once a few cells are mended.
const mendCells = ": mend what is none"

// fewOthers is how many texts of a column of dates are named that are none.
const fewOthers = 3

// notDated names the texts of a column that are no dates; "" where there are many.
func (c *cells) notDated() string {
	var list []string
	for i, text := range c.texts {
		if !isDated(text) {
			list = append(list, fmt.Sprintf("%s in %v", quote(text), c.first[i]))
		}
	}
	if len(list) > fewOthers || len(list) > len(c.texts)/2 {
		return ""
	}
	return wording.List(list, "and")
}

// isDated reports whether a text is a date in any order.
func isDated(text string) bool {
	return slices.ContainsFunc([]string{ISO, DayMonthYear, MonthDayYear}, func(order string) bool {
		_, ok := parseDate(text, order)
		return ok
	})
}

// doubtfulTexts says what texts seem to be, where they are hardly categories, with what to do about it.
func (c *cells) doubtfulTexts() string {
	if c.said != "" {
		return c.said
	}
	dated, short, times, months, named, foreign, words, even, below := 0, 0, 0, 0, 0, 0, 0, 0, 0
	for _, text := range c.texts {
		if isDated(text) {
			dated++
		}
		for _, kind := range []struct {
			is    bool
			count *int
		}{
			{shortYear.MatchString(text), &short}, {clocked.MatchString(text), &times},
			{monthly.MatchString(text), &months}, {monthWord.MatchString(text), &named},
			{evenSum.MatchString(text), &even}, {minusBehind.MatchString(text), &below},
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
	case n > 0 && 2*even >= n:
		return `its cells are sums without cents: write 12 in the place of "12.-"` + orIgnore
	case n > 0 && below == n:
		return "all its cells have a minus behind: write -12 if they are numbers below zero"
	case 2*short > n:
		return "its cells are dates whose years have two digits: write years with four" + orIgnore
	case 2*named > n:
		return "its cells are dates with the month as a word: write them as 2006-01-31" + orIgnore
	case 2*months > n:
		return "its cells are months, weeks or quarters: write a day of each, as 2006-01-01" + orIgnore
	case 2*times > n:
		return "its cells are times of the day, or durations: write them as numbers of hours" + orIgnore
	case 2*foreign > n:
		return "its cells have digits that are not 0 to 9: write them so"
	case dated == n && c.dates.want != DatesAreTexts:
		return "its cells are dates that are written in several ways: write all as 2006-01-31" + orIgnore
	case 2*dated > n && c.dates.want != DatesAreTexts && c.notDated() != "":
		return fmt.Sprintf("%d of its %d different texts are dates, and not %s", dated, n, c.notDated()) + mendCells
	case 2*dated > n && c.dates.want != DatesAreTexts:
		return fmt.Sprintf("%d of its %d different texts are dates and the others are not, or are written otherwise: "+
			"mend them"+orIgnore, dated, n)
	case words >= 4*n:
		return "it holds free text, of which each different one is a category: write categories" + orIgnore
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
