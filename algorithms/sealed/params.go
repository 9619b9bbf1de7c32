package sealed

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// boundFrobenius is the default of a job's bound; see fdskl.Params.
const boundFrobenius = "frobenius"

// WithDefaults returns p, whose other defaults are filled in, with those of a sealed job.
func WithDefaults(p fdskl.Params) fdskl.Params {
	p.Ring = cmp.Or(p.Ring, ringDefault)
	p.ScoreBits = cmp.Or(p.ScoreBits, 6)
	p.ScoreRange = cmp.Or(p.ScoreRange, 16)
	p.Bound = cmp.Or(p.Bound, boundFrobenius)
	if p.Loss != kernel.Square.String() {
		p.Outer = cmp.Or(p.Outer, 5)
	}
	return p
}

// maxSteps is the most steps of the solver in a training; every party counts them before it consents.
const maxSteps = 1 << 20

// Validate checks what a sealed job asks beside what every FDSKL job does; see fdskl.Params.Validate.
func Validate(p fdskl.Params, parties []string) error {
	switch {
	case p.Schedule != fdskl.Fixed:
		return fmt.Errorf("schedule is %q: a sealed job wants %q, or privacy \"masked\" for the other", p.Schedule, fdskl.Fixed)
	case len(p.Active) != 1:
		return fmt.Errorf("active names %d parties: a sealed job wants one, or privacy \"masked\" for several", len(p.Active))
	case p.Features > MaxFeatures || p.Features < 2:
		return fmt.Errorf("features is %d, want 2 to %d in a sealed job, which shares a matrix with their square", p.Features, MaxFeatures)
	case p.Ring != ringDefault && p.Ring != ringCompact:
		return fmt.Errorf("ring is %d, want %d or %d", p.Ring, ringDefault, ringCompact)
	case p.ScoreBits < 1 || p.ScoreBits > 16:
		return fmt.Errorf("score_bits is %d, want 1 to 16", p.ScoreBits)
	case p.ScoreRange < 16 || p.ScoreRange > 1024 || p.ScoreRange&(p.ScoreRange-1) != 0:
		return fmt.Errorf("score_range is %d, want a power of two from 16 to 1024", p.ScoreRange)
	case p.Bound != boundFrobenius && p.Bound != boundPublic:
		return fmt.Errorf("bound is %q, want %q or %q", p.Bound, boundFrobenius, boundPublic)
	case p.Loss == kernel.Square.String() && p.Outer != 0:
		return fmt.Errorf("outer is %d, want none for the square loss, which opens no scores of training rows", p.Outer)
	case p.Iterations*max(1, p.Outer) > maxSteps:
		return fmt.Errorf("iterations is %d and outer %d, want at most %d steps in all", p.Iterations, p.Outer, maxSteps)
	case p.Loss != kernel.Square.String() && (p.Outer < 1 || p.Outer > 64):
		return fmt.Errorf("outer is %d, want 1 to 64", p.Outer)
	}
	return validateRoles(p, parties)
}

// validateRoles checks who holds shares.
func validateRoles(p fdskl.Params, parties []string) error {
	for _, r := range []struct{ role, name string }{{"keeper", p.Keeper}, {"helper", p.Helper}} {
		if !slices.Contains(parties, r.name) {
			return fmt.Errorf("%s is %q, want one of the job's parties", r.role, r.name)
		}
		if r.name == p.Active[0] {
			return fmt.Errorf("%s is %q, who is the label holder: the three that hold shares are three", r.role, r.name)
		}
	}
	if p.Keeper == p.Helper {
		return fmt.Errorf("keeper and helper are both %q: the three that hold shares are three", p.Keeper)
	}
	return nil
}
