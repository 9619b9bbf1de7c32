package evidence

import (
	"slices"
	"testing"
)

func TestSampledRowsAreDistinctAndTheSameEachTime(t *testing.T) {
	for _, c := range []struct{ total, most, want int }{{10, 4, 4}, {10, 0, 10}, {3, 5, 3}, {1 << 50, 100, 100},
		{0, 5, 0}, {5000, 0, DefaultRows}} {
		rows := SampleRows(c.total, c.most)
		if len(rows) != c.want || !slices.IsSorted(rows) || len(slices.Compact(slices.Clone(rows))) != c.want ||
			!slices.Equal(rows, SampleRows(c.total, c.most)) {
			t.Errorf("%d of %d rows: %d", c.most, c.total, len(rows))
		}
		if c.want > 0 && (rows[0] < 0 || rows[c.want-1] >= c.total) {
			t.Errorf("rows %d to %d of %d", rows[0], rows[c.want-1], c.total)
		}
	}
}
