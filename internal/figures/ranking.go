package figures

import (
	"cmp"
	"math"
	"slices"
)

// run is a run of rows with equal scores.
type run struct {
	score                float64
	rows                 int
	positives, negatives float64
}

// ranking is the rows by score, the highest first.
type ranking struct {
	order                []int // rows
	runs                 []run
	positives, negatives float64
}

// rank sorts rows by score. Labels are -1 and +1.
func rank(labels, scores []float64) *ranking {
	r := &ranking{order: make([]int, len(scores))}
	for i := range r.order {
		r.order[i] = i
	}
	slices.SortStableFunc(r.order, func(a, b int) int { return cmp.Compare(scores[b], scores[a]) })
	different := 0
	for at, i := range r.order {
		if at == 0 || scores[r.order[at-1]] != scores[i] {
			different++
		}
	}
	r.runs = make([]run, 0, different)
	for _, i := range r.order {
		if len(r.runs) == 0 || r.runs[len(r.runs)-1].score != scores[i] {
			r.runs = append(r.runs, run{score: scores[i]})
		}
		last := &r.runs[len(r.runs)-1]
		last.rows++
		if labels[i] > 0 {
			last.positives++
			r.positives++
		} else {
			last.negatives++
			r.negatives++
		}
	}
	return r
}

// placements are, for each row in the ranking's order, DeLong's V10 of a positive and V01 of a negative (1988,
// equations 5 and 6): the share of the other class that it is ranked right of, a tie counting half.
func (r *ranking) placements() []float64 {
	v := make([]float64, 0, len(r.order))
	above, below := 0.0, r.negatives // positives above the run, negatives below its end
	labelled := make([]float64, len(r.runs))
	for i, run := range r.runs {
		below -= run.negatives
		labelled[i] = (below + run.negatives/2) / r.negatives
		v = append(v, (above+run.positives/2)/r.positives)
		above += run.positives
	}
	return append(labelled, v...)
}

// AUC returns the area under the ROC curve with its interval; nil where all labels are the same. See ranking.auc.
func AUC(labels, scores []float64) *Estimate { return rank(labels, scores).auc() }

// auc returns the area under the ROC curve with DeLong's interval (1988, equation 4), cut to [0, 1]; nil where all
// labels are the same. Where the variance is zero, as when the classes are apart, the interval is Wilson's of as
// many rows as the smaller class has; a class of one row has no variance, and no interval.
func (r *ranking) auc() *Estimate {
	if r.positives == 0 || r.negatives == 0 {
		return nil
	}
	v := r.placements()
	tenth, first := v[:len(r.runs)], v[len(r.runs):]
	auc := 0.0
	for i, run := range r.runs {
		auc += run.positives * tenth[i]
	}
	auc /= r.positives
	var squares10, squares01 float64
	for i, run := range r.runs {
		squares10 += run.positives * (tenth[i] - auc) * (tenth[i] - auc)
		squares01 += run.negatives * (first[i] - auc) * (first[i] - auc)
	}
	e := &Estimate{Value: auc}
	if r.positives < 2 || r.negatives < 2 {
		return e
	}
	variance := squares10/(r.positives-1)/r.positives + squares01/(r.negatives-1)/r.negatives
	if variance < 1e-20 {
		few := min(r.positives, r.negatives)
		e.Interval = Share(auc*few, few).Interval
		return e
	}
	half := z * math.Sqrt(variance)
	e.Interval = &Interval{max(0, auc-half), min(1, auc+half)}
	return e
}

// AUCDifference returns how much larger the area under the curve of one scoring is than that of another of the same
// rows, with DeLong's interval for correlated curves (1988, equations 4 and 7); nil where all labels are the same.
func AUCDifference(labels, scores, others []float64) *Estimate {
	a, b := rank(labels, scores), rank(labels, others)
	if a.positives == 0 || a.negatives == 0 {
		return nil
	}
	difference, mean := make([]float64, len(labels)), [2]float64{} // by row; of negatives and positives
	for k, r := range []*ranking{a, b} {
		sign := []float64{1, -1}[k]
		v, at := r.placements(), 0
		for i, run := range r.runs {
			for range run.rows {
				row := r.order[at]
				at++
				if labels[row] > 0 {
					difference[row] += sign * v[i]
				} else {
					difference[row] += sign * v[len(r.runs)+i]
				}
			}
		}
	}
	for row, d := range difference {
		if labels[row] > 0 {
			mean[1] += d / a.positives
		} else {
			mean[0] += d / a.negatives
		}
	}
	e := &Estimate{Value: mean[1]}
	if a.positives < 2 || a.negatives < 2 {
		return e
	}
	variance := 0.0
	for row, d := range difference {
		if labels[row] > 0 {
			variance += (d - mean[1]) * (d - mean[1]) / (a.positives - 1) / a.positives
		} else {
			variance += (d - mean[0]) * (d - mean[0]) / (a.negatives - 1) / a.negatives
		}
	}
	half := z * math.Sqrt(variance)
	e.Interval = &Interval{max(-1, e.Value-half), min(1, e.Value+half)}
	return e
}
