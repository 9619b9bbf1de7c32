package dataset

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hanse-project/hanse/internal/source"
	"github.com/hanse-project/hanse/internal/wording"
)

// TestAdviceNamesWhereOptionsAreWritten: the file beside the table, what stands there already, and a location that goes
// before it.
func TestAdviceNamesWhereOptionsAreWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "people.csv")
	for _, c := range []struct{ file, query, rows, want string }{
		{"", "", "1,$5\n2,$6\n", "put units = [\"$\"] into FILE"},
		{"units = [\"€\"]\n", "", "1,$5\n2,$6\n", "put units = [\"€\", \"$\"] into FILE, in place of its units"},
		{"", "?units=€", "1,$5\n2,$6\n", "put units = [\"€\", \"$\"] into FILE, with units taken out of the table's location, " +
			"which goes before the file"},
		{"", "", "1,2\n2,seven\n", "\"seven\" in 1 row is not a number: mend it, or put na = [\"seven\"] into FILE if it says"},
		{"na = [\"-\"]\n", "", "1,2\n2,seven\n", "put na = [\"-\", \"seven\"] into FILE, in place of its na if it"},
	} {
		for name, text := range map[string]string{path: "id,x\n" + c.rows, path + ".toml": c.file} {
			must(t, os.WriteFile(name, []byte(text), 0o600))
		}
		place, o, err := Locate(path+c.query, Options{})
		must(t, err)
		r, err := Load(context.Background(), place, o)
		must(t, err)
		s, err := r.Survey(o)
		must(t, err)
		want := strings.ReplaceAll(c.want, "FILE", path+".toml")
		if said := strings.Join(append(s.Notes(), s.Advice()), "\n"); !strings.Contains(said, want) {
			t.Errorf("%q with %q%s: %s\nwant %s", c.rows, c.file, c.query, said, want)
		}
	}
	for _, text := range []string{
		"nicht  erhoben", " x", "x ", "n\u00a0b", "\u202efehlt", "\u200e12", "a\u200bb", "\U000e0041", `\v"`,
	} {
		written := optionList("na", []string{text})
		if o, err := parseWritten(written); err != nil || !slices.Equal(o.NA, []string{text}) {
			t.Errorf("%q as %s is read as %q, %v", text, written, o.NA, err)
		}
		if shown := wording.Line(written, 100); shown != written || strings.Contains(written, "  ") {
			t.Errorf("%q as %s is shown as %s", text, written, shown)
		}
	}
	home := home{}
	got, want := home.put(optionList("na", []string{`a"b`, "\t"})), `put na = ["a\"b", "\u0009"] into the table's options`
	if got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestAllFaultsAreToldAtOnce: rows that are no rows, ids that are none or occur twice and cells that are no numbers.
// Who wants the table has the first of them as one sentence.
func TestAllFaultsAreToldAtOnce(t *testing.T) {
	content := "id,x,y\na,1,7\nb,2\n,3,8\nc,3\nd,4,8\na,5,x\nd,6,9\nd,7,x\n"
	r, err := parseReading(&source.Source{Text: strings.NewReader(content)}, asCSV, Options{}, standardLimits())
	must(t, err)
	s, err := r.Survey(Options{})
	first := `: row 2 (line 3) has 2 cells; the header has 3`
	wantError(t, err, first)
	want := []string{
		`row 2 (line 3) has 2 cells; the header has 3; 2 rows have too few or too many`,
		`row 3 (line 4), column "id": the id is empty`,
		`column "id": 2 ids occur more than once, in 5 rows: row 1 (line 2) and row 6 (line 7); row 5 (line 6) and row 7 ` +
			`(line 8); a table has one row for each id: make one of theirs, with sums, means or the latest`,
		`row 6 (line 7), column "y": "x" in 2 rows seems to stand for a missing cell`,
	}
	if got := s.Faults(); !slices.Equal(got, want) {
		t.Errorf("faults are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if s.Rows != 5 || len(s.Columns) != 2 || s.Columns[0].Kind != KindNumber {
		t.Errorf("%d rows, columns %+v", s.Rows, s.Columns)
	}
	if _, err := r.Table(Options{}); err == nil || err.Error() != first {
		t.Errorf("the table is refused with %v", err)
	}
	if !r.Sum.IsZero() {
		t.Error("a table with rows left out has a digest")
	}

	// What else is wrong does not hide that an id is none: such a table may be a stream.
	_, err = readString("id,x\n,1\n,2\n", asCSV, Options{})
	if none := new(IDError); !errors.As(err, &none) {
		t.Errorf("without ids: %v", err)
	}
}

// TestFaultsAreWhereTheyBegin: with more texts than a column keeps, too, the first row of a fault is named.
func TestFaultsAreWhereTheyBegin(t *testing.T) {
	for _, c := range []struct {
		cell func(i int) string
		want string
	}{
		{func(i int) string { return fmt.Sprintf("CHF %d'013.%02d", i/100+1, i%100) },
			`row 1 (line 2), column "x": "CHF 1'013.00" is not read as a number: its cells are numbers with "CHF", apostrophes ` +
				`between thousands and decimal points: put units = ["CHF"] and thousands = "'" into the table's options`},
		{func(i int) string { return fmt.Sprintf("user %d", i) },
			`column "x" has more than 4096 different texts: group its values, or ignore the column: put ignore = ["x"] into ` +
				`the table's options`},
		{func(i int) string {
			if i%100 == 7 {
				return "unbekannt"
			} else if i%100 == 9 {
				return "-999"
			}
			return fmt.Sprint(i)
		}, `row 8 (line 9), column "x": "unbekannt" in 60 rows and "-999" in 60 rows seem to stand for missing ` +
			`cells: put na = ["unbekannt", "-999"] into the table's options`},
		{func(i int) string {
			if i%1000 == 7 {
				return []string{"9999-12-31", "none"}[i/5000]
			}
			return time.UnixMilli(0).AddDate(0, 0, i).Format("2006-01-02")
		}, `row 5008 (line 5009), column "x": "none" is not a date as the others are: mend the cell; ` +
			`"9999-12-31" in 5 rows seems to stand for a missing cell: put na = ["9999-12-31"] into the table's options`},
		{func(i int) string {
			if i > 4200 {
				return fmt.Sprintf("\"%d,5\"", i)
			}
			return fmt.Sprintf("%d.5", i)
		}, `column "x": "4201,5" in row 4202 (line 4203) has a comma before the decimals, and "0.5" in row 1 (line 2) a point: ` +
			`write all alike, or ignore the column: put ignore = ["x"] into the table's options`},
	} {
		content := "id,x\n"
		for i := range 6000 {
			content += fmt.Sprintf("%d,%s\n", i, c.cell(i))
		}
		_, err := readString(content, asCSV, Options{})
		wantError(t, err, c.want)
	}
}

// TestStandInsOfAllColumnsAreToldAtOnce, with one option that holds them and what the table has of the default ones.
// What is a value elsewhere is not among them.
func TestStandInsOfAllColumnsAreToldAtOnce(t *testing.T) {
	content := "id,age,weight,smokes,years\n"
	for i := range 200 {
		age, weight, smokes := fmt.Sprint(20+i%60), fmt.Sprintf("%d.5", 50+i%40), []string{"yes", "no"}[i%2]
		switch i % 20 {
		case 1:
			age, weight, smokes = "-999", "unknown", "k.A."
		case 2:
			age, weight, smokes = "9999", "NA", "99"
		}
		content += fmt.Sprintf("%d,%s,%s,%s,%d\n", i, age, weight, smokes, i%100)
	}
	s := survey(t, content, Options{})
	if got, want := strings.Join(s.Options, "\n"), `na = ["NA", "-999", "9999", "unknown", "k.A."]`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for i, want := range []string{
		`"-999" in 10 rows and "9999" in 10 rows seem to stand for missing cells`,
		`"unknown" in 10 rows seems to stand for a missing cell`,
		`"k.A." in 10 rows and "99" in 10 rows seem to stand for missing cells; but "99" is a value of column "years" as well, ` +
			`and na is of the whole table: empty these cells`,
		``,
	} {
		if said := s.Columns[i].Says + s.Columns[i].Fault; !strings.HasSuffix(said, want) || want == "" && said != "" {
			t.Errorf("column %s: %s\nwant %s", s.Columns[i].Name, said, want)
		}
	}
	// Of the first rows alone nobody knows which of the default ones stand below.
	if some := strings.Join(survey(t, content, Options{First: 100}).Options, "\n"); !strings.Contains(some, `"NaN", `) ||
		!strings.Contains(some, `"k.A."`) {
		t.Errorf("of the first rows: %s", some)
	}
	// Only what options cannot do is left.
	again := survey(t, content, followed(t, Options{}, s.Options))
	if len(again.Options) > 0 || len(again.Faults()) != 1 || !strings.Contains(again.Faults()[0], `"99"`) {
		t.Errorf("once they are said: %s, %s", again.Options, again.Faults())
	}
}
