package ids

import (
	"errors"
	"regexp"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/internal/wording"
)

// An id that a program wrote as a float must not become another person's: 1.0 without its point is 10, 1e+05 is 105.
// So a cell that may be a number with decimals, with an exponent or below zero has no digits that can be left standing.
// What it is meant to be is for recipe number, or for who wrote the table.

// separators stand between the digits of a number, in some country or font.
const separators = ".,\u00b7\u066b\u066c\u2024\u3001\u3002\ufe50\ufe52\uff0c\uff0e\uff61\uff64"

// asNumber is what people who have such a cell can do.
const asNumber = "give the column the recipe number, or write it as text"

var (
	// scientific is a number with an exponent, in Fortran's way with D, too.
	scientific = regexp.MustCompile(`^[+-]?[0-9]*[.,]?[0-9]*([eE][+-]?|[dD][+-])[0-9]+$`)
	// below is a number below zero, with the dash behind as mainframes write it, too; not a text that has a dash.
	below = regexp.MustCompile(`^([-\x{2212}][0-9]+([.,][0-9]*)?|[0-9]+([.,][0-9]*)?[-\x{2212}])$`)
	// decimal is a number with one point or comma, in its parts.
	decimal = regexp.MustCompile(`^([+]?)([0-9]*)[.,]([0-9]*)$`)
)

// number returns the plain form of a whole number.
func number(cell string) (string, error) {
	plain, ok := wording.Whole(cell)
	if !ok {
		return "", errors.New("the cell is no whole number: write the column as text, in plain digits")
	}
	return plain, nil
}

// noOtherNumbers refuses superscripts, fractions and circled numbers, as marks of footnotes are: nfkc makes digits of
// them, and 4711 with a small 2 would be 47112.
func noOtherNumbers(cell string) error {
	if strings.ContainsFunc(cell, func(c rune) bool { return unicode.Is(unicode.No, c) }) {
		return errors.New("the cell has a superscript, a fraction or a circled number, which is no digit of an id: write " +
			"the column in plain digits")
	}
	return nil
}

// onlyDigits refuses cells of which the digits 0 to 9 alone are another id than what they say.
func onlyDigits(cell string) error {
	before := false // a digit
	for _, c := range cell {
		switch {
		case before && strings.ContainsRune(separators, c):
			return errors.New("a point or a comma follows a digit, and without it the id would be another: " + asNumber)
		case c > unicode.MaxASCII && unicode.IsDigit(c):
			return errors.New("the cell has digits other than 0 to 9, and without them the id would be another: put nfkc " +
				"before digits, or write 0 to 9")
		}
		if !unicode.IsSpace(c) {
			before = unicode.IsDigit(c)
		}
	}
	return signOrExponent(cell)
}

// signOrExponent refuses numbers below zero and those with an exponent.
func signOrExponent(cell string) error {
	cell = withoutBlanks(cell)
	switch {
	case strings.ContainsAny(cell, "eEdD") && scientific.MatchString(cell):
		return errors.New("the cell is a number with an exponent, and without it the id would be another: " + asNumber)
	case strings.ContainsAny(cell, "-\u2212") && below.MatchString(cell):
		return errors.New("the cell is a number below zero, and without the dash the id would be another: " + asNumber)
	}
	return nil
}

// notANumber refuses a phone number that a program wrote as a float. Points between the groups of a phone number are
// not a float's: 030.123.4567 has two, 030.1234567 a zero in front, +31.612345678 a plus, and 201 555.0123 a blank.
func notANumber(cell string) error {
	cell = strings.TrimSpace(strings.Map(ascii, cell))
	plain := withoutBlanks(cell)
	parts := decimal.FindStringSubmatch(plain)
	if parts == nil {
		return signOrExponent(plain)
	}
	grouped := parts[1] != "" || strings.HasPrefix(parts[2], "0") || plain != cell
	if decimals := parts[3]; !grouped || strings.Trim(decimals, "0") == "" {
		return errors.New("the cell is a number with a point or a comma, whose decimals are no digits of a phone number: " +
			"write the column as text")
	}
	return nil
}

// withoutBlanks leaves out white space.
func withoutBlanks(cell string) string { return strings.Join(strings.Fields(cell), "") }

// ascii makes a digit that the reader of phone numbers knows, or a point of another script, what it stands for.
func ascii(c rune) rune {
	for _, zero := range []rune{'\u0660', '\u06f0', '\uff10'} {
		if zero <= c && c <= zero+9 {
			return '0' + (c - zero)
		}
	}
	if c > unicode.MaxASCII && strings.ContainsRune(separators, c) {
		return '.'
	}
	return c
}

// Alike reports whether two cells of column i have the same normal form.
func (r *Recipe) Alike(i int, a, b string) bool {
	one, err := r.Normal(i, a)
	other, bad := r.Normal(i, b)
	return err == nil && bad == nil && one == other
}
