package dataset

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/source"
)

// people has its rows out of order, a blank line, and cells that are wrong in other columns than those that identify.
const people = "id,phone,age,born\nP3, 06 12 ,40,1.1.1980\n\nP1,,61,\nP2,06 13,33,2.1.1980\n"

// loaded is Load of a file with that content.
func loaded(t testing.TB, content string, o Options) *Reading {
	t.Helper()
	r, err := Load(t.Context(), writeFile(t, "people.csv", []byte(content)), o)
	must(t, err)
	return r
}

func TestTextsStandAsTheTablesRowsDo(t *testing.T) {
	r := loaded(t, people, Options{Identify: []string{"phone", "born", "email"}})
	columns, lines, err := r.Texts("born", "id", "phone")
	must(t, err)
	want := [][]string{{"", "2.1.1980", "1.1.1980"}, {"P1", "P2", "P3"}, {"", "06 13", "06 12"}}
	if !reflect.DeepEqual(columns, want) || !slices.Equal(lines, []int{4, 5, 2}) {
		t.Errorf("texts %q, lines %v", columns, lines)
	}
	table, err := r.Table(Options{Identify: []string{"phone", "born", "email"}})
	must(t, err)
	if !slices.Equal(table.Names(), []string{"age"}) || !slices.Equal(table.IDs, []string{"P1", "P2", "P3"}) ||
		!slices.Equal(table.Columns[0].Values, []float64{61, 33, 40}) {
		t.Errorf("table %+v", table)
	}
}

func TestTextsRefuse(t *testing.T) {
	r := loaded(t, people, Options{Identify: []string{"phone"}})
	_, _, err := r.Texts("email")
	wantError(t, err, r.Path+`: no column "email"; the columns are "id", "phone", "age", "born"`)
	_, _, err = r.Texts("age")
	wantError(t, err, r.Path+`: column "age" was not read as one that identifies rows`)
	twice := loaded(t, people+"P3,06 14,1,\n", Options{Identify: []string{"phone"}})
	_, _, err = twice.Texts("phone")
	wantError(t, err, twice.Path+
		`: row 1 (line 2) and row 4 (line 6) have the same id "P3"; a table has one row for each id: make one of theirs, with sums, means or the latest`)
	path := writeFile(t, "points.svm", []byte("1 1:2\n"))
	if r, err = Load(t.Context(), path, Options{Identify: []string{"phone"}}); err != nil {
		t.Fatal(err)
	}
	_, _, err = r.Texts("phone")
	wantError(t, err, path+": a LIBSVM file has no texts; its rows are called by their numbers")
}

func TestWhatIdentifiesARowIsNoLabel(t *testing.T) {
	r := loaded(t, people, Options{Identify: []string{"phone"}})
	_, err := r.Table(Options{Identify: []string{"phone"}, Label: "phone"})
	wantError(t, err, r.Path+`: column "phone" is the label, and the charter's ids are made of it: it cannot be both`)
}

func TestRowsWithoutAnIDColumnAreCalledByTheirLines(t *testing.T) {
	const content = "phone,age\n06 13,3\n06 12,1\n\n06 12,2\n"
	for _, o := range []Options{{}, {Identify: []string{"email"}}} {
		_, err := readString(content, asCSV, o)
		wantError(t, err, `no column is called "id": say which of "phone", "age" has the ids: put id = "phone" into `+
			`the table's options, if it is that`)
	}
	r := loaded(t, content, Options{Identify: []string{"email", "phone"}})
	table, err := r.Table(Options{Identify: []string{"email", "phone"}})
	must(t, err)
	columns, lines, err := r.Texts("phone")
	if err != nil || table.IDName != "line" || !slices.Equal(table.IDs, []string{"line 2", "line 3", "line 5"}) ||
		!slices.Equal(table.Columns[0].Values, []float64{3, 1, 2}) || !slices.Equal(lines, []int{2, 3, 5}) ||
		!slices.Equal(columns[0], []string{"06 13", "06 12", "06 12"}) {
		t.Errorf("table %+v, texts %q, lines %v, %v", table, columns, lines, err)
	}
}

// However a file is shuffled, a row's texts stay with its id, its line and its values.
func TestTextsOfShuffledFiles(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 50).Draw(rt, "rows")
		order := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)).Perm(n)
		var b strings.Builder
		b.WriteString("age,phone,id\n")
		for _, i := range order {
			fmt.Fprintf(&b, "%d,+%d,P%04d\n", i, 7*i, i)
		}
		reading, err := parseReading(&source.Source{Text: strings.NewReader(b.String())}, asCSV,
			Options{Identify: []string{"phone"}}, standardLimits())
		must(rt, err)
		table, err := reading.Table(Options{Identify: []string{"phone"}})
		must(rt, err)
		columns, lines, err := reading.Texts("phone")
		must(rt, err)
		for row := range n {
			phone, age := columns[0][row], table.Columns[0].Values[row]
			if order[lines[row]-2] != row || phone != "+"+strconv.Itoa(7*row) || age != float64(row) {
				rt.Fatalf("row %d: line %d, %q, %v", row, lines[row], phone, age)
			}
		}
	})
}

// Texts and tables share what was read: asking again for them takes no memory that grows with the rows, but for the
// lines.
func TestTextsAreNotCopied(t *testing.T) {
	var b strings.Builder
	b.WriteString("phone,age\n")
	for i := range 20000 {
		fmt.Fprintf(&b, "+%d,%d\n", i, i)
	}
	r := loaded(t, b.String(), Options{Identify: []string{"phone"}})
	one, _, err := r.Texts("phone")
	must(t, err)
	two, _, err := r.Texts("phone")
	if err != nil || &one[0][0] != &two[0][0] {
		t.Errorf("the cells were copied, %v", err)
	}
	for _, c := range r.csv.columns {
		if c != nil && c.name == "phone" {
			t.Error("a column that identifies rows is kept as values besides")
		}
	}
	if len(r.csv.marks[0]) != 20000 || r.csv.marks[1] != nil {
		t.Error("other columns than those that identify rows are kept as texts")
	}
}

// must ends the test on an error.
func must(t rapid.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
