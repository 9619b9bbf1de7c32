package dataset

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// disguise is what stands about a cell's digits that keeps it from being read as a number.
type disguise struct {
	front, back string // units
	brackets    bool   // it stands in round brackets
	minus       bool   // a minus stands behind it
	body        string // the digits and what stands between them
}

// Currencies, which stand on either side of a number, and measures, which stand behind it, as letters.
var (
	letteredMoney = strings.Fields("USD EUR GBP CHF JPY CNY RMB INR SEK NOK DKK PLN CZK HUF RUB BRL MXN CAD AUD NZD SGD " +
		"HKD KRW ZAR TRY AED ILS THB Rs kr Kč zł Fr US$ R$")
	letteredMeasures = strings.Fields("kg g mg t lb lbs oz km m cm mm mi ft in l ml kW kWh W V A Hz MHz GHz ms s sec " +
		"min h hr hrs d days years yrs pct percent bps KB MB GB TB °C °F C F mmHg bpm")
)

// exponent is that of a number, with the digit before it.
var exponent = regexp.MustCompile(`([0-9.,])[eE][+-]?[0-9]{1,3}\b`)

// undisguise takes a cell apart that is a number but for units, brackets and separators; ok is false where it is none.
func undisguise(cell string) (d disguise, ok bool) {
	rest := cell
	if inner, is := strings.CutPrefix(rest, "("); is && strings.HasSuffix(inner, ")") {
		d.brackets, rest = true, strings.Trim(strings.TrimSuffix(inner, ")"), blanks)
	}
	if before, is := strings.CutSuffix(rest, behind); is && !d.brackets {
		d.minus, rest = true, strings.TrimRight(before, blanks)
	}
	if strings.ContainsAny(rest, "eE") {
		rest = exponent.ReplaceAllString(rest, "$1")
	}
	digit := func(r rune) bool { return '0' <= r && r <= '9' }
	first, last := strings.IndexFunc(rest, digit), strings.LastIndexFunc(rest, digit)
	if first < 0 {
		return d, false
	}
	if n := signsIn(rest[:first]); n > 1 || n > 0 && (d.brackets || d.minus) {
		return d, false // -(8) or --8, which could be either
	}
	d.front = strings.Trim(strings.Trim(strings.Trim(rest[:first], blanks), "+-"+minus), blanks)
	d.back = strings.Trim(rest[last+1:], blanks)
	d.body = rest[first : last+1]
	if strings.ContainsFunc(d.body, func(r rune) bool { return !digit(r) && !strings.ContainsRune(".,'’"+blanks, r) }) {
		return d, false
	}
	isNumber := slices.ContainsFunc(notations, func(n notation) bool { _, ok := n.plain(d.body); return ok })
	front := isUnit(d.front) || slices.Contains(letteredMoney, d.front)
	return d, isNumber && front && (isUnit(d.back) || isLettered(d.back))
}

// signsIn counts the signs of a number.
func signsIn(text string) (count int) {
	for _, sign := range []string{"+", "-", minus} {
		count += strings.Count(text, sign)
	}
	return count
}

// notations are all that people use.
var notations = []notation{
	{".", ",", nil}, {".", blanks, nil}, {".", "'’", nil}, {",", ".", nil}, {",", blanks, nil}, {",", "'’", nil},
}

// isLettered reports whether a word is a unit in letters.
func isLettered(word string) bool {
	return slices.Contains(letteredMoney, word) || slices.Contains(letteredMeasures, word)
}

// isUnit reports whether a word beside digits is nothing, or has a sign of money or of shares in it.
func isUnit(word string) bool {
	if word == "" {
		return true
	}
	sign := func(r rune) bool { return unicode.Is(unicode.Sc, r) || strings.ContainsRune("%‰°", r) }
	return !strings.ContainsFunc(word, func(r rune) bool { return !sign(r) && !unicode.IsLetter(r) }) &&
		strings.ContainsFunc(word, sign) && len(word) <= maxUnit
}

// decimals returns what stands before the decimals.
func (n *notation) decimals() string {
	if n == nil {
		return "."
	}
	return n.decimal
}

// leastLettered is how many different numbers with a unit in letters a column has at least: 3G, 4G and 5G are names.
const leastLettered = 5

// mostUnits is how many units the numbers of a column have at most.
const mostUnits = 8

// sameUnits are words for one unit each.
var sameUnits = [][]string{
	strings.Fields("€ EUR"), strings.Fields("$ USD US$"), strings.Fields("£ GBP"), strings.Fields("% percent pct"),
	strings.Fields("lb lbs"), strings.Fields("s sec"), strings.Fields("h hr hrs"), strings.Fields("years yrs"),
	strings.Fields("°C C"), strings.Fields("°F F"), strings.Fields("CHF Fr"), strings.Fields("¥ JPY"),
	strings.Fields("zł PLN"),
}

// unlike says why numbers with these units before and behind them cannot be compared; "" where they can. So many
// numbers have no unit.
func unlike(beside [][2]string, bare int) string {
	same := func(a, b string) bool {
		return a != "" && b != "" && (a == b || slices.ContainsFunc(sameUnits, func(u []string) bool {
			return slices.Contains(u, a) && slices.Contains(u, b)
		}))
	}
	first := beside[0]
	lacks := func(unit string, of [2]string) bool { return unit != "" && !same(unit, of[0]) && !same(unit, of[1]) }
	for _, u := range beside[1:] { // $1.5 m is no $1.5
		if lacks(first[0], u) || lacks(first[1], u) || lacks(u[0], first) || lacks(u[1], first) {
			return "which are not the same"
		}
	}
	share := func(u [2]string) bool {
		return isShare(u[0]) || isShare(u[1])
	}
	if bare > 0 && slices.ContainsFunc(beside, share) {
		return "and others have none, of which nobody knows whether 1 is all or a hundredth"
	}
	return ""
}

// isShare reports whether a unit is a part of a whole.
func isShare(unit string) bool {
	return slices.Contains([]string{"%", "‰", "percent", "pct", "bps"}, unit)
}

// quoted quotes words as TOML has them.
func quoted(words []string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = quote(w)
	}
	return list
}
