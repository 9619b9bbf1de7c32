package joint_test

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/joint"
)

// TestShardsAreAllRows: shards are whole blocks, none is empty, and together they are all rows in their order.
func TestShardsAreAllRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		rows, size := rapid.IntRange(1, 1000).Draw(rt, "rows"), rapid.IntRange(1, 100).Draw(rt, "size")
		blocks := (rows + size - 1) / size
		n := rapid.IntRange(1, blocks).Draw(rt, "shards")
		list, err := joint.Cut(rows, size, n)
		if err != nil || len(list) != n {
			rt.Fatalf("%d shards, %v", len(list), err)
		}
		at, least, most := 0, rows, 0
		for i, s := range list {
			if s.Index != i || s.Of != n || s.First != at || s.Rows < 1 || s.First%size != 0 {
				rt.Fatalf("shards are %v", list)
			}
			at += s.Rows
			least, most = min(least, (s.Rows+size-1)/size), max(most, (s.Rows+size-1)/size)
		}
		if at != rows || most > least+1 {
			rt.Fatalf("shards of %d rows are %v", rows, list)
		}
	})
	for _, n := range []int{-1, 0, 4} {
		if _, err := joint.Cut(47, 16, n); err == nil || err.Error() !=
			fmt.Sprintf("%d shards of 47 rows, want 1 to 3: a shard has a block of 16 rows at least", n) {
			t.Errorf("%d shards: %v", n, err)
		}
	}
}
