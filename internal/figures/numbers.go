package figures

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Numbers is the figures of predicted numbers, in the label's units.
type Numbers struct {
	Rows int       `json:"rows"`
	RMSE Estimate  `json:"rmse"`         // root of the mean squared error
	MAE  Estimate  `json:"mae"`          // mean absolute error
	R2   *Estimate `json:"r2,omitempty"` // 1 - squared error / that of the rows' mean; nil where all labels are the same
	Mean float64   `json:"mean"`         // of the labels
	Bias float64   `json:"bias"`         // mean of prediction less label
}

// OfNumbers makes the figures of predicted numbers.
func OfNumbers(labels, predictions []float64) (*Numbers, error) {
	if err := finite(labels, predictions); err != nil {
		return nil, err
	}
	labels, predictions = slices.Clone(labels), slices.Clone(predictions)
	ordered(labels, predictions)
	n := &Numbers{Rows: len(labels)}
	for i, y := range labels {
		n.Mean += y / float64(len(labels))
		n.Bias += (predictions[i] - y) / float64(len(labels))
	}
	squares, sizes, spread := make([]float64, len(labels)), make([]float64, len(labels)), make([]float64, len(labels))
	for i, y := range labels {
		e := predictions[i] - y
		squares[i], sizes[i], spread[i] = e*e, math.Abs(e), y-n.Mean
	}
	const mse, mae, unexplained, statistics = 0, 1, 2, 3
	about := [2]float64{stat.Mean(squares, nil), stat.Mean(sizes, nil)}
	found := studentised(len(labels), statistics, func(counts []int32, out []measured) {
		out[mse], out[mae] = mean(counts, squares, about[0]), mean(counts, sizes, about[1])
		out[unexplained] = unexplainedPart(counts, squares, spread)
	})
	n.RMSE = *found[mse].within(0, math.Inf(1)).mapped(math.Sqrt)
	n.MAE = *found[mae].within(0, math.Inf(1))
	if u := found[unexplained].within(0, math.Inf(1)); u != nil {
		n.R2 = &Estimate{Value: 1 - u.Value}
		if u.Interval != nil {
			n.R2.Interval = &Interval{1 - u.Interval[1], 1 - u.Interval[0]}
		}
	}
	return n, nil
}

// unexplainedPart is the squared error over the labels' spread, of rows drawn so often, NaN where all labels are the
// same. Its standard error is the delta method's of a ratio.
func unexplainedPart(counts []int32, squares, labels []float64) measured {
	var rows, errors, sum, spread float64
	for i, c := range counts {
		w := float64(c)
		rows += w
		errors += w * squares[i]
		sum += w * labels[i]
		spread += w * labels[i] * labels[i]
	}
	middle := sum / rows
	about := spread - sum*middle
	if !(about > 1e-12*spread) {
		return measured{math.NaN(), math.NaN()}
	}
	ratio, variance := errors/about, 0.0
	for i, c := range counts {
		y := labels[i] - middle
		d := squares[i] - ratio*y*y
		variance += float64(c) * d * d
	}
	return measured{ratio, math.Sqrt(variance/(rows-1)*rows) / about}
}
