package sealed

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/secagg/rss"
)

// descent is a Chebyshev iteration on systems of equations that share a matrix: T steps that open nothing, since their
// factors follow from the ends of the spectrum alone (Golub, Varga 1961). All systems take a step in the same messages.
type descent struct {
	*setting
	precision
	kind, rounded string    // of the messages of a step, and of the last form
	steps         int       // T
	point         int       // bits behind the point of the last form
	gram          rss.Share // [D, D], scale gs
	right         rss.Share // of all systems, [n, D], scale gs + extra
	size          int       // the norm of each is below 2^size
	lines         []line    // one for each system
	scored        int       // the solutions of the first so many are what scores are made of
	step          int
	beta          rss.Share // of all systems, [n, D], at the scale of the steps
	direction     rss.Share
}

// line is what is public of one system.
type line struct {
	diagonal uint64 // what is added to the matrix's, scale gs
	chebyshev
}

// chebyshev is the public part of an iteration: the factors of its next step. Every party computes the same
// bits: products are rounded before they enter a sum.
type chebyshev struct {
	half, sigma float64 // half the spectrum's width; its middle over that
	rho         float64
	omega, tau  float64 // of the last direction, and of the residual
}

// newChebyshev returns the factors for a spectrum in [lo, hi].
func newChebyshev(lo, hi float64) chebyshev {
	middle := (hi + lo) / 2
	c := chebyshev{half: (hi - lo) / 2, tau: 1 / middle}
	c.sigma = middle / c.half
	c.rho = 1 / c.sigma
	return c
}

// next moves on to the factors of the following step.
func (c *chebyshev) next() {
	rho := 1 / (2*c.sigma - c.rho) // doubling is exact
	c.omega, c.tau = float64(rho*c.rho), 2*rho/c.half
	c.rho = rho
}

// eachSteps is how many steps a solution takes of which a training needs several, or one.
func (t *setting) eachSteps() int { return t.Params.SolverSteps() }

// ends returns the ends of the spectrum that so many steps aim at, of a matrix whose largest eigenvalue is reach.
func (t *setting) ends(lambda, reach float64, steps int) (lo, hi float64) {
	shift := lambda / t.kappa
	low := spread / float64(steps)
	return max(shift+float64(reach*float64(low*low)), t.rounding()), reach + shift
}

// rounding is an eigenvalue that the rounding of G alone does not reach.
func (s *scales) rounding() float64 {
	return 16 * math.Sqrt(float64(s.features)) * math.Ldexp(1, -gramBits)
}

// ridge solves for the coefficients of the square loss.
func (t *trainer) ridge(ctx context.Context, s *system, from point) (rss.Share, error) {
	d := t.newDescent(s, s.sides)
	if err := d.resume(t.checkpoints, from); err != nil {
		return rss.Share{}, err
	}
	return d.run(ctx, func() error { return d.saveSteps(t.checkpoints, s.session) })
}

// newDescent prepares T steps of all runs from zero, with the job's regulariser.
func (t *setting) newDescent(s *system, right rss.Share) *descent {
	d := &descent{
		setting: t, precision: s.precision, kind: kindProduct, rounded: kindRounded, gram: s.gram, right: right,
		size: t.rightSize(s.reach) + s.size(), steps: t.eachSteps(), point: coefBits,
	}
	d.add(runs*t.sides, t.lambda, s.reach)
	d.scored = t.sides
	return d
}

// add adds n systems with the same on the diagonal, from zero.
func (d *descent) add(n int, lambda, reach float64) {
	l := line{uint64(math.Round(math.Ldexp(lambda/d.kappa, gramBits))), newChebyshev(d.ends(lambda, reach, d.steps))}
	for range n {
		d.lines = append(d.lines, l)
	}
	d.beta, d.direction = rss.Zero(d.role, len(d.lines)*d.features), rss.Zero(d.role, len(d.lines)*d.features)
}

// next moves all systems on to the factors of the following step.
func (d *descent) next() {
	for i := range d.lines {
		d.lines[i].next()
	}
}

// rightSize is such that the right side's norm is below 2^rightSize, for labels with deviation 1.
func (t *setting) rightSize(reach float64) int {
	_, size := math.Frexp(t.s0 * math.Sqrt(2*reach/(float64(t.weight)*t.s0))) // s0 |2/(N W) Z^T y| for |y|^2 <= N
	return size + t.newtonSize()
}

// newtonSize is by how many bits the right side of an outer step may be longer than that of labels with deviation 1.
func (t *setting) newtonSize() int {
	if t.Params.Outer == 0 {
		return 0
	}
	return int(math.Ceil(math.Log2(1/t.kappa))) + 1
}

// run takes the steps that are left and returns the solutions in their last form; after hears of each.
func (d *descent) run(ctx context.Context, after func() error) (rss.Share, error) {
	n := len(d.lines) * d.features
	for d.step < d.steps {
		// Takes one step: direction = tau (right - (G + lambda) beta) + omega direction, beta += direction.
		if d.step > 0 {
			d.next()
		}
		var shifts []rss.Shift
		for i := range d.lines {
			bits := d.factorBits(&d.lines[i].chebyshev, d.size)
			if d.role == rss.Outside {
				bits = max(bits, 1) // it does not know the reach after a resumption, and sends nothing
			}
			if bits < 1 {
				return rss.Share{}, fmt.Errorf("step %d: a factor of %v leaves no bit of its own, lambda is too "+
					"small for %d steps", d.step+1, d.lines[i].tau, d.steps)
			}
			if last := len(shifts) - 1; last >= 0 && shifts[last].Bits == gramBits+bits {
				shifts[last].Count += d.features
				continue
			}
			shifts = append(shifts, rss.Shift{Count: d.features, Bits: gramBits + bits})
		}
		next, err := d.truncate(ctx, d.kind, d.step, wordBits, d.terms(), append(shifts,
			rss.Shift{Count: n, Bits: omegaBits})...)
		if err != nil {
			return rss.Share{}, err
		}
		d.direction = next.Slice(0, n)
		d.direction.Add(next.Slice(n, 2*n))
		d.beta.Add(d.direction)
		d.step++
		if err := after(); err != nil {
			return rss.Share{}, err
		}
	}
	finer := max(d.precision.step, d.point+1) // all send the same, whatever the scale of the steps
	var terms []uint64
	if d.role != rss.Outside {
		terms = make([]uint64, n)
		d.beta.AddTo(terms, 1<<(finer-d.precision.step))
	}
	shifts, dropped := []rss.Shift{{Count: n, Bits: finer - d.point}}, coefBits-d.bs
	if dropped > 0 && d.scored > 0 {
		shifts[0].Count -= d.scored * d.features
		shifts = append([]rss.Shift{{Count: d.scored * d.features, Bits: finer - d.bs}}, shifts...)
	}
	beta, err := d.truncate(ctx, d.rounded, d.steps, wordBits, terms, shifts...)
	coarser(beta.Slice(0, d.scored*d.features), dropped)
	return beta, err
}

// terms returns the terms of tau (right - (G + lambda) beta), with so many bits behind the point more than Gram matrix
// and coefficients have as the factor has, and of omega direction.
func (d *descent) terms() []uint64 {
	if d.role == rss.Outside {
		return nil
	}
	n := len(d.lines) * d.features
	out := make([]uint64, 2*n)
	d.three.MulVecs(out[:n], d.gram, d.beta, len(d.lines))
	finer := d.precision.step - d.extra()
	for k := range d.lines {
		l := &d.lines[k]
		lo, hi := k*d.features, (k+1)*d.features
		d.beta.Slice(lo, hi).AddTo(out[lo:hi], l.diagonal)
		tau := residualFactor(l.tau, d.factorBits(&l.chebyshev, d.size))
		for i := lo; i < hi; i++ {
			out[i] = tau * (d.right.X[i]<<finer - out[i])
		}
		d.direction.Slice(lo, hi).AddTo(out[n+lo:n+hi], directionFactor(l.omega))
	}
	return out
}
