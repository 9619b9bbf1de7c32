package sealed

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/secagg/rss"
)

// A step of the logistic loss may be too long where the second derivative changes on the way: it is taken t times,
// where t = 2^(-k/2) is at most 1/r and r is the root mean square of how much all scores change,
//
//	r^2 = d^T (Z^T Z / N) d.
//
// Of bins t is at most 1 over the fourth root of
//
//	r^4 + sum over the bins of (d / 4)^4,
//
// so that no bin changes by more than 4. A small bin of one class alone, or a column that tells a rare class, hardly
// counts in r: it would go far beyond the optimum and back, and might come to no end.
//
// The steps end where q = N g^T d, the squared distance that is left, in standard errors, is small. Neither number
// opens: the three compare r^2 with powers of two and q with limits, in shares. t stays on shares. How many limits q
// passes opens to all after the steps that may be the last: whether another one follows, and of the last of all how far
// the optimum is.

// The kinds of the messages of progress.
const (
	kindLengths    = "lengths"     // truncations on the way to r^2 and q
	kindPassed     = "passed"      // of the comparisons
	kindPassedBits = "passed bits" // of the parts of numbers that the label holder knows
	kindProgress   = "progress"    // what opens
	kindPace       = "pace"        // the same, to those outside the three
	kindTaken      = "taken"       // the step, times t
	progressBits   = 2             // that open
	progressWidth  = 8             // of the word whose highest bits they are
	lengthLimits   = 15            // of r^2, and of bins of the square of what t is at most 1 over
	distanceLimits = 3             // of q
	lengthPoint    = 24            // behind the point of r^2, in units of what the Gram matrix has for a deviation
	distancePoint  = 6             // of q
	comparedBits   = 42            // of the numbers that are compared
	takenBits      = 10            // behind the point of t
	fourthPoint    = 10            // behind the point of squares, and of the sum of fourth powers when it is compared
	blurBits       = 16            // of each of three pads of what r^2 and q are multiplied by
)

// useBlur is the use of the pads that u is made of.
const useBlur = rss.FirstFree + 3

// Progress is the kind of the openings that say whether another step of the logistic loss follows.
const Progress = kindProgress

// distances are the limits of q. Where it is below the first, the step is the last: it goes nearly all of that way, and
// not all, since a solution and what secants know are not exact.
var distances = [distanceLimits]float64{1. / 32, 16, fdskl.FarthestToGo * fdskl.FarthestToGo}

// toGo is how many standard errors are to go at most where q passes so many limits, 0 where it passes none.
func toGo(distance int) float64 {
	switch {
	case distance == 0:
		return 0
	case distance < distanceLimits:
		return math.Sqrt(distances[distance])
	}
	return math.MaxFloat64
}

// taken is t as a word, where so many limits are passed.
func taken(length int) uint64 { return uint64(math.Round(math.Exp2(takenBits - float64(length)/2))) }

// limit is a number that r^2, q or -q is compared with, and what it counts where it is passed: in t, or in what opens.
type limit struct {
	of     int
	at     float64
	counts uint64
}

// What a limit is of.
const (
	ofLength     = iota
	ofDistance   // q
	lessDistance // -q: it is below 0 where rounding has spoiled the matrix
)

// progressSteps lists the steps whose progress opens. Kernels of small tables are at their optimum before the first of
// them, so that how many steps they take tells nothing; see TestATunedLambdaMovesNoEndOfKernels.
func progressSteps(p fdskl.Params) (list []int) {
	first, _ := outerOf(p)
	every := 8
	if p.Binned() {
		every = 1
	}
	for step := first; step < p.Outer; step += every {
		list = append(list, step)
	}
	return append(list, p.Outer)
}

// steps is how many steps were taken, of a training that has ended.
func (t *stepper) steps() int { return progressSteps(t.Params)[max(1, t.progress.fixed)-1] }

// limits are those of a step, from 1 on: of q where it opens, and how large it is after the last one alone.
func (t *stepper) limits(step int) (list []limit) {
	first, power := math.Ldexp(float64(t.Rows), lengthPoint-t.p), 1
	if t.counted {
		first, power = 1<<fourthPoint, 2
	}
	for i := range lengthLimits {
		list = append(list, limit{ofLength, math.Ldexp(first, power*i), taken(i+1) - taken(i)})
	}
	if !slices.Contains(progressSteps(t.Params), step) {
		return list
	}
	most := 1
	if step == t.Params.Outer {
		most = distanceLimits
	}
	for _, at := range distances[:most] {
		list = append(list, limit{ofDistance, math.Ldexp(at, distancePoint), 1})
	}
	return append(list, limit{lessDistance, math.Ldexp(distances[0], distancePoint), uint64(most)})
}

// measured shares t of a step, and how many limits q passes. right is minus four times the gradient, and change the
// step; of cosines the base is behind them.
func (t *stepper) measured(ctx context.Context, s *system, step int, right, change rss.Share) (rss.Share, error) {
	d, n, point := t.features, t.features, t.stepBits()
	if t.secant {
		n++
	}
	var terms []uint64
	if t.role != rss.Outside {
		terms = make([]uint64, n)
		t.three.MulVec(terms[:d], s.gram, change.Slice(0, d))
		if t.secant { // which want a step that is short where lambda alone holds it, too
			change.Slice(0, d).AddTo(terms[:d], uint64(math.Round(math.Ldexp(t.lambda/t.kappa, gramBits))))
		}
		change.Slice(d, n).AddTo(terms[d:], uint64(math.Round(math.Ldexp(float64(t.Rows), gramBits-t.p))))
	}
	const fine = 20 // behind the point of G d
	products, err := t.truncate(ctx, kindLengths, 0, wordBits, terms,
		rss.Shift{Count: n, Bits: gramBits + point - fine})
	if err != nil {
		return rss.Share{}, err
	}
	terms = append(t.three.Dot(change, products), t.three.Dot(change, right)...)
	both, err := t.truncate(ctx, kindLengths, 1, wordBits, terms,
		rss.Shift{Count: 1, Bits: point + fine - lengthPoint},
		rss.Shift{Count: 1, Bits: point + gramBits - t.p + 2 - distancePoint})
	if err != nil {
		return rss.Share{}, err
	}
	if t.counted {
		length, err := t.fourthPowers(ctx, both.Slice(0, 1), change)
		if err != nil {
			return rss.Share{}, err
		}
		both = joined(length, both.Slice(1, 2))
	}
	if both, err = t.blurred(ctx, both); err != nil {
		return rss.Share{}, err
	}
	limits := t.limits(step)
	compared := rss.Zero(t.role, len(limits))
	for i, l := range limits {
		one := compared.Slice(i, i+1)
		switch l.of {
		case ofLength:
			addTimes(one, both.Slice(0, 1), 1)
		case ofDistance:
			addTimes(one, both.Slice(1, 2), 1)
		case lessDistance:
			minus(one, both.Slice(1, 2))
		}
		lessThan(t.role, one, uint64(math.Round(l.at)))
	}
	g := &gates{setting: t.setting, kind: kindPassed, turn: 0}
	passed, err := g.negative(ctx, kindPassedBits, comparedBits, len(limits), compared)
	if err != nil {
		return rss.Share{}, err
	}
	out := rss.Zero(t.role, 2)
	out.AddPublic(t.role, 0, taken(0))
	for i, l := range limits {
		at := min(l.of, 1)
		addTimes(out.Slice(at, at+1), passed.Slice(i, i+1), l.counts)
	}
	return out, nil
}

// fourthPowers shares r^4 and the sum of (d / 4)^4, scale fourthPoint, from r^2 as it is measured and the changes d of
// the bins.
func (t *stepper) fourthPowers(ctx context.Context, square, change rss.Share) (rss.Share, error) {
	unit := math.Ldexp(float64(t.Rows), lengthPoint-t.p) // of r^2
	less := int(math.Log2(unit)) - fourthPoint
	var terms []uint64
	if t.role != rss.Outside {
		terms = make([]uint64, 1)
		square.AddTo(terms, 1)
	}
	squares, err := t.truncate(ctx, kindLengths, 2, wordBits, append(terms, t.three.Products(change, change)...),
		rss.Shift{Count: 1, Bits: less}, rss.Shift{Count: t.features, Bits: 2*coefBits - fourthPoint})
	if err != nil {
		return rss.Share{}, err
	}
	rows, bins := squares.Slice(0, 1), squares.Slice(1, 1+t.features)
	// 4^4 r^4, whose units are from 1 to 4 times as many
	times := uint64(math.Round(math.Exp2(8+2*float64(fourthPoint+less)) / (unit * unit)))
	powers := t.three.Dot(bins, bins)
	for i, x := range t.three.Dot(rows, rows) {
		powers[i] += times * x
	}
	return t.truncate(ctx, kindLengths, 3, wordBits, powers, rss.Shift{Count: 1, Bits: 8 + fourthPoint})
}

// blurred shares numbers times a secret u each, from 1/2 to 2: half of 1 and three pads, of which each party lacks one,
// which makes up to a half. So whoever chooses lambda, or anything else, so that a number is at a limit learns which
// side it is on by chance alone, but for as much as what it wonders about moves the number. Many numbers add up.
func (t *stepper) blurred(ctx context.Context, numbers rss.Share) (rss.Share, error) {
	const n = 2
	step := t.three.Begin("blur")
	var c [rss.Roles][]uint64
	for j := range rss.Role(rss.Roles) {
		var err error
		if c[j], err = step.Words(j, useBlur, blurBits, n); err != nil {
			return rss.Share{}, err
		}
	}
	u := rss.Components(t.role, c)
	for i := range n {
		u.AddPublic(t.role, i, 1<<blurBits)
	}
	return t.truncate(ctx, kindLengths, 4, wordBits, t.three.Products(numbers, u),
		rss.Shift{Count: n, Bits: blurBits + 1})
}

// openProgress opens how many limits q passes in a step to all, the same in every session: to the three from each
// other's components, and to those outside by the label holder's word. Of a step whose progress does not open it is as
// if q passed all.
func (t *stepper) openProgress(ctx context.Context, step int, passed rss.Share) (distance int, err error) {
	number := slices.Index(progressSteps(t.Params), step) + 1
	if number == 0 {
		return distanceLimits, nil
	}
	words, err := t.openings.fix(ctx, t.progress, number, 2, func() ([]uint64, error) {
		if passed.Len() == 0 && t.role != rss.Outside {
			return nil, fmt.Errorf("step %d was taken, and what opened of it is gone: propose the job anew", step)
		}
		return append(slices.Clone(passed.X), passed.Y...), nil
	})
	if err != nil {
		return 0, err
	}
	const unused = progressWidth - progressBits
	var v rss.Share
	if t.role != rss.Outside {
		v = rss.Share{X: []uint64{words[0] << unused}, Y: []uint64{words[1] << unused}}
	}
	numbers, err := t.three.Reveal(ctx, kindProgress, progressWidth, 1, v, t.checker.threeNames())
	if err != nil {
		return 0, err
	}
	var own []byte
	if t.role != rss.Outside {
		t.told(kindProgress, 1)
		own = []byte{byte(numbers[0]) >> unused}
	}
	told, err := t.Network.Broadcast(ctx, kindPace, t.parties[rss.LabelHolder], own, 1)
	if err != nil {
		return 0, err
	}
	if err := t.Network.Confirm(ctx); err != nil {
		return 0, err
	}
	if len(told) != 1 || told[0] > distanceLimits || own != nil && told[0] != own[0] {
		return 0, &rss.DeviationError{Parties: []string{t.Names[t.parties[rss.LabelHolder]]}, Kind: kindPace,
			Reason: fmt.Sprintf("it tells %v of step %d, and what opened is %v", told, step, own)}
	}
	if t.role == rss.Outside {
		t.told(kindPace, 1)
	}
	return int(told[0]), nil
}

// take shares t times a step, [keptRuns, D] and behind it the base, scale stepBits.
func (t *stepper) take(ctx context.Context, by, step rss.Share) (rss.Share, error) {
	return t.truncate(ctx, kindTaken, 1, wordBits, t.three.Times(step, by),
		rss.Shift{Count: t.keptRuns()*t.features + 1, Bits: takenBits})
}
