package ofmsft

import (
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/parameters"
)

// maxClip is the largest clip of a job: beyond, fixed-point words keep too few digits.
const maxClip = 1 << 24

// Validate checks a Params with its defaults filled in, for a job among the named parties. Each
// message states the rule and the value received.
func (p Params) Validate(parties []string) error {
	if p.Update == UpdateInPlace {
		return fmt.Errorf("update is %q, which is for one process, want %q or %q", p.Update, UpdateEquation11, UpdateNone)
	}
	if !slices.Contains(parties, p.Server) {
		return fmt.Errorf("server is %q, which is not among the job's parties", p.Server)
	}
	if len(parties) < 2 {
		return fmt.Errorf("server %q has no clients, want at least one other party", p.Server)
	}
	if p.Label == "" {
		return fmt.Errorf("label is missing, want the name of the label's column at the clients")
	}
	for _, name := range p.ownBudgets() {
		if name == p.Server || !slices.Contains(parties, name) {
			return fmt.Errorf("budgets names %q, which is not among the job's clients", name)
		}
	}
	return p.ValidateNumbers()
}

// ValidateNumbers is Validate without the parties and columns, for use in one process.
func (p Params) ValidateNumbers() error {
	if err := checkModels(p.Models); err != nil {
		return err
	}
	if err := p.validateSizes(); err != nil {
		return err
	}
	if err := p.validateReals(); err != nil {
		return err
	}
	if !slices.Contains([]string{UpdateEquation11, UpdateNone, UpdateInPlace}, p.Update) {
		return fmt.Errorf("update is %q, want %q or %q", p.Update, UpdateEquation11, UpdateNone)
	}
	return p.validateBudgets()
}

// validateSizes checks the whole numbers.
func (p Params) validateSizes() error {
	for _, n := range p.sizes() {
		if err := parameters.InRange(n.name, n.value, n.most); err != nil {
			return err
		}
	}
	if n := p.windowRows(); n*p.Inputs > maxWindowNumbers {
		return fmt.Errorf("window is %d and rounds_per_upload %d, which makes %d rows of %d inputs, want at most %d numbers", p.Window, p.RoundsPerUpload, n, p.Inputs, maxWindowNumbers)
	}
	if p.Classes != 0 && (p.Classes < 2 || p.Classes > maxDimensions) {
		return fmt.Errorf("classes is %d, want 2 to %d, or 0 where the networks predict a number", p.Classes, maxDimensions)
	}
	if p.WarmUp < 0 || p.WarmUp > maxRounds {
		return fmt.Errorf("warm_up is %d, want 0 to %d", p.WarmUp, maxRounds)
	}
	return nil
}

// validateReals checks the real numbers.
func (p Params) validateReals() error {
	for _, n := range p.positives() {
		if err := parameters.Positive(n.name, n.value); err != nil {
			return err
		}
	}
	if p.Clip > maxClip {
		return fmt.Errorf("clip is %v, want at most %d", p.Clip, maxClip)
	}
	if !(p.MaxImportance >= 0) || math.IsInf(p.MaxImportance, 0) {
		return fmt.Errorf("max_importance is %v, want a positive number, or 0 for no cap", p.MaxImportance)
	}
	return p.validateLabels()
}

// validateLabels checks the range of labels.
func (p Params) validateLabels() error {
	if !finite(p.LabelLow) {
		return fmt.Errorf("label_low is %v, want a finite number", p.LabelLow)
	}
	if !(p.LabelHigh > p.LabelLow) || math.IsInf(p.LabelHigh-p.LabelLow, 0) {
		return fmt.Errorf("label_high is %v, want a finite number above label_low, which is %v", p.LabelHigh, p.LabelLow)
	}
	return nil
}

// validateBudgets checks that every client has room for any two networks, and the server's bandwidth
// for any client.
func (p Params) validateBudgets() error {
	checked := map[float64]bool{}
	for _, name := range append([]string{""}, p.ownBudgets()...) {
		budget := p.BudgetOf(name)
		if checked[budget] {
			continue
		}
		if len(checked) == maxDifferent {
			return fmt.Errorf("the clients have more than %d different budgets", maxDifferent)
		}
		checked[budget] = true
		if err := p.validateBudget(budget); err != nil {
			if name != "" {
				return fmt.Errorf("client %q: %w", name, err)
			}
			return err
		}
	}
	return nil
}

// validateBudget checks a budget, and the bandwidth that its networks need.
func (p Params) validateBudget(budget float64) error {
	if err := parameters.Positive("budget", budget); err != nil {
		return err
	}
	packings, err := NewPackings(p.Models, budget)
	if err != nil {
		return err
	}
	need := packings.LargestNeed()
	if p.Broadcast {
		need = bandwidths(p.Models)
	}
	if !(need <= p.groupCapacity()) {
		return fmt.Errorf("bandwidth is %v, want at least %v, which the networks of one client with budget %v may need", p.Bandwidth, need, budget)
	}
	return nil
}

// groupCapacity returns what a group's networks may take.
func (p Params) groupCapacity() float64 { return p.Bandwidth * (1 + slack) }

// real is a real parameter with its name.
type real struct {
	name  string
	value float64
}

// positives lists the parameters that must be positive.
func (p Params) positives() []real {
	return []real{{"budget", p.Budget}, {"bandwidth", p.Bandwidth}, {"rate", p.Rate}, {"step", p.Step}, {"clip", p.Clip}, {"input_norm", p.InputNorm}}
}

// size is a whole parameter with its name and limit.
type size struct {
	name        string
	value, most int
}

// sizes lists the whole parameters that must be positive.
func (p Params) sizes() []size {
	return []size{{"inputs", p.Inputs, maxDimensions}, {"rounds", p.Rounds, maxRounds}, {"rounds_per_upload", p.RoundsPerUpload, maxPerUpload}, {"window", p.Window, maxWindow}}
}

// finite reports whether v is neither NaN nor infinite.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
