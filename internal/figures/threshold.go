package figures

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Cut is a threshold with what it would do: a row with a score above it is said to be positive.
type Cut struct {
	Threshold float64 `json:"threshold"`
	Lowest    float64 `json:"lowest"` // the lowest score above it; where nobody is above, the highest of all
	True      float64 `json:"true"`   // positives above it
	False     float64 `json:"false"`  // negatives above it
}

// Cuts lists all thresholds that differ in what they do, the highest first: half-way between two scores, and so that
// nobody or everybody is above. Labels are -1 and +1.
func Cuts(labels, scores []float64) []Cut { return rank(labels, scores).cuts() }

// cuts is Cuts of rows that are ranked.
func (r *ranking) cuts() []Cut {
	cuts := append(make([]Cut, 0, 1+len(r.runs)), Cut{Threshold: r.runs[0].score, Lowest: r.runs[0].score})
	var yes, no float64
	for i, run := range r.runs {
		yes, no = yes+run.positives, no+run.negatives
		at := math.Nextafter(run.score, math.Inf(-1))
		if i+1 < len(r.runs) {
			next := r.runs[i+1].score
			if at = next + (run.score-next)/2; !(at < run.score) {
				at = next
			}
		}
		cuts = append(cuts, Cut{at, run.score, yes, no})
	}
	return cuts
}

// Thin keeps about so many of some cuts: evenly by how many rows are above, the first and the last, Youden's, and
// the one that does what a threshold of zero does.
func Thin(cuts []Cut, most int) []Cut {
	if len(cuts) <= most {
		return cuts
	}
	all := cuts[len(cuts)-1].True + cuts[len(cuts)-1].False
	youden, zero := Rule{Kind: Youden}.choose(cuts), doing(cuts, 0)
	var kept []Cut
	next := 0.0
	for i, c := range cuts {
		if above := c.True + c.False; above < next && i != youden && i != zero && i+1 < len(cuts) {
			continue
		} else if above >= next {
			next = above + all/float64(most)
		}
		kept = append(kept, c)
	}
	return kept
}

// doing returns where the cut stands that does what a threshold does: the last whose scores are all above it.
func doing(cuts []Cut, threshold float64) int {
	at := 0
	for i, c := range cuts[1:] {
		if c.Lowest > threshold {
			at = i + 1
		}
	}
	return at
}

// The kinds of rules by which a threshold is chosen.
const (
	Zero   = "zero"   // the model's own decision: score above 0
	Youden = "youden" // the largest distance of recall and false alarms (Youden, Cancer 3, 1950)
	Rate   = "rate"   // at most this share of the rows is said to be positive
	Cost   = "cost"   // the least cost, where a missed positive costs so many false alarms
	Given  = "at"     // this very score
)

// Rule says how a threshold is chosen; Amount is the rate, the cost ratio or the score.
type Rule struct {
	Kind   string
	Amount float64
}

// ParseRule reads "zero", "youden", "rate=0.1", "cost=5" or "at=-0.3".
func ParseRule(text string) (Rule, error) {
	kind, amount, has := strings.Cut(text, "=")
	r := Rule{Kind: kind}
	var err error
	if has {
		r.Amount, err = strconv.ParseFloat(amount, 64)
	}
	ok := err == nil && !math.IsNaN(r.Amount) && !math.IsInf(r.Amount, 0)
	switch kind {
	case Zero, Youden:
		ok = ok && !has
	case Rate:
		ok = ok && has && r.Amount > 0 && r.Amount < 1
	case Cost:
		ok = ok && has && r.Amount > 0
	case Given:
		ok = ok && has
	default:
		ok = false
	}
	if !ok {
		return Rule{}, fmt.Errorf("unknown rule %q for a threshold: want zero, youden, rate=SHARE (of the rows, between 0 "+
			"and 1), cost=RATIO (what a missed positive costs in false alarms) or at=SCORE", text)
	}
	return r, nil
}

// String writes the rule as ParseRule reads it.
func (r Rule) String() string {
	if r.Kind == Zero || r.Kind == Youden {
		return r.Kind
	}
	return r.Kind + "=" + strconv.FormatFloat(r.Amount, 'g', -1, 64)
}

// Chosen reports whether rows choose the threshold, so that these rows flatter it.
func (r Rule) Chosen() bool { return r.Kind != Zero && r.Kind != Given }

// Sentence says for people what the rule does.
func (r Rule) Sentence() string {
	amount := strconv.FormatFloat(r.Amount, 'g', -1, 64)
	switch r.Kind {
	case Youden:
		return "recall less false alarms is largest (Youden)"
	case Rate:
		return fmt.Sprintf("at most %s %% of the rows are above it", strconv.FormatFloat(100*r.Amount, 'g', 6, 64))
	case Cost:
		return "the cost is least, where a missed one costs " + amount + " false alarms"
	case Given:
		return "given by hand"
	}
	return "the model's own decision"
}

// Choose returns the threshold that a rule chooses among cuts; of equally good ones the highest, which is above most
// rows.
func (r Rule) Choose(cuts []Cut) float64 {
	switch r.Kind {
	case Zero:
		return 0
	case Given:
		return r.Amount
	}
	return cuts[r.choose(cuts)].Threshold
}

// choose is where the cut stands that a rule chooses.
func (r Rule) choose(cuts []Cut) int {
	last := cuts[len(cuts)-1]
	value := func(c Cut) float64 {
		switch r.Kind {
		case Rate:
			if c.True+c.False > r.Amount*(last.True+last.False) {
				return math.Inf(-1)
			}
			return c.True + c.False
		case Cost:
			return -c.False - r.Amount*(last.True-c.True)
		}
		return c.True/max(last.True, 1) - c.False/max(last.False, 1)
	}
	best := 0
	for i, c := range cuts {
		if value(c) > value(cuts[best]) {
			best = i
		}
	}
	return best
}
