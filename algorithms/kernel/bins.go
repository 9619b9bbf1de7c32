package kernel

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Binned makes one binary column of each bin: of an interval of numbers, of a level or of several rare ones, of missing
// cells. A row is in one bin of a column, or in none: a level that no training row had, where there is no bin of rare
// ones, and a missing cell where none was missing.
const Binned Scaling = "bins"

// MaxBins is the most bins of a column.
const MaxBins = 1000

// Bin labels that no interval has.
const (
	binMissing = "(missing)"
	binOther   = "(other)"
)

// Bins says what the bins of one column are.
type Bins struct {
	Edges   []float64  // numbers: bin i ends before Edges[i]; ascending
	Levels  [][]string // categories: the levels of each bin; those of the last one may be rare
	Other   bool       // categories: the last bin is of rare levels, and of those that training did not meet
	Missing bool       // numbers: the bin behind all others is of missing cells
}

// count is how many bins there are.
func (b *Bins) count(categorical bool) int {
	n := len(b.Levels)
	if !categorical {
		n = len(b.Edges) + 1
	}
	if b.Missing {
		n++
	}
	return n
}

// categorical reports whether the bins are of levels.
func (b *Bins) categorical() bool { return b.Levels != nil }

// validate checks bins that come from a file.
func (b *Bins) validate() error {
	if b == nil {
		return fmt.Errorf("its bins are missing")
	}
	if n := b.count(b.categorical()); n < 2 || n > MaxBins || b.categorical() && (len(b.Edges) > 0 || b.Missing) {
		return fmt.Errorf("it has %d bins, want 2 to %d of numbers or of levels", n, MaxBins)
	}
	if err := ValidateEdges(b.Edges); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, levels := range b.Levels {
		for _, level := range levels {
			if seen[level] {
				return fmt.Errorf("level %.40q occurs twice", level)
			}
			seen[level] = true
		}
	}
	return nil
}

// ValidateEdges refuses edges of bins that are not finite and ascending.
func ValidateEdges(edges []float64) error {
	if len(edges) >= MaxBins {
		return fmt.Errorf("%d edges, want fewer than %d", len(edges), MaxBins)
	}
	for i, e := range edges {
		if !parameters.IsFinite(e) || i > 0 && e <= edges[i-1] {
			return fmt.Errorf("edge %d is %v, want finite numbers, each above the one before", i+1, e)
		}
	}
	return nil
}

// Labels names the bins for people, in their order.
func (b *Bins) Labels() []string {
	var list []string
	if b.categorical() {
		for i, levels := range b.Levels {
			shown := slices.Clone(levels)
			for k := range shown {
				shown[k] = cmp.Or(shown[k], binMissing)
			}
			label := strings.Join(shown, " | ")
			if b.Other && i == len(b.Levels)-1 {
				label = binOther
			}
			list = append(list, label)
		}
		return list
	}
	number := func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }
	for i := range len(b.Edges) + 1 {
		switch {
		case len(b.Edges) == 0:
			list = append(list, "any number")
		case i == 0:
			list = append(list, "< "+number(b.Edges[0]))
		case i == len(b.Edges):
			list = append(list, ">= "+number(b.Edges[i-1]))
		default:
			list = append(list, number(b.Edges[i-1])+" to < "+number(b.Edges[i]))
		}
	}
	if b.Missing {
		list = append(list, binMissing)
	}
	return list
}

// ofNumber returns a number's bin, -1 for none.
func (b *Bins) ofNumber(v float64) int {
	if math.IsNaN(v) {
		if b.Missing {
			return len(b.Edges) + 1
		}
		return -1
	}
	i, exact := slices.BinarySearch(b.Edges, v)
	if exact {
		i++
	}
	return i
}

// ofLevel returns a level's bin, -1 for none.
func (b *Bins) ofLevel(level string) int {
	for i, levels := range b.Levels {
		if slices.Contains(levels, level) {
			return i
		}
	}
	if b.Other {
		return len(b.Levels) - 1
	}
	return -1
}

// fitBins makes bins of a column's training rows. Each has o.MinCell rows at least: of numbers a smaller one is merged
// with the smaller of its neighbours, of levels the rare ones become one. A column of one bin is constant.
func fitBins(c *Column, rows []int, o FitOptions) (Scale, error) {
	var b *Bins
	if c.categorical() {
		b = fitLevelBins(c, rows, o.MinCell)
	} else {
		b = fitNumberBins(c, rows, o)
	}
	switch {
	case b.count(b.categorical()) > 1:
		return Scale{Column: c.Name, Scaling: Binned, Bins: b}, nil
	case o.DropConstant:
		return Scale{Column: c.Name, Scaling: Dropped}, nil
	}
	return Scale{}, fmt.Errorf("column %q has one bin on the training rows: leave it out, or let the job drop constant "+
		"columns", c.Name)
}

// fitNumberBins cuts numbers at their quantiles, or at the edges that the options give. A value that alone has the rows
// of a bin, or more, is a bin by itself.
func fitNumberBins(c *Column, rows []int, o FitOptions) *Bins {
	var present []float64
	for _, r := range rows {
		if v := c.Values[r]; !math.IsNaN(v) {
			present = append(present, v)
		}
	}
	if len(present) < o.MinCell {
		return &Bins{} // with those that are missing they are one bin
	}
	slices.Sort(present)
	b := &Bins{Missing: len(rows)-len(present) >= max(o.MinCell, 1)}
	if given, ok := o.Edges[c.Name]; ok {
		b.Edges = slices.Clone(given)
	} else {
		b.Edges = quantileEdges(present, o.Bins)
	}
	for len(b.Edges) > 0 {
		counts := make([]int, len(b.Edges)+1)
		for _, v := range present {
			counts[b.ofNumber(v)]++
		}
		least := 0
		for i, n := range counts {
			if n < counts[least] {
				least = i
			}
		}
		if counts[least] >= o.MinCell && counts[least] > 0 {
			break
		}
		// Merges by taking away the edge to the smaller neighbour.
		edge := least
		if least == len(b.Edges) || least > 0 && counts[least-1] <= counts[least+1] {
			edge = least - 1
		}
		b.Edges = slices.Delete(b.Edges, edge, edge+1)
	}
	return b
}

// quantileEdges cuts sorted values into about n bins of as many rows each. Where there are no more different values
// each is a bin by itself: they may be codes, or counts of which the rare ones say most.
func quantileEdges(sorted []float64, n int) []float64 {
	if len(sorted) == 0 {
		return nil
	}
	if distinct := slices.Compact(slices.Clone(sorted)); len(distinct) <= n {
		return distinct[1:]
	}
	var edges []float64
	add := func(e float64) {
		if e > sorted[0] && (len(edges) == 0 || e > edges[len(edges)-1]) {
			edges = append(edges, e)
		}
	}
	share := max(1, (len(sorted)+n-1)/n)
	for lo, since := 0, 0; lo < len(sorted); {
		hi := lo + 1
		for hi < len(sorted) && sorted[hi] == sorted[lo] {
			hi++
		}
		if hi-lo >= share || lo-since >= share { // a value of its own, or the bin before is full
			add(sorted[lo])
			since = lo
		}
		if hi-lo >= share && hi < len(sorted) {
			add(sorted[hi])
			since = hi
		}
		lo = hi
	}
	return edges
}

// fitLevelBins makes a bin of each level that has enough rows, and one of all the others. Where these are too few
// together, the smallest of the other bins takes them in.
func fitLevelBins(c *Column, rows []int, least int) *Bins {
	names, places := levelsOf(c)
	counts := make([]int, len(names))
	for _, r := range rows {
		counts[places[c.Codes[r]+1]]++
	}
	b := &Bins{Levels: [][]string{}}
	var rare []string
	few, smallest, size := 0, -1, 0
	for i, level := range names {
		switch n := counts[i]; {
		case n == 0:
		case n < least:
			rare, few = append(rare, level), few+n
		default:
			if smallest < 0 || n < size {
				smallest, size = len(b.Levels), n
			}
			b.Levels = append(b.Levels, []string{level})
		}
	}
	if len(rare) == 0 {
		return b
	}
	if few < least && smallest >= 0 {
		rare = append(rare, b.Levels[smallest]...)
		b.Levels = slices.Delete(b.Levels, smallest, smallest+1)
	}
	b.Levels, b.Other = append(b.Levels, rare), true
	return b
}

// levelsOf returns the levels of a column's cells, and where each code's is among them: of code k at k+1, of missing
// cells, which have code -1 or a level "", at 0.
func levelsOf(c *Column) (names []string, places []int) {
	names, places = []string{""}, []int{0}
	for _, level := range c.Levels {
		if level == "" {
			places = append(places, 0)
			continue
		}
		places = append(places, len(names))
		names = append(names, level)
	}
	return names, places
}

// addBins puts a binned column into the matrix.
func (b *builder) addBins(s *Scale, c *Column) error {
	if c.categorical() != s.Bins.categorical() {
		return fmt.Errorf("column %q is categorical in one of training and prediction, and numeric in the other", c.Name)
	}
	hits := make([]int32, c.Rows())
	put := func(r, bin int) {
		hits[r] = -1
		if bin >= 0 {
			hits[r] = int32(b.binary + bin)
		}
	}
	names, places := levelsOf(c)
	for i, at := range places {
		places[i] = s.Bins.ofLevel(names[at])
	}
	for r, code := range c.Codes {
		put(r, places[code+1])
	}
	for r, v := range c.Values {
		put(r, s.Bins.ofNumber(v))
	}
	b.hits = append(b.hits, hits)
	b.binary += s.Bins.count(s.Bins.categorical())
	return nil
}
