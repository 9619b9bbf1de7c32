package attack

import (
	"fmt"
	"math"
)

// sameRatio is how far, relative to the size of a row, two units may be apart that tell of one row: gradients are
// float32.
const sameRatio = 1e-3

// faint is the smallest bias gradient, relative to the largest, whose ratio is looked at: below it is rounding.
const faint = 1e-4

// leastRatios is how many numbers must come out twice for a proof.
const leastRatios = 4

// DenseGradient is the gradient of a dense first layer, of one row or summed over several.
type DenseGradient struct {
	Kernel []float64 // [inputs][units]
	Bias   []float64 // [units]
}

// Dense rebuilds the rows that a gradient of a dense first layer is of: the gradient of a unit's kernel is the row
// times that of its bias, so that their ratio is the row. Of several rows it is a mean of those that make the unit
// active, weighted by their errors: the row itself where one alone does.
//
// The units that tell the same are one candidate; the first is what most units tell. A candidate is proved when
// several units tell it and none another: then the gradient is of one row, or of rows that no unit tells apart. It
// returns none where the gradient is zero.
func Dense(g DenseGradient) ([]Rebuilt, error) {
	units := len(g.Bias)
	if units == 0 || len(g.Kernel)%units != 0 || len(g.Kernel) == 0 {
		return nil, fmt.Errorf("rows from updates: a gradient of %d kernel elements and %d biases is no dense layer's",
			len(g.Kernel), units)
	}
	if i := max(notFinite(g.Kernel), notFinite(g.Bias)); i >= 0 {
		return nil, fmt.Errorf("rows from updates: element %d of a gradient is no finite number", i)
	}
	inputs, largest := len(g.Kernel)/units, 0.0
	for _, b := range g.Bias {
		largest = max(largest, math.Abs(b))
	}
	var list []Rebuilt
	var votes []int
	for u, b := range g.Bias {
		if b == 0 || math.Abs(b) < faint*largest {
			continue
		}
		row := make([]float64, inputs)
		for i := range row {
			row[i] = g.Kernel[i*units+u] / b
		}
		at := 0
		for at < len(list) && !alikeRows(list[at].Row, row) {
			at++
		}
		if at == len(list) {
			list, votes = append(list, Rebuilt{Row: row, Scales: []float64{b}}), append(votes, 0)
		}
		votes[at]++
		for ; at > 0 && votes[at] > votes[at-1]; at-- {
			list[at], list[at-1], votes[at], votes[at-1] = list[at-1], list[at], votes[at-1], votes[at]
		}
	}
	if len(list) == 1 {
		list[0].Proved = (votes[0]-1)*inputs >= leastRatios
	}
	return list, nil
}

// alikeRows reports whether two rows are one but for rounding.
func alikeRows(a, b []float64) bool {
	apart, size := 0.0, 0.0
	for i, v := range a {
		apart = max(apart, math.Abs(v-b[i]))
		size = max(size, math.Abs(v))
	}
	return apart <= sameRatio*size
}
