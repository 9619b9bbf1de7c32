package dataset

import (
	"reflect"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/keys"
)

func TestColumnErrorListsColumns(t *testing.T) {
	table := mustRead(t, insurer, asCSV, Options{})
	_, err := table.Column("salary")
	wantError(t, err, `table: no column "salary"; the columns are "age", "region", "premium"`)
	wide := mustRead(t, "1 14:1\n", asLIBSVM, Options{Label: "label"})
	wide.Path = "a9a"
	_, err = wide.Column("f15")
	wantError(t, err, `a9a: no column "f15"; the columns are "label", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9", "f10", "f11" and 3 more`)
	_, err = wide.Without(wide.Names()...).Column("f1")
	wantError(t, err, `a9a: no column "f1"; the columns are none`)
}

func TestWithoutAndOnly(t *testing.T) {
	table := mustRead(t, insurer, asCSV, Options{})
	if names := table.Without("region", "gone").Names(); !reflect.DeepEqual(names, []string{"age", "premium"}) {
		t.Errorf("without region: %q", names)
	}
	only, err := table.Only("premium", "age")
	must(t, err)
	if names := only.Names(); !reflect.DeepEqual(names, []string{"premium", "age"}) {
		t.Errorf("only: %q", names)
	}
	if _, err = table.Only("age", "gone"); err == nil {
		t.Error("no error for a column that is not there")
	}
	if len(table.Columns) != 3 {
		t.Error("the table itself has changed")
	}
}

func TestSelect(t *testing.T) {
	table := mustRead(t, insurer, asCSV, Options{})
	got := table.Select([]int{2, 1})
	if !reflect.DeepEqual(got.IDs, []string{"P3", "P2"}) ||
		!reflect.DeepEqual(got.Columns[0].Values, []float64{40, 61}) ||
		!reflect.DeepEqual(got.Columns[1].Codes, []int32{0, 0}) ||
		!reflect.DeepEqual(got.Columns[1].Levels, []string{"north", "south"}) {
		t.Errorf("selected %+v", got)
	}
	if table.Rows() != 3 {
		t.Error("the table itself has changed")
	}
}

func TestIDDigestIsOfTheIDsRowByRow(t *testing.T) {
	table := mustRead(t, insurer, asCSV, Options{})
	all := table.IDDigest()
	if table.Select([]int{2, 0, 1}).IDDigest() == all {
		t.Error("another order of rows does not change the digest")
	}
	if table.Select([]int{0, 1}).IDDigest() == all {
		t.Error("a row less does not change the digest")
	}
	if all != keys.HashOf("hanse/dataset/ids/v1", []byte("P1"), []byte("P2"), []byte("P3")) {
		t.Error("the digest is not the documented one")
	}
}

func TestVerify(t *testing.T) {
	table := mustRead(t, insurer, asCSV, Options{})
	table.Path = "insurer.csv"
	if err := table.Verify(table.Sum); err != nil {
		t.Error(err)
	}
	other := mustRead(t, strings.Replace(insurer, "40", "41", 1), asCSV, Options{})
	wantError(t, table.Verify(other.Sum),
		"insurer.csv: the table has changed: its digest starts with "+table.Sum.Short()+", the agreed one's with "+
			other.Sum.Short())
}

func TestQuoteClips(t *testing.T) {
	if got := quote(strings.Repeat("é", 40)); got != `"`+strings.Repeat("é", 30)+`…"` {
		t.Errorf("quoted %s", got)
	}
	if got := quote(strings.Repeat("x", 59) + "é"); got != `"`+strings.Repeat("x", 59)+`…"` {
		t.Errorf("quoted %s: a character is cut in two", got)
	}
}
