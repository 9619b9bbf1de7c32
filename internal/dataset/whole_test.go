package dataset

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/wording"
)

func TestKnownCodes(t *testing.T) {
	for _, c := range []struct {
		known, text, want string // known with blanks between
	}{
		{"1 2", "1", "1"}, {"1 2", "1.0", "1"}, {"1 2", "2e0", "2"}, {"1 2", "01", "1"}, {"1 2", "+1", "1"},
		{"1 2", "3.0", ""},
		{"1.0 2.0", "1", "1.0"}, {"1 01", "1.0", "1"}, {"1 01", "01.0", "01"}, {"1 01", "001", ""}, {"01 02", "1", "01"},
		{"100000 2", "1e+05", "100000"}, {"100000 A", "1e+05", ""}, {"2000 3A1", "2E3", ""}, {"2000 3A1", "2000.0", "2000"},
		{"1 1.0", "1.00", ""}, {"a b", "1", ""}, {"1.5 2", "1.50", ""}, {"12000 12", "12.000", ""}, {"-1 1", "-1.0", "-1"},
	} {
		if got, ok := NewKnown(strings.Fields(c.known)).Find(c.text); got != c.want || ok != (c.want != "") {
			t.Errorf("%s among %s is %q, %t; want %q", c.text, c.known, got, ok, c.want)
		}
	}
}

// TestACodeIsNeverAnother: what is found among known codes is the text itself or the same whole number.
func TestACodeIsNeverAnother(t *testing.T) {
	text := rapid.StringMatching(`[-+]?0{0,2}[0-3]{1,2}(\.0{0,3})?([eE][+]?[0-2])?|[a-z]|[0-9]\.[0-9]`)
	texts := rapid.SliceOfNDistinct(text, 4, -1, func(s string) string { return s })
	found := 0
	rapid.Check(t, func(rt *rapid.T) {
		known := texts.Draw(rt, "known")
		k := NewKnown(known)
		for _, text := range texts.Draw(rt, "texts") {
			got, ok := k.Find(text)
			if !ok {
				continue
			}
			number, is := wording.Whole(text)
			other, too := wording.Whole(got)
			if !slices.Contains(known, got) || got != text && (!is || !too || number != other) {
				rt.Fatalf("%q is %q among %q", text, got, known)
			}
			if got != text {
				found++
			}
		}
	})
	if found == 0 {
		t.Error("no text was ever found under another spelling")
	}
}

// TestCodesWrittenInTwoWaysAreOneLevel, in a table, when tables are joined and as labels; zeros in front keep two
// apart.
func TestCodesWrittenInTwoWaysAreOneLevel(t *testing.T) {
	text := "id,code,label\n1,1,1\n2,1.0,1.0\n3,2.0,2.0\n4,2.00,2.0\n5,01,1\n6,,\n7,100000,2\n8,1e+05,2\n"
	o := Options{Categorical: []string{"code", "label"}}
	table := mustRead(t, text, asCSV, o)
	column, err := table.Column("code")
	must(t, err)
	if !slices.Equal(column.Levels, []string{"01", "1", "100000", "2.0"}) ||
		!slices.Equal(column.Codes, []int32{1, 1, 3, 3, 0, -1, 2, 2}) {
		t.Errorf("levels %q, codes %v", column.Levels, column.Codes)
	}
	labels, err := table.Labels("label", Classification)
	if err != nil || !slices.Equal(labels.Classes, []string{"1", "2"}) {
		t.Errorf("labels %+v, %v", labels, err)
	}
	test := mustRead(t, "id,label\na,1.0\nb,2\nc,02\n", asCSV, Options{Categorical: []string{"label"}})
	of, err := test.Classed("label", labels.Classes)
	if err != nil || !slices.Equal(of, []int{0, 1, 1}) {
		t.Errorf("classes %v, %v", of, err)
	}
	if l, err := test.LabelsOf("label", labels.Classes); err != nil || !slices.Equal(l.Values, []float64{-1, 1, 1}) {
		t.Errorf("labels %+v, %v", l, err)
	}
	if _, err := test.Classed("label", []string{"2", "02", "1"}); err != nil {
		t.Errorf("a class that is there is not found: %v", err)
	}
	if _, err := test.Classed("label", []string{"1", "3"}); err == nil {
		t.Error("2 is one of the classes 1 and 3")
	}
	later := mustRead(t, "id,code,label\n11,2,1\n12,1e+05,2\n", asCSV, o)
	joined, err := Join(table, later)
	must(t, err)
	if got := joined.Columns[0].Levels; !slices.Equal(got, []string{"01", "1", "100000", "2"}) {
		t.Errorf("joined levels %q", got)
	}
}

// TestTheSurveySaysHowCodesAreWritten: which are one category, and which two by zeros in front.
func TestTheSurveySaysHowCodesAreWritten(t *testing.T) {
	for text, want := range map[string]string{
		"id,code\n1,1\n2,1.0\n3,2\n": `its code "1" is also written "1.0", as programs do: they are one category`,
		"id,code\n1,1\n2,01\n3,2\n": `its codes "01" and "1" differ by signs or zeros in front alone and are two categories: ` +
			`write them alike if they are one`,
		"id,code\n1,1\n2,12\n3,2\n": "",
	} {
		s := survey(t, text, Options{Categorical: []string{"code"}})
		if got := s.Columns[0].Says; got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	s := survey(t, "id,code\n1,1\n2,1.0\n3,1\n", Options{Categorical: []string{"code"}})
	if s.Columns[0].Kind != KindConstant {
		t.Errorf("one code in two spellings is %+v", s.Columns[0])
	}
}
