package ofmsft

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// ScaleRow writes x, in its own units, as a network's inputs to dst; row is its number, from 1, for errors.
func (p Params) ScaleRow(dst []float32, row int, x []float64) error {
	if len(x) != len(dst) {
		return fmt.Errorf("row %d has %d values, want %d, one for each input of the networks", row, len(x), len(dst))
	}
	for i, v := range x {
		scaled := float32(v / p.InputNorm)
		if !parameters.IsFinite(float64(scaled)) {
			return fmt.Errorf("row %d: value %d is %v, want a finite number", row, i+1, v)
		}
		dst[i] = scaled
	}
	return nil
}

// ScaleLabel returns a label as the networks see it: a class as it is, a number of the job's range as
// one from 0 to 1.
func (p Params) ScaleLabel(row int, y float64) (float64, error) {
	if p.Classes > 0 {
		if !p.isClass(y) {
			return 0, fmt.Errorf("row %d, label column %q: the label is %v, want a class from 0 to %d", row, p.Label, y,
				p.Classes-1)
		}
		return y, nil
	}
	if !(y >= p.LabelLow && y <= p.LabelHigh) { // also refuses NaN
		return 0, fmt.Errorf("row %d, label column %q: the label is %v, want a number from %v to %v", row, p.Label, y,
			p.LabelLow, p.LabelHigh)
	}
	return (y - p.LabelLow) / (p.LabelHigh - p.LabelLow), nil
}

// Prediction returns what a network's outputs for one row say: the likeliest class, the first of equals, or a
// number in the label's units.
func (p Params) Prediction(outputs []float32) float64 {
	if p.Classes == 0 {
		return p.LabelLow + float64(outputs[0])*(p.LabelHigh-p.LabelLow)
	}
	best := 0
	for c, v := range outputs {
		if v > outputs[best] {
			best = c
		}
	}
	return float64(best)
}

// isClass reports whether y is a class of the job.
func (p Params) isClass(y float64) bool {
	return y >= 0 && y < float64(p.Classes) && y == math.Trunc(y)
}
