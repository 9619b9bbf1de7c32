package fdskl

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// mostClassName is the longest name of a class that a job says, in bytes.
const mostClassName = 256

// ClassName is a class of a label as a job writes it: a text, or a number without quotes.
type ClassName string

// UnmarshalTOML reads a text, a number or a truth value.
func (c *ClassName) UnmarshalTOML(value any) error {
	switch v := value.(type) {
	case string:
		*c = ClassName(v)
	case int64:
		*c = ClassName(strconv.FormatInt(v, 10))
	case float64:
		*c = ClassName(strconv.FormatFloat(v, 'g', -1, 64))
	case bool:
		*c = ClassName(strconv.FormatBool(v))
	default:
		return fmt.Errorf("positive is of type %T, want a class of the label, as its column has it", v)
	}
	return nil
}

// Is reports whether the class is what a label calls so: the same text, or the same number however written.
func (c ClassName) Is(name string) bool {
	if string(c) == name {
		return true
	}
	a, errA := strconv.ParseFloat(string(c), 64)
	b, errB := strconv.ParseFloat(name, 64)
	return errA == nil && errB == nil && a == b && parameters.IsFinite(a)
}

// In returns the class's place among those of a label, -1 where it is none of them.
func (c ClassName) In(classes []string) int {
	if at := slices.Index(classes, string(c)); at >= 0 {
		return at
	}
	return slices.IndexFunc(classes, c.Is)
}

// validatePositive refuses a class that cannot be the event of the job.
func (p Params) validatePositive() error {
	switch {
	case p.Positive == "":
		return nil
	case p.Target == Regression:
		return fmt.Errorf("positive is %.60q and target %q: numbers have no event; leave one of the two out", p.Positive,
			Regression)
	case p.Classes > 2:
		return fmt.Errorf("positive is %.60q with %d classes: it says which of two is the event; leave it out", p.Positive,
			p.Classes)
	case len(p.Positive) > mostClassName || strings.ContainsFunc(string(p.Positive), unicode.IsControl):
		return fmt.Errorf("positive is %.60q, want at most %d bytes without control characters", p.Positive, mostClassName)
	}
	return nil
}

// ChoosesEvent reports whether the label holder says for itself which of two classes it reads scores as: not where the
// job says it, and not where there is nobody who could say it without telling others, of several label holders and of
// points that open to other parties, which are to add up to one card.
func (p Params) ChoosesEvent() bool {
	if p.ClassCount() != 2 || p.Positive != "" || len(p.Active) != 1 {
		return false
	}
	for _, to := range []string{p.Points, p.ZScores} {
		if to != "" && to != p.Active[0] {
			return false
		}
	}
	return true
}

// Sides returns the two classes as this party reads scores: the larger a score the likelier the second, the event.
func (m *Model) Sides() [2]string {
	if m.Turned {
		return [2]string{m.Classes[1], m.Classes[0]}
	}
	return [2]string(m.Classes)
}

// Event returns the class of two that this party reads scores as, empty where there are not two.
func (m *Model) Event() string {
	if m.Params.ClassCount() != 2 {
		return ""
	}
	return m.Sides()[1]
}

// Turn makes scores or labels of the model what this party reads, and the other way round, in place.
func (m *Model) Turn(values []float64) {
	if !m.Turned {
		return
	}
	for i := range values {
		values[i] = 0 - values[i] // so that 0 stays 0
	}
}

// validateTurned refuses a part that reads scores the other way round where the job says how, or there are not two
// classes.
func (m *Model) validateTurned() error {
	if m.Turned && !m.Params.ChoosesEvent() {
		return fmt.Errorf("scores are read the other way round, and the job leaves no choice of the event")
	}
	return nil
}
