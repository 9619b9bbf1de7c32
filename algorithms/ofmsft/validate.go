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
	if err := parameters.Roles(p.Server, p.Label, parties); err != nil {
		return err
	}
	if err := parameters.OfClients("budgets", p.Budgets, parties, p.Server); err != nil {
		return err
	}
	if err := parameters.OfClients("rates", p.Rates, parties, p.Server); err != nil {
		return err
	}
	return p.ValidateNumbers()
}

// ValidateNumbers is Validate without the parties and columns, for use in one process.
func (p Params) ValidateNumbers() error {
	// Checks a job's networks, their defaults filled in.
	if n := len(p.Models); n < 1 || n > maxModels {
		return fmt.Errorf("there are %d models, want 1 to %d", n, maxModels)
	}
	names, total := map[string]bool{}, 0
	for k, m := range p.Models {
		if m.Name == "" || len(m.Name) > maxName {
			return fmt.Errorf("model %d has a name of %d bytes, want 1 to %d", k+1, len(m.Name), maxName)
		}
		if names[m.Name] {
			return fmt.Errorf("model %q occurs twice", m.Name)
		}
		names[m.Name] = true
		if err := m.check(); err != nil {
			return err
		}
		total += m.Size
	}
	if total > maxAllSizes {
		return fmt.Errorf("the models have %d parameters together, want at most %d", total, maxAllSizes)
	}
	if err := parameters.Check(p.sizes(), nil); err != nil {
		return err
	}
	if n := p.windowRows(); n*p.Inputs > maxWindowNumbers {
		return fmt.Errorf("window is %d and rounds_per_upload %d, which makes %d rows of %d inputs, want at most %d numbers",
			p.Window, p.RoundsPerUpload, n, p.Inputs, maxWindowNumbers)
	}
	if p.Classes != 0 && (p.Classes < 2 || p.Classes > maxDimensions) {
		return fmt.Errorf("classes is %d, want 2 to %d, or 0 where the networks predict a number", p.Classes, maxDimensions)
	}
	if p.WarmUp < 0 || p.WarmUp > maxRounds {
		return fmt.Errorf("warm_up is %d, want 0 to %d", p.WarmUp, maxRounds)
	}
	if err := parameters.Check(p.positives(), nil); err != nil {
		return err
	}
	if err := parameters.EachOf("rates", p.Rates, parameters.Step); err != nil {
		return err
	}
	if err := parameters.Step("rate", p.Rate); err != nil {
		return err
	}
	if p.Clip > maxClip {
		return fmt.Errorf("clip is %v, want at most %d", p.Clip, maxClip)
	}
	if !(p.MaxImportance >= 0) || math.IsInf(p.MaxImportance, 0) {
		return fmt.Errorf("max_importance is %v, want a positive number, or 0 for no cap", p.MaxImportance)
	}
	if err := parameters.LabelRange(p.LabelLow, p.LabelHigh); err != nil {
		return err
	}
	if !slices.Contains([]string{UpdateEquation11, UpdateNone, UpdateInPlace}, p.Update) {
		return fmt.Errorf("update is %q, want %q or %q", p.Update, UpdateEquation11, UpdateNone)
	}

	// Checks that every client has room for any two networks, and the server's bandwidth
	// for any client.
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
		return fmt.Errorf("bandwidth is %v, want at least %v, which the networks of one client with budget %v may need",
			p.Bandwidth, need, budget)
	}
	return nil
}

// groupCapacity returns what a group's networks may take.
func (p Params) groupCapacity() float64 { return p.Bandwidth * (1 + tolerance) }

// positives lists the parameters that must be positive.
func (p Params) positives() []parameters.Rule {
	return []parameters.Rule{
		parameters.Real("budget", p.Budget),
		parameters.Real("bandwidth", p.Bandwidth),
		parameters.Real("rate", p.Rate),
		parameters.Real("step", p.Step),
		parameters.Real("clip", p.Clip),
		parameters.Real("input_norm", p.InputNorm),
	}
}

// sizes lists the whole parameters that must be positive.
func (p Params) sizes() []parameters.Rule {
	return []parameters.Rule{
		parameters.Whole("inputs", p.Inputs, maxDimensions),
		parameters.Whole("rounds", p.Rounds, maxRounds),
		parameters.Whole("rounds_per_upload", p.RoundsPerUpload, maxPerUpload),
		parameters.Whole("window", p.Window, maxWindow),
	}
}
