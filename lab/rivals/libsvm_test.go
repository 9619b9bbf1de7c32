package rivals

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/kernel"
)

func TestWriteLIBSVM(t *testing.T) {
	parts := []*kernel.Matrix{
		{Rows: 3, Dense: []string{"a", "b"}, Values: []float64{0, 0.5, 1, 0, 0, 0}, Starts: []uint32{0, 0, 0, 0}},
		{Rows: 3, Dense: []string{"c"}, Binary: []string{"d", "e", "f"}, Values: []float64{1. / 3, 0, 0},
			Starts: []uint32{0, 1, 3, 3}, Set: []uint16{2, 0, 1}, Strays: []kernel.Stray{{Row: 0, Binary: 0,
				Value: -2},
				{Row: 2, Binary: 1, Value: 0.5}}},
	}
	var b strings.Builder
	if err := writeLIBSVM(&b, parts, []float64{-1, 1, 1}); err != nil {
		t.Fatal(err)
	}
	const want = "-1 2:0.5 3:0.333333333 4:-2 6:1\n+1 1:1 4:1 5:1\n+1 5:0.5\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
}

func TestWrongShare(t *testing.T) {
	if got, err := wrongShare([]string{"1", "-1", "1", "+1"}, []float64{1, 1, -1, 1}); err != nil || got != 0.5 {
		t.Errorf("got %v, %v, want 0.5", got, err)
	}
	for want, got := range map[string][]string{
		"svm-predict wrote 1 labels for 2 rows": {"1"},
		`svm-predict wrote "labels" as label 1`: {"labels", "1"},
	} {
		if _, err := wrongShare(got, []float64{1, 1}); err == nil || err.Error() != want {
			t.Errorf("got error %v, want %s", err, want)
		}
	}
}
