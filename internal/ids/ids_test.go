package ids

import (
	"crypto/sha512"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

func recipe(t testing.TB, columns ...keys.IDColumn) *Recipe {
	t.Helper()
	r, err := New(keys.Hash{1}, keys.Identifier{Name: "key", Columns: columns}, 2)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNormalForms(t *testing.T) {
	for _, c := range []struct {
		column           keys.IDColumn
		cell, want, fail string
	}{
		{keys.IDColumn{Name: "c"}, " a ", " a ", ""},
		{keys.IDColumn{Name: "c", Trim: true}, " \u00a0 ", "", ""},
		{keys.IDColumn{Name: "c", NFKC: true, Casefold: true}, "A\u0308\uff21\u00df", "\u00e4ass", ""},
		{keys.IDColumn{Name: "c", NFKC: true, Digits: true}, "\uff11-2", "12", ""},
		{keys.IDColumn{Name: "c", Digits: true}, "none", "", ""},
		{keys.IDColumn{Name: "c", Digits: true}, "NL-12 34", "1234", ""},
		{keys.IDColumn{Name: "c", Digits: true}, "No. 12", "12", ""},
		{keys.IDColumn{Name: "c", Digits: true}, "AB1E23", "123", ""},
		{keys.IDColumn{Name: "c", Digits: true}, "1.0", "", "a point or a comma follows a digit"},
		{keys.IDColumn{Name: "c", Digits: true}, "12.345.678", "", "recipe number"},
		{keys.IDColumn{Name: "c", Digits: true}, "1e+05", "", "exponent"},
		{keys.IDColumn{Name: "c", Digits: true}, "-5", "", "below zero"},
		{keys.IDColumn{Name: "c", Digits: true}, "1\uff12", "", "put nfkc before digits"},
		{keys.IDColumn{Name: "c", Digits: true}, "1 .0", "", "a point or a comma follows a digit"},
		{keys.IDColumn{Name: "c", Digits: true}, "No . 12", "12", ""},
		{keys.IDColumn{Name: "c", NFKC: true, Digits: true}, "4711\u00b2", "", "superscript"}, // not 47112
		{keys.IDColumn{Name: "c", Digits: true}, "4711\u00b2", "", "superscript"},
		{keys.IDColumn{Name: "c", NFKC: true, Digits: true}, "1\u00bd", "", "superscript"}, // not 112
		{keys.IDColumn{Name: "c", NFKC: true, Number: true}, "4711\u00b2", "", "superscript"},
		{keys.IDColumn{Name: "c", NFKC: true, E164: "+31"}, "061234567\u2078", "", "superscript"},
		{keys.IDColumn{Name: "c", NFKC: true}, "4711\u00b2", "47112", ""}, // a text is what its recipe says
		{keys.IDColumn{Name: "c", Number: true}, "1.0", "1", ""},
		{keys.IDColumn{Name: "c", Number: true}, "1e+05", "100000", ""},
		{keys.IDColumn{Name: "c", Number: true}, "000001", "1", ""},
		{keys.IDColumn{Name: "c", Number: true}, "", "", ""},
		{keys.IDColumn{Name: "c", Number: true}, "1.000", "", "no whole number"},
		{keys.IDColumn{Name: "c", Number: true}, "A1", "", "no whole number"},
		{keys.IDColumn{Name: "c", E164: "+31"}, "612345678.0", "", "whose decimals are no digits"},
		{keys.IDColumn{Name: "c", E164: "+31"}, "612345678,0", "", "whose decimals are no digits"},
		{keys.IDColumn{Name: "c", E164: "+31"}, "6.12e+08", "", "exponent"},
		{keys.IDColumn{Name: "c", E164: "+31"}, "-612345678", "", "below zero"},
		{keys.IDColumn{Name: "c", E164: "+31"}, "\uff16\uff11\uff12\uff13\uff14\uff15\uff16\uff17\uff18\uff0e\uff10", "",
			"whose decimals are no digits"},
		{keys.IDColumn{Name: "c", E164: "+49"}, "030.123.4567", "+49301234567", ""},
		{keys.IDColumn{Name: "c", E164: "+49"}, "030.1234567", "+49301234567", ""},
		{keys.IDColumn{Name: "c", E164: "+49"}, "+31.612345678", "+31612345678", ""},
		{keys.IDColumn{Name: "c", E164: "+31"}, "06 1234 5678", "+31612345678", ""},
		{keys.IDColumn{Name: "c", E164: "+31"}, "+49 30 123456", "+4930123456", ""},
		{keys.IDColumn{Name: "c", E164: "+31"}, "12", "", "no phone"},
		{keys.IDColumn{Name: "c", E164: "+31"}, "0000000", "", "no phone"},
		{keys.IDColumn{Name: "c", E164: "+39"}, "06 698 12345", "+390669812345", ""},
		{keys.IDColumn{Name: "c", Date: "02.01.2006"}, "31.12.1931", "1931-12-31", ""},
		{keys.IDColumn{Name: "c", Date: "02.01.2006"}, "30.02.2001", "", "no date"},
		{keys.IDColumn{Name: "c"}, strings.Repeat("a", 1<<20), "", "1048576 bytes"},
		{keys.IDColumn{Name: "c"}, "\xff", "", "not UTF-8"},
	} {
		got, err := recipe(t, c.column).Normal(0, c.cell)
		if got != c.want || (err == nil) != (c.fail == "") || err != nil && !strings.Contains(err.Error(), c.fail) {
			t.Errorf("%v: %.20q is %q, %v", c.column, c.cell, got, err)
		}
	}
	for _, code := range []string{"+999", "+800"} {
		id := keys.Identifier{Name: "key", Columns: []keys.IDColumn{{Name: "c", E164: code}}}
		if _, err := New(keys.Hash{}, id, 0); err == nil {
			t.Errorf("the calling code %s is accepted", code)
		}
	}
}

// An id is what the words of its definition say, written out straight.
func TestIDIsItsDefinition(t *testing.T) {
	h := sha512.New()
	charter := keys.Hash{1}
	for _, part := range []string{
		"hanse id v1", string(charter[:]), "key", "\x00\x00\x00\x00\x00\x00\x00\x02", "ab", "c",
	} {
		binary.Write(h, binary.BigEndian, uint64(len(part)))
		h.Write([]byte(part))
	}
	r := recipe(t, keys.IDColumn{Name: "x"}, keys.IDColumn{Name: "y"})
	id, ok, err := r.Of([]string{"ab", "c"})
	if err != nil || !ok || string(id[:]) != string(h.Sum(nil)[:32]) {
		t.Errorf("id %x, %v, %v", id, ok, err)
	}
	if other, _, _ := r.Of([]string{"a", "bc"}); other == id {
		t.Error("a field's bytes may move to the next field")
	}
}

func TestRowsCountWhatIsLeftOut(t *testing.T) {
	r := recipe(t, keys.IDColumn{Name: "p", E164: "+31"})
	list, err := r.Rows(&Rows{[][]string{{"0612345678", "", "x", "0612345679"}}, []int{2, 3, 4, 5}})
	if err != nil || list.Empty.Count != 1 || list.Empty.Lines[0] != 3 || list.Unreadable.Lines[0] != 4 ||
		!list.Has[0] || list.Has[1] || list.Has[2] || !list.Has[3] {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestAMillionDuplicatesAreRefused(t *testing.T) {
	cells, lines := make([]string, 1e6), make([]int, 1e6)
	for i := range cells {
		cells[i], lines[i] = "4711", i+2
	}
	_, err := Plain(keys.Hash{}).Rows(&Rows{[][]string{cells}, lines})
	var twice *DuplicateError
	if !errors.As(err, &twice) || twice.Count != 1e6-1 || len(twice.Lines) != Shown || twice.Lines[0] != [2]int{2, 3} {
		t.Errorf("error %v", err)
	}
}

// What is compared later is the first 16 bytes of an id, so two ids that differ behind these are duplicates too.
func TestEqualFirstHalvesAreDuplicates(t *testing.T) {
	one, other, far := ID{15: 7, 16: 1}, ID{15: 7, 16: 2}, ID{15: 8, 16: 1}
	list := &List{IDs: []ID{one, far, {}, {}, other}, Has: []bool{true, true, false, false, true}}
	var twice *DuplicateError
	if err := list.unique([]int{2, 3, 4, 5, 6}); !errors.As(err, &twice) || twice.Count != 1 ||
		!slices.Equal(twice.Lines, [][2]int{{2, 6}}) {
		t.Errorf("error %v", err)
	}
	list.Has[4] = false
	if err := list.unique([]int{2, 3, 4, 5, 6}); err != nil {
		t.Errorf("a row without an id is a duplicate: %v", err)
	}
}

// Rows is what one gets row by row, with a list of the normal forms seen so far. Cells come from few texts, so that
// there are empty ones, unreadable ones and duplicates, and from enough rows for several parts.
func TestRowsEqualOneByOne(t *testing.T) {
	r := recipe(t, keys.IDColumn{Name: "name", Trim: true, Casefold: true}, keys.IDColumn{Name: "born", Date: "2.1.2006"})
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.SampledFrom([]int{0, 1, 2, 10, 1024, 2500}).Draw(rt, "rows")
		rnd := rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 1))
		kinds := rapid.IntRange(1, 5000).Draw(rt, "names")
		rows := &Rows{Columns: make([][]string, 2)}
		for i := range n {
			name, born := fmt.Sprintf(" Name %d", rnd.IntN(kinds)), fmt.Sprintf("%d.1.1980", 1+rnd.IntN(33))
			if rnd.IntN(20) == 0 {
				name = " "
			}
			if rnd.IntN(2) == 0 {
				name = strings.ToUpper(name)
			}
			rows.Columns[0], rows.Columns[1] = append(rows.Columns[0], name), append(rows.Columns[1], born)
			rows.Lines = append(rows.Lines, 3*i+2)
		}
		list, err := r.Rows(rows)

		var empty, unreadable Left
		var twice DuplicateError
		first := make(map[string]int)
		for i, line := range rows.Lines {
			name, born := strings.ToLower(strings.TrimSpace(rows.Columns[0][i])), rows.Columns[1][i]
			day, _ := strconv.Atoi(strings.TrimSuffix(born, ".1.1980"))
			has := false
			switch before, is := first[name+"|"+born]; {
			case name == "":
				empty.add(line)
			case day > 31:
				unreadable.add(line)
			case is:
				has = true
				if twice.Count++; twice.Count <= Shown {
					twice.Lines = append(twice.Lines, [2]int{before, line})
				}
			default:
				has, first[name+"|"+born] = true, line
			}
			id, ok, _ := r.Of([]string{rows.Columns[0][i], born})
			if list.IDs[i] != id || list.Has[i] != ok || ok != has {
				rt.Fatalf("row %d: id %x, %v; alone %x, %v; want %v", i, list.IDs[i], list.Has[i], id, ok, has)
			}
		}
		if !reflect.DeepEqual(list.Empty, empty) || !reflect.DeepEqual(list.Unreadable, unreadable) {
			rt.Fatalf("left out %+v and %+v, want %+v and %+v", list.Empty, list.Unreadable, empty, unreadable)
		}
		var got *DuplicateError
		if errors.As(err, &got) != (twice.Count > 0) || got != nil && !reflect.DeepEqual(*got, twice) {
			rt.Fatalf("duplicates %+v, want %+v", err, twice)
		}
	})
}

// numberOf is the whole number that a normal form is of.
func numberOf(t *testing.T, normal string) string {
	t.Helper()
	plain, ok := wording.Whole(normal)
	if !ok {
		t.Fatalf("the normal form %q is no whole number", normal)
	}
	return plain
}

// FuzzOf gives any cell to all recipes. A normal form of a phone number or a date has its shape and is its own normal
// form; a whole number, however it is written, keeps its number under digits and number; no
// error says a word of the cell.
func FuzzOf(f *testing.F) {
	var recipes []*Recipe
	for _, column := range []keys.IDColumn{
		{Name: "c", E164: "+31"}, {Name: "c", E164: "+1", NFKC: true, Trim: true}, {Name: "c", E164: "+7"},
		{Name: "c", Date: "02.01.2006"}, {Name: "c", Date: "Jan 2 2006 15:04 -0700"},
		{Name: "c", NFKC: true, Trim: true, Casefold: true}, {Name: "c", Digits: true}, {Name: "c", Number: true},
	} {
		recipes = append(recipes, recipe(f, column))
	}
	phone, date := regexp.MustCompile(`^\+[1-9][0-9]{1,17}$`), regexp.MustCompile(`^[0-9]{4}-[0-9]{2}-[0-9]{2}$`)
	for _, cell := range []string{
		"", "06 1234 5678", "+31 (0)6-12345678;ext=3", "tel:+1-201-555-0123;phone-context=example.org", "1-800-FLOWERS",
		"\uff0b\uff13\uff11\u200b612345678", "\u0660\u0666", "31.12.1931", "\xff", "\u0130\u00df\u1e9e",
		strings.Repeat("1", 300), "1.0", "1e+05", "000001", "-5", "1\uff0e0", "6.12E+08", "612345678.0",
		strings.Repeat("(", 300) + "x", ";phone-context=" + strings.Repeat("+", 200),
	} {
		f.Add(cell)
	}
	f.Fuzz(func(t *testing.T, cell string) {
		for _, r := range recipes {
			normal, err := r.Normal(0, cell)
			id, ok, idErr := r.Of([]string{cell})
			if (err == nil) != (idErr == nil) || ok != (err == nil && normal != "") || !ok && id != (ID{}) {
				t.Fatalf("%+v: %q is %q, %v, but its id %x, %v, %v", r.columns, cell, normal, err, id, ok, idErr)
			}
			if err != nil || normal == "" {
				if len(cell) > 12 && err != nil && strings.Contains(err.Error(), cell) {
					t.Fatalf("%+v: the error quotes the cell: %v", r.columns, err)
				}
				continue
			}
			column := r.columns[0]
			if plain, is := wording.Whole(cell); is && (column.Digits || column.Number) && numberOf(t, normal) != plain {
				t.Fatalf("%+v: the whole number %s, written %q, becomes %q", column, plain, cell, normal)
			}
			if column.E164 == "" && column.Date != "02.01.2006" {
				continue
			}
			if column.E164 != "" && !phone.MatchString(normal) || column.Date != "" && !date.MatchString(normal) {
				t.Fatalf("%+v: %q becomes %q", column, cell, normal)
			}
			if again, err := r.Normal(0, normal); column.E164 != "" && (err != nil || again != normal) {
				t.Fatalf("%+v: %q becomes %q, and that %q, %v", column, cell, normal, again, err)
			}
		}
	})
}

func BenchmarkOf(b *testing.B) {
	for name, c := range map[string]struct {
		column keys.IDColumn
		cell   string
	}{
		"name":  {keys.IDColumn{Name: "c", NFKC: true, Trim: true, Casefold: true}, " M\u00fcller "},
		"phone": {keys.IDColumn{Name: "c", E164: "+31"}, "06 1234 5678"},
	} {
		r := recipe(b, c.column)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, ok, err := r.Of([]string{c.cell}); !ok || err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
