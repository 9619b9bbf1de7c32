package dataset

import (
	"math"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// TestMissingCellsStayMissing reads holes in columns of both kinds: what becomes of them is for a training to say.
func TestMissingCellsStayMissing(t *testing.T) {
	const content = "id,age,region\na,10,north\nb,,\nc,NA,?\nd,60,south\n"
	for _, way := range []string{"", "level", "mean,level", "median,level"} {
		table := mustRead(t, content, asCSV, Options{Missing: way})
		age, region := mustColumn(t, table, "age"), mustColumn(t, table, "region")
		if v := age.Values; v[0] != 10 || !math.IsNaN(v[1]) || !math.IsNaN(v[2]) || v[3] != 60 {
			t.Errorf("%q: ages %v", way, v)
		}
		if !reflect.DeepEqual(region.Codes, []int32{0, -1, -1, 1}) || table.Missing != way {
			t.Errorf("%q: regions %v, way %q", way, region.Codes, table.Missing)
		}
	}
}

// TestWhatPandasAndRWrite takes the texts for missing values as they come, beside numbers and beside texts.
func TestWhatPandasAndRWrite(t *testing.T) {
	for _, word := range append(DefaultNA(), "") {
		content := "id,age,region,y\na,10,north,0\nb," + word + "," + word + "," + word + "\nc,20,south,1\n"
		table := mustRead(t, content, asCSV, Options{Label: "y"})
		if c := mustColumn(t, table, "age"); c.Kind != Numeric || !math.IsNaN(c.Values[1]) {
			t.Errorf("%q: age is %+v", word, c)
		}
		if c := mustColumn(t, table, "region"); !reflect.DeepEqual(c.Levels, []string{"north", "south"}) || c.Codes[1] != -1 {
			t.Errorf("%q: region is %+v", word, c)
		}
		if c := mustColumn(t, table, "y"); !math.IsNaN(c.Values[1]) {
			t.Errorf("%q: label is %+v", word, c)
		}
	}
}

// TestNAIsTheOwners reads Namibia as a country, and a dash as nothing.
func TestNAIsTheOwners(t *testing.T) {
	const content = "id,land\na,NA\nb,-\nc,DE\n"
	table := mustRead(t, content, asCSV, Options{NA: []string{"-"}})
	if c := mustColumn(t, table, "land"); !reflect.DeepEqual(c.Levels, []string{"DE", "NA"}) || c.Codes[1] != -1 {
		t.Errorf("land is %+v", c)
	}
	table = mustRead(t, content, asCSV, Options{NA: []string{}})
	if c := mustColumn(t, table, "land"); len(c.Levels) != 3 {
		t.Errorf("land is %+v", c)
	}
}

// TestColumnsWithoutACell are columns of numbers, or of listed categories, in which all is missing.
func TestColumnsWithoutACell(t *testing.T) {
	table := mustRead(t, "id,age,region\na,NA,\nb,,\n", asCSV, Options{Categorical: []string{"region"}, Missing: "refuse"})
	if c := mustColumn(t, table, "age"); c.Kind != Numeric || !math.IsNaN(c.Values[0]) {
		t.Errorf("age %+v", c)
	}
	if c := mustColumn(t, table, "region"); len(c.Levels) != 0 || c.Codes[0] != -1 || !c.Listed {
		t.Errorf("region %+v", c)
	}
}

// TestNAWordsAreEmptyCells replaces empty cells of a table by words for them, at random: the table is the same.
func TestNAWordsAreEmptyCells(t *testing.T) {
	words := DefaultNA()
	rapid.Check(t, func(t *rapid.T) {
		var empty, named strings.Builder
		for _, b := range []*strings.Builder{&empty, &named} {
			b.WriteString("id,x,region,since\n")
		}
		for row := range rapid.IntRange(1, 20).Draw(t, "rows") {
			for _, b := range []*strings.Builder{&empty, &named} {
				b.WriteString(string(rune('a' + row)))
			}
			for _, cells := range [][]string{{"1", "2.5", "-3"}, {"north", "south"}, {"2024-01-31", "2023-12-01"}} {
				cell, word := rapid.SampledFrom(cells).Draw(t, "cell"), ""
				if rapid.Bool().Draw(t, "missing") {
					cell, word = "", rapid.SampledFrom(words).Draw(t, "word")
				}
				empty.WriteString("," + cell)
				named.WriteString("," + cell + word)
			}
			for _, b := range []*strings.Builder{&empty, &named} {
				b.WriteString("\n")
			}
		}
		one, err := readString(empty.String(), asCSV, Options{})
		must(t, err)
		two, err := readString(named.String(), asCSV, Options{})
		must(t, err)
		must(t, sameTable(two, one))
	})
}

// TestOrderOfColumnsDoesNotMatter reads the columns of a file in another order.
func TestOrderOfColumnsDoesNotMatter(t *testing.T) {
	columns := [][]string{
		{"id", "a", "b", "c"}, {"x", "1", "NA", "2"}, {"r", "north", "", "south"}, {"d", "31/01/2024", "02/02/2024", "?"},
		{"y", "0", "1", "0"},
	}
	write := func(order []int) string {
		var b strings.Builder
		for row := range columns[0] {
			for i, at := range order {
				if i > 0 {
					b.WriteByte(',')
				}
				b.WriteString(columns[at][row])
			}
			b.WriteByte('\n')
		}
		return b.String()
	}
	names := []string{"x", "r", "d", "y"}
	want, err := mustRead(t, write([]int{0, 1, 2, 3, 4}), asCSV, Options{Label: "y"}).Only(names...)
	must(t, err)
	rapid.Check(t, func(t *rapid.T) {
		order := rapid.Permutation([]int{0, 1, 2, 3, 4}).Draw(t, "order")
		table, err := readString(write(order), asCSV, Options{Label: "y"})
		must(t, err)
		got, err := table.Only(names...)
		must(t, err)
		must(t, sameTable(got, want))
		if !reflect.DeepEqual(got.DateOrders, map[string]string{"d": "dmy"}) {
			t.Fatalf("dates %v", got.DateOrders)
		}
	})
}

func TestOnlySomeColumnsAreLookedAt(t *testing.T) {
	o := Options{Only: []string{"age"}}
	table := mustRead(t, "id,y,age,note\na,,10,\nb,,20,7\n", asCSV, o)
	if names := table.Names(); !reflect.DeepEqual(names, []string{"age"}) {
		t.Errorf("columns %q", names)
	}
	o.Label = "y"
	table = mustRead(t, "id,y,age,note\na,,10,\nb,,20,7\n", asCSV, o)
	if names := table.Names(); !reflect.DeepEqual(names, []string{"y", "age"}) {
		t.Errorf("columns %q", names)
	}
	table = mustRead(t, "1 1:2 2:3\n0 1:4\n", asLIBSVM, Options{Only: []string{"f1"}})
	if names := table.Names(); !reflect.DeepEqual(names, []string{"f1"}) {
		t.Errorf("columns %q", names)
	}
}

// TestColumnsOfTheOwner gives jobs some columns and a label, and no others.
func TestColumnsOfTheOwner(t *testing.T) {
	const content = "id,y,age,note,iban\na,1,10,x,DE1\nb,0,20,y,DE2\n"
	for _, c := range []struct {
		o    Options
		want []string
	}{
		{Options{Columns: []string{"age"}}, []string{"age"}},
		{Options{Columns: []string{"age", "note"}, Ignore: []string{"note"}, Label: "y"}, []string{"y", "age"}},
		{Options{Ignore: []string{"note", "iban"}}, []string{"y", "age"}},
	} {
		if names := mustRead(t, content, asCSV, c.o).Names(); !reflect.DeepEqual(names, c.want) {
			t.Errorf("%+v: columns %q, want %q", c.o, names, c.want)
		}
	}
	_, err := readString(content, asCSV, Options{Columns: []string{"agee"}})
	wantError(t, err, `no column "agee"; the columns are "id", "y", "age", "note", "iban"`)
}

// TestIndexOfPandas takes a first column without a name as the ids, or leaves it out, as its owner says.
func TestIndexOfPandas(t *testing.T) {
	const content = ",customer_id,age\n0,b,10\n1,a,20\n"
	table := mustRead(t, content, asCSV, Options{ID: "index"})
	if !reflect.DeepEqual(table.IDs, []string{"0", "1"}) || table.IDName != "index" {
		t.Errorf("ids %q of %q", table.IDs, table.IDName)
	}
	table = mustRead(t, content, asCSV, Options{Ignore: []string{"index"}})
	if !reflect.DeepEqual(table.IDs, []string{"a", "b"}) || !reflect.DeepEqual(table.Names(), []string{"age"}) {
		t.Errorf("ids %q, columns %q", table.IDs, table.Names())
	}
	_, err := readString(content, asCSV, Options{})
	wantError(t, err, `line 1: column 1 has no name, as where pandas or R wrote the rows' index: leave it out: `+
		`put ignore = ["index"] into the table's options; only where these numbers say whose a row is take it as the id `+
		`column, with id = "index"`)
}

// TestFirstRows reads the beginning of a file, whatever follows.
func TestFirstRows(t *testing.T) {
	if n := mustRead(t, "id,x\nb,1\na,2\nc,3,4\n", asCSV, Options{First: 2}).Rows(); n != 2 {
		t.Errorf("%d rows", n)
	}
	if n := mustRead(t, "1 1:1\n2 1:1\nx\n", asLIBSVM, Options{First: 2}).Rows(); n != 2 {
		t.Errorf("%d rows", n)
	}
}
