package dataset

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

const insurer = `id,age,region,premium
P3,40,north,310.5
P1,28,south,200
P2,61,north,1e3
`

func TestCSVIsSortedAndTyped(t *testing.T) {
	table := mustRead(t, insurer, asCSV, Options{})
	want := []Column{
		{Name: "age", Values: []float64{28, 61, 40}},
		{Name: "region", Kind: Categorical, Codes: []int32{1, 0, 0}, Levels: []string{"north", "south"}},
		{Name: "premium", Values: []float64{200, 1000, 310.5}},
	}
	if !reflect.DeepEqual(table.IDs, []string{"P1", "P2", "P3"}) || table.IDName != "id" {
		t.Errorf("ids %q under %q", table.IDs, table.IDName)
	}
	if !reflect.DeepEqual(table.Columns, want) {
		t.Errorf("columns\n got  %+v\n want %+v", table.Columns, want)
	}
}

func TestSpellingsOfTheSameCSV(t *testing.T) {
	want := mustRead(t, insurer, asCSV, Options{})
	for name, content := range map[string]string{
		"CRLF":            strings.ReplaceAll(insurer, "\n", "\r\n"),
		"byte order mark": "\ufeff" + insurer,
		"quotes":          strings.ReplaceAll(insurer, "north", `"north"`),
		"blanks":          strings.ReplaceAll(insurer, ",", " ,\t"),
		"blank lines":     strings.ReplaceAll(insurer, "\n", "\n\n"),
		"no last newline": strings.TrimSuffix(insurer, "\n"),
		"gzip":            string(gzipped(t, insurer)),
		"two gzip parts":  string(gzipped(t, insurer[:30])) + string(gzipped(t, insurer[30:])),
	} {
		t.Run(name, func(t *testing.T) {
			got := mustRead(t, content, byContent, Options{})
			if !reflect.DeepEqual(got, want) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestListedColumnIsCategoricalThoughItLooksNumeric(t *testing.T) {
	table := mustRead(t, "id,code\na,10\nb,9\nc,nan\n", asCSV, Options{Categorical: []string{"code"}, NA: []string{}})
	c := mustColumn(t, table, "code")
	if !reflect.DeepEqual(c.Levels, []string{"10", "9", "nan"}) || !reflect.DeepEqual(c.Codes, []int32{0, 1, 2}) {
		t.Errorf("column %+v", c)
	}
}

func TestIgnoredColumnsAreNotLookedAt(t *testing.T) {
	table := mustRead(t, "id,note,age\na,NaN,1\nb,12\x01,2\n", asCSV, Options{Ignore: []string{"note"}})
	if names := table.Names(); !reflect.DeepEqual(names, []string{"age"}) {
		t.Errorf("columns %q", names)
	}
}

func TestOnlyIDs(t *testing.T) {
	table := mustRead(t, "id\nb\na\n", asCSV, Options{})
	if table.Rows() != 2 || len(table.Columns) != 0 {
		t.Errorf("table %+v", table)
	}
}

func TestIDColumn(t *testing.T) {
	for _, tc := range []struct{ header, option, want string }{
		{"id,age", "", "id"},
		{"age,ID", "", "ID"},
		{"age,customer_id", "", "customer_id"},
		{"age,CustomerID", "", "CustomerID"},
		{"paid,id number", "", "id number"},
		{"customer_id,Id", "", "Id"},
		{"id,age", "age", "age"},
	} {
		table, err := readString(tc.header+"\n1,2\n", asCSV, Options{ID: tc.option})
		if err != nil || table.IDName != tc.want {
			t.Errorf("%q with ID %q: %v, %v; want %q", tc.header, tc.option, table, err, tc.want)
		}
	}
}

func TestLabelCellsMayBeEmpty(t *testing.T) {
	for _, way := range []string{"", "mean,level"} {
		o := Options{Label: "y", Missing: way}
		numbers := mustColumn(t, mustRead(t, "id,y\na,\nb,1\nc,\n", asCSV, o), "y")
		if v := numbers.Values; !math.IsNaN(v[0]) || v[1] != 1 || !math.IsNaN(v[2]) {
			t.Errorf("values %v", v)
		}
		texts := mustColumn(t, mustRead(t, "id,y\na,\nb,yes\nc,\n", asCSV, o), "y")
		if !reflect.DeepEqual(texts.Codes, []int32{-1, 0, -1}) || len(texts.Levels) != 1 {
			t.Errorf("texts %+v", texts)
		}
		if none := mustColumn(t, mustRead(t, "id,y\na,\nb,\n", asCSV, o), "y"); len(none.Values) != 2 {
			t.Errorf("no labels: %+v", none)
		}
	}
}

func TestLeadingHolesAreCaughtUpWith(t *testing.T) {
	table := mustRead(t, "id,n,c\na,,\nb,,x\nc,5,\n", asCSV, Options{})
	if v := mustColumn(t, table, "n").Values; !math.IsNaN(v[0]) || !math.IsNaN(v[1]) || v[2] != 5 {
		t.Errorf("n %v", v)
	}
	c := mustColumn(t, table, "c")
	if !reflect.DeepEqual(c.Codes, []int32{-1, 0, -1}) || !reflect.DeepEqual(c.Levels, []string{"x"}) {
		t.Errorf("c %+v", c)
	}
}

func TestHeader(t *testing.T) {
	for name, c := range map[string]struct {
		content []byte
		want    []string
	}{
		"plain.csv":  {[]byte("id, age ,\"a, b\"\nx,1,2\n"), []string{"id", "age", "a, b"}},
		"packed.csv": {gzipped(t, "key,code\n"), []string{"key", "code"}},
		"guessed":    {[]byte("key,code\n1,2\n"), []string{"key", "code"}},
		"rows.svm":   {[]byte("1 1:2\n"), nil},
		"rows":       {[]byte("1 1:2\n"), nil},
	} {
		got, err := Header(writeFile(t, name, c.content), Options{})
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: header %q (%v), want %q", name, got, err, c.want)
		}
	}
	path := writeFile(t, "empty.csv", nil)
	_, err := Header(path, Options{})
	wantError(t, err, path+": the file is empty")
}

// TestTextsStayWhatTheyAre, of all lengths, over the ends of pieces.
func TestTextsStayWhatTheyAre(t *testing.T) {
	of := func(i int) string { return strings.Repeat(string(rune('a'+i%26)), i*i%(2*textsPiece)) }
	var all texts
	var kept []string
	for i := range 500 {
		kept = append(kept, all.clone(of(i)))
	}
	for i, text := range kept {
		if text != of(i) {
			t.Fatalf("text %d of %d bytes is another", i, len(of(i)))
		}
	}
}

// TestWhatSeparatesIsNotDoubted where the owner or the file says it, or a row has the other sign less often.
func TestWhatSeparatesIsNotDoubted(t *testing.T) {
	for _, c := range []struct {
		content string
		o       Options
	}{
		{"id,a;b\n1,2;3\n2,3;4\n", Options{Delimiter: ","}},
		{"sep=,\nid,a;b\n1,2;3\n2,3;4\n", Options{}},
		{"id,a;b\n1,u;v\n2,w\n", Options{}},
		{"id,a;b,c\n1,2;3,4\n2,3;4,5\n", Options{}},
	} {
		mustRead(t, c.content, asCSV, c.o)
	}
}
