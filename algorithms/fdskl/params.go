package fdskl

import (
	"cmp"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
)

// The schedules.
const (
	Fixed            = "fixed"
	DoublyStochastic = "doubly-stochastic"
)

// The privacy modes. This package runs the first two; what they share with the third, which package
// sealed runs, begins with Begin.
const (
	Published = keys.PrivacyPublished
	Masked    = keys.PrivacyMasked
	Sealed    = keys.PrivacySealed
)

// Limits of a job's numbers.
const (
	maxFeatures   = 1 << 20
	maxIterations = 1 << 20
	maxBatch      = 1 << 16
	// MaxClasses is the most classes of a target.
	MaxClasses = kernel.MaxSides
	blockBytes = 1 << 20 // a block of angles is about this large
)

// MostSolverSteps is the most steps of the solver in an outer step of a sealed kernel with the logistic loss, where a
// solution is a preconditioner alone.
const MostSolverSteps = 24

// Params is what a job says to this algorithm: its [parameters] table. Zero values stand for the
// defaults that WithDefaults fills in.
type Params struct {
	Active   []string `toml:"active"`            // the parties that hold labels, in the order in which they lead
	Label    string   `toml:"label"`             // the label's column at the active parties
	Target   string   `toml:"target"`            // "classification" (default) or "regression"
	Schedule string   `toml:"schedule"`          // "fixed" (default) or "doubly-stochastic"
	Loss     string   `toml:"loss"`              // "logistic" (default of two classes), "square" (else), "smooth-hinge"
	Kernel   string   `toml:"kernel"`            // "gaussian" (default), "laplace", "matern32", "matern52"
	Sigma    float64  `toml:"sigma,omitzero"`    // kernel width; 0: median heuristic
	Features int      `toml:"features,omitzero"` // D, even, see FeaturesFor; doubly-stochastic: a block an iteration
	Lambda   Lambda   `toml:"lambda,omitzero"`   // regulariser of (lambda/2)|f|^2; 0: "auto", see Candidates
	Seed     string   `toml:"seed"`              // any text; public
	Scale    string   `toml:"scale"`             // "auto" (default), "minmax", "standard", "rank"
	Constant string   `toml:"constant"`          // what a column without variation gets: "drop" (default) or "refuse"

	// fixed: cap of the solver, default 300; doubly-stochastic: T, default 200
	Iterations    int     `toml:"iterations,omitzero"`
	Batch         int     `toml:"batch,omitzero"`          // B rows an iteration, default 64 (doubly-stochastic)
	BlockFeatures int     `toml:"block_features,omitzero"` // r features an iteration, default 16 (doubly-stochastic)
	Step          float64 `toml:"step,omitzero"`           // gamma, default 1 (doubly-stochastic)

	// Classes is how many classes the target has: 0 stands for two, and for none of a regression. Of three or more each
	// is told from all others by a function of its own, over the same features.
	Classes int `toml:"classes,omitzero" cbor:",omitempty"`
	// Positive is which of two classes is the event, +1. Empty: the later in the order is +1; see Model.Turned.
	Positive joint.ClassName `toml:"positive,omitempty" cbor:",omitempty"`

	// sealed: the second of the three that hold shares; the first is the active party
	Keeper string `toml:"keeper,omitempty" cbor:",omitempty"`
	Helper string `toml:"helper,omitempty" cbor:",omitempty"` // sealed: the third; it may have no data
	// sealed, logistic loss: E, the most outer steps, default and largest 40; with bins default 12, largest 16
	Outer int `toml:"outer,omitzero" cbor:",omitempty"`
	// sealed: bits of a shared feature on the wire, 32, 48 or 64; the default is 32 where its rounding does not count
	Ring int `toml:"ring,omitzero" cbor:",omitempty"`
	// sealed: bits behind the point of an opened prediction; the default is 5 or 6, by the loss
	ScoreBits int `toml:"score_bits,omitzero" cbor:",omitempty"`
	// ScoreRange is, in sealed jobs, the magnitude below which a score must stay, in deviations of the target: what opens
	// has no bits for more, and a larger one comes out as another. A power of two; the default is 8 to 64, by the loss.
	ScoreRange int `toml:"score_range,omitzero" cbor:",omitempty"`
	// sealed: "frobenius" (default), one number opens, or "public", none does
	Bound string `toml:"bound,omitempty" cbor:",omitempty"`

	BinParams
}

// SolverSteps is how many steps of the solver a sealed job takes for one solution: Iterations, and where an outer step
// of a kernel begins with it MostSolverSteps of them at most, or one for each feature.
func (p Params) SolverSteps() int {
	if p.Outer > 0 && !p.Binned() {
		return min(p.Iterations, MostSolverSteps, p.Features)
	}
	return p.Iterations
}

// WithDefaults returns p with every unset field at its default.
func (p Params) WithDefaults() Params {
	if p.Classes == 2 {
		p.Classes = 0
	}
	if p.Binned() {
		return p.binDefaults()
	}
	p.Target = cmp.Or(p.Target, joint.Classification)
	p.Schedule = cmp.Or(p.Schedule, Fixed)
	p.Kernel = cmp.Or(p.Kernel, "gaussian")
	p.Scale = cmp.Or(p.Scale, "auto")
	p.Constant = cmp.Or(p.Constant, "drop")
	if p.Target == joint.Regression || p.Scores() > 1 {
		p.Loss = cmp.Or(p.Loss, "square")
	}
	p.Loss = cmp.Or(p.Loss, "logistic")
	if p.Classes == 2 {
		p.Classes = 0
	}
	if p.Schedule == DoublyStochastic || len(p.Active) > 1 {
		p.Lambda = cmp.Or(p.Lambda, DefaultLambda)
	}
	if p.Schedule == DoublyStochastic {
		p.Batch = cmp.Or(p.Batch, 64)
		p.BlockFeatures = cmp.Or(p.BlockFeatures, 16)
		p.Step = cmp.Or(p.Step, 1)
		if p.Iterations == 0 && p.Features > 0 {
			p.Iterations = (p.Features + p.BlockFeatures - 1) / p.BlockFeatures
		}
		p.Iterations = cmp.Or(p.Iterations, 200)
		p.Features = p.Iterations * p.BlockFeatures
		return p
	}
	p.Features = cmp.Or(p.Features, DefaultFeatures)
	p.Iterations = cmp.Or(p.Iterations, 300)
	return p
}

// Angles returns how many angles a row has: one for every two features of the schedule "fixed", which are its cosine
// and its sine, and one for each of "doubly-stochastic", whose features are cosines.
func (p Params) Angles() int {
	if p.Schedule == DoublyStochastic {
		return p.Features
	}
	return p.Features / 2
}

// Scores returns how many scores a row has: one for each of three or more classes, else one.
func (p Params) Scores() int { return max(1, p.Classes) }

// ClassCount returns how many classes the target has, 0 for a regression.
func (p Params) ClassCount() int {
	return (&joint.Goal{Target: p.Target, Classes: p.Classes}).ClassCount()
}

// PublicSeed returns the seed of the job's random features.
func (p Params) PublicSeed() kernel.Seed {
	return kernel.Seed(keys.HashOf("hanse job seed v1", []byte(p.Seed)))
}

// ParamsOf is ParseParams for a table that was read already.
func ParamsOf(table map[string]any, parties []string) (Params, error) {
	return parameters.Of(table, parties, ParseParams)
}

// ParseParams reads a job's [parameters] table, fills in the defaults and validates them. A number
// that is written down is meant: 0 does not ask for the default.
func ParseParams(text []byte, parties []string) (Params, error) {
	return parameters.Parse(text, parameters.Steps[Params]{
		Written:  Params.validateWritten,
		Complete: Params.WithDefaults,
		Validate: func(p Params) error { return p.Validate(parties) },
	})
}
