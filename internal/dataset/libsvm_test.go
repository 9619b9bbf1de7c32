package dataset

import (
	"reflect"
	"testing"
)

func TestLIBSVM(t *testing.T) {
	table := mustRead(t, "-1 1:0.5 3:-2e1 \n\n+1\t2:+.25\n+1.0\n", byContent, Options{Label: "label"})
	want := []Column{
		{Name: "label", Values: []float64{-1, 1, 1}},
		{Name: "f1", Values: []float64{0.5, 0, 0}},
		{Name: "f2", Values: []float64{0, 0.25, 0}},
		{Name: "f3", Values: []float64{-20, 0, 0}},
	}
	if !reflect.DeepEqual(table.Columns, want) || !reflect.DeepEqual(table.IDs, []string{"1", "2", "3"}) {
		t.Errorf("table %+v", table)
	}
}

func TestLIBSVMRowsAreSortedByID(t *testing.T) {
	content := ""
	for i := range 11 {
		content += string("ab"[i%2]-'a'+'0') + " 1:" + formatNumber(float64(i+1)) + "\n"
	}
	table := mustRead(t, content, asLIBSVM, Options{})
	if !reflect.DeepEqual(table.IDs, []string{"1", "10", "11", "2", "3", "4", "5", "6", "7", "8", "9"}) {
		t.Errorf("ids %q", table.IDs)
	}
	for row, id := range table.IDs {
		if v := mustColumn(t, table, "f1").Values[row]; formatNumber(v) != id {
			t.Errorf("row of id %s has value %v", id, v)
		}
	}
}

func TestLIBSVMIgnore(t *testing.T) {
	table := mustRead(t, "1 1:1 3:1\n", asLIBSVM, Options{Ignore: []string{"f2", "f3"}})
	if names := table.Names(); !reflect.DeepEqual(names, []string{"f1"}) {
		t.Errorf("columns %q", names)
	}
}

func TestFormatOfAFile(t *testing.T) {
	for _, tc := range []struct {
		name, content string
		want          string
	}{
		{"a9a", "-1 3:1\n", "f1"},
		{"a9a", "\n\n-1\n1 3:1\n", "f1"},
		{"a9a.gz", string(gzipped(t, "-1 3:1\n")), "f1"},
		{"x.libsvm", "-1 3:1\n", "f1"},
		{"X.SVM.GZ", string(gzipped(t, "-1 3:1\n")), "f1"},
		{"people", "id,age\n1,2\n", "age"},
		{"people.csv", "id,age\n1,2\n", "age"},
		{"people.csv.gz", "id,age\n1,2\n", "age"},
	} {
		table, err := Read(writeFile(t, tc.name, []byte(tc.content)), Options{})
		if err != nil {
			t.Errorf("%s: %v", tc.name, err)
		} else if got := table.Names()[0]; got != tc.want {
			t.Errorf("%s: first column %q, want %q", tc.name, got, tc.want)
		}
	}
}
