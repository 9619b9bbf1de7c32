package fdskl

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Validate checks a Params with its defaults filled in, for a job among the named parties. Each
// message states the rule and the value received.
func (p Params) Validate(parties []string) error {
	if err := p.validateNumbers(); err != nil {
		return err
	}
	if err := p.validateBins(parties); err != nil {
		return err
	}
	if p.Target != joint.Classification && p.Target != joint.Regression {
		return fmt.Errorf("target is %q, want %q or %q", p.Target, joint.Classification, joint.Regression)
	}
	if err := cmp.Or(p.validateClasses(), p.validatePositive()); err != nil {
		return err
	}
	if p.Schedule != Fixed && p.Schedule != DoublyStochastic {
		return fmt.Errorf("schedule is %q, want %q or %q", p.Schedule, Fixed, DoublyStochastic)
	}
	loss, err := kernel.ParseLoss(p.Loss)
	if err != nil {
		return err
	}
	if p.Target == joint.Regression && loss != kernel.Square {
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

// validateClasses checks the number of classes, and that the job can tell so many apart.
func (p Params) validateClasses() error {
	switch {
	case p.Classes == 0:
		return nil
	case p.Target == joint.Regression:
		return fmt.Errorf("classes is %d and target %q: numbers have no classes; leave one of the two out", p.Classes,
			joint.Regression)
	case p.Classes < 3 || p.Classes > MaxClasses:
		return fmt.Errorf("classes is %d, want 2 to %d", p.Classes, MaxClasses)
	case p.Schedule == DoublyStochastic:
		return fmt.Errorf("schedule is %q with %d classes: it tells two apart; want schedule %q", p.Schedule, p.Classes,
			Fixed)
	case len(p.Active) > 1:
		return fmt.Errorf("%d parties are active with %d classes: three or more take one party that holds all labels",
			len(p.Active), p.Classes)
	}
	return nil
}

// validateNumbers checks ranges.
func (p Params) validateNumbers() error {
	if err := parameters.InRange("iterations", p.Iterations, maxIterations); err != nil {
		return err
	}
	choosing := p.Lambda == 0 && p.Schedule != DoublyStochastic && len(p.Active) <= 1
	if err := parameters.Positive("lambda", float64(p.Lambda)); err != nil && !choosing {
		return err
	}
	if !(p.Sigma >= 0) || math.IsInf(p.Sigma, 0) {
		return sigmaError(p.Sigma)
	}
	if p.Schedule == DoublyStochastic {
		if err := parameters.InRange("batch", p.Batch, maxBatch); err != nil {
			return err
		}
		if err := parameters.InRange("block_features", p.BlockFeatures, maxFeatures); err != nil {
			return err
		}
		if total := p.Iterations * p.BlockFeatures; p.Features != total || total > maxFeatures {
			return fmt.Errorf("features is %d, want iterations times block_features, which is %d, and at most %d", p.Features,
				total, maxFeatures)
		}
		if !(p.Step > 0) || p.Step*float64(p.Lambda) >= 1 {
			return fmt.Errorf("step is %v, want a positive number below 1/lambda = %v", p.Step, 1/p.Lambda)
		}
		return nil
	}
	if err := parameters.InRange("features", p.Features, maxFeatures); err != nil {
		return err
	}
	if !p.Binned() && p.Features%2 != 0 {
		return fmt.Errorf("features is %d, want an even number: they are cosine and sine of half as many angles", p.Features)
	}
	if p.Loss == kernel.Square.String() && len(p.Active) == 1 && p.Features > kernel.MaxGram {
		return fmt.Errorf("features is %d, want at most %d for the square loss, which is solved in closed form", p.Features,
			kernel.MaxGram)
	}
	return nil
}

// validateWritten checks the numbers that a job's text holds, before defaults take the place of
// those it does not.
func (p Params) validateWritten(written func(...string) bool) error {
	if err := parameters.Check(append(p.writtenBins(), []parameters.Rule{
		parameters.Whole("features", p.Features, maxFeatures), parameters.Whole("iterations", p.Iterations, maxIterations),
		parameters.Whole("batch", p.Batch, maxBatch), parameters.Whole("block_features", p.BlockFeatures, maxFeatures),
		parameters.Real("step", p.Step),
	}...), written); err != nil {
		return err
	}
	if written("classes") && (p.Classes < 2 || p.Classes > MaxClasses) {
		return fmt.Errorf("classes is %d, want 2 to %d", p.Classes, MaxClasses)
	}
	if written("positive") && p.Positive == "" {
		return fmt.Errorf("positive is empty, want the class that is the event, or leave it out")
	}
	if written("sigma") && p.Sigma == 0 {
		return sigmaError(p.Sigma)
	}
	for _, number := range []struct {
		name  string
		value int
		want  string
	}{
		{"ring", p.Ring, "32, 48 or 64"}, {"score_bits", p.ScoreBits, "1 to 16"},
		{"score_range", p.ScoreRange, "a power of two from 4 to 1024"}, {"outer", p.Outer, "1 or more"},
	} {
		if none := number.name == "outer" && p.WithDefaults().Loss == kernel.Square.String(); none {
			continue
		}
		if written(number.name) && number.value == 0 {
			return fmt.Errorf("%s is 0, want %s", number.name, number.want)
		}
	}
	if p.Binned() {
		for _, name := range OfKernels() {
			if written(name) {
				return fmt.Errorf("%s is about kernels, and features of jobs with bins are bins: leave it out", name)
			}
		}
	}
	blocks := p.WithDefaults()
	if p.Schedule == DoublyStochastic && written("features") && written("iterations") && p.Features != blocks.Features {
		return fmt.Errorf("features is %d, want iterations times block_features, which is %d: give one of features and "+
			"iterations", p.Features, blocks.Features)
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
	if p.Schedule == Fixed && len(p.Active) > p.Angles() {
		return fmt.Errorf("features is %d, want at least two for each of the %d active parties", p.Features, len(p.Active))
	}
	if !slices.Contains([]string{"auto", "minmax", "standard", "rank"}, p.Scale) {
		return fmt.Errorf("scale is %q, want \"auto\", \"minmax\", \"standard\" or \"rank\"", p.Scale)
	}
	if p.Constant != "refuse" && p.Constant != "drop" {
		return fmt.Errorf("constant is %q, want \"refuse\" or \"drop\"", p.Constant)
	}
	return nil
}
