package dataset

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/internal/testnet/needs"
)

func TestNumbersAsFilesWriteThem(t *testing.T) {
	german := Options{Decimal: ",", Thousands: "."}
	for _, c := range []struct {
		o    Options
		cell string
		want string // empty: it is no number
	}{
		{Options{Decimal: ","}, "1,5", "1.5"},
		{Options{Decimal: ","}, "-0,25", "-0.25"},
		{Options{Decimal: ","}, "1.5", ""}, // a point is no decimal there
		{Options{Decimal: ","}, "1.500", ""},
		{Options{Decimal: ","}, "1e5", "1e5"},
		{Options{Decimal: ","}, "1,5E-3", "1.5E-3"},
		{Options{Decimal: ","}, "1,2,3", ""},
		{Options{Decimal: ","}, ",", ""},
		{german, "1.234,50", "1234.50"},
		{german, "1.234", "1234"},
		{german, "12.345.678", "12345678"},
		{german, "1.5", ""},
		{german, "1.2345", ""},
		{german, "1234.567", ""},
		{german, "31.12.2024", ""},
		{german, "0.123", ""}, // an eighth, as programs write it, and not 123
		{german, "-0.123", ""},
		{german, "01.234", ""},
		{german, "0,123", "0.123"},
		{Options{Thousands: ","}, "0,123", ""},
		{Options{Thousands: ","}, "0,000.5", ""},
		{Options{Thousands: space}, "0 123", ""},
		{Options{Thousands: ","}, "1,234.50", "1234.50"},
		{Options{Thousands: ","}, "12,34,567.8", "1234567.8"},
		{Options{Thousands: ","}, "1,5", ""},
		{Options{Thousands: ","}, "1,234,56", ""},
		{Options{Thousands: ","}, ",123", ""},
		{Options{Thousands: ","}, "0.5", "0.5"},
		{Options{Thousands: "'"}, "12'000", "12000"},
		{Options{Thousands: "'"}, "12’000.5", "12000.5"},
		{Options{Thousands: space}, "12 000", "12000"},
		{Options{Thousands: space}, "12\u00a0000\u202f000", "12000000"},
		{Options{Thousands: space}, "12  000", ""},
		{Options{Units: []string{"$"}}, "$12", "12"},
		{Options{Units: []string{"$"}}, "-$12", "-12"},
		{Options{Units: []string{"$"}}, "$-12", "-12"},
		{Options{Units: []string{"$"}}, "--12", ""},
		{Options{Units: []string{"$"}}, "-$-12", ""},
		{Options{Units: []string{"$"}}, "€12", ""},
		{Options{Units: []string{"%"}}, "12.5 %", "12.5"},
		{Options{Units: []string{"%"}}, "%", ""},
		{Options{Units: []string{"$", "USD"}}, "$ 12 USD", "12"},
		{Options{Units: []string{"()"}}, "(300)", "-300"},
		{Options{Units: []string{"()"}}, "(-300)", ""},
		{Options{Units: []string{"()"}}, "(300", ""},
		{Options{Units: []string{"()", "$"}, Thousands: ","}, "($1,300.25)", "-1300.25"},
		{Options{Units: []string{"$"}}, "\u2212 12", "-12"},
		{Options{Units: []string{"$"}}, "$0x12", ""},
		{Options{Units: []string{"$"}}, "$1_0", ""},
		{Options{Units: []string{"kg"}}, "7kg", "7"},
		{Options{Units: []string{"-"}}, "7-", "-7"},
		{Options{Units: []string{"-"}}, "7 -", "-7"},
		{Options{Units: []string{"-"}}, "-7", "-7"},
		{Options{Units: []string{"-"}}, "-7-", ""},
		{Options{Units: []string{"-"}}, "7--", ""},
		{Options{Units: []string{"-"}}, "-", ""},
		{Options{Units: []string{"-"}}, "7.-", ""}, // seven francs
		{Options{Units: []string{"-"}, Decimal: ","}, "7,-", ""},
		{Options{Units: []string{"-", "EUR"}, Decimal: ",", Thousands: "."}, "1.234,50- EUR", ""},
		{Options{Units: []string{"-", "EUR"}, Decimal: ",", Thousands: "."}, "1.234,50 EUR-", "-1234.50"},
		{Options{}, "\u22127.5", "-7.5"},
		{Options{}, "\u2212-7.5", ""},
		{Options{}, "\u2212", ""},
	} {
		if err := c.o.checkNotation(); err != nil {
			t.Errorf("%+v: %v", c.o, err)
		}
		v, class := c.o.notation().parse(c.cell)
		want, err := strconv.ParseFloat(c.want, 64)
		if is := err == nil; is != (class == isNumber) || is && v != want {
			t.Errorf("%q with decimal %q, thousands %q, units %q is %v (%d), want %q", c.cell, c.o.Decimal, c.o.Thousands,
				c.o.Units, v, class, c.want)
		}
	}
	for _, o := range []Options{
		{Decimal: ";"}, {Thousands: "-"}, {Thousands: "."}, {Decimal: ",", Thousands: ","}, {Delimiter: "::"},
		{Delimiter: "."}, {Units: []string{"("}},
		{Units: []string{""}}, {Units: []string{"k1"}}, {Units: []string{"--"}}, {Units: []string{" $"}},
	} {
		if err := o.checkNotation(); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
}

// way is one in which people write numbers.
type way struct {
	Options
	front, back string
	behind      bool // the minus stands behind
	scientific  bool // numbers have an exponent
}

// ways are many of them.
func ways() *rapid.Generator[way] {
	return rapid.Custom(func(t *rapid.T) way {
		w := way{Options: rapid.SampledFrom([]Options{
			{}, {Thousands: ","}, {Thousands: space}, {Thousands: "'"}, {Decimal: ","}, {Decimal: ",", Thousands: "."},
			{Decimal: ",", Thousands: space},
		}).Draw(t, "notation")}
		w.front = rapid.SampledFrom([]string{"", "$", "€ ", "CHF "}).Draw(t, "front")
		w.back = rapid.SampledFrom([]string{"", "%", " EUR", " kg", "£"}).Draw(t, "back")
		for _, unit := range []string{w.front, w.back} {
			if unit = strings.TrimSpace(unit); unit != "" {
				w.Units = append(w.Units, unit)
			}
		}
		if w.behind = rapid.Bool().Draw(t, "minus behind"); w.behind {
			w.Units = append(w.Units, "-")
		}
		w.scientific = w.Thousands == "" && rapid.Bool().Draw(t, "scientific")
		return w
	})
}

// write writes a number.
func (w way) write(v float64, decimals int) string {
	text := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	exponent := ""
	if w.scientific {
		text = strconv.FormatFloat(math.Abs(v), 'E', -1, 64)
		text, exponent, _ = strings.Cut(text, "E")
		exponent = "E" + exponent
	}
	whole, fraction, _ := strings.Cut(text, ".")
	separator := map[string]string{"": "", ",": ",", ".": ".", "'": "'", space: " "}[w.Thousands]
	for at := len(whole) - 3; at > 0 && separator != ""; at -= 3 {
		whole = whole[:at] + separator + whole[at:]
	}
	if fraction != "" {
		whole += map[bool]string{true: ",", false: "."}[w.Decimal == ","] + fraction
	}
	whole += exponent
	switch {
	case v < 0 && w.behind:
		return w.front + whole + w.back + "-"
	case v < 0:
		return "-" + w.front + whole + w.back
	}
	return w.front + whole + w.back
}

// numbers draws so many numbers of a size, with so many decimals.
func numbers(t *rapid.T, n int) (list []float64, decimals int) {
	decimals = rapid.IntRange(0, 3).Draw(t, "decimals")
	most := rapid.SampledFrom([]int64{99, 99_999, 1e12}).Draw(t, "most")
	unit := math.Pow10(decimals)
	for range n {
		list = append(list, float64(rapid.Int64Range(-most, most).Draw(t, "number"))/unit)
	}
	return list, decimals
}

// TestNumbersAreReadAsPeopleWriteThem, in whatever way.
func TestNumbersAreReadAsPeopleWriteThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := ways().Draw(t, "way")
		list, decimals := numbers(t, 5)
		for _, v := range list {
			cell := w.write(v, decimals)
			got, class := w.notation().parse(cell)
			want, err := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
			if class != isNumber || got != want || err != nil {
				t.Fatalf("%v as %q in %+v is read as %v (%d)", v, cell, w.Options, got, class)
			}
		}
	})
}

// TestAdviceReadsTheNumbers: whoever does what is said of a column of numbers in disguise has the numbers, and a column
// that could be read in two ways is never read for good.
func TestAdviceReadsTheNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := ways().Draw(t, "way")
		list, decimals := numbers(t, 30)
		var cells []string
		for _, v := range list {
			if cell := w.write(v, decimals); !slices.Contains(cells, cell) {
				cells = append(cells, cell)
			}
		}
		o, advice, unsure := advised(t, cells, Options{})
		hidden := slices.ContainsFunc(cells, func(c string) bool { _, class := parseNumber(c); return class == isText })
		if advice == "" && len(o.Units) == 0 && o.notation() == nil {
			if hidden && len(cells) >= leastLettered {
				t.Fatalf("nothing is said of %q", cells)
			}
			return
		}
		if unsure {
			return // it could be either, and a person is to say
		}
		if err := o.checkNotation(); err != nil {
			t.Fatalf("%q: %v", advice, err)
		}
		for _, v := range list {
			cell := w.write(v, decimals)
			got, class := o.notation().parse(cell)
			want, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'f', decimals, 64), 64)
			if class != isNumber || got != want {
				t.Fatalf("%v as %q: read by %q as %v (%d)", v, cell, advice, got, class)
			}
		}
	})
}

// advised surveys a table with columns of these cells, and returns the options that are advised, what is said of the
// columns, and whether a person is to choose.
func advised(t interface {
	Helper()
	Fatal(...any)
}, cells []string, had Options) (o Options, said string, unsure bool) {
	t.Helper()
	rows := "id,a\n"
	for i, cell := range cells {
		rows += fmt.Sprintf("%d,%q\n", i, cell)
	}
	r, err := parseReading(&source.Source{Text: strings.NewReader(rows)}, asCSV, had, standardLimits())
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Survey(had)
	if err != nil {
		t.Fatal(err)
	}
	if o, err = parseWritten(strings.Join(s.Options, "\n")); err != nil {
		t.Fatal(err)
	}
	return o.Or(had), s.Columns[0].Says + s.Columns[0].Fault, s.Choice != ""
}

func TestWhatIsNoNumberInDisguise(t *testing.T) {
	for _, cells := range [][]string{
		{"north", "south"}, {"A1", "A2", "A3", "A4", "A5", "A6"}, {"3G", "4G", "5G"}, {"18-24", "25-34"}, {"1st", "2nd"},
		{"1, 2", "3, 4"}, {"31.12.2024", "1.1.2024"}, {"10:30", "11:45"}, {"192.168.0.1", "10.0.0.1"}, {"1", "2", "x"},
		{"$12", "low", "high", "none"}, {"+49 30 12345", "+49 40 99"}, {"S", "M", "L"},
	} {
		if o, said, unsure := advised(t, cells, Options{}); o.notation() != nil || unsure ||
			strings.Contains(said, "cells are numbers") {
			t.Errorf("%q: %s, %+v", cells, said, o)
		}
	}
	for _, c := range []struct {
		cells  []string
		want   string
		o      Options
		unsure bool
	}{
		{[]string{"12,345", "1,500"}, `its cells are numbers with commas, which could stand between thousands or before ` +
			`decimals`, Options{}, true},
		{[]string{"900", "1,250", "12.50"}, `its cells are numbers with commas between thousands and decimal points`,
			Options{Thousands: ","}, false},
		{[]string{"5 kg", "300 g", "2 kg", "250 g", "7 kg"}, `its cells are numbers with "kg" and "g", which are not ` +
			`the same: write all in one, or ignore the column`, Options{Ignore: []string{"a"}}, false},
		{[]string{"$5", "5 $", "$7"}, `its cells are numbers with "$"`, Options{Units: []string{"$"}}, false},
		{[]string{"5 US$", "$5", "$7", "$8", "$9"}, `its cells are numbers with "US$" and "$"`,
			Options{Units: []string{"US$", "$"}}, false},
		{[]string{"5%", "6%", "unknown"}, `its cells are numbers with "%"; "unknown" in 1 row seems to stand for a missing ` +
			`cell`, Options{Units: []string{"%"}, NA: []string{"unknown"}}, false},
		{[]string{"1.5", "2,5", "3.5"}, `"2,5" in row 2 (line 3) has a comma before the decimals, and "1.5" in row 1 (line 2) ` +
			`a point: write all alike, or ignore the column`, Options{Ignore: []string{"a"}}, false},
		{[]string{"1 000", "2'000", "3"}, `"1 000" in row 1 (line 2) has blanks between thousands, and "2'000" in row 2 ` +
			`(line 3) apostrophes: write all alike, or ignore the column`, Options{Ignore: []string{"a"}}, false},
		{[]string{"₹1,00,000", "₹95,000", "₹1,23,45,678"}, `its cells are numbers with "₹" and commas between thousands`,
			Options{Units: []string{"₹"}, Thousands: ","}, false},
	} {
		o, said, unsure := advised(t, c.cells, Options{})
		o.home = home{}
		if !strings.Contains(said, c.want) || unsure != c.unsure || !reflect.DeepEqual(o, c.o) {
			t.Errorf("%q: %s, %+v\nwant %s, %+v", c.cells, said, o, c.want, c.o)
		}
	}
	if o, _, _ := advised(t, []string{"5%", "6%"}, Options{Units: []string{"$"}}); !slices.Equal(o.Units,
		[]string{"$", "%"}) {
		t.Errorf("beside a unit: %q", o.Units)
	}
}

// TestOneNotationReadsATable: what one column asks for is held against all others. Columns that have another notation
// are named, and are said to be written otherwise; nothing is advised that breaks a column which is read as it is.
func TestOneNotationReadsATable(t *testing.T) {
	swiss := "id,umsatz,quote\n"
	for i := range 6 {
		swiss += fmt.Sprintf("%d,CHF %d'013.37,\"%d0,6%%\"\n", i, i+1, i+5)
	}
	for _, c := range []struct {
		content string
		o       Options
		options string
		column  string
		said    string
	}{
		{"id,a,b,c\n1,\"$1,250\",5%,(3)\n2,\"$9,000.50\",6%,4\n", Options{}, `units = ["$", "%", "()"]; thousands = ","`,
			"a", `its cells are numbers with "$", commas between thousands and decimal points`},
		{swiss, Options{}, `units = ["CHF"]; thousands = "'"; ignore = ["quote"]`, "quote", `"50,6%" in row 1 (line 2) has ` +
			`a decimal comma, and "CHF 1'013.37" of column "umsatz" a decimal point, and a table has one of them: write column ` +
			`"quote" with points, or ignore it`},
		{swiss, Options{Units: []string{"CHF"}, Thousands: "'"}, `ignore = ["quote"]`, "quote", `has a decimal comma`},
		{swiss, Options{Units: []string{"%"}, Decimal: ","}, `ignore = ["umsatz"]`, "umsatz", `write column "umsatz" with ` +
			`commas, or ignore it`},
		{"id,lat,x,y\n1,52.5,\"1,5\",\"2,5\"\n2,48.25,\"2,5\",\"1,5\"\n", Options{},
			`decimal = ","; ignore = ["lat"]`, "lat", `"52.5" in row 1 (line 2) has a decimal point`},
		{"id,x,y\n1,\"1.250,5\",1.500\n2,\"7,5\",2.750\n", Options{}, `decimal = ","; thousands = "."`, "y",
			`points stand between thousands in this table, so that "1.500" in row 1 (line 2) is 1500: if it is 1.500, ` +
				`write column "y" with commas`},
		{"id,a,b\n1,345,\"1,5\"\n2,12,\"2,5\"\n3,980,\"3,5\"\n4,\"2,791\",\"4,5\"\n5,\"1,250\",\"5,5\"\n6,\"3,100\",\"6,5\"\n",
			Options{}, `decimal = ","; ignore = ["a"]`, "a", `the comma in "2,791" in row 4 (line 5) seems to stand between ` +
				`thousands, and those of other columns stand before decimals: write column "a" without, or ignore it`},
		{"id,a,b\n1,345,1.5\n2,12,2.5\n3,980,3.5\n4,2.791,4.5\n5,1.250,5.5\n6,3.100,6.5\n", Options{},
			`ignore = ["a"]`, "a", `the point in "2.791" in row 4 (line 5) seems to stand between thousands`},
		{"id,a,b\n1,345,1.5\n2,12,2.5\n3,980,3.5\n4,2.791,4.5\n5,1.250,5.5\n6,3.100,6.5\n", Options{Decimal: "."}, ``,
			"a", ``},
		{"id,x,y,z\n1,1'250,7 500,1'000\n2,2'000,9 000,2'000\n", Options{}, `thousands = "'"; ignore = ["y"]`, "y",
			`its numbers are written with blanks between thousands, and those of column "x" with apostrophes between thousands`},
		{"id,x,y\n1,\"1,250\",2.5\n2,\"2,250\",3.5\n", Options{}, `thousands = ","`, "x", `with commas between thousands`},
		{"id,x\n1,\"1,5\"\n2,\"2,25\"\n", Options{Thousands: ","}, `decimal = ","; thousands = ""`, "x",
			`its cells are numbers with decimal commas`},
		{"id,x,y\n1,01/02/2020,13/02/2020\n2,03/04/2020,14/02/2020\n", Options{}, `dates = "dmy"`, "x", `its dates could ` +
			`be day/month or month/day; those of column "y" are dates as 31.1.2006`},
	} {
		s := survey(t, c.content, c.o)
		said := ""
		for _, column := range s.Columns {
			if column.Name == c.column {
				said = column.Says + column.Fault
			}
		}
		if got := strings.Join(s.Options, "; "); got != c.options || !strings.Contains(said, c.said) || s.Choice != "" {
			t.Errorf("%q with %+v: %s, %s, %s\nwant %s, %s", c.content, c.o, got, said, s.Choice, c.options, c.said)
		}
		// Who does what is said hears nothing more of it.
		o := followed(t, c.o, s.Options)
		if again := survey(t, c.content, o); len(again.Options)+len(again.Faults()) > 0 {
			t.Errorf("%q read with %+v: %s, %s", c.content, o, again.Options, again.Faults())
		}
	}
}

// TestAdviceOfUnitsLeavesCodesAlone: what would make numbers of another column's codes is not advised, and both columns
// are named.
func TestAdviceOfUnitsLeavesCodesAlone(t *testing.T) {
	for _, c := range []struct{ number, code, said string }{
		{"%d5 A", "2A 3B 4A", `column "n": its cells are numbers with "A", and with that as a unit so is "2A" in row 1 ` +
			`(line 2) of column "code": put categorical = ["code"] into the table's options if these are codes, or write ` +
			`column "n" without, or ignore the column`},
		{"%d5 V", "V2 V3 V1", `so is "V2" in row 1 (line 2) of column "code"`},
		{"%d5 t", "1C 2B 5t", `so is "5t" in row 3 (line 4) of column "code"`},
		{"%d5 A", "1A 2A 3A", `so is "1A" in row 1 (line 2) of column "code"`},
		{"%d5-", "1- 2- 3-", `so is "1-" in row 1 (line 2) of column "code"`},
		{"(%d5)", "(1) a b", `so is "(1)" in row 1 (line 2) of column "code"`},
	} {
		content, codes := "id,n,code\n", strings.Fields(c.code)
		for i := range 12 {
			content += fmt.Sprintf("%d,"+c.number+",%s\n", i, i+1, codes[i%len(codes)])
		}
		content += fmt.Sprintf("99,7,%s\n", codes[0])
		s := survey(t, content, Options{})
		if said := strings.Join(s.Notes(), "\n"); !strings.Contains(said, c.said) || strings.Contains(said, "units = ") {
			t.Errorf("%s beside %s: %s\nwant %s", c.number, c.code, said, c.said)
		}
		if got := strings.Join(s.Options, "; "); got != `ignore = ["n"]` {
			t.Errorf("%s beside %s: %s", c.number, c.code, got)
		}
		listed := survey(t, content, Options{Categorical: []string{"code"}})
		if got := strings.Join(listed.Options, "; "); !strings.HasPrefix(got, "units = ") {
			t.Errorf("%s beside codes that are listed: %s", c.number, got)
		}
	}
}

// TestSharesOfAWholeAreHeldAgainstBareNumbers, also before the number and once a column has many texts.
func TestSharesOfAWholeAreHeldAgainstBareNumbers(t *testing.T) {
	many := make([]string, 0, 5000)
	for i := range 4500 {
		many = append(many, fmt.Sprintf("%d.%d%%", i/100, i%100))
	}
	for _, cells := range [][]string{{"%12", "%15", "%18", "0.15"}, append(many, "0.15", "0.25")} {
		if _, said, _ := advised(t, cells, Options{}); !strings.Contains(said, "and others have none") {
			t.Errorf("%q ...: %s", cells[0], said)
		}
		if _, said, _ := advised(t, cells, Options{Units: []string{"%"}}); !strings.Contains(said, "and others have none") {
			t.Errorf("%q ... with the unit: %s", cells[0], said)
		}
	}
}

// followed returns options once lines were put into their file, in place of those of the same keys.
func followed(t *testing.T, o Options, lines []string) Options {
	t.Helper()
	had, err := o.TOML()
	must(t, err)
	text := strings.Join(lines, "\n") + "\n"
	for line := range strings.Lines(string(had)) {
		key, _, _ := strings.Cut(line, " = ")
		if !slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, key+" = ") }) {
			text += line
		}
	}
	all, err := parseWritten(text)
	must(t, err)
	return all
}

// TestWhatCouldBeReadInTwoWays is for a person to say.
func TestWhatCouldBeReadInTwoWays(t *testing.T) {
	for _, c := range []struct {
		content, choice string
		o               Options
	}{
		{"id,x\n1,\"12,345\"\n2,\"1,500\"\n", `put thousands = "," into the table's options if "12,345" is 12345, or ` +
			`decimal = "," if it is 12.345`, Options{}},
		{"id,x\n1,$12.345\n2,$1.500\n", `put decimal = "," and thousands = "." into the table's options if "$12.345" is ` +
			`12345, or decimal = "." if it is 12.345`, Options{}},
		{"id;x\n1;1.345\n2;17.500\n3;2.500\n", `put decimal = "," and thousands = "." into the table's options if "1.345" ` +
			`is 1345, or decimal = "." if it is 1.345`, Options{Delimiter: ";"}},
		{"id;x\n1;1.345\n2;17.500\n3;2.500\n", ``, Options{Delimiter: ";", Decimal: "."}},
		{"id,x,y\n1,\"1,200\",1 100\n2,\"2,201\",2 101\n", `put decimal = "," into the table's options if "1,200" is 1.200, ` +
			`or write blanks between thousands as elsewhere if it is 1200`, Options{}},
		{"id,x\n1,01/01/2020\n2,03/04/2020\n", `put dates = "dmy" into the table's options if "03/04/2020" begins with the ` +
			`day, or dates = "mdy" if with the month`, Options{}},
	} {
		if s := survey(t, c.content, c.o); s.Choice != c.choice {
			t.Errorf("%q: %s\nwant %s", c.content, s.Choice, c.choice)
		}
	}
}

// TestWhatNoOptionReadsIsSaidToBeWritten: what is said can be done, and nothing is advised that leaves the same said.
func TestWhatNoOptionReadsIsSaidToBeWritten(t *testing.T) {
	for _, c := range []struct {
		cells   string // one a line
		said    string
		options string
	}{
		{"- 8.5\n9\n10\n11", `"- 8.5" is not read as a number: no option reads "- 8.5" in row 1 (line 2): write -8.5`, ""},
		{"+ 8\n9\n10\n11", `no option reads "+ 8" in row 1 (line 2): write 8`, ""},
		{"- 8\n9 €\n10 €\n11 €", `its cells are numbers with "€"`, `units = ["€"]`},
		{"(-8)\n9\n10\n11", `"(-8)" in 1 row is not a number: mend it`, ""},
		{"-(8)\n9\n10\n11", `"-(8)" in 1 row is not a number: mend it`, ""},
		{"--8\n9\n10\n11", `"--8" in 1 row is not a number: mend it`, ""},
		{"-8-\n9\n10\n11", `"-8-" in 1 row is not a number: mend it`, ""},
		{"1 g\n1 g\n0\n1 g", `row 3 (line 4), column "a": "0" is a number, and the others are texts`, ""},
		{"2004-02-01\n2004-02-02\n2004-02-03\n2004-02-11x", `3 of its 4 different texts are dates, and not "2004-02-11x" ` +
			`in row 4 (line 5): mend what is none`, ""},
		{"2004-02-01\n2004-02-02\n2004-02-30", `2 of its 3 different texts are dates, and not "2004-02-30" in row 3`, ""},
	} {
		content := "id,a\n"
		for i, cell := range strings.Split(c.cells, "\n") {
			content += fmt.Sprintf("%d,%s\n", i, cell)
		}
		s := survey(t, content, Options{})
		if said := s.Columns[0].Says + s.Columns[0].Fault; !strings.Contains(said, c.said) {
			t.Errorf("%q: %s\nwant %s", c.cells, said, c.said)
		}
		if got := strings.Join(s.Options, "; "); got != c.options {
			t.Errorf("%q: %s, want %s", c.cells, got, c.options)
		}
	}
	dates := tableOf(40, "a", func(i int) string {
		return fmt.Sprintf("2004-02-%02d", i%28+1) + strings.Repeat("x", i/39)
	})
	if s := survey(t, dates, Options{}); len(s.Options) > 0 || !strings.Contains(s.Columns[0].Fault, `"2004-02-12x" in`) {
		t.Errorf("of many dates: %s, %q", s.Columns[0].Fault, s.Options)
	}
	if err := mustRead(t, dates, asCSV, Options{}).CheckLevels(); err == nil || strings.Contains(err.Error(), "ignore") ||
		!strings.Contains(err.Error(), `not "2004-02-12x" in row 40 (line 41): mend what is none`) {
		t.Errorf("of many dates before a training: %v", err)
	}
}

// TestPointsThatCanStandBetweenThousandsAreDoubted, whatever single cells and columns of chapters say, and not where
// they stand before decimals.
func TestPointsThatCanStandBetweenThousandsAreDoubted(t *testing.T) {
	for _, c := range []struct {
		separator, other string
		cells            string
		doubted          bool
	}{
		{";", "a b a b", "120 340 1.234 560", true}, // one is enough
		{"tab", "a b a b", "120 340 1.234 560", true},
		{",", "a b a b", "120 340 1.234 560", false},
		{";", "a b", "1.120 3.340 17.180 345 87 +2.190", true},
		{";", "a b", "1.120 3.340 17.180 345 87 −2.190", true},
		{";", "a b", "1.120 3.340 17.180 345 87 1200", true},
		{",", "a b", "1.120 3.340 17.180 345 87 112 1200", true},
		{",", "a b", "1.120 3.340 17.180 345 87 112 k.A.", true},
		{";", "a b", "1.120 3.340 17.180 345 87 1200 1300 1400", false},
		{";", "1.1 1.2 2.1 2.2", "1.100 2.345 17.180 345", true}, // chapters
		{";", "1.1 1.2 2.1 2.25", "1.100 2.345 17.180 345", false},
		{"tab", "a b", "1.120 3.340 17.180 122.012", true}, // three decimals everywhere, with zeros that programs leave out
		{",", "a b", "1.120 3.340 17.180 122.012", true},
		{",", "a b", "1.121 3.342 17.183 122.014", false},
		{",", "a b", "1.120 3.340 17.180 0.012", false},
		{";", "a b", "1.120 3.340 17.180 122.012", true},
		{";", "a b", "1.120 1.120 1.120 1.120", false},
		{";", "a b", "1.120 3.340 17.18 345", false},
		{";", "a b", "1.120 3.340 0.180 345", false},
	} {
		sign := map[string]string{"tab": "\t"}[c.separator]
		if sign == "" {
			sign = c.separator
		}
		others := strings.Fields(c.other)
		content := "id" + sign + "n" + sign + "other\n"
		for i, cell := range strings.Fields(c.cells) {
			content += fmt.Sprintf("%d%s%s%s%s\n", i, sign, cell, sign, others[i%len(others)])
		}
		s := survey(t, content, Options{Delimiter: c.separator})
		said := s.Columns[0].Says + s.Columns[0].Fault
		if strings.Contains(said, "can stand between thousands") != c.doubted ||
			strings.Contains(s.Choice, `thousands = "."`) != c.doubted {
			t.Errorf("%s separated by %s beside %s: %s; %s", c.cells, c.separator, c.other, said, s.Choice)
		}
		for _, decimal := range []string{".", ","} { // whoever chooses hears nothing more
			o := Options{Delimiter: c.separator, Decimal: decimal, Thousands: map[string]string{",": "."}[decimal]}
			if s := survey(t, content, o); s.Choice != "" {
				t.Errorf("%s with decimal %s: %s", c.cells, decimal, s.Choice)
			}
		}
	}
}

// TestNumbersOfSeveralUnits: of 5 kg and 300 g but 5 and 300 are read where their owner says so, and the owner hears
// it, of few different cells and of many.
func TestNumbersOfSeveralUnits(t *testing.T) {
	many := ""
	for i := range 5000 {
		many += fmt.Sprintf("%d g\n", i)
	}
	for _, c := range []struct{ cells, want string }{
		{"5 kg\n300 g\n7\n", `its cells have the units "kg" and "g", and but their numbers are read: unless these mean ` +
			`the same, first write all cells in one unit`},
		{many + "5 kg\n", `its cells have the units "g" and "kg", and but`},
		{"5 kg\n7\n(3 kg)\n", ""},
	} {
		rows := ""
		for i, cell := range strings.Split(strings.TrimSpace(c.cells), "\n") {
			rows += fmt.Sprintf("%d,%s\n", i, cell)
		}
		s := survey(t, "id,x\n"+rows, Options{Units: []string{"kg", "g", "()"}})
		if x := s.Columns[0]; x.Kind != KindNumber || !strings.HasPrefix(x.Says, c.want) || c.want == "" && x.Says != "" {
			t.Errorf("%.20q: %+v, want %s", c.cells, x, c.want)
		}
	}
}

func TestTextsThatAreNoUTF8(t *testing.T) {
	for text, want := range map[string]string{
		"gr\xf6\xdfe": "WINDOWS-1252", "M\xfcller": "WINDOWS-1252", "caf\xe9": "WINDOWS-1252",
		"\xd0\xd5\xc3\xfb": "GB18030", "id_\xb1\xb1\xbe\xa9": "GB18030",
	} {
		if said := checkText(text); !strings.Contains(said, "looks like "+want+":") {
			t.Errorf("%q %s, want %s", text, said, want)
		}
	}
}

// TestOneDigestHoweverWritten: a table is the same one, whatever separates its columns and thousands.
func TestOneDigestHoweverWritten(t *testing.T) {
	plain := "id,amount,share,town\n1,1234.5,12,Bonn\n2,-300,7.25,\n3,0.5,100,Köln\n"
	sum := func(content string, as format, o Options) string {
		t.Helper()
		table := mustRead(t, content, as, o)
		if v := mustColumn(t, table, "amount").Values; !slices.Equal(v, []float64{1234.5, -300, 0.5}) {
			t.Errorf("amounts %v", v)
		}
		return table.Sum.String()
	}
	want := sum(plain, asCSV, Options{})
	for _, c := range []struct {
		content string
		as      format
		o       Options
	}{
		{"id;amount;share;town\n1;1.234,5;12 %;Bonn\n2;-300;7,25 %;\n3;0,5;100 %;Köln\n", asCSV,
			Options{Delimiter: ";", Decimal: ",", Thousands: ".", Units: []string{"%"}}},
		{"id\tamount\tshare\ttown\n1\t1234.5\t12\tBonn\n2\t-300\t7.25\t\n3\t0.5\t100\tKöln\n", asTSV, Options{}},
		{"sep=;\r\nid;amount;share;town;;\r\n1;1234.5;12;Bonn;;\r\n2;-300;7.25;;;\r\n;;;;;\r\n3;0.5;100;Köln;;\r\n;;;;;\r\n",
			asCSV, Options{}},
		{"id|amount|share|town\n1|$1'234.5|12|Bonn\n2|($300)|7.25|\n3|$0.5|100|Köln\n", asCSV,
			Options{Delimiter: "|", Thousands: "'", Units: []string{"$", "()"}}},
	} {
		if got := sum(c.content, c.as, c.o); got != want {
			t.Errorf("%q: digest %s, want %s", c.content, got, want)
		}
	}
}

// TestLinesAreThoseOfTheFile, with a spreadsheet's line above the header.
func TestLinesAreThoseOfTheFile(t *testing.T) {
	_, err := readString("sep=;\nid;x\n1;2\n2;many\n", asCSV, Options{})
	wantError(t, err, `row 2 (line 4), column "x": "many" in 1 row is not a number: mend it, or put na = ["many"] `+
		`into the table's options if it says that the value is missing`)
	_, err = readString("sep=;\nid;x\n", asCSV, Options{Delimiter: "tab"})
	wantError(t, err, `line 1 says "sep=;", and the table's options have delimiter = "tab"`)
	_, err = readString("sep=:\nid:x\n", asCSV, Options{})
	wantError(t, err, `line 1, "sep=:", says what separates the columns, and it is none of , ; | and the tab`)
}

// TestCasesThatFailed reads tables as people had them, each of which was read wrongly once.
func TestCasesThatFailed(t *testing.T) {
	for _, c := range []struct {
		file  string
		o     Options
		kinds string // of the columns, or the error
	}{
		{"dates-elsewhere/d_oracle.csv", Options{}, "t date, y number"},
		{"dates-elsewhere/d_off.csv", Options{}, "t date, y number"},
		{"dates-elsewhere/d_yy.csv", Options{}, "t fault, y number"},
		{"disguised-numbers/thousands.csv", Options{}, "a category"},
		{"disguised-numbers/thousands.csv", Options{Thousands: ","}, "a number"},
		{"disguised-numbers/n_cur.csv", Options{}, "t fault, y number"},
		{"disguised-numbers/n_cur.csv", Options{Units: []string{"$"}}, "t number, y number"},
		{"disguised-numbers/n_pct.csv", Options{Units: []string{"%"}}, "t number, y number"},
		{"disguised-numbers/n_pctfew.csv", Options{Units: []string{"%"}}, "t number, y number"},
		{"header-names/years.csv", Options{}, "2019 number, 2020 number, y number"},
		{"header-names/pandas.csv", Options{ID: IndexName}, "0 number, 1 number, 2 number"},
		{"header-names/trailing.csv", Options{}, "a number"},
		{"header-names/twice.csv", Options{Ignore: []string{"note"}}, "a number"},
		{"ignore-typed/nested.parquet", Options{Ignore: []string{"s", "l"}}, "a number"},
		{"ignore-typed/nested.parquet", Options{Columns: []string{"a"}}, "a number"},
		{"ignore-typed/nested.parquet", Options{}, "s fault, l fault, a number"},
		{"ignore-typed/blob.parquet", Options{Ignore: []string{"b"}}, "a number"},
		{"ignore-typed/infdate.parquet", Options{Ignore: []string{"d"}}, "a number"},
		{"ignore-typed/infdate.parquet", Options{}, "d fault, a number"},
		{"nan-typed/floatnan.parquet", Options{}, "a number 1, y number"},
		{"nan-typed/same.csv", Options{}, "a number 1, y number"},
		{"libsvm-in-the-wild/zero-based.svm", Options{}, "label label, f0 number, f1 number, f2 number"},
		{"libsvm-in-the-wild/comments.svm", Options{}, "label label, f1 number, f2 number"},
		{"libsvm-in-the-wild/qid.svm", Options{}, "is of a file for ranking"},
		{"wrong-format/tab.tsv", Options{}, "a number, b number"},
		{"wrong-format/tab.csv", Options{}, `put delimiter = "tab" into `},
		{"wrong-format/tab.csv", Options{Delimiter: tab}, "a number, b number"},
		{"wrong-format/sep.csv", Options{}, "a constant"},
		{"wrong-format/a.json", Options{}, "the file is JSON"},
		{"wrong-format/a.jsonl", Options{}, "the file is JSON"},
		{"wrong-format/comment.csv", Options{}, "is a comment"},
		{"label-elsewhere/b.svm", Options{}, "label label, f1 number, f2 number"},
	} {
		t.Run(fmt.Sprintf("%s %s", c.file, c.o.Delimiter+c.o.Thousands+strings.Join(c.o.Units, "")), func(t *testing.T) {
			r, err := Load(t.Context(), needs.Data(t, "cases/"+c.file), c.o)
			var s *Survey
			if err == nil {
				s, err = r.Survey(c.o)
			}
			if err != nil {
				if !strings.Contains(err.Error(), c.kinds) {
					t.Errorf("error %v, want %s", err, c.kinds)
				}
				return
			}
			var kinds []string
			for _, column := range s.Columns {
				kind := column.Name + " " + column.Kind
				if column.Missing > 0 && column.Kind != KindFault {
					kind += fmt.Sprintf(" %d", column.Missing)
				}
				kinds = append(kinds, kind)
			}
			if got := strings.Join(kinds, ", "); got != c.kinds {
				t.Errorf("columns are %s, want %s; %q", got, c.kinds, s.Notes())
			}
		})
	}
}

// FuzzNotation: no cell brings the reader down, and what it reads it reads as the plain text says.
func FuzzNotation(f *testing.F) {
	f.Add("-$1,234.50", ",", ".", "$")
	f.Add("(1.234,5 €)", ".", ",", "€")
	f.Add("1’000", "'", ".", "()")
	f.Fuzz(func(t *testing.T, cell, thousands, decimals, unit string) {
		o := Options{Thousands: thousands, Decimal: decimals, Units: []string{unit}}
		if o.checkNotation() != nil {
			return
		}
		n := o.notation()
		text, ok := n.plain(cell)
		if v, class := n.parse(cell); class == isNumber {
			if w, c := parseNumber(text); !ok || c != isNumber || w != v {
				t.Errorf("%q is %v, and %q as programs write it", cell, v, text)
			}
		}
		var all numerals
		for i, text := range []string{cell, unit + cell, cell + unit} {
			all.add(text, place{row: i + 1}, 1, n)
		}
		all.fault()
		all.describe(n.decimals())
	})
}

// TestManyTextsInDisguiseAreLookedAtOnce has a table whose owner's program wrote a number first and then texts, more of
// them than a categorical column has: what they are is found out once, and not again at each of them.
func TestManyTextsInDisguiseAreLookedAtOnce(t *testing.T) {
	const rows = 5000
	var b strings.Builder
	b.WriteString("id,x\n0,5\n")
	for i := 1; i < rows; i++ {
		fmt.Fprintf(&b, "%d,$%d.25\n", i, i)
	}
	each := testing.AllocsPerRun(1, func() {
		_, err := parse(strings.NewReader(b.String()), asCSV, Options{}, standardLimits())
		if want := `row 2 (line 3), column "x": "$1.25" is not read as a number`; err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}) / rows
	if each > 100 {
		t.Errorf("%.0f pieces of memory for each row, want 100 at most", each)
	}
}

// TestEmptyColumnsOfASpreadsheet has as many empty columns as a spreadsheet writes behind a table: each row takes as
// long as its cells, and not as long as their square, with which this is minutes.
func TestEmptyColumnsOfASpreadsheet(t *testing.T) {
	const rows = 1000
	empty := strings.Repeat(",", 16_000)
	var b strings.Builder
	b.WriteString("id," + empty + "x" + empty + "\n")
	for i := range rows {
		fmt.Fprintf(&b, "%04d,%s%d%s\n", i, empty, i, empty)
	}
	table, err := parse(strings.NewReader(b.String()), asCSV, Options{}, standardLimits())
	must(t, err)
	if x := table.Columns; len(x) != 1 || x[0].Values[rows-1] != rows-1 {
		t.Errorf("%d columns, %v", len(x), x[0].Values[:3])
	}
}
