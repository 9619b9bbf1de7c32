package fdskl

import (
	"context"
	"fmt"
	"math"
	"unicode"

	"github.com/fxamacker/cbor/v2"
)

// targetLimit is the most bytes in which the leader describes the target.
const targetLimit = 1024

// target maps labels to what the solver sees. Classes are -1 and +1; the numbers of a regression
// are standardised by the mean and deviation of the leader's labels, which all parties use: two
// that standardised by their own would learn different functions.
type target struct {
	description
	values []float64 // at an active party; NaN where it has no label
}

// description is what the leader tells all parties of the target, so that each can write the
// model's scores as labels or in the target's own units.
type description struct {
	Mean    float64   `cbor:"1,keyasint"` // 0 for classes
	Scale   float64   `cbor:"2,keyasint"` // 1 for classes
	Classes [2]string `cbor:"3,keyasint"` // names of -1 and +1; empty for a regression
}

// agreeOnTarget learns the leader's description of the target and prepares this party's labels.
// Active parties whose classes are others than the leader's are refused.
func (t *trainer) agreeOnTarget(ctx context.Context) error {
	var data []byte
	if t.Self == t.leader() {
		var err error
		if data, err = describe(t.Params.Target, t.Labels).encode(); err != nil {
			return err
		}
	}
	data, err := t.Network.Broadcast(ctx, "target", t.leader(), data, targetLimit)
	if err != nil {
		return err
	}
	if t.target.description, err = decodeDescription(data, t.Params.Target); err != nil {
		return fmt.Errorf("%s's description of the target: %w", t.Names[t.leader()], err)
	}
	if t.Self != t.leader() {
		t.opened(t.Params.targetKind(), 2)
	}
	if t.rank < 0 {
		return nil
	}
	if t.Labels.Classes != t.target.Classes {
		return fmt.Errorf("the classes of label %q are %q and %q at %s, but %q and %q at %s",
			t.Params.Label, t.Labels.Classes[0], t.Labels.Classes[1], t.Names[t.Self], t.target.Classes[0], t.target.Classes[1], t.Names[t.leader()])
	}
	t.target.values = t.target.standardised(t.Labels.Values)
	return nil
}

// describe takes the classes, or for a regression mean and deviation, from labels.
func describe(kind string, l *Labels) description {
	if kind != Regression {
		return description{Scale: 1, Classes: l.Classes}
	}
	var n, sum, squares float64
	for _, y := range l.Values {
		if !math.IsNaN(y) {
			n++
			sum += y
		}
	}
	d := description{Mean: sum / n, Scale: 1}
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

// encode returns the description's bytes.
func (d description) encode() ([]byte, error) {
	data, err := cbor.Marshal(d)
	if err != nil {
		return nil, err
	}
	if len(data) > targetLimit {
		return nil, fmt.Errorf("the names of the classes take %d bytes together, at most about %d fit: shorten the label's values", len(d.Classes[0])+len(d.Classes[1]), targetLimit-32)
	}
	return data, nil
}

// decodeDescription reads another party's description of a target.
func decodeDescription(data []byte, kind string) (description, error) {
	var d description
	if err := cbor.Unmarshal(data, &d); err != nil {
		return description{}, err
	}
	return d, d.validate(kind)
}

// validate checks a description that came from another party or a disk.
func (d description) validate(kind string) error {
	switch {
	case !finite(d.Mean):
		return fmt.Errorf("mean is %v, want a finite number", d.Mean)
	case !finite(d.Scale) || !(d.Scale > 0):
		return fmt.Errorf("scale is %v, want a positive number", d.Scale)
	case kind != Regression && (d.Mean != 0 || d.Scale != 1):
		return fmt.Errorf("mean %v and scale %v of classes, want 0 and 1", d.Mean, d.Scale)
	case kind == Regression && d.Classes != [2]string{}:
		return fmt.Errorf("classes %q and %q of a regression target, want none", d.Classes[0], d.Classes[1])
	}
	for _, name := range d.Classes {
		for _, r := range name {
			if unicode.IsControl(r) {
				return fmt.Errorf("the class %q holds a control character", name)
			}
		}
	}
	return nil
}

// finite reports whether x is neither NaN nor infinite.
func finite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// targetKind names what every party learns of the target.
func (p Params) targetKind() string {
	if p.Target == Regression {
		return "target moments"
	}
	return "class names"
}
