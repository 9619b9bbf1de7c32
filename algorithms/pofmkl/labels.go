package pofmkl

import "fmt"

// ScaleLabel returns a label of the job's range as a number from 0 to 1; row is its number, from 1,
// for errors.
func (p Params) ScaleLabel(row int, y float64) (float64, error) {
	if !(y >= p.LabelLow && y <= p.LabelHigh) { // also refuses NaN
		return 0, fmt.Errorf("row %d, label column %q: the label is %v, want a number from %v to %v", row, p.Label, y,
			p.LabelLow, p.LabelHigh)
	}
	return (y - p.LabelLow) / (p.LabelHigh - p.LabelLow), nil
}

// unscale returns a prediction in the label's units.
func (p Params) unscale(v float64) float64 { return p.LabelLow + v*(p.LabelHigh-p.LabelLow) }
