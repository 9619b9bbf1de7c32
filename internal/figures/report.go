package figures

import (
	"fmt"
	"math"
	"slices"
)

// Rival is how another way to answer does on the same rows.
type Rival struct {
	Name  string    `json:"name"`
	Error *Estimate `json:"error,omitempty"` // of two classes, at the report's threshold
	AUC   *Estimate `json:"auc,omitempty"`
	RMSE  *Estimate `json:"rmse,omitempty"`
	// Gain is how much larger its error (both at the report's threshold) or RMSE is than the model's, on the same rows.
	Gain *Estimate `json:"gain"`
	// AUCGain is how much larger the model's AUC is.
	AUCGain *Estimate `json:"auc_gain,omitempty"`
}

// Report is the figures of some rows: of one of the three kinds.
type Report struct {
	Of         string   `json:"of"`                   // which rows: TrainingRows or ScoredRows
	Unlabelled int      `json:"unlabelled,omitempty"` // rows without a label, which do not count
	Binary     *Binary  `json:"binary,omitempty"`
	Several    *Several `json:"several,omitempty"`
	Numbers    *Numbers `json:"numbers,omitempty"`
	Against    []Rival  `json:"against,omitempty"`
	// Notice is what stands above all else: that it looks as if a column told the outcome.
	Notice string `json:"notice,omitempty"`
	// Warnings say why the figures are not what other rows will show, Words what the rivals say of the model.
	Warnings []string `json:"warnings,omitempty"`
	Words    []string `json:"words,omitempty"`
}

// Sentences are what a reader should be told beside the numbers, but for the notice.
func (r *Report) Sentences() []string { return slices.Concat(r.Warnings, r.Words) }

// What rows figures are of.
const (
	TrainingRows = "training rows"
	ScoredRows   = "scored rows"
)

// Guessing is the name of the rival that gives every row the same answer.
const Guessing = "guessing"

// CompareClasses adds a rival that scores the same rows of two classes. Its scores say a class above the same threshold
// as the model's: a report has one. Scores that are all the same are a guess, which has no threshold, and AUC 0.5.
func (r *Report) CompareClasses(name string, s Scored, scores []float64) error {
	if err := finite(s.Labels, s.Scores, scores); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	n, wrong := float64(len(s.Labels)), 0.0
	var lost, won float64 // rows that one of the two has right
	guess, threshold := true, s.Threshold
	for _, score := range scores {
		guess = guess && score == scores[0]
	}
	if guess {
		threshold = 0
	}
	for i, y := range s.Labels {
		mine, other := (s.Scores[i] > s.Threshold) == (y > 0), (scores[i] > threshold) == (y > 0)
		switch {
		case !other && mine:
			won++
		case other && !mine:
			lost++
		}
		if !other {
			wrong++
		}
	}
	rival := Rival{Name: name, Error: Share(wrong, n), Gain: paired(won, lost, n)}
	if guess {
		rival.AUC, rival.AUCGain = overChance(AUC(s.Labels, s.Scores))
	} else {
		rival.AUC, rival.AUCGain = AUC(s.Labels, scores), AUCDifference(s.Labels, s.Scores, scores)
	}
	r.Against = append(r.Against, rival)
	r.judge(rival)
	return nil
}

// CompareNumbers adds a rival that predicts the same rows' numbers.
func (r *Report) CompareNumbers(name string, labels, predictions, others []float64) error {
	theirs, err := OfNumbers(labels, others)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if err := finite(labels, predictions); err != nil {
		return err
	}
	squares := [2][]float64{make([]float64, len(labels)), make([]float64, len(labels))}
	for i, y := range labels {
		squares[0][i], squares[1][i] = (predictions[i]-y)*(predictions[i]-y), (others[i]-y)*(others[i]-y)
	}
	ordered(squares[0], squares[1])
	gain := studentised(len(labels), 1, func(counts []int32, out []measured) {
		out[0] = rootDifference(counts, squares[1], squares[0])
	})[0]
	rival := Rival{Name: name, RMSE: &theirs.RMSE, Gain: gain}
	r.Against = append(r.Against, rival)
	r.judge(rival)
	return nil
}

// CompareSaid adds a rival that says classes of the same rows of three or more classes.
func (r *Report) CompareSaid(name string, labels, said, others []int) {
	n, wrong := float64(len(labels)), 0.0
	var lost, won float64
	for i, y := range labels {
		switch mine, other := said[i] == y, others[i] == y; {
		case mine && !other:
			won++
		case other && !mine:
			lost++
		}
		if others[i] != y {
			wrong++
		}
	}
	rival := Rival{Name: name, Error: Share(wrong, n), Gain: paired(won, lost, n)}
	r.Against = append(r.Against, rival)
	r.judge(rival)
}

// rootDifference is the difference of the roots of two means of rows drawn so often. Its standard error is the delta
// method's.
func rootDifference(counts []int32, a, b []float64) measured {
	var rows, sumA, sumB, variance float64
	for i, c := range counts {
		w := float64(c)
		rows += w
		sumA += w * a[i]
		sumB += w * b[i]
	}
	rootA, rootB := math.Sqrt(sumA/rows), math.Sqrt(sumB/rows)
	slope := func(x, root float64) float64 {
		if root == 0 {
			return 0
		}
		return (x - root*root) / (2 * root)
	}
	for i, c := range counts {
		d := slope(a[i], rootA) - slope(b[i], rootB)
		variance += float64(c) * d * d
	}
	return measured{rootA - rootB, math.Sqrt(variance / rows / (rows - 1))}
}

// paired is the difference of two shares of the same n rows, of which one answer wins some and loses others, with
// Wald's interval after a row was added to those won, lost (Bonett, Price, Journal of Educational and Behavioral
// Statistics 37, 2012, equation 8): without them, no row won or lost would be certain of no difference.
func paired(won, lost, n float64) *Estimate {
	e := &Estimate{Value: (won - lost) / n}
	won, lost, n = (won+1)/(n+2), (lost+1)/(n+2), n+2
	half := z * math.Sqrt((won+lost-(won-lost)*(won-lost))/n)
	e.Interval = &Interval{min(e.Value, won-lost-half), max(e.Value, won-lost+half)}
	return e.within(-1, 1)
}

// judge adds a sentence where a rival does better than the model, or where the rows do not show that it does worse: by
// the AUC where the error says little.
func (r *Report) judge(rival Rival) {
	measure, theirs, gain, at := "error", rival.Error, rival.Gain, ""
	rarer, rare := r.Rarer()
	switch {
	case rival.RMSE != nil:
		measure, theirs = "RMSE", rival.RMSE
	case rare:
		measure, theirs, gain = "AUC", rival.AUC, rival.AUCGain
	case r.Binary != nil:
		at = " at score " + Number(r.Binary.Threshold)
	}
	mine := theirs.Value - gain.Value
	if rare {
		mine = theirs.Value + gain.Value
	}
	name, doubt := shortened(rival.Name, 60), ""
	switch {
	case gain.Interval == nil || gain.Interval.Contains(0):
		doubt = fmt.Sprintf("these rows do not show that the model is better than %s: %s %.4g against %.4g%s, "+
			"difference %s", name, measure, mine, theirs.Value, at, gain.Text())
	case gain.Value < 0:
		doubt = fmt.Sprintf("%s does better than the model: %s %.4g against the model's %.4g%s", name, measure,
			theirs.Value, mine, at)
	}
	if doubt != "" {
		r.Words = append(r.Words, doubt)
	}
	if rival.Name != Guessing || r.Binary == nil || r.Binary.AUC == nil {
		return
	}
	switch b := r.Binary; {
	case rare && rival.Gain.Interval[0] <= 0:
		r.Words = append(r.Words, fmt.Sprintf("an error of %.4g, against %.4g by guessing, says little where %d of %d rows "+
			"are of the rarer class: look at the AUC, and at other thresholds", b.Error.Value, rival.Error.Value, rarer,
			b.Rows))
	case !rare && doubt != "" && b.AUC.Interval != nil && b.AUC.Interval[0] > 0.5:
		r.Words = append(r.Words, fmt.Sprintf("it ranks rows better than chance all the same (AUC %.4g): where classes "+
			"are of very different sizes another threshold says more", b.AUC.Value))
	}
}

// rareTime is one row in how many the rarer of two classes is fewer than where the error says little.
const rareTime = 10

// Rarer counts the rows of the rarer of two classes, 0 of any other target; rare: they are so few that guessing the
// other is right nearly always, and the error says little.
func (r *Report) Rarer() (rows int, rare bool) {
	b := r.Binary
	if b == nil {
		return 0, false
	}
	rows = min(b.Positives, b.Rows-b.Positives)
	return rows, b.AUC != nil && rareTime*rows < b.Rows
}
