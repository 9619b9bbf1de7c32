package dataset

import (
	"math"
	"slices"
	"sort"
)

// What Entropy looks at: so many bins of equal count of a column of numbers, and about so many rows.
const (
	entropyBins = 8
	entropyRows = 4096
)

// Entropy returns about how many bits the named columns have of one row: the sum of each column's Shannon entropy, of
// the levels of a column of texts, and of eight bins of equal count of a column of numbers. A missing cell is a level.
// Columns that say the same count twice, so that it is an upper bound of such a reading. Of a table of more than some
// thousand rows a part is looked at, evenly spread. Names that the table lacks have none.
func (t *Table) Entropy(names []string) float64 {
	var sum float64
	for i := range t.Columns {
		if slices.Contains(names, t.Columns[i].Name) {
			sum += t.Columns[i].entropy(t.Rows())
		}
	}
	return math.Round(sum*1e6) / 1e6 // in whatever order it was added up
}

// entropy is Entropy of one column.
func (c *Column) entropy(rows int) float64 {
	step := max(1, rows/entropyRows)
	counts := make(map[int32]int)
	var values []float64
	for i := 0; i < rows; i += step {
		switch {
		case c.Kind == Categorical:
			counts[c.Codes[i]]++
		case math.IsNaN(c.Values[i]):
			counts[-1]++
		default:
			values = append(values, c.Values[i])
		}
	}
	slices.Sort(values)
	for bin := int32(0); len(values) > 0; bin++ { // equal values are in one bin
		end := (len(values) + int(entropyBins-bin) - 1) / max(1, int(entropyBins-bin))
		last := values[end-1]
		end += sort.Search(len(values)-end, func(i int) bool { return values[end+i] > last })
		counts[bin] = end
		values = values[end:]
	}
	total, bits := 0, 0.0
	for _, n := range counts {
		total += n
	}
	for _, n := range counts {
		p := float64(n) / float64(total)
		bits -= p * math.Log2(p)
	}
	return max(bits, 0)
}
