package dataset

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestClassification(t *testing.T) {
	for _, tc := range []struct {
		name, cells string
		classes     []string
		values      []float64
	}{
		{"0 and 1", "id,y\na,1\nb,0\nc,1\n", []string{"0", "1"}, []float64{1, -1, 1}},
		{"numbers by size", "id,y\na,10\nb,9\nc,9\n", []string{"9", "10"}, []float64{1, -1, -1}},
		{"texts by bytes", "id,y\na,yes\nb,no\nc,no\n", []string{"no", "yes"}, []float64{1, -1, -1}},
		{"some absent", "id,y\na,\nb,-1\nc,1\n", []string{"-1", "1"}, []float64{0, -1, 1}},
		{"four numbers", "id,y\na,10\nb,9\nc,-1\nd,9\ne,2.5\n", []string{"-1", "2.5", "9", "10"}, []float64{3, 2, 0, 2, 1}},
		{"three texts, one absent", "id,y\na,low\nb,\nc,mid\nd,high\n", []string{"high", "low", "mid"},
			[]float64{1, 0, 2, 0}},
		{"texts, some absent", "id,y\na,b\nb,\nc,a\n", []string{"a", "b"}, []float64{1, 0, -1}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			l, err := mustRead(t, tc.cells, asCSV, Options{Label: "y"}).Labels("y", Classification)
			must(t, err)
			if !reflect.DeepEqual(l.Classes, tc.classes) || !reflect.DeepEqual(l.Values, tc.values) {
				t.Errorf("classes %q, values %v", l.Classes, l.Values)
			}
			for row, there := range l.Present {
				if empty := strings.Contains(tc.cells, fmt.Sprintf("\n%s,\n", string(rune('a'+row)))); there == empty {
					t.Errorf("row %d: present %v", row, there)
				}
			}
		})
	}
}

func TestRegression(t *testing.T) {
	l, err := mustRead(t, "id,y\na,1.5\nb,\nc,-2\n", asCSV, Options{Label: "y"}).Labels("y", Regression)
	must(t, err)
	if !reflect.DeepEqual(l.Values, []float64{1.5, 0, -2}) || !reflect.DeepEqual(l.Present, []bool{true, false, true}) ||
		l.Count() != 2 {
		t.Errorf("labels %+v", l)
	}
}

func TestBadLabels(t *testing.T) {
	for _, tc := range []struct {
		name, content, column string
		kind                  LabelKind
		want                  string
	}{
		{"missing", "id,age,y\na,1,1\n", "default", Classification,
			`bank.csv: no column "default"; the columns are "age", "y"`},
		{"constant", "id,y\na,1\nb,\nc,1\n", "y", Classification, `bank.csv: label column "y" is constant: every labelled row has "1", so there is nothing to learn`},
		{"constant text", "id,y\na,no\nc,no\n", "y", Classification, `bank.csv: label column "y" is constant: every labelled row has "no", so there is nothing to learn`},
		{"constant number", "id,y\na,2.5\nc,2.5\n", "y", Regression, `bank.csv: label column "y" is constant: every labelled row has "2.5", so there is nothing to learn`},
		{"65", numbered(65), "y", Classification, `bank.csv: label column "y" has more than 64 different labels, at id "r064" "64": want at most as many classes, or numbers and target = "regression"`},
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

// numbered is a table whose labels are 0 to n-1, one row each.
func numbered(n int) string {
	var b strings.Builder
	b.WriteString("id,y\n")
	for i := range n {
		fmt.Fprintf(&b, "r%03d,%d\n", i, i)
	}
	return b.String()
}

// TestLabelsOf are those of a model's classes, in its order, whichever of them occur.
func TestLabelsOf(t *testing.T) {
	table := mustRead(t, "id,y\na,mid\nb,low\nc,\n", asCSV, Options{Label: "y"})
	table.Path = "test.csv"
	l, err := table.LabelsOf("y", []string{"high", "low", "mid"})
	if err != nil || !reflect.DeepEqual(l.Values, []float64{2, 1, 0}) {
		t.Errorf("labels %+v: %v", l, err)
	}
	_, err = table.LabelsOf("y", []string{"high", "low"})
	wantError(t, err, `test.csv: label column "y" has "mid" at id "a", which is none of the classes "high", "low"`)
}

// TestTargetOf takes columns for classes or for numbers.
func TestTargetOf(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	poisson := func(mean float64) int { // arrivals in a unit of time
		n := 0
		for at := rng.ExpFloat64(); at < mean; at += rng.ExpFloat64() {
			n++
		}
		return n
	}
	for _, tc := range []struct {
		name    string
		rows    int
		cell    func(row int) string
		kind    LabelKind
		classes int
	}{
		{"two texts", 20, func(r int) string { return []string{"no", "yes"}[r%2] }, Classification, 2},
		{"four texts", 40, func(r int) string { return []string{"a", "b", "c", "d"}[r%4] }, Classification, 4},
		{"texts, one of them once", 40, func(r int) string { return []string{"a", "b", "c"}[min(2, r%4+r/39)%3] },
			Classification, 3},
		{"two numbers", 20, func(r int) string { return []string{"0.5", "17"}[r%2] }, Classification, 2},
		{"codes 1 to 4", 40, func(r int) string { return fmt.Sprint(1 + r%4) }, Classification, 4},
		{"codes as pandas writes them, with holes", 41, func(r int) string {
			if r == 3 {
				return ""
			}
			return fmt.Sprintf("%d.0", r%3)
		}, Classification, 3},
		{"digits", 400, func(r int) string { return fmt.Sprint(r % 10) }, Classification, 10},
		{"codes with a gap", 60, func(r int) string { return []string{"1", "2", "3", "5", "6", "7"}[r%6] },
			Classification, 6},
		{"halves", 40, func(r int) string { return fmt.Sprintf("%d.5", r%4) }, Regression, 0},
		{"amounts in hundreds", 40, func(r int) string { return fmt.Sprint(100 * (r % 4)) }, Regression, 0},
		{"eleven", 440, func(r int) string { return fmt.Sprint(r % 11) }, Regression, 0},
		{"counts, a long tail", 500, func(int) string { return fmt.Sprint(poisson(1)) }, Regression, 0},
		{"many counts, a long tail", 20_000, func(int) string { return fmt.Sprint(poisson(2)) }, Regression, 0},
		{"a code of two rows", 40, func(r int) string { return fmt.Sprint(max(r%2, r/38*2)) }, Regression, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var b strings.Builder
			b.WriteString("id,y\n")
			for r := range tc.rows {
				fmt.Fprintf(&b, "r%d,%s\n", r, tc.cell(r))
			}
			kind, classes, err := mustRead(t, b.String(), asCSV, Options{Label: "y"}).TargetOf("y")
			if err != nil || kind != tc.kind || classes != tc.classes {
				t.Errorf("kind %d with %d classes, want %d with %d: %v", kind, classes, tc.kind, tc.classes, err)
			}
		})
	}
	_, _, err := mustRead(t, "id,y\na,1\nb,1\n", asCSV, Options{Label: "y"}).TargetOf("y")
	wantError(t, err, `table: label column "y" is constant: every labelled row has "1", so there is nothing to learn`)
}
