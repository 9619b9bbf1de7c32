package pofmkl

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// maxBound is the largest SumBound of a job: beyond, fixed-point words keep too few digits.
const maxBound = 1 << 24

// Validate checks a Params with its defaults filled in, for a job among the named parties. Each
// message states the rule and the value received.
func (p Params) Validate(parties []string) error {
	if err := p.ValidateNumbers(); err != nil {
		return err
	}
	if err := parameters.Roles(p.Server, p.Label, parties); err != nil {
		return err
	}
	if err := parameters.OfClients("weight_steps", p.WeightSteps, parties, p.Server); err != nil {
		return err
	}
	return parameters.OfClients("explores", p.Explores, parties, p.Server)
}

// ValidateNumbers is Validate without the parties and columns, for use in one process.
func (p Params) ValidateNumbers() error {
	if n := p.Kernels(); n < 1 || n > maxKernels {
		return fmt.Errorf("bandwidths has %d numbers, want 1 to %d", n, maxKernels)
	}
	for i, b := range p.Bandwidths {
		if err := parameters.Positive(fmt.Sprintf("bandwidth %d", i+1), b); err != nil {
			return err
		}
		if err := gaussian(b).Validate(); err != nil {
			return fmt.Errorf("bandwidth %d is %v: %w", i+1, b, err)
		}
	}
	if err := parameters.InRange("features", p.Features, maxFeatures); err != nil {
		return err
	}
	if p.Words() > maxWords {
		return fmt.Errorf("features is %d with %d kernels, which makes %d words of theta, want at most %d", p.Features,
			p.Kernels(), p.Words(), maxWords)
	}
	if p.Chosen < 1 || p.Chosen > p.Kernels() {
		return fmt.Errorf("chosen is %d, want 1 to %d, the number of kernels", p.Chosen, p.Kernels())
	}
	if err := parameters.InRange("rounds", p.Rounds, maxRounds); err != nil {
		return err
	}
	if err := parameters.InRange("rounds_per_upload", p.RoundsPerUpload, maxPerUpload); err != nil {
		return err
	}
	if err := p.validateReals(); err != nil {
		return err
	}
	if b := p.SumBound(); !(b <= maxBound) {
		return fmt.Errorf("an update's elements may reach %.3g, want at most %d: lower step, clip or rounds_per_upload, "+
			"or raise explore or chosen", b, maxBound)
	}
	return nil
}

// gaussian returns the kernel whose variance is the bandwidth.
func gaussian(bandwidth float64) kernel.Kernel {
	return kernel.Kernel{Kind: kernel.Gaussian, Sigma: math.Sqrt(bandwidth)}
}

// validateReals checks the real numbers.
func (p Params) validateReals() error {
	if err := checkExplore("explore", p.Explore); err != nil {
		return err
	}
	if p.CommonBin && (p.Explore != 1 || len(p.Explores) > 0) {
		return fmt.Errorf("common_bin draws all bins with equal probability, which leaves nothing to explore: " +
			"leave out explore and explores, or common_bin")
	}
	if err := parameters.EachOf("explores", p.Explores, checkExplore); err != nil {
		return err
	}
	if err := parameters.Check(p.positives(), nil); err != nil {
		return err
	}
	if err := parameters.EachOf("weight_steps", p.WeightSteps, parameters.Step); err != nil {
		return err
	}
	if err := parameters.Step("weight_step", p.WeightStep); err != nil {
		return err
	}
	if !(p.Lambda >= 0) || math.IsInf(p.Lambda, 0) {
		return fmt.Errorf("lambda is %v, want 0 or a positive number", p.Lambda)
	}
	return parameters.LabelRange(p.LabelLow, p.LabelHigh)
}

// checkExplore checks xi. 0 is out: a bin's probability would have no lower bound, and an update no
// upper one.
func checkExplore(name string, xi float64) error {
	if !(xi > 0 && xi <= 1) {
		return fmt.Errorf("%s is %v, want a number above 0 and at most 1", name, xi)
	}
	return nil
}

// positives lists the parameters that must be positive.
func (p Params) positives() []parameters.Rule {
	return []parameters.Rule{
		parameters.Real("step", p.Step),
		parameters.Real("weight_step", p.WeightStep),
		parameters.Real("clip", p.Clip),
		parameters.Real("input_norm", p.InputNorm),
	}
}

// validateWritten checks the numbers that a job's text holds, before defaults take the place of
// those it does not.
func (p Params) validateWritten(written func(...string) bool) error {
	if written("bandwidths") && len(p.Bandwidths) == 0 {
		return fmt.Errorf("bandwidths has 0 numbers, want 1 to %d", maxKernels)
	}
	if err := parameters.Check([]parameters.Rule{
		parameters.Whole("features", p.Features, maxFeatures), parameters.Whole("chosen", p.Chosen, maxKernels),
		parameters.Whole("rounds", p.Rounds, maxRounds), parameters.Whole("rounds_per_upload", p.RoundsPerUpload,
			maxPerUpload),
	}, written); err != nil {
		return err
	}
	if err := parameters.Check(p.positives(), written); err != nil {
		return err
	}
	if written("explore") {
		if err := checkExplore("explore", p.Explore); err != nil {
			return err
		}
	}
	return parameters.LabelRangeWritten(p.LabelLow, p.LabelHigh, written)
}
