package psi

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/keys"
)

// idOf is the ID of a row's number under a key.
func idOf(pass, row int) ID {
	return keys.HashOf("test id", binary.BigEndian.AppendUint64(nil, uint64(pass)),
		binary.BigEndian.AppendUint64(nil, uint64(row)))
}

// oracle finds the common rows pass by pass, as one who has all lists would: rows that are found are out of the next
// pass. It returns for each party the rows, in the order in which they were found, and how many each pass found.
func oracle(lists [][][]ID) (rows [][]int, sizes []int) {
	rows = make([][]int, len(lists))
	taken := make([]map[int]bool, len(lists))
	passes := 0
	for i, own := range lists {
		taken[i] = make(map[int]bool)
		passes = max(passes, len(own))
	}
	for pass := range passes {
		size := 0
		for row, id := range lists[0][pass] {
			if id == (ID{}) || taken[0][row] {
				continue
			}
			at := []int{row}
			for i, own := range lists[1:] {
				if len(own) == 0 { // a helper without rows
					at = append(at, -1)
					continue
				}
				found := slices.Index(own[pass], id)
				if found < 0 || taken[i+1][found] {
					break
				}
				at = append(at, found)
			}
			if len(at) < len(lists) {
				continue
			}
			size++
			for i, row := range at {
				if row >= 0 {
					rows[i] = append(rows[i], row)
				}
			}
		}
		for i := range rows {
			for _, row := range rows[i] {
				taken[i][row] = true
			}
		}
		sizes = append(sizes, size)
	}
	return rows, sizes
}

// drawLists draws tables of some people: each party has some of them, and each key of some of those.
func drawLists(t *rapid.T, most int) [][][]ID {
	parties, passes := rapid.IntRange(2, 8).Draw(t, "parties"), rapid.IntRange(1, 3).Draw(t, "passes")
	people := rapid.IntRange(0, most).Draw(t, "people")
	lists := make([][][]ID, parties)
	for i := range lists {
		share := rapid.IntRange(0, 100).Draw(t, "share")
		lists[i] = make([][]ID, passes)
		seed := rapid.Uint64().Draw(t, "seed")
		for who := range people {
			h := keys.HashOf("who", binary.BigEndian.AppendUint64(nil, seed), number(who))
			if int(h[0])*100/256 >= share {
				continue
			}
			for pass := range passes {
				id := idOf(pass, who)
				if h[1+pass] < 64 {
					id = ID{}
				}
				lists[i][pass] = append(lists[i][pass], id)
			}
		}
		if len(lists[i][0]) > 1 { // each has its own order
			turn := int(h64(seed)) % len(lists[i][0])
			for pass := range passes {
				lists[i][pass] = append(slices.Clone(lists[i][pass][turn:]), lists[i][pass][:turn]...)
			}
		}
	}
	return lists
}

// h64 is a number of 31 bits.
func h64(seed uint64) uint32 { return uint32(seed*0x9e3779b97f4a7c15>>33) >> 1 }

// checkEqual holds what all parties found against the oracle, and against each other.
func checkEqual(t interface{ Fatalf(string, ...any) }, f *federation, results []*Result) {
	rows, sizes := oracle(f.lists)
	for i, r := range results {
		if fmt.Sprint(r.Sizes) != fmt.Sprint(sizes) {
			t.Fatalf("party %d: %v common rows by key, want %v", i, r.Sizes, sizes)
		}
		if len(f.lists[i]) == 0 {
			continue
		}
		var got []int
		for at, c := range r.Rows {
			got = append(got, c.Row)
			if r.Digest != results[0].Digest || results[0].Rows[at].Tag != c.Tag {
				t.Fatalf("party %d has another list than party 0", i)
			}
		}
		want := slices.Clone(rows[i])
		slices.Sort(want)
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Fatalf("party %d: rows %v, want %v", i, got, want)
		}
		for at, c := range r.Rows { // the same person at all parties
			if id := f.lists[i][c.Pass][c.Row]; id != f.lists[0][results[0].Rows[at].Pass][results[0].Rows[at].Row] {
				t.Fatalf("party %d: place %d of the list is another row than party 0's", i, at)
			}
		}
	}
}

// TestCommonRowsAreThoseOfThePlainIntersection compares both modes with the oracle, over parties, sizes and keys.
func TestCommonRowsAreThoseOfThePlainIntersection(t *testing.T) {
	most := 150
	if testing.Short() {
		most = 40
	}
	rapid.Check(t, func(t *rapid.T) {
		lists := drawLists(t, most)
		helper := None
		switch rapid.IntRange(0, 2).Draw(t, "mode") {
		case 1: // a helper without rows
			lists, helper = append(lists, nil), len(lists)
		case 2:
			if len(lists) > 2 {
				helper = 2
			}
		}
		f := newFederation(lists, helper)
		f.spec.Buckets = rapid.SampledFrom([]int{0, 0, 1, 2, 3, 8}).Draw(t, "buckets")
		results, errs, w := f.run(t)
		if err := first(errs); err != nil {
			t.Fatalf("%v", err)
		}
		checkEqual(t, f, results)
		checkDisclosed(t, f, w)
	})
}

// TestSizesThatAreNone aligns lists that are empty, equal, and apart.
func TestSizesThatAreNone(t *testing.T) {
	list := func(lo, hi int) [][]ID {
		own := [][]ID{{}}
		for row := lo; row < hi; row++ {
			own[0] = append(own[0], idOf(0, row))
		}
		return own
	}
	for name, lists := range map[string][][][]ID{
		"all empty": {list(0, 0), list(0, 0), list(0, 0)},
		"one empty": {list(0, 9), list(0, 0), list(0, 9)},
		"equal":     {list(0, 700), list(0, 700), list(0, 700)},
		"apart":     {list(0, 9), list(9, 20), list(0, 20)},
		"unequal":   {list(0, 5000), list(4000, 4020), list(4010, 4100)},
	} {
		for _, helper := range []int{None, 2} {
			f := newFederation(lists, helper)
			results, errs, _ := f.run(t)
			if err := first(errs); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			checkEqual(t, f, results)
		}
	}
}

// checkDisclosed holds what was sent against what the contract would list.
func checkDisclosed(t interface{ Fatalf(string, ...any) }, f *federation, w *wire) {
	var names []string
	for i := range f.lists {
		names = append(names, fmt.Sprint(i))
	}
	_, operations := f.spec.Disclose(names)
	for link, kinds := range w.egress() {
		for kind, sent := range kinds {
			var most int64
			exact := true
			for _, o := range operations {
				if o.Kind == kind && (o.Root == "" || o.Root == names[link[0]] && o.To == names[link[1]]) {
					most += o.Bytes
				}
			}
			for _, open := range []step{stepPlaces, stepList} { // as long as there are common rows
				for pass := range f.spec.Passes() {
					exact = exact && kind != open.of(pass)
				}
			}
			if int64(sent) > most || exact && int64(sent) != most {
				t.Fatalf("party %d sent party %d %d bytes of %s, the contract has %d", link[0], link[1], sent, kind, most)
			}
		}
	}
}

// TestTooFewOpensNothing ends an intersection that is smaller than may open: no order, no place and no list is sent.
func TestTooFewOpensNothing(t *testing.T) {
	lists := [][][]ID{{{}}, {{}}, {{}}}
	for row := range 30 {
		for i := range lists {
			lists[i][0] = append(lists[i][0], idOf(0, row+i*10)) // ten are common
		}
	}
	for _, helper := range []int{None, 2} {
		for n, least := range []int{10, 11, 10, 11} {
			f := newFederation(lists, helper)
			f.spec.MinRows = least
			if n > 1 { // of no bucket alone are there as many
				f.spec.Buckets = 4
			}
			_, errs, w := f.run(t)
			if least == 10 {
				must(t, first(errs))
				continue
			}
			for i, err := range errs {
				if !errors.As(err, new(TooFewError)) {
					t.Errorf("party %d: %v, want that there are too few", i, err)
				}
			}
			for _, f := range w.sent {
				if slices.Contains([]string{stepOrder.kind(), stepPlaces.kind(), stepList.kind(),
					stepListPoint.kind()}, f.Kind) {
					t.Errorf("%s was sent", f.Kind)
				}
			}
		}
	}
}

// TestResumedSessionsSendTheSame kills each party at each of its messages, and runs again: what is sent is what was
// sent before, byte for byte, and all end alike.
func TestResumedSessionsSendTheSame(t *testing.T) {
	lists := [][][]ID{{{}, {}}, {{}, {}}, {{}, {}}}
	for row := range 12 {
		for i := range lists {
			lists[i][0] = append(lists[i][0], idOf(0, row+i*3))
			lists[i][1] = append(lists[i][1], idOf(1, row+i))
		}
	}
	for _, test := range []struct{ helper, buckets int }{{None, 1}, {2, 1}, {None, 2}, {2, 2}} {
		whole := newFederation(lists, test.helper)
		whole.spec.Buckets = test.buckets
		results, errs, w := whole.run(t)
		must(t, first(errs))
		want := make(map[string][]byte)
		count := make([]int, len(lists))
		for _, f := range w.sent {
			want[fmt.Sprint(f.Kind, f.From, f.To, f.Piece)] = f.data
			count[f.From]++
		}
		for party := range lists {
			for at := 1; at <= count[party]; at++ {
				f := newFederation(lists, test.helper)
				f.spec.Buckets = test.buckets
				f.left = map[int]int{party: at}
				_, errs, w := f.run(t)
				if !errors.Is(errs[party], errKilled) {
					t.Fatalf("party %d was not killed at message %d: %v", party, at, errs[party])
				}
				first := w.sent
				f.left = nil
				again, errs, w := f.run(t)
				for i, err := range errs {
					if err != nil {
						t.Fatalf("party %d killed at message %d: party %d: %v", party, at, i, err)
					}
					if again[i].Digest != results[i].Digest {
						t.Fatalf("party %d killed at message %d: party %d has another list", party, at, i)
					}
				}
				for _, s := range append(first, w.sent...) {
					if !bytes.Equal(want[fmt.Sprint(s.Kind, s.From, s.To, s.Piece)], s.data) {
						t.Fatalf("party %d killed at message %d: %s of %d to %d is not what was sent before", party, at, s.Kind,
							s.From, s.To)
					}
				}
			}
		}
	}
}

// must ends the test on an error.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
