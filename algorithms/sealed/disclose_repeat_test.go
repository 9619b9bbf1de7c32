package sealed

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
)

// TestRepeatingIsCounting: what a prediction's disclosure multiplies is what would be counted one by one.
func TestRepeatingIsCounting(t *testing.T) {
	for name, f := range contracted(t) {
		for rows := 1; rows <= 41; rows += 4 {
			for batch := 1; batch <= rows && batch < 9; batch++ {
				got, err := Disclose(f.prediction(rows, batch, 1))
				must(t, err)
				c := newTracer(f.outline())
				m := &fdskl.Model{Names: f.names, Params: f.params, Privacy: fdskl.Sealed, Sigma: 1}
				s, err := NewScorer(context.Background(), Scoring{
					Self: -1, Receiver: slices.Index(f.names, "p1"), Model: m, Network: c, Openings: (rows + batch - 1) / batch,
				})
				must(t, err)
				c.blank(s.angles)
				for i, lo := 0, 0; lo < rows; i, lo = i+1, lo+batch {
					if _, err := s.score(context.Background(), i+1, min(batch, rows-lo), nil); err != nil {
						t.Fatal(err)
					}
				}
				if a, b := fmt.Sprintf("%+v", got.Operations), fmt.Sprintf("%+v", c.Operations); a != b {
					t.Fatalf("%s %d rows by %d:\n%s\n%s", name, rows, batch, a, b)
				}
			}
		}
	}
}
