package dataset

import (
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestSplitColumnsDealsEvenly(t *testing.T) {
	table := mustRead(t, "1 30:1\n", asLIBSVM, Options{Label: "label"})
	rapid.Check(t, func(t *rapid.T) {
		parties := rapid.IntRange(1, 30).Draw(t, "parties")
		seed := rapid.Uint64().Draw(t, "seed")
		split, err := SplitColumns(table, "label", parties, seed)
		must(t, err)
		if split[0][0] != "label" {
			t.Fatalf("party 0 has %q, not the label first", split[0])
		}
		var all []string
		for p, names := range split {
			all = append(all, names...)
			features := len(names)
			if p == 0 {
				features--
			}
			if features < 30/parties || features > (30+parties-1)/parties {
				t.Fatalf("party %d has %d of 30 features", p, features)
			}
		}
		slices.Sort(all)
		if want := slices.Sorted(slices.Values(table.Names())); !slices.Equal(all, want) {
			t.Fatalf("dealt %q", all)
		}
	})
}

func TestSplitsAreOfTheSeed(t *testing.T) {
	table := mustRead(t, "1 9:1\n", asLIBSVM, Options{Label: "label"})
	deal := func(seed uint64) [][]string {
		split, err := SplitColumns(table, "", 3, seed)
		must(t, err)
		return split
	}
	want := [][]string{{"f2", "f5", "f7", "f8"}, {"label", "f4", "f6"}, {"f1", "f3", "f9"}}
	if got := deal(7); !reflect.DeepEqual(got, want) {
		t.Errorf("seed 7 deals %q; trials would not be comparable with earlier ones", got)
	}
	if reflect.DeepEqual(deal(7), deal(8)) {
		t.Error("seeds 7 and 8 deal alike")
	}
	train, test := SplitRows(12, 0.75, 7)
	if !reflect.DeepEqual(test, []int{4, 10, 11}) || len(train) != 9 {
		t.Errorf("seed 7 tests on %v; trials would not be comparable with earlier ones", test)
	}
}

func TestSplitColumnsRefuses(t *testing.T) {
	table := mustRead(t, "id,x,y\na,1,2\n", asCSV, Options{})
	table.Path = "t.csv"
	_, err := SplitColumns(table, "y", 2, 1)
	wantError(t, err, `t.csv: 2 parties cannot share 1 feature column; want between 1 and as many parties as features`)
	_, err = SplitColumns(table, "", 0, 1)
	wantError(t, err, `t.csv: 0 parties cannot share 2 feature columns; want between 1 and as many parties as features`)
	_, err = SplitColumns(table, "z", 1, 1)
	wantError(t, err, `t.csv: no column "z"; the columns are "x", "y"`)
}

func TestSplitRowsIsAPartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 200).Draw(t, "n")
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		train, test := SplitRows(n, share, rapid.Uint64().Draw(t, "seed"))
		if len(train) != int(math.Round(float64(n)*share)) {
			t.Fatalf("%d of %d rows train at a share of %v", len(train), n, share)
		}
		if !slices.IsSorted(train) || !slices.IsSorted(test) {
			t.Fatal("not in order")
		}
		all := slices.Concat(train, test)
		slices.Sort(all)
		for i, row := range all {
			if i != row {
				t.Fatalf("rows %v", all)
			}
		}
		if len(all) != n {
			t.Fatalf("%d rows of %d", len(all), n)
		}
	})
}

func TestSplitRowsTakesAnyShare(t *testing.T) {
	for share, want := range map[float64]int{-1: 0, 2: 8, math.Inf(1): 8, math.Inf(-1): 0} {
		if train, _ := SplitRows(8, share, 1); len(train) != want {
			t.Errorf("share %v: %d rows", share, len(train))
		}
	}
	if train, test := SplitRows(8, math.NaN(), 1); len(train) != 0 || len(test) != 8 {
		t.Errorf("share NaN: %d and %d rows", len(train), len(test))
	}
}
