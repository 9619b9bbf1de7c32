package fdskl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// targetLimit is the most bytes in which the leader describes the target.
func (p Params) targetLimit() int { return 512 * max(2, p.ClassCount()) }

// target maps labels to what the solver sees. Two classes are -1 and +1; of three or more one is +1 and
// all others are -1, one class after the other. The numbers of a regression are standardised by the mean
// and deviation of the leader's labels, which all parties use: two that standardised by their own would
// learn different functions.
type target struct {
	description
	values []float64 // at an active party; NaN where it has no label
	places []float64 // of three or more classes: each row's place among them
}

// against has the solver tell the k-th of three or more classes from all others. Two classes and a
// regression stay what they are.
func (t *target) against(k int) {
	for j := range t.places {
		t.values[j] = t.of(j, k)
	}
}

// of returns the label of row j as the solver of the k-th function sees it.
func (t *target) of(j, k int) float64 {
	switch {
	case t.places == nil:
		return t.values[j]
	case t.places[j] == float64(k):
		return 1
	}
	return -1
}

// description is what the leader tells all parties of the target, so that each can write the
// model's scores as labels or in the target's own units.
type description struct {
	Mean    float64  `cbor:"1,keyasint"` // 0 for classes
	Scale   float64  `cbor:"2,keyasint"` // 1 for classes
	Classes []string `cbor:"3,keyasint"` // their names, of two those of -1 and +1; two empty ones for a regression
}

// agreeOnTarget learns the leader's description of the target and prepares this party's labels.
// Active parties whose classes are others than the leader's are refused.
func (t *trainer) agreeOnTarget(ctx context.Context) error {
	var data []byte
	if t.Self == t.leader() {
		var err error
		if data, err = describe(t.Params.Target, t.Labels).encode(t.Params.targetLimit()); err != nil {
			return err
		}
	}
	data, err := t.Network.Broadcast(ctx, KindTarget, t.leader(), data, t.Params.targetLimit())
	if err != nil {
		return err
	}
	if t.target.description, err = decodeDescription(data, t.Params); err != nil {
		return fmt.Errorf("%s's description of the target: %w", t.Names[t.leader()], err)
	}
	if t.Self != t.leader() {
		t.opened(t.Params.targetKind(), t.Params.targetCount())
	}
	if t.rank < 0 {
		return nil
	}
	if t.Params.Target != joint.Regression && !slices.Equal(t.Labels.Classes, t.target.Classes) {
		return fmt.Errorf("the classes of label %q are %q at %s, but %q at %s", t.Params.Label, t.Labels.Classes,
			t.Names[t.Self], t.target.Classes, t.Names[t.leader()])
	}
	t.target.values = t.Labels.Values // two classes are what the solver sees
	if t.Params.Target == joint.Regression || t.Params.Scores() > 1 {
		t.target.values = t.target.standardised(t.Labels.Values)
	}
	if t.Params.Scores() > 1 {
		t.target.places = t.Labels.Values
	}
	return nil
}

// describe takes the classes, or for a regression mean and deviation, from labels.
func describe(kind string, l *joint.Labels) description {
	if kind != joint.Regression {
		return description{Scale: 1, Classes: l.Classes}
	}
	var n, sum, squares float64
	for _, y := range l.Values {
		if !math.IsNaN(y) {
			n++
			sum += y
		}
	}
	d := description{Mean: sum / n, Scale: 1, Classes: make([]string, 2)}
	for _, y := range l.Values {
		if !math.IsNaN(y) {
			squares += (y - d.Mean) * (y - d.Mean)
		}
	}
	if squares > 0 {
		d.Scale = math.Sqrt(squares / n)
	}
	return d
}

// standardised returns labels as the solver sees them.
func (d description) standardised(labels []float64) []float64 {
	values := make([]float64, len(labels))
	for i, y := range labels {
		values[i] = (y - d.Mean) / d.Scale
	}
	return values
}

// encode returns the description's bytes, at most so many.
func (d description) encode(limit int) ([]byte, error) {
	data, err := cbor.Marshal(d)
	if err != nil {
		return nil, err
	}
	if len(data) > limit {
		return nil, fmt.Errorf("the names of the classes take %d bytes together, at most about %d fit: shorten the "+
			"label's values", len(strings.Join(d.Classes, "")), limit-32-2*len(d.Classes))
	}
	return data, nil
}

// decodeDescription reads another party's description of a target.
func decodeDescription(data []byte, p Params) (description, error) {
	var d description
	if err := cbor.Unmarshal(data, &d); err != nil {
		return description{}, err
	}
	return d, d.validate(p)
}

// validate checks a description that came from another party or a disk.
func (d description) validate(p Params) error {
	classes := p.ClassCount()
	switch {
	case !parameters.IsFinite(d.Mean):
		return fmt.Errorf("mean is %v, want a finite number", d.Mean)
	case !parameters.IsFinite(d.Scale) || !(d.Scale > 0):
		return fmt.Errorf("scale is %v, want a positive number", d.Scale)
	case classes > 0 && (d.Mean != 0 || d.Scale != 1):
		return fmt.Errorf("mean %v and scale %v of classes, want 0 and 1", d.Mean, d.Scale)
	case classes > 0 && len(d.Classes) != classes:
		return fmt.Errorf("names of %d classes, want %d", len(d.Classes), classes)
	case classes == 2 && p.Positive != "" && !p.Positive.Is(d.Classes[1]):
		return fmt.Errorf("the second class is %.60q, and the job says that the event is %.60q", d.Classes[1], p.Positive)
	case classes == 0 && !slices.Equal(d.Classes, make([]string, 2)):
		return fmt.Errorf("classes %q of a regression target, want none", d.Classes)
	}
	for i, name := range d.Classes {
		if classes > 0 && slices.Contains(d.Classes[:i], name) {
			return fmt.Errorf("two classes are called %q", name)
		}
		for _, r := range name {
			if unicode.IsControl(r) {
				return fmt.Errorf("the class %q holds a control character", name)
			}
		}
	}
	return nil
}

// targetCount is how many values every party learns of the target.
func (p Params) targetCount() int { return max(2, p.ClassCount()) }

// targetKind names what every party learns of the target.
func (p Params) targetKind() string {
	if p.Target == joint.Regression {
		return "target moments"
	}
	return "class names"
}
