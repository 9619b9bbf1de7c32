package online

import (
	"fmt"
	"math"
	"slices"
)

// Score judges a way of learning by the rows that its clients predicted.
type Score struct {
	Error    float64   // mean error of a client's predictions as Federation.ErrorOf has it, mean over clients
	SD       float64   // the same's standard deviation over clients
	Regret   float64   // mean over clients; NaN where the algorithm has none
	RegretSD float64   // over clients
	Curve    []float64 // error by row, mean over clients
}

// ErrorOf returns the error of a prediction: where labels are classes 1 if it is wrong, else its squared error
// in squares of Span.
func (f *Federation) ErrorOf(prediction, label float64) float64 {
	switch {
	case f.Classes == 0:
		e := (prediction - label) / f.span()
		return e * e
	case prediction == label:
		return 0
	}
	return 1
}

// span returns what errors are counted in.
func (f *Federation) span() float64 {
	if f.Span == 0 {
		return 1
	}
	return f.Span
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
			e := f.ErrorOf(p, labels[i])
			s.Curve[i], counts[i], sum = s.Curve[i]+e, counts[i]+1, sum+e
		}
		each = append(each, sum/float64(len(predictions)))
	}
	for i, n := range counts {
		s.Curve[i] /= float64(n)
	}
	s.Error, s.SD = meanAndSD(each)
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

// Smoothed returns a curve each of whose values is the mean over a window of rows that ends there.
func Smoothed(curve []float64, window int) []float64 {
	var out []float64
	sum := 0.0
	for i, v := range curve {
		sum += v
		n := i + 1
		if i >= window {
			sum -= curve[i-window]
			n = window
		}
		out = append(out, sum/float64(n))
	}
	return out
}

// Decibels returns a curve in dB, smoothed over a window of rows.
func Decibels(curve []float64, window int) []float64 {
	out := Smoothed(curve, window)
	for i, v := range out {
		out[i] = 10 * math.Log10(max(v, math.SmallestNonzeroFloat64))
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

// Fixed is how well the clients do with one network for all of them that stays as it is.
type Fixed struct {
	Best      string  // the network that is best in hindsight
	Error, SD float64 // its mean error, over clients
	Average   float64 // the mean error of all networks, on average
}

// Fixed judges the networks as they are at first.
func (t *Selection) Fixed() Fixed {
	var f Fixed
	for k, name := range t.names {
		var each []float64
		for _, client := range t.AllClients() {
			each = append(each, mean(t.losses[client][k]))
		}
		err, sd := meanAndSD(each)
		f.Average += err / float64(len(t.names))
		if k == 0 || err < f.Error {
			f.Best, f.Error, f.SD = name, err, sd
		}
	}
	return f
}

// mean returns the mean of values.
func mean(values []float64) float64 {
	m, _ := meanAndSD(values)
	return m
}

// CountRegret fills in the regret of all clients of an outcome: the errors of a client's predictions, less
// those of the network that was best for it so far in hindsight, as it was before the job. It is below 0 where
// fine-tuning, or a change of networks at the right time, beats them all.
func (t *Selection) CountRegret(o *Outcome) error { return t.countRegret(o, t.AllClients()) }

// countRegret is CountRegret for some clients.
func (t *Selection) countRegret(o *Outcome, names []string) error {
	var sums []float64
	var counts []int
	for _, name := range names {
		curve, err := t.regretOf(name, o.Predictions[name])
		if err != nil {
			return err
		}
		o.Regret[name] = curve[len(curve)-1]
		for i, v := range curve {
			if i == len(sums) {
				sums, counts = append(sums, 0), append(counts, 0)
			}
			sums[i], counts[i] = sums[i]+v, counts[i]+1
		}
	}
	for i, n := range counts {
		sums[i] /= float64(n)
	}
	o.RegretCurve = sums
	return nil
}

// regretOf returns a client's regret row by row.
func (t *Selection) regretOf(name string, predictions []float64) ([]float64, error) {
	labels := t.Streams[name].Labels
	if err := checkPredictions(name, predictions, labels); err != nil {
		return nil, err
	}
	loss, networks := 0.0, make([]float64, len(t.networks))
	var curve []float64
	for i, p := range predictions {
		loss += t.ErrorOf(p, labels[i])
		for k := range networks {
			networks[k] += t.losses[name][k][i]
		}
		curve = append(curve, loss-slices.Min(networks))
	}
	return curve, nil
}
