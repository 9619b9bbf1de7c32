package source

import (
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
)

// nan is how programs write a number that is missing.
const nan = "NaN"

// formatFloat writes a floating point number of 32 or 64 bits, without an exponent where people do not expect one.
func formatFloat(v float64, bits int) (string, error) {
	if math.IsNaN(v) {
		return nan, nil
	}
	if math.IsInf(v, 0) {
		return "", fmt.Errorf("%v is not a finite number; make it NULL if the value is missing", v)
	}
	if a := math.Abs(v); a != 0 && (a < 1e-6 || a >= 1e15) {
		return strconv.FormatFloat(v, 'g', -1, bits), nil
	}
	return strconv.FormatFloat(v, 'f', -1, bits), nil
}

// formatBool writes a truth value.
func formatBool(v bool) string { return strconv.FormatBool(v) }

// formatDate writes a day.
func formatDate(t time.Time) (string, error) { return formatYears(t, time.DateOnly) }

// formatTime writes a point in time.
func formatTime(t time.Time) (string, error) { return formatYears(t, time.RFC3339Nano) }

// formatYears writes a time of the years that have four digits.
func formatYears(t time.Time, layout string) (string, error) {
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return "", fmt.Errorf("the year %d is not one from 1 to 9999", t.Year())
	}
	return t.Format(layout), nil
}

// formatDecimal writes unscaled / 10^scale, exactly.
func formatDecimal(unscaled *big.Int, scale int) string {
	digits := new(big.Int).Abs(unscaled).String()
	if missing := scale + 1 - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	text := digits
	if scale > 0 {
		at := len(digits) - scale
		text = trimDecimal(digits[:at] + "." + digits[at:])
	}
	if unscaled.Sign() < 0 {
		return "-" + text
	}
	return text
}

// trimDecimal takes the zeros off the end of a decimal.
func trimDecimal(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	if s == "-0" {
		return "0"
	}
	return s
}

// reformatFloat takes a floating point number of 32 or 64 bits as somebody else writes it.
func reformatFloat(v []byte, bits int) (string, error) {
	x, err := strconv.ParseFloat(string(v), bits)
	if err != nil {
		return "", fmt.Errorf("%s is not a number", quote(string(v)))
	}
	return formatFloat(x, bits)
}

// reformatTime takes a time in a layout of package time.
func reformatTime(v []byte, layout string, format func(time.Time) (string, error)) (string, error) {
	t, err := time.Parse(layout, string(v))
	if err != nil {
		return "", fmt.Errorf("%s is not a time of the years 1 to 9999", quote(string(v)))
	}
	return format(t)
}
