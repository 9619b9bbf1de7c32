package dataset

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/internal/source"
)

// survey reads a table and looks at it.
func survey(t testing.TB, content string, o Options) *Survey {
	t.Helper()
	r, err := parseReading(&source.Source{Text: strings.NewReader(content)}, asCSV, o.ForLoading(), standardLimits())
	must(t, err)
	s, err := r.Survey(o)
	must(t, err)
	return s
}

// tableOf writes a table of so many rows; cells says what stands in each column of a row.
func tableOf(rows int, header string, cells func(row int) string) string {
	var b strings.Builder
	b.WriteString("id," + header + "\n")
	for i := range rows {
		fmt.Fprintf(&b, "%06d,%s\n", i, cells(i))
	}
	return b.String()
}

// TestSurvey looks at a column of each kind.
func TestSurvey(t *testing.T) {
	content := tableOf(300, "age,since,region,name,note,price,empty,land,day,nr,mixed,only,y", func(i int) string {
		age, region, only, mixed := fmt.Sprint(i%50+18), []string{"north", "south", "east"}[i%3], "1", fmt.Sprint(i%5)
		if i%10 == 0 {
			age, region, only = "NA", "", "?"
		}
		if i == 7 {
			mixed = "many"
		}
		return fmt.Sprintf("%s,2024-01-%02d,%s,person %d,%d came by and said this,\"%d,5\",,de,%02d/%02d/2024,%d,%s,%s,%d",
			age, i%28+1, region, i, i%12, i%15, i%12+1, i%11+1, 1000+i, mixed, only, i%2)
	})
	s := survey(t, content, Options{Label: "y"})
	want := []string{
		`age number 30 0 2 ""`,
		`since date 0 0 1 "dates as 2006-01-31, in days since 1970-01-01"`,
		`region category 30 3 4 ""`,
		`name fault 0 300 0 ""`,
		`note category 0 12 12 "it holds free text, of which each different one is a category: write categories, or ignore the column"`,
		`price category 0 15 15 "its cells are numbers with decimal commas"`,
		`empty empty 300 0 0 "it is empty and left out"`,
		`land constant 0 0 0 "it has one value and is left out"`,
		`day fault 0 132 0 ""`,
		`nr number 0 0 1 "it has another whole number in every row, as ids have: put ignore = [\"name\", \"note\", \"nr\"] into the ` +
			`table's options if it is one"`,
		`mixed fault 0 0 0 ""`,
		`only constant 30 0 1 "it has one value: what counts is whether its cells are missing"`,
		`y number 0 0 0 ""`,
	}
	for i, c := range s.Columns {
		if got := fmt.Sprintf("%s %s %d %d %d %q", c.Name, c.Kind, c.Missing, c.Levels, c.Features, c.Says); got != want[i] {
			t.Errorf("column is %s\n      want %s", got, want[i])
		}
	}
	faults := []string{
		`column "name" has 300 different texts in 300 rows with a cell, and each would be a feature: ignore it, or ` +
			`list it in categorical if these are categories`,
		`column "day": its dates could be day/month or month/day`,
		`row 8 (line 9), column "mixed": "many" in 1 row is not a number: mend it, or put na = ["NA", "?", "many"] ` +
			`into the table's options if it says that the value is missing`,
	}
	if got := s.Faults(); !slices.Equal(got, faults) {
		t.Errorf("faults are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(faults, "\n"))
	}
	if got, want := s.Notes()[len(s.Notes())-2], `missing cells: "age" 30, "region" 30, "only" 30; numbers get the median and a column `+
		`that says so, texts a level of their own`; got != want {
		t.Errorf("note is %s, want %s", got, want)
	}
	if got := survey(t, content, Options{First: 20}); !got.First || got.Rows != 20 {
		t.Errorf("of the first rows: %+v", got)
	}
}

// TestTooManyLevels holds the rule at its edges: a tenth of the rows, and sense on small tables.
func TestTooManyLevels(t *testing.T) {
	for _, c := range []struct {
		levels, rows int
		want         bool
	}{
		{1000, 10_000, false}, {1001, 10_000, true}, {30, 300, false}, {31, 300, true}, {20, 60, false}, {21, 60, true},
		{20, 30, true}, {10, 12, false}, {11, 12, true}, {3, 3, false},
	} {
		if got := tooManyLevels(c.levels, c.rows); got != c.want {
			t.Errorf("%d levels in %d rows: %v", c.levels, c.rows, got)
		}
	}
	content := tableOf(300, "name,state", func(i int) string { return fmt.Sprintf("n%d,s%d", i, i%30) })
	err := mustRead(t, content, asCSV, Options{}).CheckLevels()
	wantError(t, err, `table: column "name" has 300 different texts in 300 rows with a cell, and each would be a feature: `+
		`put ignore = ["name"] into the table's options, or list it in categorical there if these are categories`)
	for _, o := range []Options{{Ignore: []string{"name"}}, {Categorical: []string{"name"}}} {
		if err := mustRead(t, content, asCSV, o).CheckLevels(); err != nil {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestOfALabelIsSaidWhatIsSaidOfAColumn: --label silences nothing.
func TestOfALabelIsSaidWhatIsSaidOfAColumn(t *testing.T) {
	for _, c := range []struct {
		cell func(i int) string
		o    Options
		want string
	}{
		{func(i int) string { return fmt.Sprint([]int{-999, 20 + i%30}[min(i%6, 1)]) }, Options{}, `"-999" in 17 rows seems`},
		{func(i int) string { return fmt.Sprintf("2004%02d15", i%12+1) }, Options{}, "its numbers read as days, as 20040115"},
		{func(i int) string { return fmt.Sprintf("0%d", 10+i%30) }, Options{}, `"010" has zeros in front`},
		{func(i int) string { return []string{"12%", "15%", "0.15"}[i%3] }, Options{}, "and others have none"},
		{func(i int) string { return []string{"12%", "15%", "0.15"}[i%3] }, Options{Units: []string{"%"}},
			"others have none"},
		{func(i int) string { return []string{"12.-", "15.-", "20.-"}[i%3] }, Options{}, "its cells are sums without cents"},
		{func(i int) string { return []string{"yes", "no", "99"}[i%3] }, Options{}, `"99" in 33 rows seems to stand for a`},
		{func(i int) string { return fmt.Sprint(1000 + i) }, Options{}, ""}, // it is the label that was asked for, and no id
		{func(i int) string { return fmt.Sprint(i%2*2 - 1) }, Options{}, ""},
	} {
		content := tableOf(100, "x,y", func(i int) string { return fmt.Sprintf("%d,%s", i%7, c.cell(i)) })
		for _, label := range []string{"", "y"} {
			o := c.o
			o.Label = label
			s := survey(t, content, o)
			said := s.Columns[1].Says + s.Columns[1].Fault
			if !strings.Contains(said, c.want) || label != "" && c.want == "" && said != "" {
				t.Errorf("%s, ... with label %q: %s\nwant %s", c.cell(0), label, said, c.want)
			}
		}
	}
	pounds := "id,x,y\n1,\"0,5\",1.101\n2,\"1,5\",2.102\n3,\"2,5\",3.103\n"
	if said := survey(t, pounds, Options{Label: "y"}).Columns[1].Says; !strings.Contains(said, `so that "1.101" in row`) {
		t.Errorf("a label with points beside decimal commas: %s", said)
	}
}
