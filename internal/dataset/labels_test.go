package dataset

import (
	"reflect"
	"testing"
)

func TestClassification(t *testing.T) {
	for _, tc := range []struct {
		name, cells string
		classes     [2]string
		values      []float64
	}{
		{"0 and 1", "id,y\na,1\nb,0\nc,1\n", [2]string{"0", "1"}, []float64{1, -1, 1}},
		{"numbers by size", "id,y\na,10\nb,9\nc,9\n", [2]string{"9", "10"}, []float64{1, -1, -1}},
		{"texts by bytes", "id,y\na,yes\nb,no\nc,no\n", [2]string{"no", "yes"}, []float64{1, -1, -1}},
		{"some absent", "id,y\na,\nb,-1\nc,1\n", [2]string{"-1", "1"}, []float64{0, -1, 1}},
		{"texts, some absent", "id,y\na,b\nb,\nc,a\n", [2]string{"a", "b"}, []float64{1, 0, -1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := mustRead(t, tc.cells, asCSV, Options{Label: "y"}).Labels("y", Classification)
			if err != nil {
				t.Fatal(err)
			}
			if l.Classes != tc.classes || !reflect.DeepEqual(l.Values, tc.values) {
				t.Errorf("classes %q, values %v", l.Classes, l.Values)
			}
			for row, there := range l.Present {
				if there != (tc.values[row] != 0) {
					t.Errorf("row %d: present %v", row, there)
				}
			}
		})
	}
}

func TestRegression(t *testing.T) {
	l, err := mustRead(t, "id,y\na,1.5\nb,\nc,-2\n", asCSV, Options{Label: "y"}).Labels("y", Regression)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(l.Values, []float64{1.5, 0, -2}) || !reflect.DeepEqual(l.Present, []bool{true, false, true}) || l.Count() != 2 {
		t.Errorf("labels %+v", l)
	}
}

func TestBadLabels(t *testing.T) {
	for _, tc := range []struct {
		name, content, column string
		kind                  LabelKind
		want                  string
	}{
		{"missing", "id,age,y\na,1,1\n", "default", Classification, `bank.csv: no column "default"; the columns are "age", "y"`},
		{"constant", "id,y\na,1\nb,\nc,1\n", "y", Classification, `bank.csv: label column "y" is constant: every labelled row has "1", so there is nothing to learn`},
		{"constant text", "id,y\na,no\nc,no\n", "y", Classification, `bank.csv: label column "y" is constant: every labelled row has "no", so there is nothing to learn`},
		{"constant number", "id,y\na,2.5\nc,2.5\n", "y", Regression, `bank.csv: label column "y" is constant: every labelled row has "2.5", so there is nothing to learn`},
		{"three", "id,y\na,1\nb,2\nc,\nd,1\ne,0\n", "y", Classification, `bank.csv: label column "y" has more than two labels: "1", "2" and, at id "e", "0"; classification wants two`},
		{"empty", "id,y\na,\nb,\n", "y", Classification, `bank.csv: label column "y" is empty: no row is labelled here`},
		{"texts", "id,y\na,no\nc,yes\n", "y", Regression, `bank.csv: label column "y" holds texts; regression wants numbers`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			table := mustRead(t, tc.content, asCSV, Options{Label: "y"})
			table.Path = "bank.csv"
			_, err := table.Labels(tc.column, tc.kind)
			wantError(t, err, tc.want)
		})
	}
}
