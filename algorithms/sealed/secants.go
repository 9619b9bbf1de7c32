package sealed

import (
	"context"
	"math"
	"math/bits"

	"github.com/hanse-project/hanse/secagg/rss"
)

// Of cosines a weighed Gram matrix is dear: a cosine times a weight wants a truncation. In its place stands what the
// steps before have told of the second derivative: L-BFGS (Nocedal 1980), preconditioned by the fixed matrix
// A = G + lambda, which is nowhere less steep. Of each of the last steps there are
//
//	s, by which the coefficients changed,   y, by which the right side fell,   A^-1 y,
//
// and with rho = 1/(s y) the direction for a right side r is
//
//	q = r;              from the newest on:  a = rho (s q), q -= a y;
//	z = gamma A^-1 q;   from the oldest on:  z += (a - rho (y z)) s,
//
// where gamma = (s y)/(y A^-1 y) of the newest, and 1 over the weight of all rows in the first step. A^-1 q is A^-1 r
// less a times A^-1 y: a step solves once, and the numbers follow from products of two vectors. Nothing of this opens.
//
// Of a rare class right sides are small and gamma is large, and so is what gamma makes of a solution's rounding. So a
// right side is solved times a power of two, the gain, and gamma is of what comes of that. The gain follows from the
// share of the class, which is the label holder's.
//
// Steps become shorter and shorter. So s, y and A^-1 y are multiplied by a power of two with which s y is between 1/4
// and 1, and gamma is a power of two. Which power it is follows from comparisons, whose results are shares. Where s y
// is next to nothing, as where a step was, the factor is 0.
//
// Each step's solution is checked, with secret multiples of its own. What solutions are combined to is not: a lie there
// makes a step elsewhere, as a lie in a right side or a probability does.

// The kinds of the messages of secants.
const (
	kindScored    = "scored"         // coefficients and base as scores are made of them
	kindSecants   = "secants"        // products of vectors, and what follows from them
	kindSteep     = "steepness"      // of the comparisons of s y and y A^-1 y
	kindSteepBits = "steepness bits" // of the parts of numbers that the label holder knows
	kindGained    = "gained"         // right sides times the gain
	kindStretched = "stretched"      // vectors times their factor
	kindDirection = "direction"
)

// Scales and limits of secants.
const (
	mostSecants  = 4  // that count
	secantBits   = 24 // behind the point of coefficients between two steps
	steepBits    = 34 // of s y and y A^-1 y, where they are compared
	scalarBits   = 20 // of all other numbers
	mostFactor   = 12 // the factor of a secant is 2^mostFactor at most
	mostGamma    = 8  // gamma is 2^mostGamma at most,
	gammaBits    = 6  // and has so many bits behind the point, over the gain
	steepWidth   = 50 // of numbers that are compared
	inverseSteps = 3  // of Newton's iteration for rho
)

// secant is what a step tells of the second derivative. What coefficients change by is [D], and behind them of the
// base, scale secantBits; right sides are [D], and behind them that of the base, scale gramBits.
type secant struct {
	taken   rss.Share // s
	fall    rss.Share // y
	solved  rss.Share // A^-1 y
	inverse rss.Share // rho, [1], scale scalarBits
}

// secants are the last ones, the newest first, and of the step before what it took, its right side, and what that was
// solved to.
type secants struct {
	gain     rss.Share // [1]
	lessGain rss.Share // 1 over it, [1], scale gammaBits
	gamma    rss.Share // over the gain, of the first step, [1], scale gammaBits
	list     []secant
	before   secant
}

// firstSecants returns the gain, 1 over it, and the first gamma over it, as words, of the weight that all rows have at
// the beginning.
func firstSecants(weight float64) []uint64 {
	gain := math.Floor(-math.Log2(weight) / 2) // twice the root of the weight is the norm of the right side
	gamma := min(mostGamma, math.Floor(-math.Log2(weight)))
	return []uint64{uint64(math.Exp2(gain)), uint64(math.Exp2(gammaBits - gain)),
		uint64(math.Exp2(gammaBits + gamma - gain))}
}

// secantStep takes a step of the logistic loss over cosines.
func (t *stepper) secantStep(ctx context.Context, o *outer, s *system) error {
	at, scores, err := t.scorer.terms(ctx, o, s)
	if err != nil {
		return err
	}
	right, move, err := t.gradient(ctx, o.step, at, s.means, scores)
	if err != nil {
		return err
	}
	d := t.features
	if o.step == 0 { // the base begins where the mean derivative is nothing
		move = rss.Zero(t.role, 1)
		right = joined(right.Slice(0, d), move)
	}
	gained, err := t.three.Reshare(ctx, kindGained, wordBits, t.three.Times(joined(right.Slice(0, d), move), o.gain), d+1)
	if err != nil {
		return err
	}
	multiples, err := t.checker.drawMultiples()
	if err != nil {
		return err
	}
	all, err := t.solved(ctx, o, s, multiples, s.gram, gained.Slice(0, d))
	if err != nil {
		return err
	}
	t.addSolution(o.check, multiples, all, s.multiple)
	coarser(gained.Slice(d, d+1), secantBits-coefBits)
	solved := joined(all.Slice(0, d), gained.Slice(d, d+1))
	gamma := o.gamma
	if o.step > 0 {
		if gamma, err = t.addSecant(ctx, &o.secants, right, solved); err != nil {
			return err
		}
	}
	direction, err := t.direction(ctx, o.list, gamma, right, solved)
	if err != nil {
		return err
	}
	measured, err := t.measured(ctx, s, o.step+1, right, direction)
	if err != nil {
		return err
	}
	if o.distance, err = t.openProgress(ctx, o.step+1, measured.Slice(1, 2)); err != nil {
		return err
	}
	taken, err := t.take(ctx, measured.Slice(0, 1), direction)
	if err != nil {
		return err
	}
	o.at.Add(taken)
	o.before = secant{taken: taken, fall: right, solved: solved}
	return nil
}

// addSecant adds the secant between the step before and a right side, with what this is solved to, and shares gamma.
func (t *stepper) addSecant(ctx context.Context, o *secants, right, solved rss.Share) (gamma rss.Share, err error) {
	now := secant{o.before.taken, o.before.fall.Clone(), o.before.solved.Clone(), rss.Share{}}
	minus(now.fall, right)
	minus(now.solved, solved)
	both, err := t.inner(ctx, 0, steepBits, []rss.Share{now.taken, now.solved}, []rss.Share{now.fall, now.fall})
	if err != nil {
		return gamma, err
	}
	factor, gamma, err := t.factors(ctx, o, both.Slice(0, 1), both.Slice(1, 2))
	if err != nil {
		return gamma, err
	}
	all := joined(joined(now.taken, now.solved), now.fall)
	n := t.features + 1
	if all, err = t.three.Reshare(ctx, kindStretched, wordBits, t.three.Times(all, factor), 3*n); err != nil {
		return gamma, err
	}
	now.taken, now.solved, now.fall = all.Slice(0, n), all.Slice(n, 2*n), all.Slice(2*n, 3*n)
	if now.inverse, err = t.steepInverse(ctx, now); err != nil {
		return gamma, err
	}
	o.list = append([]secant{now}, o.list[:min(len(o.list), mostSecants-1)]...)
	return gamma, nil
}

// inner shares the inner products of vectors of changes and right sides, in pairs, with so many bits behind the point
// of what they are for a change of one in all scores where the second derivative is that of the fixed matrix.
func (t *stepper) inner(ctx context.Context, turn, point int, changes, sides []rss.Share) (rss.Share, error) {
	var terms []uint64
	for i, change := range changes {
		terms = append(terms, t.three.Dot(change, sides[i])...)
	}
	return t.truncate(ctx, kindSecants, turn, wordBits, terms,
		rss.Shift{Count: len(changes), Bits: secantBits + gramBits - (t.p - bits.Len(uint(t.rows-1))) - point})
}

// factors shares, of the numbers s y and gain y A^-1 y, the largest power of two 2^i of which 4^i s y is below 1, or 0
// where it would be beyond 2^mostFactor, or y A^-1 y is more than s y, which rounding alone makes; and gamma over the
// gain, scale gammaBits, the largest power of two times which y A^-1 y is below s y.
func (t *stepper) factors(ctx context.Context, o *secants, taken, solved rss.Share) (factor, gamma rss.Share,
	err error) {
	const n = mostFactor + 1 + mostGamma + 1
	gained, err := t.three.Reshare(ctx, kindSteep, wordBits, t.three.Products(taken, o.gain), 1)
	if err != nil {
		return factor, gamma, err
	}
	compared := rss.Zero(t.role, n)
	for i := range mostFactor + 1 {
		one := compared.Slice(i, i+1)
		addTimes(one, taken, 1)
		one.AddPublic(t.role, 0, ^uint64(0)<<(steepBits-2*i-2))
	}
	for i := range mostGamma + 1 {
		one := compared.Slice(mostFactor+1+i, mostFactor+2+i)
		addTimes(one, solved, 1<<i)
		minus(one, gained)
	}
	g := &gates{setting: t.setting, kind: kindSteep}
	passed, err := g.negative(ctx, kindSteepBits, steepWidth, n, compared)
	if err != nil {
		return factor, gamma, err
	}
	power := func(passed rss.Share, n int) rss.Share {
		s := rss.Zero(t.role, 1)
		s.AddPublic(t.role, 0, 1)
		for i := range n {
			addTimes(s, passed.Slice(i, i+1), 1<<i) // from 2^i to twice as much
		}
		return s
	}
	factor, gamma = power(passed, mostFactor), power(passed.Slice(mostFactor+2, n), mostGamma)
	addTimes(factor, passed.Slice(mostFactor, mostFactor+1), ^uint64(1<<mostFactor)+1)
	both, err := t.three.Reshare(ctx, kindSteep, wordBits, append(t.three.Products(factor, passed.Slice(mostFactor+1,
		mostFactor+2)), t.three.Products(gamma, o.lessGain)...), 2)
	return both.Slice(0, 1), both.Slice(1, 2), err
}

// steepInverse shares 1 over s y of a secant, which is from 1/4 to 1: Newton's iteration x = x (2 - a x) for 1/a, which
// begins with 4 - 3 a, off by a third at most.
func (t *stepper) steepInverse(ctx context.Context, now secant) (rss.Share, error) {
	a, err := t.inner(ctx, 1, scalarBits, []rss.Share{now.taken}, []rss.Share{now.fall})
	if err != nil {
		return a, err
	}
	x := rss.Zero(t.role, 1)
	addTimes(x, a, 3)
	lessThan(t.role, x, 4<<scalarBits)
	for step := range inverseSteps {
		product, err := t.scalars(ctx, 2*step, 1, t.three.Products(a, x))
		if err != nil {
			return x, err
		}
		lessThan(t.role, product, 2<<scalarBits)
		if x, err = t.scalars(ctx, 2*step+1, 1, t.three.Products(product, x)); err != nil {
			return x, err
		}
	}
	return x, nil
}

// scalars shares numbers of which there are terms with twice the bits behind the point.
func (t *stepper) scalars(ctx context.Context, turn, n int, terms []uint64) (rss.Share, error) {
	return t.truncate(ctx, kindSecants, turn, wordBits, terms, rss.Shift{Count: n, Bits: scalarBits})
}

// secantNumbers are numbers of a secant, all times its rho, of k secants in all.
type secantNumbers struct {
	right  rss.Share // s r, [1]
	seen   rss.Share // y A^-1 r, [1]
	chain  rss.Share // with each other secant: s y' of a newer one, y s' of an older one, [k]
	solved rss.Share // with each secant y A^-1 y', [k]
}

// secantNumbers shares them of each secant, for a right side and what it is solved to.
func (t *stepper) secantNumbers(ctx context.Context, list []secant, right, solved rss.Share) ([]secantNumbers, error) {
	var changes, sides []rss.Share
	for i, one := range list {
		changes, sides = append(changes, one.taken, solved), append(sides, right, one.fall)
		for j, other := range list {
			newer, older := list[min(i, j)], list[max(i, j)]
			changes, sides = append(changes, older.taken, other.solved), append(sides, newer.fall, one.fall)
		}
	}
	all, err := t.inner(ctx, 0, scalarBits, changes, sides)
	if err != nil {
		return nil, err
	}
	k, each := len(list), 2+2*len(list)
	var terms []uint64
	for i, one := range list {
		terms = append(terms, t.three.Times(all.Slice(i*each, (i+1)*each), one.inverse)...)
	}
	if all, err = t.scalars(ctx, 1, k*each, terms); err != nil {
		return nil, err
	}
	var numbers []secantNumbers
	for i := range list {
		of := all.Slice(i*each, (i+1)*each)
		n := secantNumbers{right: of.Slice(0, 1), seen: of.Slice(1, 2)}
		for j := range list {
			n.chain, n.solved = joined(n.chain, of.Slice(2+2*j, 3+2*j)), joined(n.solved, of.Slice(3+2*j, 4+2*j))
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// direction shares the direction of a step, for a right side and what it is solved to.
func (t *stepper) direction(ctx context.Context, list []secant, gamma, right, solved rss.Share) (rss.Share, error) {
	terms := t.three.Times(solved, gamma)
	for i := range terms {
		terms[i] <<= scalarBits - gammaBits
	}
	if len(list) > 0 {
		back, along, err := t.loops(ctx, list, gamma, right, solved)
		if err != nil {
			return back, err
		}
		for i, one := range list {
			add, take := t.three.Times(one.taken, back.Slice(i, i+1)), t.three.Times(one.solved, along.Slice(i, i+1))
			for j := range terms {
				terms[j] += add[j] - take[j]
			}
		}
	}
	return t.truncate(ctx, kindDirection, 0, wordBits, terms,
		rss.Shift{Count: t.features + 1, Bits: scalarBits})
}

// loops shares what the two loops come to: how often the s and the A^-1 y of each secant count in a direction, the
// latter with gamma in it and to be taken off, [k] each.
func (t *stepper) loops(ctx context.Context, list []secant, gamma, right, solved rss.Share) (back, scaled rss.Share,
	err error) {
	numbers, err := t.secantNumbers(ctx, list, right, solved)
	if err != nil {
		return back, scaled, err
	}
	k := len(list)
	// less shares a number less the inner product of two vectors.
	less := func(turn int, number, x, y rss.Share) (rss.Share, error) {
		terms := t.three.Dot(x, y)
		for i := range terms {
			terms[i] = number.X[i]<<scalarBits - terms[i]
		}
		return t.scalars(ctx, turn, 1, terms)
	}
	along := numbers[0].right // a of each secant
	for i := 1; i < k; i++ {
		one, err := less(i-1, numbers[i].right, numbers[i].chain.Slice(0, i), along)
		if err != nil {
			return back, scaled, err
		}
		along = joined(along, one)
	}
	scaled = along // a and y A^-1 r, times gamma
	for _, n := range numbers {
		scaled = joined(scaled, n.seen)
	}
	if scaled, err = t.truncate(ctx, kindSecants, 0, wordBits, t.three.Times(scaled, gamma),
		rss.Shift{Count: 2 * k, Bits: gammaBits}); err != nil {
		return back, scaled, err
	}
	for i := k - 1; i >= 0; i-- {
		number, solved := along.Slice(i, i+1).Clone(), numbers[i].solved.Clone()
		minus(number, scaled.Slice(k+i, k+i+1))
		lessThan(t.role, solved, 0)
		one, err := less(k-i, number, joined(solved, numbers[i].chain.Slice(i+1, k)), joined(scaled.Slice(0, k), back))
		if err != nil {
			return back, scaled, err
		}
		back = joined(one, back)
	}
	return back, scaled, nil
}

// words are what a checkpoint keeps of an outer step, which restored reads again.
func (o *outer) words() [][]uint64 {
	list := []rss.Share{o.at}
	if o.before.taken.X != nil {
		list = append(list, o.before.taken, o.before.fall, o.before.solved)
	}
	for _, one := range o.list {
		list = append(list, one.taken, one.fall, one.solved, one.inverse)
	}
	words := [][]uint64{o.check}
	for _, s := range list {
		words = append(words, s.X, s.Y)
	}
	return words
}

// restored sets what a checkpoint has of the outer step under way.
func (t *setting) restored(o *outer, s *state) error {
	n, known := t.keptRuns()*t.features+1, 0 // the step before, and the secants
	if t.secant {
		known = min(o.step, mostSecants+1)
	}
	lengths := []int{len(o.check), n, n}
	for i := range known {
		lengths = append(lengths, n, n, n, n, n, n)
		if i > 0 {
			lengths = append(lengths, 1, 1)
		}
	}
	words, err := s.words(lengths...)
	if err != nil {
		return err
	}
	next := func() (one rss.Share) {
		one = rss.Share{X: words[0], Y: words[1]}
		words = words[2:]
		return one
	}
	o.check, words = words[0], words[1:]
	o.at = next()
	for i := range known {
		one := secant{taken: next(), fall: next(), solved: next()}
		if i == 0 {
			o.before = one
			continue
		}
		one.inverse = next()
		o.list = append(o.list, one)
	}
	return nil
}
