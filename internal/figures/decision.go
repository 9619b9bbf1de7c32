package figures

import (
	"encoding/json"
	"fmt"
)

// Decision is how the holder of scores and labels reads scores: the threshold above which a row is said to be positive,
// and the probability that a score stands for. It keeps the curve from which another rule chooses another threshold,
// and nothing of single rows but the scores at which the curve was cut.
type Decision struct {
	Of        string  `json:"of"`   // what it was fitted to
	Rows      int     `json:"rows"` // with labels
	Rule      string  `json:"rule"`
	Threshold float64 `json:"threshold"`
	Platt     *Platt  `json:"platt,omitempty"` // nil where there were too few rows of one class
	Cuts      []Cut   `json:"cuts"`
}

// keptCuts is how many points of the curve a decision keeps.
const keptCuts = 1000

// leastOfClass is how many rows of each class a probability needs.
const leastOfClass = 5

// NewDecision fits a decision to scores and labels of -1 and +1, with the threshold of the model itself.
func NewDecision(of string, labels, scores []float64) (*Decision, error) {
	if err := finite(labels, scores); err != nil {
		return nil, err
	}
	d := &Decision{Of: of, Rows: len(labels), Cuts: Thin(Cuts(labels, scores), keptCuts)}
	d.Choose(Rule{Kind: Zero})
	last := d.Cuts[len(d.Cuts)-1]
	if min(last.True, last.False) < leastOfClass {
		return d, nil
	}
	p, err := FitPlatt(labels, scores)
	d.Platt = &p
	return d, err
}

// Choose takes the threshold that a rule chooses.
func (d *Decision) Choose(r Rule) { d.Rule, d.Threshold = r.String(), r.Choose(d.Cuts) }

// Encode returns the decision's bytes.
func (d *Decision) Encode() ([]byte, error) { return json.Marshal(d) }

// DecodeDecision reads what Encode wrote.
func DecodeDecision(data []byte) (*Decision, error) {
	d := new(Decision)
	if err := json.Unmarshal(data, d); err != nil {
		return nil, fmt.Errorf("threshold and probabilities: %w", err)
	}
	if _, err := ParseRule(d.Rule); err != nil {
		return nil, fmt.Errorf("threshold and probabilities: %w", err)
	}
	if len(d.Cuts) == 0 {
		return nil, fmt.Errorf("threshold and probabilities: the curve has no points")
	}
	return d, nil
}
