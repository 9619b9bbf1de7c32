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

// BinParams are the parameters of jobs with algorithm "glm": a sealed training whose features are bins of the parties'
// columns in place of random cosines. All others are as in Params; what is about kernels is not looked at.
type BinParams struct {
	// Bins is about how many bins a column of numbers has, 10 by default; 0 in jobs with a kernel.
	Bins int `toml:"bins,omitzero" cbor:",omitempty"`
	// MinCell is the fewest training rows of a bin, default 20: an owner merges smaller ones before it shares anything.
	MinCell int `toml:"min_cell,omitzero" cbor:",omitempty"`
	// Edges are edges of bins by column of the proposer's, in place of quantiles; see joint.Goal.At.
	Edges map[string][]float64 `toml:"edges,omitempty" cbor:",omitempty"`
	// Points says who learns the points of bins: "" nobody, "owners" each those of its own, a party's name that party all.
	Points string `toml:"points,omitempty" cbor:",omitempty"`
	// ZScores says in the same way who learns their z-scores.
	ZScores string `toml:"z_scores,omitempty" cbor:",omitempty"`

	// PartyBins and PartyColumns are from the contract's facts: how many bins and columns each party has. Features is the
	// sum of the bins.
	PartyBins    []int `toml:"-" cbor:",omitempty"`
	PartyColumns []int `toml:"-" cbor:",omitempty"`
}

// ToOwners is the value of Points and ZScores by which each owner learns those of its own bins.
const ToOwners = "owners"

// Defaults of jobs with bins.
const (
	DefaultBins    = 10
	defaultMinCell = 20
)

// LeastMinCell and MostMinCell bound the min_cell that a job may ask for: numbers of a bin of fewer rows are about
// these rows.
const (
	LeastMinCell = 5
	MostMinCell  = 1 << 20
)

// Points are what a party has learned of a scorecard: of each owner in Owners the points of its bins, in the order of
// its design, and the base, of a row that is in no bin. 20 points double the odds of the second class; a row has the
// base and the points of the bins that it is in.
type Points struct {
	Owners []string  `cbor:"1,keyasint"`
	Bins   [][]int64 `cbor:"2,keyasint"`
	Base   *int64    `cbor:"3,keyasint,omitempty"`
}

// ZScores are what a party has learned of how sure the points of a scorecard are: of each owner in Owners a number of
// each of its bins, which ZScore reads.
type ZScores struct {
	Owners []string  `cbor:"1,keyasint"`
	Bins   [][]int64 `cbor:"2,keyasint"`
}

// What opens of a z-score is z / sqrt(1 + z^2 / ZRange^2) in units of 4 / ZUnits, rounded up or down.
const (
	ZRange = 16
	ZUnits = 31
)

// ZScore returns the z-score that opened as a number: how many standard errors a coefficient is above that of the mean
// bin. Around 0 it is right to an eighth; the largest is 126.
func ZScore(opened int64) float64 {
	most := int64(ZRange*ZUnits/4 - 1)
	u := float64(min(max(opened, -most), most)) * 4 / ZUnits
	return u / math.Sqrt(1-u*u/(ZRange*ZRange))
}

// validatePoints checks points and z-scores that come from a disk.
func (m *Model) validatePoints() error {
	if p := m.Points; p != nil {
		if err := m.validateCard("points", p.Owners, p.Bins); err != nil {
			return err
		}
	}
	if z := m.ZScores; z != nil {
		return m.validateCard("z-scores", z.Owners, z.Bins)
	}
	return nil
}

// validateCard checks numbers of bins, by owner.
func (m *Model) validateCard(what string, owners []string, bins [][]int64) error {
	if !m.Params.Binned() || len(owners) != len(bins) {
		return fmt.Errorf("%s of %d owners for %d, in a model of %d bins a column", what, len(bins), len(owners),
			m.Params.Bins)
	}
	for i, name := range owners {
		at := slices.Index(m.Names, name)
		if at < 0 || at >= len(m.Params.PartyBins) || len(bins[i]) != m.Params.PartyBins[at] {
			return fmt.Errorf("%d %s of %.60q, want as many as it has bins", len(bins[i]), what, name)
		}
	}
	return nil
}

// Binned reports whether a job's features are bins.
func (p Params) Binned() bool { return p.Bins > 0 }

// LambdaOf is the regulariser of a job with bins over so many rows: what the job says, or what a prior of coefficients
// with one deviation for all sizes of tables comes to, 0.2/rows. It is that of (lambda/2) C |beta|^2, beside the mean
// loss, where C is the number of all parties' columns.
func (p Params) LambdaOf(rows int) Lambda { return cmp.Or(p.Lambda, Lambda(0.2/float64(max(rows, 1)))) }

// OfKernels lists the parameters that jobs with bins do not have.
func OfKernels() []string {
	return []string{
		"features", "kernel", "sigma", "scale", "schedule", "seed", "batch", "block_features", "step",
	}
}

// binDefaults is WithDefaults of a job with bins. lambda follows from the number of rows; see LambdaOf.
func (p Params) binDefaults() Params {
	p.Target = cmp.Or(p.Target, joint.Classification)
	if p.Target == joint.Regression {
		p.Loss = cmp.Or(p.Loss, kernel.Square.String())
	}
	p.Loss = cmp.Or(p.Loss, kernel.Logistic.String())
	p.MinCell = cmp.Or(p.MinCell, defaultMinCell)
	p.Constant = cmp.Or(p.Constant, "drop")
	if p.Loss == kernel.Logistic.String() {
		p.Iterations = cmp.Or(p.Iterations, 80)
	}
	p.Iterations = cmp.Or(p.Iterations, 100)

	// What is about kernels has the values of jobs with one, and is not looked at.
	p.Schedule, p.Kernel, p.Scale, p.Sigma, p.Features = Fixed, "gaussian", "minmax", 1, 1024
	if len(p.PartyBins) > 0 {
		p.Features = 0
	}
	for _, n := range p.PartyBins {
		p.Features += n
	}
	return p
}

// writtenBins are the rules for what a job's text says of bins.
func (p Params) writtenBins() []parameters.Rule {
	return []parameters.Rule{
		parameters.Whole("bins", p.Bins, kernel.MaxBins),
		parameters.Between("min_cell", p.MinCell, LeastMinCell, MostMinCell),
	}
}

// validateBins checks the parameters of bins, for a job among the named parties.
func (p Params) validateBins(parties []string) error {
	if !p.Binned() {
		if p.MinCell != 0 || len(p.Edges) > 0 || p.Points != "" || p.ZScores != "" || len(p.PartyBins) > 0 {
			return fmt.Errorf("min_cell, edges, points and z_scores are of jobs with algorithm \"glm\", whose bins is a number")
		}
		return nil
	}
	if p.Lambda == 0 && len(p.PartyBins) > 0 {
		return fmt.Errorf("lambda is 0, want a positive number")
	}
	if p.Bins < 2 || p.Bins > kernel.MaxBins {
		return fmt.Errorf("bins is %d, want 2 to %d", p.Bins, kernel.MaxBins)
	}
	if p.MinCell < 1 {
		return fmt.Errorf("min_cell is %d, want at least 1", p.MinCell)
	}
	for name, edges := range p.Edges {
		if err := kernel.ValidateEdges(edges); err != nil {
			return fmt.Errorf("edges of %.60q: %w", name, err)
		}
	}
	if p.Points != "" && p.Loss != kernel.Logistic.String() {
		return fmt.Errorf("points is %.60q and loss %q: points are of odds, which the loss %q alone has", p.Points, p.Loss,
			kernel.Logistic)
	}
	for _, to := range []struct{ name, value string }{{"points", p.Points}, {"z_scores", p.ZScores}} {
		if to.value != "" && to.value != ToOwners && !slices.Contains(parties, to.value) {
			return fmt.Errorf("%s is %.60q, want %q, one of the job's parties, or none", to.name, to.value, ToOwners)
		}
	}
	if n := len(p.PartyBins); n != len(p.PartyColumns) || n > 0 && n != len(parties) {
		return fmt.Errorf("bins of %d parties and columns of %d, want them of %d", n, len(p.PartyColumns), len(parties))
	}
	sum := 0
	for i, n := range p.PartyBins {
		if n < 0 || p.PartyColumns[i] < 0 {
			return fmt.Errorf("%s has %d bins of %d columns", parties[i], n, p.PartyColumns[i])
		}
		sum += n
	}
	if len(p.PartyBins) > 0 && sum != p.Features {
		return fmt.Errorf("features is %d, and the parties have %d bins", p.Features, sum)
	}
	return nil
}
