package online

import (
	"fmt"
	"math"
)

// Score judges a way of learning by the rows that its clients predicted.
type Score struct {
	MSE      float64   // mean squared error of a client's predictions, in the label's units, mean over clients
	SD       float64   // the same's standard deviation over clients
	Regret   float64   // mean over clients; NaN where the algorithm has none
	RegretSD float64   // over clients
	Curve    []float64 // squared error by row, mean over clients
}

// Score compares predictions with the labels of the clients' streams. A client may have predicted fewer
// rows than its stream has, but one at least.
func (f *Federation) Score(o *Outcome) (*Score, error) {
	s := &Score{Regret: math.NaN(), RegretSD: math.NaN()}
	var each []float64
	var counts []int
	for _, name := range f.AllClients() {
		labels, predictions := f.Streams[name].Labels, o.Predictions[name]
		if err := checkPredictions(name, predictions, labels); err != nil {
			return nil, err
		}
		sum := 0.0
		for i, p := range predictions {
			if i == len(s.Curve) {
				s.Curve, counts = append(s.Curve, 0), append(counts, 0)
			}
			e := (p - labels[i]) * (p - labels[i])
			s.Curve[i], counts[i], sum = s.Curve[i]+e, counts[i]+1, sum+e
		}
		each = append(each, sum/float64(len(predictions)))
	}
	for i, n := range counts {
		s.Curve[i] /= float64(n)
	}
	s.MSE, s.SD = meanAndSD(each)
	if regrets := f.inOrder(o.Regret); len(regrets) > 0 {
		s.Regret, s.RegretSD = meanAndSD(regrets)
	}
	return s, nil
}

// inOrder lists values of clients in the clients' order, of those that have one.
func (f *Federation) inOrder(values map[string]float64) []float64 {
	var list []float64
	for _, name := range f.AllClients() {
		if v, ok := values[name]; ok {
			list = append(list, v)
		}
	}
	return list
}

// checkPredictions refuses a client's predictions of no row, or of more than there are.
func checkPredictions(name string, predictions, labels []float64) error {
	if len(predictions) == 0 || len(predictions) > len(labels) {
		return fmt.Errorf("%s predicted %d rows, want 1 to %d", name, len(predictions), len(labels))
	}
	return nil
}

// meanAndSD returns the mean of values and their standard deviation.
func meanAndSD(values []float64) (mean, sd float64) {
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		sd += (v - mean) * (v - mean)
	}
	return mean, math.Sqrt(sd / float64(max(1, len(values)-1)))
}

// Decibels returns a curve in dB, each value the mean over a window of rows that ends there.
func Decibels(curve []float64, window int) []float64 {
	var out []float64
	sum := 0.0
	for i, v := range curve {
		sum += v
		n := i + 1
		if i >= window {
			sum -= curve[i-window]
			n = window
		}
		out = append(out, 10*math.Log10(max(sum/float64(n), math.SmallestNonzeroFloat64)))
	}
	return out
}

// Apart returns the largest difference of two ways' predictions of the same row.
func Apart(a, b *Outcome) float64 {
	largest := 0.0
	for name, predictions := range a.Predictions {
		for i, p := range predictions {
			if i < len(b.Predictions[name]) {
				largest = max(largest, math.Abs(p-b.Predictions[name][i]))
			}
		}
	}
	return largest
}
