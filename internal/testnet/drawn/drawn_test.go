package drawn

import (
	"fmt"
	"testing"
)

// TestAsManyDaysAsCasesRunEach: of seven cases each runs once in a week, and all of them every day under the tag long.
func TestAsManyDaysAsCasesRunEach(t *testing.T) {
	const cases = 7
	want := 1
	if All {
		want = cases
	}
	for i := range cases {
		ran := 0
		for day := range cases {
			t.Setenv(Day, fmt.Sprint(20_000+day))
			if Today(t, i, cases) {
				ran++
			}
		}
		if ran != want {
			t.Errorf("case %d runs on %d of %d days, want %d", i, ran, cases, want)
		}
	}
}
