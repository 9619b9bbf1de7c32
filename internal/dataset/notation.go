package dataset

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// blanks stand between thousands: those of a keyboard and those of typesetting.
const blanks = " \u00a0\u2009\u202f"

// Values of Options.Delimiter and Options.Thousands that are words, as the sign is hard to see.
const (
	tab   = "tab"
	space = "space"
)

// Units of numbers below zero: in round brackets, as accountants write them, and with the minus behind.
const (
	bracketed = "()"
	behind    = "-"
)

// maxUnit is the longest unit, in bytes.
const maxUnit = 16

// notation says how a file writes its numbers; nil: as programs do.
type notation struct {
	decimal   string   // "." or ","
	thousands string   // the signs that may stand between thousands; "": none may
	units     []string // what is taken off a number's front and back
}

// notation returns how numbers are written; nil where nothing but the decimal point is.
func (o *Options) notation() *notation {
	if (o.Decimal == "" || o.Decimal == ".") && o.Thousands == "" && len(o.Units) == 0 {
		return nil
	}
	n := &notation{decimal: ".", thousands: o.Thousands, units: o.Units}
	if o.Decimal != "" {
		n.decimal = o.Decimal
	}
	switch o.Thousands {
	case space:
		n.thousands = blanks
	case "'":
		n.thousands = "'’"
	}
	return n
}

// checkNotation checks the options about how a file is written.
func (o *Options) checkNotation() error {
	decimal := o.Decimal
	switch decimal {
	case "":
		decimal = "."
	case ".", ",":
	default:
		return fmt.Errorf("decimal is %s; want a point or a comma", quote(o.Decimal))
	}
	switch o.Thousands {
	case "", ",", ".", "'", space:
	default:
		return fmt.Errorf("thousands is %s; want a comma, a point, ' or space", quote(o.Thousands))
	}
	if o.Thousands == decimal {
		other := map[string]string{".": ",", ",": "."}[decimal]
		return fmt.Errorf("thousands is %s, and so is what stands before the decimals: %s as well, or leave thousands out",
			quote(o.Thousands), o.home.put(optionLine("decimal", other)))
	}
	if o.Delimiter != "" && o.comma() == 0 {
		return fmt.Errorf(`delimiter is %s; want one of "," ";" "|" and "tab"`, quote(o.Delimiter))
	}
	for _, unit := range o.Units {
		odd := func(r rune) bool { return unicode.IsDigit(r) || strings.ContainsRune("+-.,'()"+blanks, r) }
		if unit != bracketed && unit != behind && (unit == "" || len(unit) > maxUnit || strings.ContainsFunc(unit, odd)) {
			return fmt.Errorf("units has %s; want what stands before or behind a number, such as $, %% or EUR, or () for "+
				"numbers below zero in brackets, or - for those with the minus behind", quote(unit))
		}
	}
	return nil
}

// comma returns what separates columns, 0 where Delimiter is not one of those that do.
func (o *Options) comma() rune {
	switch o.Delimiter {
	case "", ",":
		return ','
	case ";":
		return ';'
	case "|":
		return '|'
	case tab, "\t":
		return '\t'
	}
	return 0
}

// separates reports whether the options say of this very table what separates its columns.
func (o *Options) separates() bool { return o.Delimiter != "" && !o.Inherited }

// parse reads a number as its file writes it.
func (n *notation) parse(cell string) (float64, class) {
	if n == nil {
		return parseNumber(cell)
	}
	if text, is := n.plain(cell); is {
		return parseNumber(text)
	}
	if nonFinite(cell) {
		return 0, isInfinite
	}
	return 0, isText
}

// plain writes a number as programs do; ok is false for a cell that is no number in this notation.
func (n *notation) plain(cell string) (text string, ok bool) {
	if n == nil {
		return cell, decimal(cell)
	}
	body, sign, _, ok := n.bare(cell)
	if !ok {
		return "", false
	}
	exponent := ""
	if at := strings.IndexAny(body, "eE"); at >= 0 {
		body, exponent = body[:at], body[at:]
	}
	whole, fraction, point := strings.Cut(body, n.decimal)
	if n.thousands != "" && strings.ContainsAny(whole, n.thousands) {
		if whole, ok = joined(whole, n.thousands); !ok {
			return "", false
		}
	}
	if !allDigits(whole) || !allDigits(fraction) {
		return "", false
	}
	if point {
		fraction = "." + fraction
	}
	text = sign + whole + fraction + exponent
	return text, decimal(text)
}

// bare takes the sign and the units off a number, and returns the units, too; ok is false where one stands there twice.
func (n *notation) bare(cell string) (body, sign, units string, ok bool) {
	body = cell
	takeSign := func() {
		for _, s := range []string{"-", "+", minus} {
			if rest, is := strings.CutPrefix(body, s); is && sign == "" {
				body, sign = strings.TrimLeft(rest, blanks), map[bool]string{true: "+", false: "-"}[s == "+"]
			}
		}
	}
	takeSign()
	if inner, is := strings.CutPrefix(body, "("); is && sign == "" && slices.Contains(n.units, bracketed) {
		if inner, is = strings.CutSuffix(inner, ")"); !is {
			return "", "", "", false
		}
		body, sign = strings.Trim(inner, blanks), "-"
	}
	if rest, is := strings.CutSuffix(body, behind); is && sign == "" && slices.Contains(n.units, behind) {
		if body, sign = strings.TrimRight(rest, blanks), "-"; strings.HasSuffix(body, ".") || strings.HasSuffix(body, ",") {
			return "", "", "", false // 12.- is 12
		}
	}
	if unit := n.unit(body, strings.HasPrefix); unit != "" {
		body, units = strings.TrimLeft(strings.TrimPrefix(body, unit), blanks), unit
	}
	if unit := n.unit(body, strings.HasSuffix); unit != "" {
		body = strings.TrimRight(strings.TrimSuffix(body, unit), blanks)
		units = strings.TrimSpace(units + " " + unit)
	}
	takeSign()
	return body, strings.TrimPrefix(sign, "+"), units, body != "" && !strings.ContainsAny(body[:1], "+-")
}

// unit returns the longest unit that a number has at one end, as US$ and not $; "" where it has none.
func (n *notation) unit(body string, has func(body, unit string) bool) string {
	longest := ""
	for _, unit := range n.units {
		if unit != behind && len(unit) > len(longest) && has(body, unit) {
			longest = unit
		}
	}
	return longest
}

// joined takes the separators out between thousands, or between thousands, lakhs and crores: three digits stand behind
// the last, two or three between two, and no thousands begin with 0: 0.123 is less than one, whatever the others are.
func joined(whole, separators string) (string, bool) {
	var groups []string
	for rest := whole; ; {
		at := strings.IndexAny(rest, separators)
		if at < 0 {
			groups = append(groups, rest)
			break
		}
		_, wide := utf8.DecodeRuneInString(rest[at:])
		groups, rest = append(groups, rest[:at]), rest[at+wide:]
	}
	for i, g := range groups {
		last := i == len(groups)-1
		switch {
		case !allDigits(g), g == "", i == 0 && (len(g) > 3 || g[0] == '0'), last && len(g) != 3,
			i > 0 && !last && len(g) != 2 && len(g) != 3:
			return "", false
		}
	}
	return strings.Join(groups, ""), true
}
