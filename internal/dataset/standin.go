package dataset

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/wording"
)

// absentWords are what people write in the place of a missing cell, in small letters and without blanks. Letters alone
// are codes of places elsewhere, as ND.
const absentWords = "#div/0! #ref! #value! #name? #num! #null! " +
	"- -- --- _ ? ?? ??? * n/a n/d n/v n/b k/a n.a. n.a n.d. n.d n.v. n.b. n.c. k.a. k.a b.d. b.d " +
	"nan null missing unknown notavailable notapplicable notknown notspecified unspecified undefined notprovided " +
	"keineangabe keineangaben ohneangabe unbekannt nichtbekannt fehlt fehlend " +
	"inconnu inconnue nonrenseigné nonrenseigne nonconnu nonprécisé brak brakdanych nieznany nieznane nieznana " +
	"niedotyczy desconhecido desconhecida nãoinformado naoinformado seminformação desconocido desconocida sindatos " +
	"sconosciuto nondisponibile onbekend okänd ukendt ukjent 不明 未知"

// standsIn reports whether a word says that a cell is missing.
func standsIn(text string) bool {
	if len(text) > 7 && strings.Trim(text, "0.-/: T") == "" && strings.Count(text, "0") > 5 { // 00.00.0000
		return true
	}
	return slices.Contains(strings.Fields(absentWords), strings.ToLower(strings.Join(strings.Fields(text), "")))
}

// leasts are numbers below zero that programs write in the place of a missing cell, beside those of nines alone: with
// decimals, and the least ones of 16 and 32 bits.
var leasts = []float64{-1, -9, -99.9, -99.99, -999.9, -999.99, -9999.9, -9999.99, -32768, -2147483648}

// isNines reports whether a number is of nines alone, as 99 or -999, or one of the leasts.
func isNines(v float64) bool {
	if slices.Contains(leasts, v) {
		return true
	}
	for nines := 99.0; nines < 1e16; nines = nines*10 + 9 {
		if v == nines || v == -nines {
			return true
		}
	}
	return false
}

// leastBelow is how many different numbers a column has before its only one below zero is taken for a missing cell.
const leastBelow = 10

// farNines returns those of some numbers of nines that are farther from all others of a column than these are from each
// other, or the only one below zero.
func farNines(values []float64, nines []float64) []float64 {
	for {
		least, most, below := math.Inf(1), math.Inf(-1), false
		different := make(map[float64]bool)
		for _, v := range values {
			if math.IsNaN(v) || slices.Contains(nines, v) {
				continue
			}
			least, most, below = min(least, v), max(most, v), below || v < 0
			if len(different) < leastBelow {
				different[v] = true
			}
		}
		far := slices.DeleteFunc(slices.Clone(nines), func(v float64) bool {
			alone := v < 0 && !below && len(different) == leastBelow && most >= leastBelow
			return most <= least || v == -1 && !alone || !alone && max(least-v, v-most) <= most-least
		})
		if len(far) == len(nines) {
			return far
		}
		nines = far
	}
}

// leastOnce is the highest number of nines that stands for a missing cell where it occurs once.
const leastOnce = -99

// ninesOf returns the texts of a column of numbers that seem to stand for missing cells, with how many there are. n is
// the notation in which they are to be read.
func (c *cells) ninesOf(n *notation) []sample {
	var found []sample
	var nines []float64
	for _, s := range c.study().nines {
		if v, _ := c.numbered.parse(s.text); (s.cells > 1 || v <= leastOnce) && !slices.Contains(nines, v) {
			nines = append(nines, v)
		}
	}
	if len(nines) == 0 {
		return nil
	}
	values := c.values
	if !c.over {
		for _, text := range c.texts {
			if v, class := n.parse(text); class == isNumber {
				values = append(values, v)
			}
		}
	}
	far := farNines(values, nines)
	for _, s := range c.study().nines {
		if v, _ := c.numbered.parse(s.text); slices.Contains(far, v) {
			found = append(found, s)
		}
	}
	return found
}

// isEndOfTime reports whether a day, counted from 1970-01-01, is of the year 1 or 9999, as those that stand for none.
func isEndOfTime(day float64) bool {
	const secondYear, lastYear = -718797, 2932532
	return day < secondYear || day >= lastYear
}

// endsOfTime returns the texts of a column of dates that seem to stand for no day.
func (c *cells) endsOfTime(order string) []sample {
	if c.over {
		return c.written.nines
	}
	var found []sample
	for i, cells := range c.counts() {
		if day, ok := parseDate(c.texts[i], order); ok && isEndOfTime(day) {
			found = append(found, sample{c.texts[i], c.first[i], cells})
		}
	}
	return found
}

// standIns returns the texts of a column that seem to stand for a missing cell. n is the notation in which its numbers
// are to be read.
func (c *cells) standIns(u use, n *notation) []sample {
	s := c.study()
	switch {
	case u.listed:
		return nil
	case s.are() && u.order == "":
		var found []sample
		if !s.more {
			for _, stray := range s.strays {
				if standsIn(stray.text) || stray.cells > 1 && !strings.ContainsAny(stray.text, "0123456789") {
					found = append(found, stray)
				}
			}
		}
		return append(found, c.ninesOf(n)...)
	case u.order != "":
		return c.endsOfTime(u.order)
	}
	var found []sample
	words := 0
	for _, text := range c.texts {
		_, class := c.numbered.parse(text)
		if class == isText && !standsIn(text) {
			words++
		}
	}
	for i, text := range c.texts {
		v, class := c.numbered.parse(text)
		if standsIn(text) && words > 0 || class == isNumber && isNines(v) && words > 1 {
			found = append(found, sample{text, c.first[i], c.counts()[i]})
		}
	}
	return found
}

// counts returns how many cells each text of a column has while it has few.
func (c *cells) counts() []int {
	counts := make([]int, len(c.texts))
	for _, code := range c.codes {
		if code > 0 {
			counts[code-1]++
		}
	}
	return counts
}

// study looks at how the cells are written.
func (c *cells) study() *numerals {
	if c.written == nil {
		c.written = new(numerals)
		for i, cells := range c.counts() {
			c.written.add(c.texts[i], c.first[i], cells, c.numbered)
		}
	}
	return c.written
}

// holds reports whether a column has a text as a cell.
func (c *cells) holds(text string) bool {
	if !c.over {
		return slices.Contains(c.texts, text)
	}
	v, class := c.numbered.parse(text)
	return class == isNumber && slices.Contains(c.values, v)
}

// adviseMissing names the texts of all columns that seem to stand for missing cells, and one option that holds all. n
// is the notation in which numbers are to be read.
func (f *csvFile) adviseMissing(a *advice, o *Options, m missing, columns []*cells, n *notation) {
	words := o.home.na(f.missed)
	if o.NA != nil {
		words = slices.Clone(o.NA)
	}
	had := len(words)
	for _, c := range columns {
		c.absent = c.standIns(c.useOf(o, m), n)
	}
	for _, c := range columns {
		if len(c.absent) > 0 {
			words = union(words, c.sayAbsent(columns))
		}
		if said := c.sayStrays(); c.said != "" && said != "" {
			c.said += "; " + said
		}
	}
	if f.opts.home.missing = words; len(words) > had {
		a.lines = append(a.lines, optionList("na", words))
	}
}

// sayAbsent says which texts of a column seem to stand for missing cells, and returns those that no other column has.
func (c *cells) sayAbsent(columns []*cells) (words []string) {
	var list, kept []string
	for i := range c.absent {
		s := &c.absent[i]
		list = append(list, s.counted())
		other := slices.IndexFunc(columns, func(d *cells) bool {
			return d != c && d.holds(s.text) && !d.misses(s.text)
		})
		if other >= 0 {
			kept = append(kept, fmt.Sprintf("%s is a value of column %s", quote(s.text), quote(columns[other].name)))
			continue
		}
		words = append(words, s.text)
	}
	said := wording.List(list, "and") + map[bool]string{true: " seems to stand for a missing cell",
		false: " seem to stand for missing cells"}[len(list) == 1]
	if c.said != "" {
		said = c.said + "; " + said
	}
	if c.cured = !c.odd && len(kept) < len(list); len(kept) > 0 {
		said += "; but " + wording.List(kept, "and") + " as well, and na is of the whole table: empty these cells"
	}
	c.said = said
	return words
}

// misses reports whether a text seems to stand for a missing cell of the column.
func (c *cells) misses(text string) bool {
	return slices.ContainsFunc(c.absent, func(s sample) bool { return s.text == text })
}

// mostNamed is how many texts are named that are neither numbers nor stand for missing cells.
const mostNamed = 3

// sayStrays names the texts beside a column's numbers that nothing is said of; "" where there are none.
func (c *cells) sayStrays() string {
	s := c.study()
	if !s.are() || c.odd {
		return ""
	}
	var list []string
	for i := range s.strays {
		if len(list) < mostNamed && !c.misses(s.strays[i].text) {
			list = append(list, s.strays[i].String())
		}
	}
	switch {
	case len(list) == 0:
		return ""
	case len(list) == 1 && !s.more:
		return list[0] + " is no number: mend it"
	}
	return wording.List(list, "and") + " are no numbers: mend them"
}
