package trial

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestApart deals rows to parties and counts who has each: all parties have the common ones, every other row is lacked
// by exactly one, whichever the seed, and no party's rows stand as another's.
func TestApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n, parties := rapid.IntRange(1, 300).Draw(t, "rows"), rapid.IntRange(2, 8).Draw(t, "parties")
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		rows := RowsApart(n, parties, share, rapid.Uint64().Draw(t, "seed"))
		holders := make([]int, n)
		least, most := n, 0
		for _, own := range rows.At {
			for _, row := range own {
				holders[row]++
			}
			least, most = min(least, len(own)), max(most, len(own))
		}
		for row, k := range holders {
			if _, all := slices.BinarySearch(rows.Common, row); all && k != parties || !all && k != parties-1 {
				t.Fatalf("row %d is at %d of %d parties, common to all: %v", row, k, parties, all)
			}
		}
		if most-least > 1 {
			t.Fatalf("one party has %d rows, another %d", least, most)
		}
	})
	d := Credit(400, 1)
	held, common := d.Apart(Overlap, 1)
	if n := common.Train[0].Rows(); n != 180 || held.Train[0].Rows() != 270 || held.Test[3].Rows() != 90 {
		t.Errorf("%d training rows are common, the bank has %d, the retailer %d to test", n, held.Train[0].Rows(),
			held.Test[3].Rows())
	}
	if slices.IsSorted(held.Train[1].IDs) {
		t.Error("rows stand in the order of their ids")
	}
	for party, table := range held.Train {
		for i, id := range common.Train[party].IDs {
			if !slices.Contains(table.IDs, id) || id != common.Train[0].IDs[i] {
				t.Fatalf("%s has not the common row %s", d.Names[party], id)
			}
		}
	}
}
