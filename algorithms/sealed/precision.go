package sealed

import (
	"math"

	"github.com/hanse-project/hanse/algorithms/fdskl"
)

// precision is how the bits of a word are shared out among what the steps need, from public numbers: the bits of the
// coefficients while the steps last, and the width of the secret multiples that the steps are checked by.
type precision struct {
	step     int   // scale of the coefficients in the steps; their last form has coefBits
	multiple int   // scale of the secret multiples, which are 2^multipleBits and three pads
	limit    int64 // of the check's numbers, in units of the last bit
}

// Bounds of a precision.
const (
	mostStep    = 30
	leastStep   = 16
	widest      = multipleBits - 2 // multiples from 4 to 16
	narrowest   = multipleBits + 2 // multiples from 1/4 to 1
	leastFactor = 8                // bits that the factors of the steps have, leading zeros not counted
	mostLimit   = 128              // of the check, beyond which it means too little and a job is refused
	rareNoise   = 7                // standard deviations of an honest training's rounding below which the limit never is
)

// extra is by how many bits right sides are finer than the Gram matrix.
func (p precision) extra() int { return min(p.multiple-1, p.step) }

// size is how many bits a secret multiple has before the point.
func (p precision) size() int { return max(multipleBits+2-p.multiple, 0) }

// precisionOf shares the bits out for the steps that are checked, on a system whose spectrum ends at reach.
func (t *setting) precisionOf(reach float64) precision { return t.precisionFor(reach, t.eachSteps()) }

// precisionFor shares them out for so many steps. The multiples are spread as widely as the range of the words allows
// beside coefficients that are fine enough for the check's limit.
func (t *setting) precisionFor(reach float64, steps int) precision {
	best := precision{step: leastStep, multiple: narrowest}
	noise, steepest := t.overSteps(reach, steps)
	for multiple := widest; multiple <= narrowest; multiple++ {
		p := precision{step: mostStep, multiple: multiple, limit: checkLimit}
		for p.step > leastStep && !p.fits(t.rightSize(reach)+p.size(), steepest) {
			p.step--
		}
		best = p
		if p.limit = t.limitFor(p, noise); p.limit == checkLimit {
			return p
		}
	}
	best.limit = t.limitFor(best, noise)
	return best
}

// fits reports whether the factors of the residual, the largest of which is below 2^steepest, have the bits that they
// need beside a right side whose norm is below 2^size.
func (p precision) fits(size, steepest int) bool {
	return p.factor(size)-steepest >= 1 && p.factor(size) >= leastFactor
}

// factor is how many bits a factor may have beside a right side whose norm is below 2^size.
func (p precision) factor(size int) int { return topBits - 1 - gramBits - p.step - size }

// factorBits is how many bits behind the point the factor of the residual has in the next step.
func (p precision) factorBits(c *chebyshev, size int) int {
	_, of := math.Frexp(c.tau)
	return min(20, p.factor(size)-of)
}

// overSteps goes over all steps. noise is the standard deviation of what rounding adds to a coefficient, in units of
// its last bit, in the direction in which it lasts longest: that of the smallest eigenvalue. A step is
//
//	d = omega d - tau lambda e + rounding,   e = e + d,
//
// and two values are rounded in it, each with a variance of at most 1/4. The largest tau is below 2^steepest.
func (t *setting) overSteps(reach float64, steps int) (noise float64, steepest int) {
	c := newChebyshev(t.ends(t.least, reach, steps))
	_, steepest = math.Frexp(c.tau)
	least := t.least / t.kappa
	var ee, ed, dd float64 // variances and covariance of e and d
	for step := range steps {
		if step > 0 {
			c.next()
		}
		_, of := math.Frexp(c.tau)
		steepest = max(steepest, of)
		pull := float64(c.tau * least)
		cross := float64(c.omega*ed) - float64(pull*ee)
		dd = float64(c.omega*c.omega*dd) + float64(pull*pull*ee) - float64(2*c.omega*pull*ed) + 0.5
		ee = ee + 2*cross + dd
		ed = cross + dd
	}
	return math.Sqrt(ee), steepest
}

// limitFor is the limit of the check that the rounding of an honest training does not reach.
func (t *setting) limitFor(p precision, noise float64) int64 {
	times, point := math.Sqrt(float64(max(1, t.Params.Outer))), coefBits // how often a solution is rounded
	if t.secant {
		point = secantBits
	}
	each := times * (math.Ldexp(noise, -p.step) + math.Ldexp(1, -point-1))
	top := math.Ldexp(1, multipleBits+2-p.multiple)
	coarse := 0.0 // what a secret multiple is compared with may have fewer bits, those of scores
	if t.bs < coefBits && !t.secant {
		coarse = top * math.Ldexp(1, -t.bs-1)
	}
	total := math.Sqrt(float64(t.features+1) * (float64(each*each)*(1+float64(top*top)) + float64(coarse*coarse)))
	return max(checkLimit, int64(math.Ceil(math.Ldexp(rareNoise*total, checkPoint)))+1)
}

// Step is what a step multiplies by: the last direction, and the residual.
type Step struct{ Direction, Residual float64 }

// Steps returns the factors of all steps of a training with a regulariser whose spectrum ends at reach, as they are
// taken, rounded to the bits that they have: whoever takes them in floating point takes the same steps. p tells what
// the bits depend on: the job's regulariser, or that it chooses one.
func Steps(p fdskl.Params, rows int, lambda, reach float64) ([]Step, error) {
	s, err := scalesOf(p, rows)
	if err != nil {
		return nil, err
	}
	t := &setting{Party: &Party{Party: &fdskl.Party{Params: p}}, scales: s}
	bits, c := t.precisionFor(reach, p.Iterations), newChebyshev(t.ends(s.scaled(lambda), reach, p.Iterations))
	var list []Step
	for step := range p.Iterations {
		if step > 0 {
			c.next()
		}
		point := bits.factorBits(&c, t.rightSize(reach)+bits.size())
		list = append(list, Step{
			Direction: math.Ldexp(float64(directionFactor(c.omega)), -omegaBits),
			Residual:  math.Ldexp(float64(residualFactor(c.tau, point)), -point),
		})
	}
	return list, nil
}

// directionFactor is the factor of the last direction as a word.
func directionFactor(omega float64) uint64 { return uint64(math.Round(math.Ldexp(omega, omegaBits))) }

// residualFactor is that of the residual with so many bits behind the point. It is rounded down: a larger one could
// pass the end of the spectrum.
func residualFactor(tau float64, bits int) uint64 { return uint64(math.Ldexp(tau, bits)) }
