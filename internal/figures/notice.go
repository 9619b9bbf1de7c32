package figures

import (
	"fmt"
	"strings"

	"gonum.org/v1/gonum/stat"
)

// What is told apart too well to be foretold. Of ten rows of each of two classes one order in 184,756 is the perfect
// one: chance does not come to it.
const (
	noticedArea  = 0.999
	noticedError = 0.001 // of three or more classes
	noticedR2    = 0.999
	noticedRows  = 10 // of each class
)

// ByHeart is how many rows a feature is to have, so that a model cannot have learned the rows instead of what they are
// of: from twice as many on next to no labels drawn at random are told apart (Cover, IEEE Transactions on Electronic
// Computers 14, 1965).
const ByHeart = 4

// Fit says how many of the rows a model was fitted to, and of how many features it is.
type Fit struct {
	Rows     int // of those that the figures are of
	Features int
}

// Look writes the notice where the rows are told apart so well that it looks as if a column told the outcome. It knows
// nothing of columns: labels that can be foretold without fault look the same.
func (r *Report) Look(f Fit) {
	found := ""
	switch {
	case r.Binary != nil:
		if b := r.Binary; perfect(b.AUC, b.Positives, b.Rows) {
			found = fmt.Sprintf("error %.4g and AUC %.4g", b.Error.Value, b.AUC.Value)
		}
	case r.Several != nil:
		if r.Several.perfect() {
			found = fmt.Sprintf("error %.4g", r.Several.Error.Value)
		}
	case r.Numbers != nil:
		if n := r.Numbers; n.R2 != nil && n.R2.Value >= noticedR2 && n.Rows >= 2*noticedRows {
			found = fmt.Sprintf("R2 %.5g", n.R2.Value)
		}
	}
	if found == "" {
		return
	}
	r.Notice = fmt.Sprintf("%s on %d rows: %s", found, r.Rows(), AsIfTheLabel)
	for _, rival := range r.Against {
		owner, alone := strings.CutSuffix(rival.Name, Alone)
		if alone && r.Binary != nil && perfect(rival.AUC, r.Binary.Positives, r.Binary.Rows) {
			r.Notice += fmt.Sprintf("; %s alone does as well: begin with its own columns", shortened(owner, nameWidth))
			break
		}
	}
	if f.Rows > 0 && r.Rows() < ByHeart*f.Features {
		r.Notice += fmt.Sprintf("; or the model, of %d features, has learned these rows by heart: score others",
			f.Features)
	}
}

// AsIfTheLabel is what rows that are told apart without fault look like.
const AsIfTheLabel = "as if a column were the label itself, or known only after the label; ask each owner for " +
	"columns that say the outcome"

// Alone ends the names of rivals that know one party's columns.
const Alone = " alone"

// Perfect says how well scores tell labels where they do it almost without fault, and are enough to say so; "" where
// they do not. Labels are -1 and +1, of several classes their places, or numbers; scores are row-major.
func Perfect(labels, scores []float64, each int, numbers bool) string {
	switch {
	case numbers:
		mean, errors, spread := stat.Mean(labels, nil), 0.0, 0.0
		for i, y := range labels {
			errors += (scores[i] - y) * (scores[i] - y)
			spread += (y - mean) * (y - mean)
		}
		if r2 := 1 - errors/spread; r2 >= noticedR2 && len(labels) >= 2*noticedRows {
			return fmt.Sprintf("R2 %.5g", r2)
		}
	case each > 1:
		places := make([]int, len(labels))
		for i, y := range labels {
			places[i] = int(y)
		}
		s, err := OfSaid(make([]string, each), places, Said(scores, each))
		if err == nil && s.perfect() {
			return fmt.Sprintf("error %.4g", s.Error.Value)
		}
	default:
		r := rank(labels, scores)
		if area := r.auc(); perfect(area, int(r.positives), len(labels)) {
			return fmt.Sprintf("AUC %.4g", area.Value)
		}
	}
	return ""
}

// perfect reports whether rows of two classes are told apart almost without fault, and are enough to say so.
func perfect(area *Estimate, positives, rows int) bool {
	return area != nil && area.Value >= noticedArea && min(positives, rows-positives) >= noticedRows
}

// perfect reports whether rows of several classes are told apart almost without fault, and are enough to say so.
func (s *Several) perfect() bool {
	enough := 0
	for _, c := range s.Classes {
		if c.Rows >= noticedRows {
			enough++
		}
	}
	return enough > 1 && s.Error.Value <= noticedError
}
