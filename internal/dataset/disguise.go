package dataset

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/internal/wording"
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

// signs say what the commas and points in the numbers of a column can be.
type signs struct {
	decimalComma, decimalPoint     bool // some number has one that can be nothing else
	thousandsComma, thousandsPoint bool
	eitherComma, eitherPoint       bool // 1,234: some number has one that can be both
	blank, quote                   bool
}

// add looks at the digits of one number and what stands between them.
func (s *signs) add(body string) {
	s.blank = s.blank || strings.ContainsAny(body, blanks)
	s.quote = s.quote || strings.ContainsAny(body, "'’")
	comma, point := strings.LastIndex(body, ","), strings.LastIndex(body, ".")
	either := func(sign string) bool {
		whole, rest, _ := strings.Cut(body, sign)
		return 1 <= len(whole) && len(whole) <= 3 && whole != "0" && len(rest) == 3
	}
	switch {
	case comma >= 0 && point > comma:
		s.thousandsComma, s.decimalPoint = true, true
	case point >= 0 && comma > point:
		s.thousandsPoint, s.decimalComma = true, true
	case strings.Count(body, ",") > 1:
		s.thousandsComma = true
	case strings.Count(body, ".") > 1:
		s.thousandsPoint = true
	case comma >= 0 && either(","):
		s.eitherComma = true
	case comma >= 0:
		s.decimalComma = true
	case point >= 0 && either("."):
		s.eitherPoint = true
	case point >= 0:
		s.decimalPoint = true
	}
}

// options says how numbers with these signs are written, and the options that read them; ok is false where they
// contradict each other.
func (s *signs) options(n *notation) (are string, say []string, ok bool) {
	german, english := s.decimalComma || s.thousandsPoint, s.decimalPoint || s.thousandsComma
	hasComma, hasPoint := s.eitherComma || s.decimalComma || s.thousandsComma, s.eitherPoint || s.thousandsPoint
	switch {
	case german && english, !german && !english && s.eitherComma && s.eitherPoint && n.decimals() != ",":
		return "", nil, false
	case n.decimals() == "," && hasPoint, german && hasPoint:
		are, say = "with points between thousands", []string{`decimal = ","`, `thousands = "."`}
		if s.decimalComma {
			are += " and decimal commas"
		}
	case german && n.decimals() != ",":
		are, say = "with decimal commas", []string{`decimal = ","`}
	case n.decimals() == "," || n != nil && n.thousands == ",":
	case english && hasComma:
		are, say = "with commas between thousands", []string{`thousands = ","`}
	case s.eitherComma:
		are = "with commas, which could stand between thousands or before decimals"
		say = []string{`thousands = "," where 1,234 is more than a thousand, or decimal = "," where it is little more than 1`}
	case s.eitherPoint && !english:
		are = "with points, which could stand between thousands or before decimals"
		say = []string{`decimal = "," and thousands = "." where 1.234 is more than a thousand`}
	}
	return are, say, true
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

// disguised says what the texts of a column are where they are numbers that are not read as such, and the options that
// read them; empty where they are none, or half of them. The texts are different ones.
func disguised(texts []string, n *notation) string {
	var units []string
	var beside [][2]string // the units before and behind the numbers
	var signs signs
	numbers, lettered, bare, brackets, minuses, hidden := 0, 0, 0, false, false, false
	for _, text := range texts {
		d, ok := undisguise(text)
		if !ok {
			continue
		}
		numbers++
		_, class := n.parse(text)
		hidden = hidden || class == isText
		if d.front+d.back == "" {
			bare++
		} else if with := [2]string{d.front, d.back}; !slices.Contains(beside, with) {
			beside = append(beside, with)
		}
		for _, u := range []string{d.front, d.back} {
			if u != "" && !slices.Contains(units, u) {
				units = append(units, u)
			}
			if u != "" && isLettered(u) {
				lettered++
			}
		}
		brackets, minuses = brackets || d.brackets, minuses || d.minus
		signs.add(d.body)
	}
	with, say, ok := signs.options(n)
	switch {
	case len(units) > mostUnits: // names, with a number in each
		return ""
	case !hidden || 2*numbers <= len(texts) || lettered > 0 && numbers < leastLettered:
		return ""
	case !ok:
		return "its numbers have points and commas in ways that contradict each other: write all alike, or ignore the column"
	}
	var are []string
	if len(units) > 0 {
		are = append(are, "with "+wording.List(quoted(units), "and"))
		if why := unlike(beside, bare); why != "" {
			return fmt.Sprintf("its cells are numbers %s, %s: write all in one, or ignore the column", are[0], why)
		}
	}
	if minuses {
		are, units = append(are, "with the minus behind"), append(units, behind)
	}
	if brackets {
		are, units = append(are, "in brackets"), append(units, bracketed)
	}
	if len(units) > 0 {
		if n != nil {
			units = union(n.units, units)
		}
		say = append([]string{unitsLine(units)}, say...)
	}
	if with != "" {
		are = append(are, with)
	}
	if signs.blank {
		are, say = append(are, "with blanks between thousands"), append(say, `thousands = "space"`)
	} else if signs.quote {
		are, say = append(are, "with ' between thousands"), append(say, `thousands = "'"`)
	}
	if len(are) == 0 {
		return ""
	}
	whole := "its cells are numbers "
	if numbers < len(texts) {
		whole = fmt.Sprintf("%d of its %d different texts are numbers ", numbers, len(texts))
	}
	return whole + strings.Join(are, ", ") + toRead + strings.Join(say, " and ")
}

// oneUnit is what to do with numbers of several units.
const oneUnit = "unless these mean the same, first write all cells in one unit"

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
	for _, u := range beside[1:] {
		if !same(first[0], u[0]) && !same(first[0], u[1]) && !same(first[1], u[0]) && !same(first[1], u[1]) {
			return "which are not the same"
		}
	}
	if bare > 0 && slices.Contains([]string{"%", "‰", "percent", "pct", "bps"}, first[1]) {
		return "and others have none, of which nobody knows whether 1 is all or a hundredth"
	}
	return ""
}

// unitsLine writes units as a table's options have them.
func unitsLine(units []string) string { return "units = [" + strings.Join(quoted(units), ", ") + "]" }

// union returns the words of a and those of b that a has not.
func union(a, b []string) []string {
	all := slices.Clone(a)
	for _, word := range b {
		if !slices.Contains(all, word) {
			all = append(all, word)
		}
	}
	return all
}

// together returns one line for all columns of numbers in disguise, where there are several and one line reads them;
// advice is what is said of each.
func together(advice []string) string {
	var o Options
	for _, said := range advice {
		_, say, reads := strings.Cut(said, toRead)
		w, err := parseWritten(strings.ReplaceAll(say, " and ", "\n"))
		if err != nil || !reads || o.Decimal != "" && w.Decimal != "" && o.Decimal != w.Decimal ||
			o.Thousands != "" && w.Thousands != "" && o.Thousands != w.Thousands {
			return "" // one could be read in two ways or in none, or they contradict each other
		}
		o.Units, o.Decimal = union(o.Units, w.Units), cmp.Or(o.Decimal, w.Decimal)
		o.Thousands = cmp.Or(o.Thousands, w.Thousands)
	}
	if len(advice) < 2 || o.checkNotation() != nil {
		return ""
	}
	var say []string
	if len(o.Units) > 0 {
		say = append(say, unitsLine(o.Units))
	}
	if o.Decimal != "" {
		say = append(say, fmt.Sprintf("decimal = %q", o.Decimal))
	}
	if o.Thousands != "" {
		say = append(say, fmt.Sprintf("thousands = %q", o.Thousands))
	}
	return fmt.Sprintf("%d columns are numbers that are not read as such: to read them all say %s", len(advice),
		strings.Join(say, " and "))
}

// toRead stands before the options that read a column.
const toRead = ": to read them say "

// quoted quotes words as TOML has them.
func quoted(words []string) []string {
	list := make([]string, len(words))
	for i, w := range words {
		list[i] = quote(w)
	}
	return list
}
