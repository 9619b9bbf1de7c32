package pofmkl

import (
	"cmp"
	"math"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/keys"
)

// Limits of a job's numbers.
const (
	maxKernels   = 1 << 12
	maxFeatures  = 1 << 16
	maxWords     = 1 << 22 // 2ND: what a masked update has
	maxRounds    = 1 << 24
	maxPerUpload = 1 << 16
)

// Params is what a job says to this algorithm: its [parameters] table. Zero values stand for the
// defaults that WithDefaults fills in.
type Params struct {
	Server string `toml:"server"` // the party that holds theta; all others are clients
	Label  string `toml:"label"`  // the label's column at the clients
	Seed   string `toml:"seed"`   // any text; public

	Bandwidths []float64 `toml:"bandwidths,omitempty"` // sigma_i of exp(-|x-x'|^2 / (2 sigma_i)); default: Dictionary51
	Features   int       `toml:"features,omitzero"`    // D for each kernel, default 100
	Chosen     int       `toml:"chosen,omitzero"`      // M, the kernels in a bin, default 1
	Explore    float64   `toml:"explore,omitzero"`     // xi in (0, 1] of every client, default 1
	CommonBin  bool      `toml:"common_bin,omitempty"` // all clients of an upload move one bin, see Moved
	Lambda     float64   `toml:"lambda,omitzero"`      // of lambda |theta_i|^2, default 0

	Rounds          int     `toml:"rounds,omitzero"`            // T, default 500
	RoundsPerUpload int     `toml:"rounds_per_upload,omitzero"` // default 1
	Step            float64 `toml:"step,omitzero"`              // eta of theta, default: see defaultStep
	WeightStep      float64 `toml:"weight_step,omitzero"`       // eta_k of every client's weights, default 1/sqrt(T)
	Clip            float64 `toml:"clip,omitzero"`              // the largest norm of a kernel's gradient, default 4
	// an earlier job whose weights clients start from; default: equal weights
	WeightsFrom string `toml:"weights_from,omitempty"`

	WeightSteps map[string]float64 `toml:"weight_steps,omitempty"` // eta_k of some clients, by name
	Explores    map[string]float64 `toml:"explores,omitempty"`     // xi of some clients, by name

	InputNorm float64 `toml:"input_norm,omitzero"` // inputs are divided by it: the largest norm of a row, default 1
	LabelLow  float64 `toml:"label_low,omitzero"`  // the range of labels, which becomes 0 to 1; default 0 to 1
	LabelHigh float64 `toml:"label_high,omitzero"`
}

// Dictionary51 returns the paper's bandwidths, sigma_i = 10^((2i-52)/25) for i = 1 to 51.
func Dictionary51() []float64 {
	sigma := make([]float64, 51)
	for i := range sigma {
		sigma[i] = math.Pow(10, float64(2*(i+1)-52)/25)
	}
	return sigma
}

// WithDefaults returns p with every unset field at its default.
func (p Params) WithDefaults() Params {
	if p.Bandwidths == nil {
		p.Bandwidths = Dictionary51()
	}
	p.Features = cmp.Or(p.Features, 100)
	p.Chosen = cmp.Or(p.Chosen, 1)
	p.Rounds = cmp.Or(p.Rounds, 500)
	p.RoundsPerUpload = cmp.Or(p.RoundsPerUpload, 1)
	p.Explore = cmp.Or(p.Explore, 1)
	p.Step = cmp.Or(p.Step, p.defaultStep())
	p.WeightStep = cmp.Or(p.WeightStep, 1/math.Sqrt(float64(p.Rounds)))
	p.Clip = cmp.Or(p.Clip, 4)
	p.InputNorm = cmp.Or(p.InputNorm, 1)
	if p.LabelLow == 0 && p.LabelHigh == 0 {
		p.LabelHigh = 1
	}
	return p
}

// defaultStep returns the paper's 1/sqrt(T). With a common bin, which moves a kernel seldom and far, it is half of
// StepBound at most.
func (p Params) defaultStep() float64 {
	step := 1 / math.Sqrt(float64(p.Rounds))
	if p.CommonBin {
		return min(step, p.StepBound(1)/2)
	}
	return step
}

// PublicSeed returns the seed of the job's random features.
func (p Params) PublicSeed() kernel.Seed {
	return kernel.Seed(keys.HashOf("hanse job seed v1", []byte(p.Seed)))
}

// Kernels returns N.
func (p Params) Kernels() int { return len(p.Bandwidths) }

// Words returns 2ND: the length of theta.
func (p Params) Words() int { return 2 * p.Kernels() * p.Features }

// Bins returns m = ceil(N/M).
func (p Params) Bins() int { return (p.Kernels() + p.Chosen - 1) / p.Chosen }

// WeightStepOf returns eta_k of a client.
func (p Params) WeightStepOf(client string) float64 {
	return parameters.ValueOf(client, p.WeightSteps, p.WeightStep)
}

// ExploreOf returns xi of a client.
func (p Params) ExploreOf(client string) float64 {
	return parameters.ValueOf(client, p.Explores, p.Explore)
}

// leastExplore returns the smallest xi that a client has.
func (p Params) leastExplore() float64 {
	least := p.Explore
	for _, xi := range p.Explores {
		least = min(least, xi)
	}
	return least
}

// SumBound returns the largest magnitude that an element of one client's upload can have, for the
// encoding of a sum of uploads: rounds_per_upload times
//
//	eta (m/xi) clip / sqrt(D)    for lambda = 0, where every element of a feature vector is at most 1/sqrt(D)
//	eta (m/xi) clip              for lambda > 0
//
// with the smallest xi of a client, because a bin's probability is at least xi/m, and a kernel's
// gradient that is longer than clip is scaled down to it. It is made of public numbers alone. With
// lambda = 0 a gradient's norm is 2 |theta_i^T z_i(x) - y|: with the default clip, 4, nothing changes
// as long as every kernel's prediction is within 2 of a label in [0, 1]; beyond, the square loss goes
// on as a straight line.
func (p Params) SumBound() float64 {
	bound := float64(p.RoundsPerUpload) * p.Step * float64(p.Bins()) / p.leastExplore() * p.Clip
	if p.Lambda == 0 {
		bound /= math.Sqrt(float64(p.Features))
	}
	return bound * (1 + 1e-9) // for what the sums were rounded
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
