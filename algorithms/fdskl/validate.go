package fdskl

import (
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Validate checks a Params with its defaults filled in, for a job among the named parties. Each
// message states the rule and the value received.
func (p Params) Validate(parties []string) error {
	if err := p.validateNumbers(); err != nil {
		return err
	}
	if p.Target != Classification && p.Target != Regression {
		return fmt.Errorf("target is %q, want %q or %q", p.Target, Classification, Regression)
	}
	if p.Schedule != Fixed && p.Schedule != DoublyStochastic {
		return fmt.Errorf("schedule is %q, want %q or %q", p.Schedule, Fixed, DoublyStochastic)
	}
	loss, err := kernel.ParseLoss(p.Loss)
	if err != nil {
		return err
	}
	if p.Target == Regression && loss != kernel.Square {
		return fmt.Errorf("loss %q is for two classes, want \"square\" for a regression target", p.Loss)
	}
	kind, err := kernel.ParseKind(p.Kernel)
	if err != nil {
		return err
	}
	if p.Sigma > 0 {
		if err := (kernel.Kernel{Kind: kind, Sigma: p.Sigma}).Validate(); err != nil {
			return err
		}
	}
	return p.validateRoles(parties)
}

// validateNumbers checks ranges.
func (p Params) validateNumbers() error {
	if err := parameters.InRange("iterations", p.Iterations, maxIterations); err != nil {
		return err
	}
	if err := parameters.Positive("lambda", p.Lambda); err != nil {
		return err
	}
	if !(p.Sigma >= 0) || math.IsInf(p.Sigma, 0) {
		return sigmaError(p.Sigma)
	}
	if p.Schedule == DoublyStochastic {
		return p.validateStochastic()
	}
	if err := parameters.InRange("features", p.Features, maxFeatures); err != nil {
		return err
	}
	if p.Loss == kernel.Square.String() && len(p.Active) == 1 && p.Features > kernel.MaxGram {
		return fmt.Errorf("features is %d, want at most %d for the square loss, which is solved in closed form", p.Features, kernel.MaxGram)
	}
	return nil
}

// validateStochastic checks the numbers of the paper's schedule.
func (p Params) validateStochastic() error {
	if err := parameters.InRange("batch", p.Batch, maxBatch); err != nil {
		return err
	}
	if err := parameters.InRange("block_features", p.BlockFeatures, maxFeatures); err != nil {
		return err
	}
	if total := p.Iterations * p.BlockFeatures; p.Features != total || total > maxFeatures {
		return fmt.Errorf("features is %d, want iterations times block_features, which is %d, and at most %d", p.Features, total, maxFeatures)
	}
	if !(p.Step > 0) || p.Step*p.Lambda >= 1 {
		return fmt.Errorf("step is %v, want a positive number below 1/lambda = %v", p.Step, 1/p.Lambda)
	}
	return nil
}

// validateWritten checks the numbers that a job's text holds, before defaults take the place of
// those it does not.
func (p Params) validateWritten(written func(...string) bool) error {
	if err := parameters.Check([]parameters.Rule{
		parameters.Whole("features", p.Features, maxFeatures), parameters.Whole("iterations", p.Iterations, maxIterations),
		parameters.Whole("batch", p.Batch, maxBatch), parameters.Whole("block_features", p.BlockFeatures, maxFeatures),
		parameters.Real("lambda", p.Lambda), parameters.Real("step", p.Step),
	}, written); err != nil {
		return err
	}
	if written("sigma") && p.Sigma == 0 {
		return sigmaError(p.Sigma)
	}
	blocks := p.WithDefaults()
	if p.Schedule == DoublyStochastic && written("features") && written("iterations") && p.Features != blocks.Features {
		return fmt.Errorf("features is %d, want iterations times block_features, which is %d: give one of features and iterations", p.Features, blocks.Features)
	}
	return nil
}

// sigmaError refuses a kernel width.
func sigmaError(v float64) error {
	return fmt.Errorf("sigma is %v, want a positive number, or none for the median heuristic", v)
}

// validateRoles checks who is active and the words that choose a variant.
func (p Params) validateRoles(parties []string) error {
	if len(p.Active) == 0 {
		return fmt.Errorf("active is empty, want the names of the parties that hold labels")
	}
	for i, a := range p.Active {
		if !slices.Contains(parties, a) {
			return fmt.Errorf("active party %q is not among the job's parties", a)
		}
		if slices.Contains(p.Active[:i], a) {
			return fmt.Errorf("active names %q twice", a)
		}
	}
	if p.Label == "" {
		return fmt.Errorf("label is missing, want the name of the label's column at %s", p.Active[0])
	}
	if p.Schedule == Fixed && len(p.Active) > p.Features {
		return fmt.Errorf("features is %d, want at least one for each of the %d active parties", p.Features, len(p.Active))
	}
	if !slices.Contains([]string{"minmax", "standard", "rank"}, p.Scale) {
		return fmt.Errorf("scale is %q, want \"minmax\", \"standard\" or \"rank\"", p.Scale)
	}
	if p.Constant != "refuse" && p.Constant != "drop" {
		return fmt.Errorf("constant is %q, want \"refuse\" or \"drop\"", p.Constant)
	}
	return nil
}
