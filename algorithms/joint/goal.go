package joint

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/kernel"
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

// Goal is what a training learns.
type Goal struct {
	Active   []string  // the parties that hold labels, one at least, in the order in which they lead
	Label    string    // the label's column at these
	Target   string    // Classification or Regression
	Classes  int       // how many classes the target has; 0: two, or none of a regression
	Positive ClassName // which of two classes is the event; empty: the job does not say it
	// Chooses is that the label holder says for itself which of two classes it reads scores as.
	Chooses bool
	// Keeper and Helper hold shares beside the label holder; empty: nobody holds any.
	Keeper, Helper string
	Scales         kernel.FitOptions // how columns become numbers, at the proposer; see At
}

// At is the goal at a party: the job's own edges are for the proposer alone. How many bins a party has is told before
// it consents, so that edges of its columns in another's job would ask how large its cells are, as often as the other
// likes.
func (g Goal) At(proposes bool) Goal {
	if !proposes {
		g.Scales.Edges = nil
	}
	return g
}

// Binned reports whether columns become bins.
func (g *Goal) Binned() bool { return g.Scales.Numeric == kernel.Binned }

// Scores returns how many scores a row has: one for each of three or more classes, else one.
func (g *Goal) Scores() int { return max(1, g.Classes) }

// ClassCount returns how many classes the target has, 0 for a regression.
func (g *Goal) ClassCount() int {
	if g.Target == Regression {
		return 0
	}
	return max(2, g.Classes)
}

// Kind says in words what the label is taken for.
func (g *Goal) Kind() string {
	if g.Target == Regression {
		return "numbers"
	}
	return fmt.Sprintf("%d classes", g.ClassCount())
}
