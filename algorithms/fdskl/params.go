package fdskl

import (
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// The schedules.
const (
	Fixed            = "fixed"
	DoublyStochastic = "doubly-stochastic"
)

// The privacy modes that this package runs.
const (
	Published = "published"
	Masked    = "masked"
)

// The targets.
const (
	Classification = "classification"
	Regression     = "regression"
)

// Limits of a job's numbers.
const (
	maxFeatures   = 1 << 20
	maxIterations = 1 << 20
	maxBatch      = 1 << 16
	blockBytes    = 1 << 20 // a block of angles is about this large
)

// Params is what a job says to this algorithm: its [parameters] table. Zero values stand for the
// defaults that WithDefaults fills in.
type Params struct {
	Active   []string `toml:"active"`   // the parties that hold labels, in the order in which they lead
	Label    string   `toml:"label"`    // the label's column at the active parties
	Target   string   `toml:"target"`   // "classification" (default) or "regression"
	Schedule string   `toml:"schedule"` // "fixed" (default) or "doubly-stochastic"
	Loss     string   `toml:"loss"`     // "logistic" (default for classification), "square", "smooth-hinge"
	Kernel   string   `toml:"kernel"`   // "gaussian" (default), "laplace", "matern32", "matern52"
	Sigma    float64  `toml:"sigma"`    // kernel width; 0: median heuristic
	Features int      `toml:"features"` // D, default 1024; doubly-stochastic: iterations x block_features
	Lambda   float64  `toml:"lambda"`   // regulariser of (lambda/2)|f|^2, default 1e-6
	Seed     string   `toml:"seed"`     // any text; public
	Scale    string   `toml:"scale"`    // "minmax" (default), "standard", "rank"
	Constant string   `toml:"constant"` // what a column without variation gets: "refuse" (default) or "drop"

	Iterations    int     `toml:"iterations"`     // fixed: cap of the solver, default 300; doubly-stochastic: T, default 200
	Batch         int     `toml:"batch"`          // B rows an iteration, default 64 (doubly-stochastic)
	BlockFeatures int     `toml:"block_features"` // r features an iteration, default 16 (doubly-stochastic)
	Step          float64 `toml:"step"`           // gamma, default 1 (doubly-stochastic)
}

// WithDefaults returns p with every unset field at its default.
func (p Params) WithDefaults() Params {
	setText := func(f *string, v string) {
		if *f == "" {
			*f = v
		}
	}
	setInt := func(f *int, v int) {
		if *f == 0 {
			*f = v
		}
	}
	setText(&p.Target, Classification)
	setText(&p.Schedule, Fixed)
	setText(&p.Kernel, "gaussian")
	setText(&p.Scale, "minmax")
	setText(&p.Constant, "refuse")
	if p.Target == Regression {
		setText(&p.Loss, "square")
	}
	setText(&p.Loss, "logistic")
	if p.Lambda == 0 {
		p.Lambda = 1e-6
	}
	if p.Schedule == DoublyStochastic {
		setInt(&p.Batch, 64)
		setInt(&p.BlockFeatures, 16)
		if p.Step == 0 {
			p.Step = 1
		}
		if p.Iterations == 0 && p.Features > 0 {
			p.Iterations = (p.Features + p.BlockFeatures - 1) / p.BlockFeatures
		}
		setInt(&p.Iterations, 200)
		p.Features = p.Iterations * p.BlockFeatures
		return p
	}
	setInt(&p.Features, 1024)
	setInt(&p.Iterations, 300)
	return p
}

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
	if _, err := kernel.ParseKind(p.Kernel); err != nil {
		return err
	}
	return p.validateRoles(parties)
}

// validateNumbers checks ranges.
func (p Params) validateNumbers() error {
	switch {
	case p.Features < 1 || p.Features > maxFeatures:
		return fmt.Errorf("features is %d, want 1 to %d", p.Features, maxFeatures)
	case p.Iterations < 1 || p.Iterations > maxIterations:
		return fmt.Errorf("iterations is %d, want 1 to %d", p.Iterations, maxIterations)
	case !(p.Lambda > 0) || math.IsInf(p.Lambda, 0):
		return fmt.Errorf("lambda is %v, want a positive number", p.Lambda)
	case !(p.Sigma >= 0) || math.IsInf(p.Sigma, 0):
		return fmt.Errorf("sigma is %v, want a positive number, or 0 for the median heuristic", p.Sigma)
	case p.Schedule == DoublyStochastic && (p.Batch < 1 || p.Batch > maxBatch):
		return fmt.Errorf("batch is %d, want 1 to %d", p.Batch, maxBatch)
	case p.Schedule == DoublyStochastic && (p.BlockFeatures < 1 || p.BlockFeatures > maxFeatures):
		return fmt.Errorf("block_features is %d, want 1 to %d", p.BlockFeatures, maxFeatures)
	case p.Schedule == DoublyStochastic && (!(p.Step > 0) || p.Step*p.Lambda >= 1):
		return fmt.Errorf("step is %v, want a positive number below 1/lambda = %v", p.Step, 1/p.Lambda)
	}
	return nil
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

// PublicSeed returns the seed of the job's random features.
func (p Params) PublicSeed() kernel.Seed {
	return kernel.Seed(keys.HashOf("hanse job seed v1", []byte(p.Seed)))
}

// ParseParams reads a job's [parameters] table, fills in the defaults and validates them.
func ParseParams(text []byte, parties []string) (Params, error) {
	var p Params
	if err := keys.DecodeStrict("parameters", text, &p); err != nil {
		return Params{}, err
	}
	if p.Features < 0 || p.Iterations < 0 || p.Batch < 0 || p.BlockFeatures < 0 {
		return Params{}, fmt.Errorf("features, iterations, batch and block_features must not be negative")
	}
	p = p.WithDefaults()
	if err := p.Validate(parties); err != nil {
		return Params{}, err
	}
	return p, nil
}
