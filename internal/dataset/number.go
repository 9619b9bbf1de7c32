package dataset

import (
	"math"
	"strconv"
	"strings"
)

// class says what a non-empty cell holds.
type class int

const (
	isNumber   class = iota
	isText           // anything that does not read as a number
	isInfinite       // NaN or an infinity, in any spelling strconv knows
	isTooLarge       // a number beyond maxMagnitude
)

// minus is what typesetting writes in place of "-".
const minus = "\u2212"

// parseNumber reads a decimal number. Hexadecimal, digit separators and decimal commas are text.
func parseNumber(cell string) (float64, class) {
	if rest, is := strings.CutPrefix(cell, minus); is && rest != "" && '.' <= rest[0] && rest[0] <= '9' {
		cell = "-" + rest
	}
	if !decimal(cell) {
		if nonFinite(cell) {
			return 0, isInfinite
		}
		return 0, isText
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil && !math.IsInf(v, 0) {
		return 0, isText
	}
	if math.Abs(v) > maxMagnitude {
		return 0, isTooLarge
	}
	return v, isNumber
}

// decimal reports whether cell has only the characters of a decimal number, at least one a digit.
func decimal(cell string) bool {
	digits := 0
	for i := range len(cell) {
		switch c := cell[i]; {
		case '0' <= c && c <= '9':
			digits++
		case c == '+' || c == '-' || c == '.' || c == 'e' || c == 'E':
		default:
			return false
		}
	}
	return digits > 0
}

// nonFinite reports whether cell spells NaN or an infinity.
func nonFinite(cell string) bool {
	switch strings.ToLower(strings.TrimLeft(cell, "+-")) {
	case "nan", "inf", "infinity":
		return true
	}
	return false
}

// why says what is wrong with a cell where a number is wanted.
func (c class) why() string {
	switch c {
	case isInfinite:
		return "is not a finite number; leave the cell empty if the value is missing"
	case isTooLarge:
		return "is beyond ±1e100"
	}
	return "is not a number"
}

// formatNumber writes v so that it reads back as the same float64, without an exponent where
// people do not expect one.
func formatNumber(v float64) string {
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e15) {
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	return strconv.FormatFloat(v, 'f', -1, 64)
}
