package dataset

import (
	"reflect"
	"testing"
)

func TestJoinLIBSVMIsOneFile(t *testing.T) {
	train := mustRead(t, "1 1:1 2:2\n-1 1:3\n", asLIBSVM, Options{Label: "label"})
	test := mustRead(t, "-1 4:5\n1 1:9\n1 1:8\n", asLIBSVM, Options{Label: "label"})
	train.Path, test.Path = "a9a", "a9a.t"
	got, err := Join(train, test)
	must(t, err)
	want := mustRead(t, "1 1:1 2:2\n-1 1:3\n-1 4:5\n1 1:9\n1 1:8\n", asLIBSVM, Options{Label: "label"})
	if !reflect.DeepEqual(got.IDs, want.IDs) {
		t.Errorf("ids %q", got.IDs)
	}
	for _, name := range []string{"label", "f1", "f2", "f4"} {
		if a, b := mustColumn(t, got, name), mustColumn(t, want, name); !reflect.DeepEqual(a, b) {
			t.Errorf("column %+v, want %+v", a, b)
		}
	}
	if got.Path != "a9a + a9a.t" || got.Sum == train.Sum || got.Sum.IsZero() {
		t.Errorf("path %q, sum %v", got.Path, got.Sum)
	}
}

func TestJoinedLIBSVMRowsHaveTheirFeatures(t *testing.T) {
	one := mustRead(t, "1 2:2\n", asLIBSVM, Options{Label: "label"})
	two := mustRead(t, "1 11:3\n", asLIBSVM, Options{Label: "label"})
	three, err := Join(one, two, one)
	must(t, err)
	if v := mustColumn(t, three, "f2").Values; !reflect.DeepEqual(v, []float64{2, 0, 2}) {
		t.Errorf("f2 %v", v)
	}
	if names := three.Names(); names[len(names)-1] != "f11" || len(names) != 12 {
		t.Errorf("columns %q", names)
	}
}

func TestJoinCSV(t *testing.T) {
	one := mustRead(t, "id,x,r\nb,1,south\nd,2,east\n", asCSV, Options{})
	two := mustRead(t, "id,r,x\na,north,3\nc,south,4\n", asCSV, Options{})
	got, err := Join(one, two)
	must(t, err)
	want := mustRead(t, "id,x,r\na,3,north\nb,1,south\nc,4,south\nd,2,east\n", asCSV, Options{})
	if !reflect.DeepEqual(got.IDs, want.IDs) || !reflect.DeepEqual(got.Columns, want.Columns) {
		t.Errorf("joined %+v", got)
	}
	if !reflect.DeepEqual(one.Columns[1].Codes, []int32{1, 0}) {
		t.Error("a part has changed")
	}
}

func TestBadJoin(t *testing.T) {
	read := func(path, content string, o Options) *Table {
		table := mustRead(t, content, byContent, o)
		table.Path = path
		return table
	}
	one := read("one.csv", "id,x\na,1\nb,2\n", Options{})
	svm := read("two.svm", "1 1:1\n", Options{Label: "label"})
	for _, tc := range []struct {
		name  string
		parts []*Table
		want  string
	}{
		{"nothing", nil, `join: there is no table to join`},
		{"formats", []*Table{one, svm}, `two.svm: a LIBSVM and a CSV table cannot be joined; the other is one.csv`},
		{"column missing", []*Table{one, read("two.csv", "id,y\nc,1\n", Options{})}, `two.csv: no column "x"; the columns are "y"; one.csv has it`},
		{"column added", []*Table{one, read("two.csv", "id,x,y\nc,1,2\n", Options{})}, `one.csv: no column "y"; the columns are "x"; two.csv has it`},
		{"kind", []*Table{one, read("two.csv", "id,x\nc,p\n", Options{})},
			`two.csv: column "x" is categorical, but numeric in one.csv`},
		{"id", []*Table{one, read("two.csv", "id,x\nc,1\na,2\n", Options{})}, `one.csv and two.csv have the same id "a"; a table has one row for each id: make one of theirs, with sums, means or the latest`},
		{"label", []*Table{svm, svm.Without("label")}, `two.svm: no column "label"; the columns are "f1"; two.svm has it`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			_, err := Join(tc.parts...)
			wantError(t, err, tc.want)
		})
	}
}
