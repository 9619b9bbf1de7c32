package dataset

import (
	"math"
	"testing"
)

// TestEntropyIsThatOfTheBins: of columns whose entropy can be written down.
func TestEntropyIsThatOfTheBins(t *testing.T) {
	const rows = 800
	var numbers, few, constant, gaps []float64
	var codes []int32
	for i := range rows {
		numbers = append(numbers, float64((i*37)%rows)) // all different: eight bins of a hundred
		few = append(few, float64(i%2))
		constant = append(constant, 5)
		gap := 5.0
		if i%4 == 0 {
			gap = math.NaN()
		}
		gaps = append(gaps, gap)
		codes = append(codes, int32(i%16))
	}
	quarter := -(.25*math.Log2(.25) + .75*math.Log2(.75))
	table := &Table{IDs: make([]string, rows), Columns: []Column{
		{Name: "numbers", Values: numbers}, {Name: "few", Values: few}, {Name: "constant", Values: constant},
		{Name: "gaps", Values: gaps}, {Name: "levels", Kind: Categorical, Codes: codes},
	}}
	for name, want := range map[string]float64{"numbers": 3, "few": 1, "constant": 0, "gaps": quarter, "levels": 4,
		"none": 0} {
		if got := table.Entropy([]string{name}); math.Abs(got-want) > 1e-6 {
			t.Errorf("%s has %v bits, want %v", name, got, want)
		}
	}
	if got := table.Entropy([]string{"numbers", "few", "levels"}); math.Abs(got-8) > 1e-12 {
		t.Errorf("three columns have %v bits, want 8", got)
	}
	long := &Table{IDs: make([]string, 100*rows), Columns: []Column{{Name: "numbers"}}}
	for i := range long.IDs {
		long.Columns[0].Values = append(long.Columns[0].Values, float64(i))
	}
	if got := long.Entropy([]string{"numbers"}); math.Abs(got-3) > 1e-3 {
		t.Errorf("of %d rows it has %v bits, want 3", len(long.IDs), got)
	}
}
