package sealed

import (
	"fmt"
	"math"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestScorecardsOfAllSizesStayInRange: with all parameters at their defaults, a table of a few hundred rows and one
// of a million keep within the range of words, and the check of their steps finds a change of less than 2^-6.
func TestScorecardsOfAllSizesStayInRange(t *testing.T) {
	names := []string{"a", "b", "c"}
	for _, rows := range []int{300, 150_000, 1 << 20} {
		for _, columns := range []int{2, 60} {
			for _, loss := range []string{"", "square"} {
				t.Run(fmt.Sprintf("%d rows, %d columns, %s", rows, columns, loss), func(t *testing.T) {
					p := fdskl.Params{Active: names[:1], Label: "y", Keeper: "b", Helper: "c", Loss: loss,
						BinParams: fdskl.BinParams{Bins: 10}}
					var facts []contract.Facts
					for _, name := range names {
						facts = append(facts, contract.Facts{Name: name, Rows: rows, Columns: columns, Bins: 9 * columns})
					}
					p, err := WithFacts(WithDefaults(p.WithDefaults()), facts)
					must(t, err)
					if _, err := Disclose(fdskl.Outline{Params: p, Privacy: fdskl.Sealed, Parties: names, Rows: rows}); err != nil {
						t.Fatal(err)
					}
					s, err := scalesOf(p, rows)
					must(t, err)
					tr := newParts(&setting{Party: &Party{Party: &fdskl.Party{Params: p}}, scales: s})
					got := tr.precisionOf(s.s0)
					if got.limit > 4*checkLimit {
						t.Errorf("the check's limit is %d, want at most %d", got.limit, 4*checkLimit)
					}
					t.Logf("%d times %d steps: the check's limit is %d, and adding 2^-2 passes one of its runs with %.2g",
						max(1, p.Outer), p.Iterations, got.limit, passing(got, .25, math.Ldexp(1, multipleBits-got.multiple)))
				})
			}
		}
	}
	none := []contract.Facts{{Name: "a"}}
	if _, err := WithFacts(WithDefaults(binned(fdskl.Params{}).WithDefaults()), none); err == nil {
		t.Error("a job without bins is taken")
	}
}
