package joint

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// The targets.
const (
	Classification = "classification"
	Regression     = "regression"
)

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

// UnmarshalTOML reads a text, a number or a truth value.
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

// Labels is what an active party knows of the target.
type Labels struct {
	// Values are, per row, -1 or +1 of two classes, of three or more the class's place in Classes, or a real number; NaN
	// where the party has no label.
	Values  []float64
	Classes []string // names of the classes, of two those of -1 and +1; none for a regression
}
