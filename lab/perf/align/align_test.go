package align

import (
	"slices"
	"testing"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/psi"
)

// TestIntersectionIsThatOfSets holds the plain intersection against sets.
func TestIntersectionIsThatOfSets(t *testing.T) {
	for _, parties := range []int{2, 3, 5} {
		for _, rows := range []int{1, 2, 101} {
			lists := make([][]psi.ID, parties)
			has := make(map[psi.ID]int)
			for i := range lists {
				var err error
				if lists[i], err = people(i, rows); err != nil {
					t.Fatal(err)
				}
				for _, id := range lists[i] {
					has[id]++
				}
			}
			want := 0
			for _, n := range has {
				if n == parties {
					want++
				}
			}
			for i, rows := range intersection(lists) {
				if len(rows) != want {
					t.Fatalf("%d rows of party %d, want %d", len(rows), i, want)
				}
				for at, row := range rows {
					id := lists[i][row]
					if has[id] != parties || id != lists[0][intersection(lists)[0][at]] {
						t.Fatalf("row %d of party %d is not that of the others, or not everybody's", row, i)
					}
				}
			}
		}
	}
}

// TestCompareRefusesOtherRows changes what was found, one thing at a time.
func TestCompareRefusesOtherRows(t *testing.T) {
	lists := make([][]psi.ID, 3)
	for i := range lists {
		var err error
		if lists[i], err = people(i, 40); err != nil {
			t.Fatal(err)
		}
	}
	results, _, err := federation(t.Context(), psi.ModeHelper, 3, keys.HashOf("test"), lists, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := intersection(lists)
	if err := compare(results, want); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(r *psi.Result){
		"a row is missing":       func(r *psi.Result) { r.Rows = r.Rows[1:] },
		"two rows are exchanged": func(r *psi.Result) { r.Rows[0], r.Rows[1] = r.Rows[1], r.Rows[0] },
		"another row":            func(r *psi.Result) { r.Rows[0].Row = (r.Rows[0].Row + 1) % 40 },
		"another digest":         func(r *psi.Result) { r.Digest[0]++ },
	} {
		changed := slices.Clone(results)
		one := *results[2]
		one.Rows = slices.Clone(one.Rows)
		change(&one)
		changed[2] = &one
		if compare(changed, want) == nil {
			t.Errorf("%s: taken for the plain intersection", name)
		}
	}
}

// TestHeldIsOfEachRole measures a run in which each role has a party.
func TestHeldIsOfEachRole(t *testing.T) {
	lists := make([][]psi.ID, 3)
	for i := range lists {
		var err error
		if lists[i], err = people(i, 5000); err != nil {
			t.Fatal(err)
		}
	}
	h, err := held(t.Context(), psi.ModeHelper, 2, lists)
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int64{h.Asker, h.Keeper, h.Other, h.Helper} {
		if n < 5000*10 || n > 5000*2000 {
			t.Errorf("%+v bytes held for 5000 rows", h)
		}
	}
	if h, err = held(t.Context(), psi.ModeDH, 1, lists[:2]); err != nil || h.Other != 0 || h.Helper != 0 {
		t.Errorf("two parties alone: %+v, %v", h, err)
	}
}
