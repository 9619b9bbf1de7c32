package parameters

import (
	"fmt"
	"maps"
	"math"
	"slices"
)

// IsFinite reports whether a number is neither NaN nor infinite: what came from others or from a disk must be.
func IsFinite(x float64) bool { return !math.IsNaN(x) && !math.IsInf(x, 0) }

// AreFinite reports whether all numbers are finite.
func AreFinite(v []float64) bool {
	for _, x := range v {
		if !IsFinite(x) {
			return false
		}
	}
	return true
}

// Rule is what a parameter must be, and whether it is.
type Rule struct {
	name   string
	broken error
}

// Whole is InRange as a rule.
func Whole(name string, value, most int) Rule { return Rule{name, InRange(name, value, most)} }

// Between is a rule for a whole number of at least one number and at most another.
func Between(name string, value, least, most int) Rule {
	if value >= least && value <= most {
		return Rule{name: name}
	}
	return Rule{name, fmt.Errorf("%s is %d, want %d to %d", name, value, least, most)}
}

// Real is Positive as a rule.
func Real(name string, value float64) Rule { return Rule{name, Positive(name, value)} }

// Check returns the error of the first rule that is broken, among those whose parameters are written; nil:
// among all.
func Check(rules []Rule, written func(key ...string) bool) error {
	for _, r := range rules {
		if r.broken != nil && (written == nil || written(r.name)) {
			return r.broken
		}
	}
	return nil
}

// InRange refuses a number that is not in [1, most].
func InRange(name string, value, most int) error {
	if value < 1 || value > most {
		return fmt.Errorf("%s is %d, want 1 to %d", name, value, most)
	}
	return nil
}

// Positive refuses a number that is not positive and finite.
func Positive(name string, value float64) error {
	if !(value > 0) || math.IsInf(value, 0) {
		return fmt.Errorf("%s is %v, want a positive number", name, value)
	}
	return nil
}

// maxStep is the largest step of weights in log space: a larger one decides at the first loss.
const maxStep = 1e6

// Step refuses a step of weights in log space that is not positive, or so large that sums of losses overflow.
func Step(name string, value float64) error {
	if !(value > 0 && value <= maxStep) {
		return fmt.Errorf("%s is %v, want a positive number of at most %g", name, value, float64(maxStep))
	}
	return nil
}

// Roles refuses a job of a server and clients that has not both, or no name of the label's column.
func Roles(server, label string, parties []string) error {
	if !slices.Contains(parties, server) {
		return fmt.Errorf("server is %q, which is not among the job's parties", server)
	}
	if len(parties) < 2 {
		return fmt.Errorf("server %q has no clients, want at least one other party", server)
	}
	if label == "" {
		return fmt.Errorf("label is missing, want the name of the label's column at the clients")
	}
	return nil
}

// EachOf checks the values that some clients have instead of all clients' common one, by name. The error is of the
// first name, in their order, whose value breaks the rule.
func EachOf(key string, values map[string]float64, rule func(name string, value float64) error) error {
	for _, client := range slices.Sorted(maps.Keys(values)) {
		if err := rule(fmt.Sprintf("%s of %q", key, client), values[client]); err != nil {
			return err
		}
	}
	return nil
}

// OfClients refuses values by name that name somebody else than the job's clients: its parties without the
// servers.
func OfClients(key string, values map[string]float64, parties []string, servers ...string) error {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if slices.Contains(servers, name) || !slices.Contains(parties, name) {
			return fmt.Errorf("%s names %q, which is not among the job's clients", key, name)
		}
	}
	return nil
}

// ValueOf returns a client's own value, or the one that all others have.
func ValueOf(client string, own map[string]float64, others float64) float64 {
	if v, ok := own[client]; ok {
		return v
	}
	return others
}

// LabelRange refuses a range of labels, label_low to label_high, that is empty or not finite.
func LabelRange(low, high float64) error {
	if !IsFinite(low) {
		return fmt.Errorf("label_low is %v, want a finite number", low)
	}
	if !(high > low) || math.IsInf(high-low, 0) {
		return fmt.Errorf("label_high is %v, want a finite number above label_low, which is %v", high, low)
	}
	return nil
}

// LabelRangeWritten is LabelRange for a range of which a part is written: a low of 0 alone is the default.
func LabelRangeWritten(low, high float64, written func(key ...string) bool) error {
	if written("label_high") || written("label_low") && low != 0 {
		return LabelRange(low, high)
	}
	return nil
}
