package online

import "slices"

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
