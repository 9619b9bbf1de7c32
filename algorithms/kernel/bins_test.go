package kernel

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bins fits a column with about n bins of so many rows at least.
func bins(t testing.TB, c Column, n, least int) *Bins {
	t.Helper()
	fitted, err := Fit([]Column{c}, nil, FitOptions{Numeric: Binned, DropConstant: true, Bins: n, MinCell: least})
	must(t, err)
	return fitted.Columns[0].Bins
}

// TestBinsOfNumbers cuts columns of several kinds.
func TestBinsOfNumbers(t *testing.T) {
	hole := math.NaN()
	even := make([]float64, 100)
	for i := range even {
		even[i] = float64(i)
	}
	tail := slices.Concat(make([]float64, 60), []float64{1, 1, 1, 2, 2, 3, 4, 9, 50, 700}) // counts
	for _, c := range []struct {
		name   string
		values []float64
		n      int
		least  int
		want   []string
	}{
		{"quantiles", even, 4, 5, []string{"< 25", "25 to < 50", "50 to < 75", ">= 75"}},
		{"few values", []float64{1, 1, 2, 2, 3, 3}, 4, 2, []string{"< 2", "2 to < 3", ">= 3"}},
		{"a rare one joins its smaller neighbour", []float64{1, 1, 1, 2, 3, 3}, 4, 2, []string{"< 2", ">= 2"}},
		{"a heavy value is a bin", tail, 5, 5, []string{"< 1", ">= 1"}},
		{"hardly any number", []float64{hole, hole, hole, 1}, 4, 2, nil},
		{"missing", []float64{1, 1, 2, 2, hole, hole}, 4, 2, []string{"< 2", ">= 2", "(missing)"}},
		{"too few missing", []float64{1, 1, 2, 2, hole}, 4, 2, []string{"< 2", ">= 2"}},
		{"one value and holes", []float64{7, 7, 7, hole, hole}, 4, 2, []string{"any number", "(missing)"}},
		{"constant", []float64{7, 7, 7}, 4, 2, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := bins(t, Column{Name: "x", Values: c.values}, c.n, c.least)
			if b == nil {
				if c.want != nil {
					t.Errorf("no bins, want %q", c.want)
				}
				return
			}
			if got := b.Labels(); !slices.Equal(got, c.want) {
				t.Errorf("bins are %q, want %q", got, c.want)
			}
		})
	}
	given := FitOptions{Numeric: Binned, Bins: 4, MinCell: 10, Edges: map[string][]float64{"x": {20, 80, 95}}}
	n, err := Fit([]Column{{Name: "x", Values: even}}, nil, given)
	must(t, err)
	if got, want := n.Columns[0].Bins.Labels(), []string{"< 20", "20 to < 80", ">= 80"}; !slices.Equal(got, want) {
		t.Errorf("edges that were given come to %q, want %q: the last has 5 rows", got, want)
	}
}

// TestBinsOfLevels merges rare levels, and puts levels and cells that training did not meet where they belong.
func TestBinsOfLevels(t *testing.T) {
	job := Column{Name: "job", Levels: []string{"clerk", "miner", "pilot", "smith"},
		Codes: []int32{0, 0, 0, 1, 2, 2, 3, -1, -1}}
	b := bins(t, job, 10, 2)
	if got, want := b.Labels(), []string{"(missing)", "clerk", "pilot", "(other)"}; !slices.Equal(got, want) {
		t.Errorf("bins are %q, want %q", got, want)
	}
	n := &Normaliser{Columns: []Scale{{Column: "job", Scaling: Binned, Bins: b}}}
	m := mustApply(t, n, Column{Name: "job", Levels: []string{"baker", "clerk", "smith"}, Codes: []int32{0, 1, 2, -1}})
	if !slices.Equal(m.Set, []uint16{3, 1, 3, 0}) {
		t.Errorf("rows are in bins %v", m.Set)
	}
	later := Column{Name: "job", Levels: []string{"baker", "smith"}, Codes: []int32{0, 1, 0, -1}}
	got := n.Unseen([]Column{later})
	if len(got) != 1 || got[0].Rows != 2 || !slices.Equal(got[0].Levels, []string{"baker"}) {
		t.Errorf("unseen levels are %+v: a rare one was met", got)
	}
	// Without rare levels there is no bin for new ones: the row is in none.
	whole := Column{Name: "job", Levels: []string{"clerk", "pilot"}, Codes: []int32{0, 0, 1, 1}}
	n = &Normaliser{Columns: []Scale{{Column: "job", Scaling: Binned, Bins: bins(t, whole, 10, 2)}}}
	m = mustApply(t, n, Column{Name: "job", Levels: []string{"baker", "pilot"}, Codes: []int32{0, 1, -1}})
	if !slices.Equal(m.Starts, []uint32{0, 0, 1, 1}) || !slices.Equal(m.Set, []uint16{1}) {
		t.Errorf("rows are in bins %v %v", m.Starts, m.Set)
	}
	// Rare levels too few for a bin take the smallest of the others in.
	few := Column{Name: "job", Levels: []string{"clerk", "miner", "pilot"}, Codes: []int32{0, 0, 0, 1, 2, 2}}
	if got, want := bins(t, few, 10, 2).Labels(), []string{"clerk", "(other)"}; !slices.Equal(got, want) {
		t.Errorf("bins are %q, want %q", got, want)
	}
}

// TestEveryBinHasItsRows: whatever the column, each bin has as many training rows as it must, and each row with a value
// is in just one.
func TestEveryBinHasItsRows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		least := rapid.IntRange(1, 6).Draw(r, "least")
		rows := rapid.IntRange(1, 60).Draw(r, "rows")
		c := Column{Name: "x"}
		if rapid.Bool().Draw(r, "levels") {
			for i := range 6 {
				c.Levels = append(c.Levels, fmt.Sprint("l", i))
			}
			c.Codes = rapid.SliceOfN(rapid.Int32Range(-1, 5), rows, rows).Draw(r, "codes")
		} else {
			for _, v := range rapid.SliceOfN(rapid.IntRange(-3, 30), rows, rows).Draw(r, "values") {
				x := float64(v * v)
				if v == -3 {
					x = math.NaN()
				}
				c.Values = append(c.Values, x)
			}
		}
		n, err := Fit([]Column{c}, nil, FitOptions{Numeric: Binned, DropConstant: true,
			Bins: rapid.IntRange(2, 8).Draw(r, "bins"), MinCell: least})
		must(r, err)
		if n.Columns[0].Scaling == Dropped {
			return
		}
		m, err := n.Apply([]Column{c})
		must(r, err)
		must(r, m.Validate())
		counts := make([]int, len(m.Binary))
		for j := range rows {
			in := 0
			m.EachInRow(j, func(bin int, v float64) { counts[bin], in = counts[bin]+1, in+1 })
			missing := c.Values != nil && math.IsNaN(c.Values[j])
			if in > 1 || in == 0 && !missing {
				r.Fatalf("row %d is in %d bins", j, in)
			}
		}
		for i, count := range counts {
			if count < least {
				r.Fatalf("bin %q has %d rows, want %d: %v", m.Binary[i], count, least, n.Columns[0].Bins)
			}
		}
	})
}

// TestBinsThatAreRefused are in a model part that was changed.
func TestBinsThatAreRefused(t *testing.T) {
	for want, b := range map[string]*Bins{
		"its bins are missing":                nil,
		"it has 1 bins":                       {},
		"edge 2 is 1":                         {Edges: []float64{1, 1}},
		"edge 1 is NaN":                       {Edges: []float64{math.NaN()}},
		`level "a" occurs twice`:              {Levels: [][]string{{"a"}, {"b", "a"}}},
		"want 2 to 1000 of numbers or of lev": {Levels: [][]string{{"a"}, {"b"}}, Missing: true},
	} {
		n := &Normaliser{Columns: []Scale{{Column: "x", Scaling: Binned, Bins: b}}}
		if err := n.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one with %q", err, want)
		}
	}
}
