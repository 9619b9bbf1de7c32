package graph

import (
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

var tolerances = []Tolerance{{0.05, 0.1}, {0.1, 0.1}, {0.1, 0.2}, {0.2, 0.1}, {1.0 / 3, 0.1}}

// table is what is picked beyond 32 parties for each of the tolerances.
var table = []struct {
	n    int
	want [5]Choice
}{
	{50, [5]Choice{{14, 9, false, 3}, {16, 11, false, 5}, {26, 16, false, 5}, {22, 17, false, 11}, {28, 23, false, 17}}},
	{100, [5]Choice{{26, 16, false, 5}, {32, 22, false, 11}, {52, 32, false, 11},
		{42, 32, false, 21}, {54, 44, false, 33}}},
	{300, [5]Choice{{52, 34, false, 15}, {66, 46, false, 25}, {118, 75, false, 31},
		{94, 70, false, 45}, {130, 103, false, 75}}},
	{560, [5]Choice{{68, 45, false, 21}, {86, 60, false, 33}, {160, 102, false, 43}, {120, 89, false, 57},
		{178, 140, false, 101}}},
	{1000, [5]Choice{{74, 49, false, 23}, {96, 67, false, 37}, {196, 125, false, 53}, {138, 102, false, 65},
		{218, 171, false, 123}}},
	{10000, [5]Choice{{94, 62, false, 29}, {122, 85, false, 47}, {276, 176, false, 75}, {182, 134, false, 85},
		{310, 242, false, 173}}},
}

func mustPick(t *testing.T, n, complete int, tolerance Tolerance) Choice {
	t.Helper()
	c, err := Pick(n, complete, tolerance)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestPick(t *testing.T) {
	for _, row := range table {
		for i, tolerance := range tolerances {
			if got := mustPick(t, row.n, 32, tolerance); got != row.want[i] {
				t.Errorf("%d parties, %+v: got %+v, want %+v", row.n, tolerance, got, row.want[i])
			}
		}
	}
}

func TestFewPartiesAreAllNeighbours(t *testing.T) {
	for n, threshold := range map[int]int{2: 1, 3: 2, 4: 3, 5: 3, 6: 4, 7: 5, 8: 5, 32: 21} {
		want := Choice{n - 1, threshold, true, n / 10}
		if got := mustPick(t, n, 32, Tolerance{0.1, 0.9}); got != want {
			t.Errorf("%d parties: got %+v, want %+v", n, got, want)
		}
	}
}

func TestAllAreNeighboursWhenNothingLessWillDo(t *testing.T) {
	for n, want := range map[int]Choice{2: {1, 1, true, 0}, 3: {2, 2, true, 0}, 5: {4, 3, true, 1}} {
		if got := mustPick(t, n, 0, Tolerance{0.2, 0.2}); got != want {
			t.Errorf("%d parties: got %+v, want %+v", n, got, want)
		}
	}
}

func TestPickRefuses(t *testing.T) {
	for _, c := range []struct {
		n         int
		tolerance Tolerance
		want      string
	}{
		{1, Tolerance{}, "pick a graph: 1 of 1 parties, want 2 to 100000"},
		{MaxParties + 1, Tolerance{}, "pick a graph: 100001 of 100001 parties, want 2 to 100000"},
		{50, Tolerance{-0.1, 0}, "pick a graph: corrupt -0.1 and dropout 0, want fractions of at least 0 and below 1"},
		{50, Tolerance{0, 1}, "pick a graph: corrupt 0 and dropout 1, want fractions of at least 0 and below 1"},
		{50, Tolerance{0, math.NaN()}, "pick a graph: corrupt 0 and dropout NaN, want fractions of at least 0 and below 1"},
		{50, Tolerance{0.4, 0.4}, "pick a graph: no threshold of 50 parties withstands corrupt 0.4 and dropout 0.4, want corrupt + 2 dropout well below 1"},
		{MaxParties, Tolerance{0.5, 0.25}, "pick a graph: no threshold of 100000 parties withstands corrupt 0.5 and dropout 0.25, want corrupt + 2 dropout well below 1"},
	} {
		if _, err := Pick(c.n, 32, c.tolerance); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	if _, err := Pick(2, 32, Tolerance{2, 0}); err == nil || !strings.Contains(err.Error(), "corrupt 2") {
		t.Errorf("few parties are not spared: error %v", err)
	}
}

// TestMoreToWithstandTakesNoFewerNeighbours, and at most what cannot be had.
func TestMoreToWithstandTakesNoFewerNeighbours(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(2, 2000).Draw(t, "n")
		f := rapid.Float64Range(0, 0.4)
		less := Tolerance{f.Draw(t, "corrupt"), f.Draw(t, "dropout")}
		more := Tolerance{less.Corrupt + f.Draw(t, "more corrupt"), less.Dropout + f.Draw(t, "more dropout")}
		a, errA := Pick(n, 0, less)
		b, errB := Pick(n, 0, more)
		if errA != nil && errB == nil || errB == nil && a.Degree > b.Degree {
			t.Fatalf("%+v, %v for less and %+v, %v for more", a, errA, b, errB)
		}
	})
}

func TestFractionsAreRoundedDown(t *testing.T) {
	for _, c := range []struct {
		f    float64
		n    int
		want int
	}{{0.29, 100, 29}, {1.0 / 3, 300, 100}, {0.1, 39, 3}, {0, 5, 0}, {0.999, 10, 9}, {math.Nextafter(1, 0), 10, 10}} {
		if got := share(c.f, c.n); got != c.want {
			t.Errorf("%v of %d: got %d, want %d", c.f, c.n, got, c.want)
		}
	}
}
