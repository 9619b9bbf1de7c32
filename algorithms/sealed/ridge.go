package sealed

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/secagg/rss"
)

// descent is a Chebyshev iteration on a shared system: T steps that open nothing, since their factors
// follow from the ends of the spectrum alone (Golub, Varga 1961).
type descent struct {
	*trainer
	system *system
	right  rss.Share // the right sides of all runs, [runs, D], scale gs + extra
	size   int       // its norm is below 2^size
	chebyshev
	step            int
	beta, direction rss.Share // of all runs, [runs, D], at the scale of the steps
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

// ends returns the ends of the spectrum that T steps aim at.
func (t *trainer) ends(reach float64) (lo, hi float64) {
	shift := t.lambda / t.kappa
	low := spread / float64(t.Params.Iterations)
	least := 16 * math.Sqrt(float64(t.features)) * math.Ldexp(1, -gramBits) // the rounding of G
	return max(shift+float64(reach*float64(low*low)), least), reach + shift
}

// ridge solves for the coefficients of the square loss.
func (t *trainer) ridge(ctx context.Context, s *system, from point) (rss.Share, error) {
	d := t.newDescent(s, s.sides)
	if err := d.resume(from); err != nil {
		return rss.Share{}, err
	}
	return d.run(ctx, d.saveSteps)
}

// newDescent prepares T steps of all runs from zero.
func (t *trainer) newDescent(s *system, right rss.Share) *descent {
	return &descent{
		trainer: t, system: s, right: right, size: t.rightSize(s.reach) + s.size(),
		chebyshev: newChebyshev(t.ends(s.reach)),
		beta:      rss.Zero(t.role, runs*t.features), direction: rss.Zero(t.role, runs*t.features),
	}
}

// rightSize is such that the right side's norm is below 2^rightSize, for labels with deviation 1.
func (t *trainer) rightSize(reach float64) int {
	_, size := math.Frexp(t.s0 * math.Sqrt(2*reach/(float64(t.features)*t.s0))) // s0 |2/(N D) Z^T y| for |y|^2 <= N
	return size + t.newtonSize()
}

// newtonSize is by how many bits the right side of an outer step may be longer than that of labels with deviation 1.
func (t *trainer) newtonSize() int {
	if t.Params.Outer == 0 {
		return 0
	}
	return int(math.Ceil(math.Log2(1/t.kappa))) + 1
}

// run takes the steps that are left and returns the solution in its last form; after hears of each.
func (d *descent) run(ctx context.Context, after func() error) (rss.Share, error) {
	for d.step < d.Params.Iterations {
		if err := d.advance(ctx); err != nil {
			return rss.Share{}, err
		}
		d.step++
		if err := after(); err != nil {
			return rss.Share{}, err
		}
	}
	finer := max(d.system.step, coefBits+1) // all send the same, whatever the scale of the steps
	var terms []uint64
	if d.role != rss.Outside {
		terms = make([]uint64, runs*d.features)
		d.beta.AddTo(terms, 1<<(finer-d.system.step))
	}
	shift := rss.Shift{Count: runs * d.features, Bits: finer - coefBits}
	return d.truncate(ctx, kindRounded, d.Params.Iterations, wordBits, terms, shift)
}

// advance takes one step: direction = tau (right - G beta) + omega direction, beta += direction.
func (d *descent) advance(ctx context.Context) error {
	if d.step > 0 {
		d.next()
	}
	bits := d.factorBits(d.system.precision, d.size)
	if d.role == rss.Outside {
		bits = max(bits, 1) // it does not know the reach after a resumption, and sends nothing
	}
	if bits < 1 {
		return fmt.Errorf("step %d: a factor of %v leaves no bit of its own, lambda is too small for %d steps", d.step+1, d.tau, d.Params.Iterations)
	}
	n := runs * d.features
	next, err := d.truncate(ctx, kindProduct, d.step, wordBits, d.terms(bits), rss.Shift{Count: n, Bits: gramBits + bits}, rss.Shift{Count: n, Bits: omegaBits})
	if err != nil {
		return err
	}
	d.direction = next.Slice(0, n)
	d.direction.Add(next.Slice(n, 2*n))
	d.beta.Add(d.direction)
	return nil
}

// terms returns the terms of tau (right - G beta), with so many bits behind the point more than Gram matrix and
// coefficients have, and of omega direction.
func (d *descent) terms(bits int) []uint64 {
	if d.role == rss.Outside {
		return nil
	}
	n := runs * d.features
	out := make([]uint64, 2*n)
	d.three.MulVecs(out[:n], d.system.gram, d.beta, runs)
	tau := residualFactor(d.tau, bits)
	finer := d.system.step - d.system.extra()
	for i := range n {
		out[i] = tau * (d.right.X[i]<<finer - out[i])
	}
	d.direction.AddTo(out[n:], directionFactor(d.omega))
	return out
}
