package figures

import "math"

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
	n := &Numbers{Rows: len(labels)}
	for i, y := range labels {
		n.Mean += y / float64(len(labels))
		n.Bias += (predictions[i] - y) / float64(len(labels))
	}
	const rmse, mae, r2, statistics = 0, 1, 2, 3
	of := func(counts []int32, out []float64) {
		var rows, sum, squares, errors float64
		for i, c := range counts {
			w, y, e := float64(c), labels[i]-n.Mean, predictions[i]-labels[i]
			rows += w
			sum += w * y
			squares += w * y * y
			errors += w * e * e
			out[mae] += w * math.Abs(e)
		}
		out[rmse] = math.Sqrt(errors / rows)
		out[mae] /= rows
		out[r2] = math.NaN()
		if spread := squares - sum*sum/rows; spread > 1e-12*squares {
			out[r2] = 1 - errors/spread
		}
	}
	ones := make([]int32, len(labels))
	for i := range ones {
		ones[i] = 1
	}
	values := make([]float64, statistics)
	of(ones, values)
	intervals := bootstrap(len(labels), statistics, of)
	n.RMSE, n.MAE = Estimate{values[rmse], intervals[rmse]}, Estimate{values[mae], intervals[mae]}
	if !math.IsNaN(values[r2]) {
		n.R2 = &Estimate{values[r2], intervals[r2]}
	}
	return n, nil
}
