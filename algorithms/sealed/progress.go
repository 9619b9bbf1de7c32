package sealed

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/secagg/rss"
)

// A step of the logistic loss may be too long where the second derivative changes on the way: it is taken t times,
// where t = 2^(-k/2) is at most 1/r and r is the root mean square of how much all scores change,
//
//	r^2 = d^T (Z^T Z / N) d.
//
// The steps end where q = N g^T d, the squared distance that is left, in standard errors, is small. Neither number
// opens: the three compare r^2 with powers of two and q with limits, in shares, and how many are passed opens to all,
// once a step. It tells what all do next, and of the last step how far the optimum is.

// The kinds of the messages of progress.
const (
	kindLengths    = "lengths"     // truncations on the way to r^2 and q
	kindPassed     = "passed"      // of the comparisons
	kindPassedBits = "passed bits" // of the parts of numbers that the label holder knows
	kindProgress   = "progress"    // what opens
	kindPace       = "pace"        // the same, to those outside the three
	kindTaken      = "taken"       // the step, times t
	progressBits   = 6             // that open
	progressWidth  = 8             // of the word whose highest bits they are
	progressLimit  = 1 << 4        // of how many limits of r^2 are passed, and of its part in the word
	lengthLimits   = progressLimit - 1
	distanceLimits = 3  // of q
	lengthPoint    = 24 // behind the point of r^2, in units of what the Gram matrix has for a deviation
	distancePoint  = 6  // of q
	comparedBits   = 42 // of the numbers that are compared
	takenBits      = 10 // behind the point of t
	blurBits       = 16 // of each of three pads of what r^2 and q are multiplied by
	leastSteps     = 5  // after which the steps may end
)

// useBlur is the use of the pads that u is made of.
const useBlur = rss.FirstFree + 3

// Progress is the kind of the openings that tell how far steps of the logistic loss go.
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

// progress is what opens of a step.
type progress struct {
	length   int // r^2 is at most 2^length, so that the step is taken 2^(-length/2) times
	distance int // how many limits q passes, of those that count in the step
}

// taken is t as a word.
func (p progress) taken() uint64 {
	return uint64(math.Round(math.Exp2(takenBits - float64(p.length)/2)))
}

// limit is a number that r^2, q or -q is compared with, and what it counts in the word that opens where it is passed.
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

// limits are those of a step, from 1 on. Whether q is small counts from the step on after which the steps may end, and
// how large it is after the last one alone.
func (t *trainer) limits(step int) (list []limit) {
	for i := range lengthLimits {
		list = append(list, limit{ofLength, math.Ldexp(float64(t.Rows), i-t.p+lengthPoint), 1})
	}
	if step < min(leastSteps, t.Params.Outer) {
		return list
	}
	most := 1
	if step == t.Params.Outer {
		most = distanceLimits
	}
	for _, at := range distances[:most] {
		list = append(list, limit{ofDistance, math.Ldexp(at, distancePoint), progressLimit})
	}
	return append(list, limit{lessDistance, math.Ldexp(distances[0], distancePoint), uint64(most) * progressLimit})
}

// measured shares the word of a step's progress: how many limits r^2 passes, and progressLimit times those that q does.
// right is minus four times the gradient, and change the step; of cosines the base is behind them.
func (t *trainer) measured(ctx context.Context, s *system, step int, right, change rss.Share) (rss.Share, error) {
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
	g := &gates{trainer: t, kind: kindPassed, turn: 0}
	passed, err := g.negative(ctx, kindPassedBits, comparedBits, len(limits), compared)
	if err != nil {
		return rss.Share{}, err
	}
	number := rss.Zero(t.role, 1)
	for i, l := range limits {
		addTimes(number, passed.Slice(i, i+1), l.counts)
	}
	return number, nil
}

// blurred shares numbers times a secret u each, from 1/2 to 2: half of 1 and three pads, of which each party lacks one,
// which makes up to a half. So whoever chooses lambda, or anything else, so that a number is at a limit learns which
// side it is on by chance alone, but for as much as what it wonders about moves the number. Many numbers add up.
func (t *trainer) blurred(ctx context.Context, numbers rss.Share) (rss.Share, error) {
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
	return t.truncate(ctx, kindLengths, 2, wordBits, t.three.Products(numbers, u),
		rss.Shift{Count: n, Bits: blurBits + 1})
}

// openProgress opens the progress of a step to all, the same in every session: to the three from each other's
// components, and to those outside by the label holder's word.
func (t *trainer) openProgress(ctx context.Context, step int, compute func() (rss.Share, error)) (progress, error) {
	words, err := t.openings.fix(ctx, t.progress, step, 2, func() ([]uint64, error) {
		y, err := compute()
		return append(y.X, y.Y...), err
	})
	if err != nil {
		return progress{}, err
	}
	const unused = progressWidth - progressBits
	var v rss.Share
	if t.role != rss.Outside {
		v = rss.Share{X: []uint64{words[0] << unused}, Y: []uint64{words[1] << unused}}
	}
	numbers, err := t.three.Reveal(ctx, kindProgress, progressWidth, 1, v, t.threeNames())
	if err != nil {
		return progress{}, err
	}
	var own []byte
	if t.role != rss.Outside {
		t.told(kindProgress, 1)
		own = []byte{byte(numbers[0]) >> unused}
	}
	told, err := t.Network.Broadcast(ctx, kindPace, t.parties[rss.LabelHolder], own, 1)
	if err != nil {
		return progress{}, err
	}
	if err := t.Network.Confirm(ctx); err != nil {
		return progress{}, err
	}
	if len(told) != 1 || told[0] >= progressLimit*(distanceLimits+1) || own != nil && told[0] != own[0] {
		return progress{}, &rss.DeviationError{Parties: []string{t.Names[t.parties[rss.LabelHolder]]}, Kind: kindPace,
			Reason: fmt.Sprintf("it tells %v of step %d, and what opened is %v", told, step, own)}
	}
	if t.role == rss.Outside {
		t.told(kindPace, 1)
	}
	return progress{length: int(told[0]) % progressLimit, distance: int(told[0]) / progressLimit}, nil
}

// openedProgress is the progress of a step of an earlier session, as it opened then.
func (t *trainer) openedProgress(ctx context.Context, step int) (progress, error) {
	return t.openProgress(ctx, step, func() (rss.Share, error) {
		return rss.Share{}, fmt.Errorf("step %d was taken, and what opened of it is gone: propose the job anew", step)
	})
}

// take shares t times a step, [keptRuns, D] and behind it the base, scale stepBits.
func (t *trainer) take(ctx context.Context, p progress, step rss.Share) (rss.Share, error) {
	var terms []uint64
	if t.role != rss.Outside {
		terms = make([]uint64, step.Len())
		step.AddTo(terms, p.taken())
	}
	return t.truncate(ctx, kindTaken, 1, wordBits, terms, rss.Shift{Count: t.keptRuns()*t.features + 1, Bits: takenBits})
}
