package alignment

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

// table is a table of one column beside the row ids.
type table struct{ ids, phones []string }

// RowIDs implements Source.
func (t *table) RowIDs() []string { return t.ids }

// Texts implements Source.
func (t *table) Texts(names ...string) (columns [][]string, lines []int, err error) {
	if len(names) != 1 || names[0] != "phone" {
		return nil, nil, fmt.Errorf("no column %q", names)
	}
	for i := range t.phones {
		lines = append(lines, i+2)
	}
	return [][]string{t.phones}, lines, nil
}

// byPhone is a recipe.
var byPhone = []keys.Identifier{{Name: "phone", Columns: []keys.IDColumn{{Name: "phone", Trim: true}}}}

// TestRowsAreFoundInAnyTableThatHasThem makes alignments of some rows of a table, writes and reads them, and finds the
// rows in tables that have them, in another order and with others between; and not in one that lacks a row.
func TestRowsAreFoundInAnyTableThatHasThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		people := rapid.IntRange(1, 60).Draw(t, "people")
		own := &table{}
		for person := range people {
			own.ids, own.phones = append(own.ids, fmt.Sprint("p", person)), append(own.phones, fmt.Sprint("06", person))
		}
		a := &Alignment{Name: "customers", Contract: keys.HashOf("contract"), Charter: keys.HashOf("charter"),
			Digest: keys.HashOf("digest")}
		if rapid.Bool().Draw(t, "by phone") {
			a.Keys = byPhone
		}
		lists, err := Lists(a.Charter, a.Keys, own)
		if err != nil {
			t.Fatal(err)
		}
		order := rapid.Permutation(slices.Collect(func(yield func(int) bool) {
			for i := range people {
				if !yield(i) {
					return
				}
			}
		})).Draw(t, "order")
		common := order[:rapid.IntRange(1, people).Draw(t, "common")]
		for _, row := range common {
			a.Add(0, lists[0].IDs[row])
		}
		text, err := a.Encode()
		if err != nil {
			t.Fatal(err)
		}
		back, err := Decode(text)
		if err != nil {
			t.Fatal(err)
		}
		again, err := back.Encode()
		if err != nil || !bytes.Equal(again, text) || back.Rows() != len(common) || back.Digest != a.Digest {
			t.Fatalf("%d rows came back as %d: %v", len(common), back.Rows(), err)
		}

		shuffled := rapid.Permutation(order).Draw(t, "shuffled")
		other := &table{}
		for _, person := range shuffled {
			other.ids = append(other.ids, fmt.Sprint("new", person), fmt.Sprint("p", person))
			other.phones = append(other.phones, "", fmt.Sprint(" 06", person))
		}
		rows, err := back.Find(other)
		if err != nil {
			t.Fatal(err)
		}
		for at, row := range rows {
			if want := fmt.Sprint("p", common[at]); other.ids[row] != want {
				t.Fatalf("row %d is %s, want %s", at, other.ids[row], want)
			}
		}
		lacks := slices.Index(other.ids, fmt.Sprint("p", common[0]))
		other.ids[lacks], other.phones[lacks] = "gone", ""
		if _, err := back.Find(other); err == nil || !strings.Contains(err.Error(),
			fmt.Sprintf("1 of the %d rows of alignment \"customers\" are not in it any more", len(common))) {
			t.Fatalf("error is %v", err)
		}
	})
}

// FuzzDecode wants that what is read is written again as it was read, and that nothing else is read.
func FuzzDecode(f *testing.F) {
	a := &Alignment{Name: "customers", Keys: byPhone}
	a.Add(0, [32]byte{1})
	text, err := a.Encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add(text[:len(text)-1])
	f.Add([]byte(magic + "\xff\xff\xff\xff"))
	f.Add([]byte(magic + "\x00\x00\x00\x01\xa0\x01"))
	f.Fuzz(func(t *testing.T, b []byte) {
		a, err := Decode(b)
		if err != nil {
			return
		}
		text, err := a.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Decode(text)
		if err != nil {
			t.Fatalf("what was read cannot be read again: %v", err)
		}
		if twice, err := again.Encode(); err != nil || !bytes.Equal(text, twice) {
			t.Fatalf("it is written in two ways: %v", err)
		}
	})
}
