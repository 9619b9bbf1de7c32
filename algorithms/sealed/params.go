package sealed

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// boundFrobenius is the default of a job's bound; see fdskl.Params.
const boundFrobenius = "frobenius"

// WithDefaults returns p, whose other defaults are filled in, with those of a sealed job.
func WithDefaults(p fdskl.Params) fdskl.Params {
	point, most := usualScores(p)
	p.ScoreBits = cmp.Or(p.ScoreBits, point)
	p.ScoreRange = cmp.Or(p.ScoreRange, most)
	p.Ring = cmp.Or(p.Ring, defaultRing(p))
	p.Bound = cmp.Or(p.Bound, boundFrobenius)
	if p.Loss != kernel.Square.String() {
		_, most := outerOf(p)
		if p.Binned() {
			most = 12
		}
		p.Outer = cmp.Or(p.Outer, most)
	}
	return p
}

// usualScores returns score_bits and score_range of a job that names none: the fewest bits that move neither AUC, nor
// error, nor root mean squared error by more than .001, in a range that no score of those sets came near to the end of;
// docs/sealed.md has the figures. Numbers may have values far from their mean. Log odds are large where few labels are
// in doubt, those of a kernel above all; they have half a turn.
func usualScores(p fdskl.Params) (point, most int) {
	switch {
	case p.Target == joint.Regression:
		return 5, 16
	case p.Loss == kernel.Logistic.String() && p.Binned():
		return 5, 1 << (turnRange - 1)
	case p.Loss == kernel.Logistic.String():
		return 5, 1 << turnRange
	}
	return 6, 8
}

// leastRange is the smallest score_range of a job.
const leastRange = 4

// smallRange is the largest score_range of a job with features of 32 bits: scores are right modulo 2^8 there.
const smallRange = 1 << (ringSmall - smallBits - smallScore - 1)

// defaultRing is the ring of a job that names none: 32 bits where what they round does not count, else 64.
//
// A feature of 32 bits is rounded to one of its two neighbours with 8 bits behind the point, with a variance of 2^-16/6
// on the mean. That adds 2/D times as much to the diagonal of the equations, as a regulariser does: a fourth of the
// job's is allowed, or of the smallest that it chooses from. With 48 bits it would be more: there the cosines that
// features are made of have 7 bits behind the point.
func defaultRing(p fdskl.Params) int {
	lambda := float64(p.Lambda)
	if lambda == 0 {
		lambda = slices.Min(fdskl.Candidates())
	}
	added := 2 / float64(max(p.Features, 1)) * math.Ldexp(1, -2*smallBits) / 6
	if p.Binned() {
		if p.Loss == kernel.Square.String() {
			return ringDefault
		}
		return ringSmall // a bin is 0 or 1
	}
	if p.ScoreRange > smallRange || lambda < 4*added {
		return ringDefault
	}
	return ringSmall
}

// leastIterations is the fewest steps of the solver, in each step of the logistic loss, that a label holder agrees to.
func leastIterations(p fdskl.Params) int {
	if p.Binned() {
		return 40
	}
	return min(fdskl.MostSolverSteps, p.Features)
}

// leastLambda is the smallest regulariser of a job over so many rows. The smaller it is, the more the number of steps
// of the logistic loss tells of single rows.
func leastLambda(p fdskl.Params, rows int) float64 {
	switch {
	case p.Loss == kernel.Square.String():
		return 0
	case p.Binned():
		return float64(fdskl.Params{}.LambdaOf(rows))
	}
	return .02 / float64(rows)
}

// outerOf is how many steps of the logistic loss a job takes before its progress opens, and at most.
func outerOf(p fdskl.Params) (least, most int) {
	if p.Binned() {
		return 5, 16
	}
	return 24, 40
}

// maxSteps is the most steps of the solver in a training; every party counts them before it consents.
const maxSteps = 1 << 20

// Validate checks what a sealed job asks beside what every FDSKL job does; see fdskl.Params.Validate.
func Validate(p fdskl.Params, parties []string) error {
	switch {
	case p.Schedule != fdskl.Fixed:
		return fmt.Errorf("schedule is %q: a sealed job wants %q, or privacy \"masked\" for the other", p.Schedule,
			fdskl.Fixed)
	case len(p.Active) != 1:
		return fmt.Errorf("active names %d parties: a sealed job wants one, or privacy \"masked\" for several", len(p.Active))
	case p.Scores() > 1 && p.Binned():
		return fmt.Errorf("the target has %d classes, and a scorecard tells two apart: take a label of two classes",
			p.Classes)
	case p.Scores() > 1 && p.Loss != kernel.Square.String():
		return fmt.Errorf("loss is %q with %d classes: a sealed job tells two apart by it; take loss = %q, or privacy "+
			"\"masked\"", p.Loss, p.Classes, kernel.Square)
	case p.Loss == kernel.SmoothHinge.String() && p.Binned():
		return fmt.Errorf("loss is %q, want %q or %q in a job with bins", p.Loss, kernel.Square, kernel.Logistic)
	case p.Loss == kernel.SmoothHinge.String():
		return fmt.Errorf("loss is %q: a sealed job wants %q or %q, or privacy \"masked\" for this one", p.Loss,
			kernel.Square, kernel.Logistic)
	case p.Features > MaxFeatures || p.Features < 2:
		return fmt.Errorf("features is %d, want 2 to %d in a sealed job, which shares a matrix with their square",
			p.Features, MaxFeatures)
	case p.Ring != ringDefault && p.Ring != ringCompact && p.Ring != ringSmall:
		return fmt.Errorf("ring is %d, want %d, %d or %d", p.Ring, ringSmall, ringCompact, ringDefault)
	case p.Binned() && p.Loss == kernel.Square.String() && p.Ring == ringSmall:
		return fmt.Errorf("ring is %d, want %d or %d in a job with bins and loss = %q", p.Ring, ringCompact, ringDefault,
			p.Loss)
	case p.Binned() && p.Loss != kernel.Square.String() && p.Ring != ringSmall:
		return fmt.Errorf("ring is %d, want %d in a job with bins and loss = %q", p.Ring, ringSmall, p.Loss)
	case p.Ring == ringCompact && p.Loss != kernel.Square.String():
		return fmt.Errorf("ring is %d, want %d with loss %q, whose derivative wants cosines of more than 7 bits", p.Ring,
			ringDefault, p.Loss)
	case p.Ring == ringSmall && p.ScoreRange > smallRange:
		return fmt.Errorf("score_range is %d, want at most %d with ring = %d", p.ScoreRange, smallRange, ringSmall)
	case p.ScoreBits < 1 || p.ScoreBits > 16:
		return fmt.Errorf("score_bits is %d, want 1 to 16", p.ScoreBits)
	case p.ScoreRange < leastRange || p.ScoreRange > 1024 || p.ScoreRange&(p.ScoreRange-1) != 0:
		return fmt.Errorf("score_range is %d, want a power of two from %d to 1024", p.ScoreRange, leastRange)
	case p.Bound != boundFrobenius && p.Bound != boundPublic:
		return fmt.Errorf("bound is %q, want %q or %q", p.Bound, boundFrobenius, boundPublic)
	case p.Bound == boundPublic && p.Loss != kernel.Square.String() && !p.Binned():
		return fmt.Errorf("bound is %q, want %q with loss %q: a solution's few steps reach too little of a spectrum that "+
			"ends far below its bound", p.Bound, boundFrobenius, p.Loss)
	case p.Loss == kernel.Square.String() && p.Outer != 0:
		return fmt.Errorf("outer is %d, want none for the square loss, which is solved in one step", p.Outer)
	case p.Iterations*max(1, p.Outer) > maxSteps:
		return fmt.Errorf("iterations is %d and outer %d, want at most %d steps in all", p.Iterations, p.Outer, maxSteps)
	}
	if least, most := outerOf(p); p.Loss != kernel.Square.String() && (p.Outer < least || p.Outer > most) {
		return fmt.Errorf("outer is %d, want %d to %d", p.Outer, least, most)
	}
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
