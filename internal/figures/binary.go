package figures

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Groups is how many groups of rows lift and calibration have.
const Groups = 10

// mostCuts is how many points of a curve a report keeps.
const mostCuts = 128

// smallestProbability is what 0, and 1 less it what 1, counts as in a logarithm: 2^-52.
const smallestProbability = 0x1p-52

// Scored is rows of two classes with their scores.
type Scored struct {
	Labels        []float64 // -1 and +1
	Scores        []float64
	Probabilities []float64 // of the positive class; nil where there are none
	Classes       [2]string // names of -1 and +1
	Threshold     float64   // above it a row is said to be positive
	Rule          Rule      // by which the threshold was chosen
	FittedTo      string    // what threshold and probabilities come from, if they are not the model's own
}

// Confusion counts rows by what they are and what they were said to be.
type Confusion struct {
	TruePositives  int `json:"true_positives"`
	FalsePositives int `json:"false_positives"`
	FalseNegatives int `json:"false_negatives"`
	TrueNegatives  int `json:"true_negatives"`
}

// Group is a tenth of the rows, those with the highest scores first. Rows with equal scores share their positives.
type Group struct {
	Rows      int      `json:"rows"`
	Positives float64  `json:"positives"`
	Share     Estimate `json:"share"`
	Lift      float64  `json:"lift"` // the share over that of all rows
}

// Bin is about a tenth of the rows, by probability, held against what came.
type Bin struct {
	Rows        int      `json:"rows"`
	Probability float64  `json:"probability"` // their mean
	Share       Estimate `json:"share"`       // of positives
}

// Histogram counts the rows of both classes by score, in equal bins.
type Histogram struct {
	Low       float64 `json:"low"`
	High      float64 `json:"high"`
	Negatives []int   `json:"negatives"`
	Positives []int   `json:"positives"`
}

// Binary is the figures of two classes. Pointers are nil where a figure is not defined: all of a curve where all rows
// have the same label, probabilities where there are none.
type Binary struct {
	Classes          [2]string `json:"classes"` // the second is the positive one
	Rows             int       `json:"rows"`
	Positives        int       `json:"positives"`
	Threshold        float64   `json:"threshold"`
	Rule             string    `json:"rule"`
	FittedTo         string    `json:"fitted_to,omitempty"` // what threshold and probabilities come from
	Error            Estimate  `json:"error"`               // share of rows said to be of the wrong class
	Recall           *Estimate `json:"recall,omitempty"`
	Precision        *Estimate `json:"precision,omitempty"`
	AUC              *Estimate `json:"auc,omitempty"`
	Gini             *Estimate `json:"gini,omitempty"`
	KS               *Estimate `json:"ks,omitempty"`
	AveragePrecision *Estimate `json:"average_precision,omitempty"`
	LogLoss          *Estimate `json:"log_loss,omitempty"`
	Brier            *Estimate `json:"brier,omitempty"`
	Confusion        Confusion `json:"confusion"`
	Lift             []Group   `json:"lift,omitempty"`
	Calibration      []Bin     `json:"calibration,omitempty"`
	Cuts             []Cut     `json:"cuts,omitempty"` // the ROC curve, thinned
	Distribution     Histogram `json:"distribution"`
}

// OfClasses makes the figures of two classes.
func OfClasses(s Scored) (*Binary, error) {
	columns := [][]float64{s.Labels, s.Scores}
	if s.Probabilities != nil {
		columns = append(columns, s.Probabilities)
	}
	if err := finite(columns...); err != nil {
		return nil, err
	}
	for i, y := range s.Labels {
		if y != 1 && y != -1 {
			return nil, fmt.Errorf("row %d has the label %v: want -1 or 1", i+1, y)
		}
	}
	for i, p := range s.Probabilities {
		if p < 0 || p > 1 {
			return nil, fmt.Errorf("row %d has the probability %v: want 0 to 1", i+1, p)
		}
	}
	r := rank(s.Labels, s.Scores)
	b := &Binary{
		Classes: s.Classes, Rows: len(s.Labels), Positives: int(r.positives), Threshold: s.Threshold,
		Rule: s.Rule.String(), FittedTo: s.FittedTo, Cuts: Thin(r.cuts(), mostCuts),
		Distribution: histogramOf(s.Labels, s.Scores),
	}
	b.decide(s)
	b.AUC = r.auc()
	if b.AUC != nil {
		b.Gini = &Estimate{Value: 2*b.AUC.Value - 1}
		if i := b.AUC.Interval; i != nil {
			b.Gini.Interval = &Interval{2*i[0] - 1, 2*i[1] - 1}
		}
		b.Lift = r.lift()
	}
	b.KS, b.AveragePrecision = r.ks(), r.averagePrecision()
	if s.Probabilities != nil {
		b.lossesOf(s)
		b.Calibration = calibration(s.Labels, s.Probabilities)
	}
	return b, nil
}

// decide fills in what depends on the threshold.
func (b *Binary) decide(s Scored) {
	c := &b.Confusion
	for i, y := range s.Labels {
		switch above := s.Scores[i] > s.Threshold; {
		case above && y > 0:
			c.TruePositives++
		case above:
			c.FalsePositives++
		case y > 0:
			c.FalseNegatives++
		default:
			c.TrueNegatives++
		}
	}
	hits := float64(c.TruePositives)
	b.Error = *Share(float64(c.FalsePositives+c.FalseNegatives), float64(b.Rows))
	b.Recall = Share(hits, hits+float64(c.FalseNegatives))
	b.Precision = Share(hits, hits+float64(c.FalsePositives))
}

// lossesOf fills in log loss and Brier.
func (b *Binary) lossesOf(s Scored) {
	losses, squares := make([]float64, b.Rows), make([]float64, b.Rows)
	for i, p := range s.Probabilities {
		label := max(0, s.Labels[i])
		squares[i] = (p - label) * (p - label)
		p = min(max(p, smallestProbability), 1-smallestProbability)
		losses[i] = -math.Log(p)
		if label == 0 {
			losses[i] = -math.Log1p(-p)
		}
	}
	ordered(losses, squares)
	about := [2]float64{stat.Mean(losses, nil), stat.Mean(squares, nil)}
	found := studentised(b.Rows, 2, func(counts []int32, out []measured) {
		out[0], out[1] = mean(counts, losses, about[0]), mean(counts, squares, about[1])
	})
	b.LogLoss, b.Brier = found[0].within(0, -math.Log(smallestProbability)), found[1].within(0, 1)
}

// SharedWords explain parts of a row in the groups of lift.
const SharedWords = "parts of a row: rows with equal scores in several tenths are shared evenly"

// Shared reports whether rows with equal scores have parts of a row in the groups of lift.
func (b *Binary) Shared() bool {
	return slices.ContainsFunc(b.Lift, func(g Group) bool { return g.Positives != math.Round(g.Positives) })
}

// lift returns the rows in ten groups of about the same size, the highest scores first.
func (r *ranking) lift() []Group {
	var groups []Group
	at, left := 0, 0 // the run, and how many of its rows are dealt out
	for g := range min(Groups, len(r.order)) {
		n := len(r.order)*(g+1)/min(Groups, len(r.order)) - len(r.order)*g/min(Groups, len(r.order))
		group := Group{Rows: n}
		for n > 0 {
			take := min(n, r.runs[at].rows-left)
			group.Positives += r.runs[at].positives * float64(take) / float64(r.runs[at].rows)
			n, left = n-take, left+take
			if left == r.runs[at].rows {
				at, left = at+1, 0
			}
		}
		group.Share = *Share(min(group.Positives, float64(group.Rows)), float64(group.Rows))
		group.Lift = group.Share.Value / (r.positives / (r.positives + r.negatives))
		groups = append(groups, group)
	}
	return groups
}

// calibration holds probabilities against what came, in ten bins whose edges are quantiles of the probabilities
// (linear between two rows); equal probabilities are in one bin, and bins without rows are left out.
func calibration(labels, probabilities []float64) []Bin {
	sorted := slices.Clone(probabilities)
	slices.Sort(sorted)
	var edges []float64
	for g := 1; g < Groups; g++ {
		at := float64(len(sorted)-1) * float64(g) / Groups
		low := int(at)
		edge := sorted[low]
		if low+1 < len(sorted) {
			edge += (at - float64(low)) * (sorted[low+1] - sorted[low])
		}
		edges = append(edges, edge)
	}
	var bins [Groups]struct{ rows, sum, positives float64 }
	for i, p := range probabilities {
		g, _ := slices.BinarySearch(edges, p) // how many edges are below p
		bins[g].rows++
		bins[g].sum += p
		bins[g].positives += max(0, labels[i])
	}
	var out []Bin
	for _, b := range bins {
		if b.rows > 0 {
			out = append(out, Bin{int(b.rows), b.sum / b.rows, *Share(b.positives, b.rows)})
		}
	}
	return out
}

// histogramBins is how many bins a distribution of scores has.
const histogramBins = 40

// histogramOf counts rows by score; the outermost half percent is in the bins at the ends.
func histogramOf(labels, scores []float64) Histogram {
	sorted := slices.Clone(scores)
	slices.Sort(sorted)
	h := Histogram{
		Low: stat.Quantile(0.005, stat.Empirical, sorted, nil), High: stat.Quantile(0.995, stat.Empirical, sorted, nil),
		Negatives: make([]int, histogramBins), Positives: make([]int, histogramBins),
	}
	if !(h.High > h.Low) {
		h.Low, h.High = h.Low-0.5, h.High+0.5
	}
	for i, s := range scores {
		at := 0
		if share := (s - h.Low) / (h.High - h.Low); share > 0 { // NaN is of scores so large that half of one is nothing
			at = int(min(share*histogramBins, histogramBins-1))
		}
		if labels[i] > 0 {
			h.Positives[at]++
		} else {
			h.Negatives[at]++
		}
	}
	return h
}
