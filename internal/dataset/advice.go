package dataset

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// advice is what the owner of a table can write into its options, so that it is read as it seems to be meant. The
// options are the table's: what one column asks for is held against all others.
type advice struct {
	home
	lines  []string // options, as TOML has them
	choice string   // what to write where a table could be read in two ways, and a person is to say
}

// sentence says where the lines go; "" where there are none.
func (a *advice) sentence() string {
	if len(a.lines) == 0 {
		return ""
	}
	return a.put(a.lines...)
}

// on says what to do about a column that options can read.
func (a *advice) on(c *cells) string {
	if !c.unsure || a.choice == "" {
		return a.sentence()
	}
	if said := a.sentence(); said != "" {
		return said + ", and " + a.choice
	}
	return a.choice
}

// advise looks at all columns together, and leaves with each what is said of it.
func (f *csvFile) advise(o *Options, m missing) *advice {
	a := &advice{home: o.home}
	var numbers []*cells
	var uses []*cells
	for _, c := range f.columns {
		if c == nil || !o.wants(c.name) || c.fault != nil {
			continue
		}
		c.said, c.cured, c.unsure, c.odd, c.absent = "", false, false, false, nil
		uses = append(uses, c)
		if u := c.useOf(o, m); !u.listed && u.order == "" && c.study().are() {
			numbers = append(numbers, c)
		}
	}
	n := f.adviseNumbers(a, o, numbers, uses)
	f.adviseMissing(a, o, m, uses, n)
	a.adviseDates(o, m, uses)
	return a
}

// weigh sorts columns by what they want, and returns what most of them want; of as many columns what the options have
// before what more cells want.
func (f *csvFile) weigh(columns []*cells, had string, wants func(c *cells) string) (winner string,
	by map[string][]*cells) {
	by = make(map[string][]*cells)
	weight := make(map[string]int)
	for _, c := range columns {
		if want := wants(c); want != "" {
			by[want] = append(by[want], c)
			weight[want] += len(f.ids) - c.holes
		}
	}
	keys := make([]string, 0, len(by))
	for want := range by {
		keys = append(keys, want)
	}
	slices.Sort(keys)
	is := func(want string) int {
		if want == had {
			return 1
		}
		return 0
	}
	for _, want := range keys {
		if winner == "" || cmp.Or(cmp.Compare(len(by[want]), len(by[winner])), cmp.Compare(is(want), is(winner)),
			cmp.Compare(weight[want], weight[winner])) > 0 {
			winner = want
		}
	}
	return winner, by
}

// adviseNumbers finds one notation for the numbers of a table, and names the columns that have another. uses are all
// columns. It returns the notation.
func (f *csvFile) adviseNumbers(a *advice, o *Options, columns, uses []*cells) *notation {
	columns = slices.DeleteFunc(columns, func(c *cells) bool {
		if why := c.study().fault(); why != "" {
			c.said, c.odd = why+orIgnore, true
		}
		return c.odd
	})
	if f.typed != nil { // what is no text has no notation of its own
		for _, c := range columns {
			if s := c.study(); s.hidden.cells > 0 {
				c.said, c.odd = fmt.Sprintf("its cells are numbers %swritten as text, as %s: write them as numbers, or ignore the "+
					"column", spaced(s.describe(".")), &s.hidden), true
			}
		}
		return nil
	}
	decimal, columns := f.oneDecimal(o, columns)
	if decimal == "" && (o.Decimal != "" || o.Thousands == ",") {
		decimal = f.numbered.decimals()
	}
	thousands, columns := f.oneThousands(o, decimal, columns)
	columns = f.apartFromCodes(o, columns, uses)
	units := slices.Clone(o.Units)
	for _, c := range columns {
		units = union(units, c.study().wanted())
	}
	if len(units) > len(o.Units) {
		a.lines = append(a.lines, optionList("units", units))
	}
	if decimal != "" && decimal != f.numbered.decimals() {
		a.lines = append(a.lines, optionLine("decimal", decimal))
	}
	switch {
	case thousands != "" && thousands != o.Thousands:
		a.lines = append(a.lines, optionLine("thousands", thousands))
	case thousands == "" && o.Thousands != "" && o.Thousands == decimal:
		a.lines = append(a.lines, optionLine("thousands", ""))
	}
	if decimal == "" {
		f.chooseDecimal(a, o, thousands, columns)
	}
	then := Options{Decimal: decimal, Thousands: thousands, Units: units}
	n := then.notation()
	for _, c := range columns {
		f.sayNumbers(c, o, decimal)
		c.sayUnread(n)
	}
	return n
}

// sayUnread says how to write a number of which no option makes one, as "- 8" of a table without any.
func (c *cells) sayUnread(n *notation) {
	if c.over || c.unsure || c.study().hidden.cells == 0 {
		return
	}
	options := false
	for i, text := range c.texts {
		_, now := c.numbered.parse(text)
		d, is := undisguise(text)
		if _, then := n.parse(text); then == isNumber || now != isText || !is {
			options = options || now == isText && then == isNumber
			continue
		}
		sign := ""
		if d.brackets || d.minus || strings.ContainsAny(text, "-"+minus) {
			sign = "-"
		}
		said := fmt.Sprintf("no option reads %s in %v: write %s", quote(text), c.first[i], sign+d.body)
		if c.said += "; " + said; !options && len(c.study().wanted()) == 0 {
			c.said, c.cured = said, false
		}
		return
	}
}

// oneDecimal finds what stands before the decimals of most columns, "" where none says it, and takes out those of which
// it does not.
func (f *csvFile) oneDecimal(o *Options, columns []*cells) (string, []*cells) {
	decimal, by := f.weigh(columns, f.numbered.decimals(), func(c *cells) string {
		switch s := c.study(); {
		case s.commas() != nil:
			return ","
		case s.points() != nil && !s.chapters.are():
			return "."
		}
		return ""
	})
	columns = apart(columns, decimal, by, func(c, other *cells) string {
		sign := func(c *cells) (*sample, string) {
			if s := c.study(); s.commas() != nil {
				return s.commas(), "comma"
			} else {
				return s.points(), "point"
			}
		}
		own, has := sign(c)
		others, had := sign(other)
		return fmt.Sprintf("%s has a decimal %s, and %s of column %s a decimal %s, and a table has one of them: write "+
			"column %s with %ss, or ignore it", own, has, others.quoted(), quote(other.name), had, quote(c.name), had)
	})
	if decimal != "" && o.Decimal == "" {
		f.groupedOtherwise(decimal, columns)
		columns = slices.DeleteFunc(columns, func(c *cells) bool { return c.odd })
	}
	return decimal, columns
}

// oneThousands finds what stands between the thousands of most columns, and takes out those that have something else
// there.
func (f *csvFile) oneThousands(o *Options, decimal string, columns []*cells) (string, []*cells) {
	thousands, by := f.weigh(columns, o.Thousands, func(c *cells) string { return c.study().between(decimal) })
	return thousands, apart(columns, thousands, by, func(c, other *cells) string {
		return fmt.Sprintf("its numbers are written %s, and those of column %s %s, and a table has one of them: write "+
			"column %s so, or ignore it", c.study().describe(decimal), quote(other.name),
			other.study().describe(decimal), quote(c.name))
	})
}

// apart says of the columns that want something else than the winner why they are left out, and returns the others.
func apart(columns []*cells, winner string, by map[string][]*cells, say func(c, other *cells) string) []*cells {
	for want, odd := range by {
		for _, c := range odd {
			if want != winner {
				c.said, c.odd = say(c, by[winner][0]), true
			}
		}
	}
	return slices.DeleteFunc(columns, func(c *cells) bool { return c.odd })
}

// apartFromCodes takes out the columns whose units stand in codes of other columns, which would become numbers with
// them: 12 A beside 2A and 3B.
func (f *csvFile) apartFromCodes(o *Options, columns, uses []*cells) []*cells {
	codes := slices.DeleteFunc(slices.Clone(uses), func(c *cells) bool {
		return c.over || slices.Contains(o.Categorical, c.name) || c.dates.order() != "" || c.study().are()
	})
	for _, c := range columns {
		wanted := slices.DeleteFunc(c.study().wanted(), func(unit string) bool { return slices.Contains(o.Units, unit) })
		for _, unit := range wanted {
			d, code := readBy(codes, notation{".", "", []string{unit}})
			if d == nil {
				continue
			}
			c.said, c.odd = fmt.Sprintf("its cells are numbers %s, and with that as a unit so is %s of column %s: %s, or write "+
				"column %s without", c.study().describe(""), code, quote(d.name), d.asCodes(), quote(c.name))+orIgnore, true
			break
		}
	}
	return slices.DeleteFunc(columns, func(c *cells) bool { return c.odd })
}

// readBy returns the first column that has a text which is a number in a notation and is read as none, with the text;
// nil where there is none.
func readBy(columns []*cells, n notation) (*cells, *sample) {
	for _, c := range columns {
		for i, text := range c.texts {
			_, now := c.numbered.parse(text)
			if _, then := n.parse(text); now == isText && then == isNumber {
				return c, &sample{text, c.first[i], 1}
			}
		}
	}
	return nil, nil
}

// chooseDecimal leaves to a person what stands before the decimals, where no column says it and some could be read in
// two ways.
func (f *csvFile) chooseDecimal(a *advice, o *Options, thousands string, columns []*cells) {
	var comma, point *sample
	for _, c := range columns {
		s := c.study()
		if s.eitherComma.cells > 0 && comma == nil {
			comma = &s.eitherComma
		}
		if s.eitherPoint.cells > 0 && point == nil && (s.hidden.cells > 0 ||
			o.Decimal == "" && s.areDoubted(f.separator())) {
			point = &s.eitherPoint
		}
	}
	line := optionLine("decimal", ",")
	between := map[string]string{space: "blanks", "'": "apostrophes"}[thousands]
	switch {
	case between != "" && comma != nil:
		long, short := readTwice(comma.text, ",")
		a.choice = fmt.Sprintf("%s if %s is %s, or write %s between thousands as elsewhere if it is %s", a.put(line),
			quote(comma.text), short, between, long)
	case between != "" && point != nil:
		long, short := readTwice(point.text, ".")
		a.choice = fmt.Sprintf("%s if %s is %s, or write %s between thousands as elsewhere if it is %s",
			a.put(optionLine("decimal", ".")), quote(point.text), short, between, long)
	case comma != nil:
		long, short := readTwice(comma.text, ",")
		a.choice = fmt.Sprintf("%s if %s is %s, or %s if it is %s", a.put(optionLine("thousands", ",")),
			quote(comma.text), long, line, short)
	case point != nil:
		long, short := readTwice(point.text, ".")
		a.choice = fmt.Sprintf("%s if %s is %s, or %s if it is %s", a.put(line, optionLine("thousands", ".")),
			quote(point.text), long, optionLine("decimal", "."), short)
	}
}

// sayNumbers says how the numbers of a column are written where this stands before the decimals: "" is not known.
func (f *csvFile) sayNumbers(c *cells, o *Options, decimal string) {
	switch s := c.study(); {
	case s.hidden.cells > 0:
		c.unsure = decimal == "" && s.eitherComma.cells+s.eitherPoint.cells > 0
		c.said, c.cured = "its cells are numbers "+s.describe(decimal), true
	case decimal == "" && o.Decimal == "" && s.eitherPoint.cells > 0 && s.areDoubted(f.separator()):
		c.said = fmt.Sprintf("the point in %s can stand between thousands or before decimals", &s.eitherPoint)
		c.unsure, c.cured = true, true
	case decimal == "," && f.numbered.decimals() == "." && s.eitherPoint.cells > 0:
		long, short := readTwice(s.eitherPoint.text, ".")
		c.said = fmt.Sprintf("points stand between thousands in this table, so that %s is %s: if it is %s, "+
			"write column %s with commas", &s.eitherPoint, long, short, quote(c.name))
	}
}

// groupedOtherwise names columns whose numbers seem to have between thousands what other columns have before decimals:
// 345 beside 17.123, and nothing like 17.1. They would be read as numbers, and as wrong ones.
func (f *csvFile) groupedOtherwise(decimal string, columns []*cells) {
	for _, c := range columns {
		s := c.study()
		sample, sign := &s.eitherPoint, "point"
		if decimal == "," {
			sample, sign = &s.eitherComma, "comma"
		}
		if s.commas() != nil || s.points() != nil || !s.areThousands(decimal, ',') {
			continue
		}
		c.said, c.odd = fmt.Sprintf("the %s in %s seems to stand between thousands, and those of other columns stand before "+
			"decimals: write column %s without, or ignore it", sign, sample, quote(c.name)), true
	}
}

// separator returns what separates the columns; 0 where the table is no text.
func (f *csvFile) separator() rune {
	if f.rows == nil {
		return 0
	}
	return f.rows.Comma
}

// spaced puts a blank behind words.
func spaced(words string) string {
	if words == "" {
		return ""
	}
	return words + " and "
}

// readTwice returns what a number is where its sign stands between thousands, and where it stands before decimals.
func readTwice(text, sign string) (long, short string) {
	d, _ := undisguise(text)
	return strings.ReplaceAll(d.body, sign, ""), strings.ReplaceAll(d.body, sign, ".")
}

// adviseDates says which option reads dates that could be day/month or month/day, where other columns say it.
func (a *advice) adviseDates(o *Options, m missing, columns []*cells) {
	var unsure []*cells
	var other *cells
	orders := make(map[string]bool)
	for _, c := range columns {
		u := c.useOf(o, m)
		switch {
		case c.over || u.listed || u.label:
		case c.eitherWay():
			unsure = append(unsure, c)
		case u.order == DayMonthYear || u.order == MonthDayYear:
			orders[u.order], other = true, c
		}
	}
	if len(unsure) == 0 {
		return
	}
	first := unsure[0]
	text := first.texts[0]
	for _, other := range first.texts { // one whose day and month differ
		day, _ := parseDate(other, DayMonthYear)
		if month, _ := parseDate(other, MonthDayYear); day != month {
			text = other
			break
		}
	}
	for _, c := range unsure {
		c.said, c.cured, c.unsure = "its dates could be day/month or month/day", true, true
	}
	if len(orders) != 1 {
		a.choice = strings.TrimPrefix(a.choice+"; "+a.put(optionLine("dates", DayMonthYear))+fmt.Sprintf(
			" if %s begins with the day, or %s if with the month", quote(text), optionLine("dates", MonthDayYear)), "; ")
		return
	}
	for order := range orders {
		a.lines = append(a.lines, optionLine("dates", order))
		for _, c := range unsure {
			c.unsure = false
			c.said += fmt.Sprintf("; those of column %s are %s", quote(other.name), inWords(order))
		}
	}
}

// eitherWay reports whether all cells are dates that could be day/month or month/day.
func (c *cells) eitherWay() bool {
	return len(c.texts) > 0 && len(c.dates.orders) > 1 && c.dates.want == ""
}
