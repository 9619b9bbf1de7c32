package sealed

import (
	"context"
	"math"
	"slices"

	"github.com/hanse-project/hanse/secagg/rss"
)

// stepper takes the outer steps of a loss that is not the square.
type stepper struct {
	*setting
	checkpoints *checkpoints
	checker     *checker
	scorer      *scorer
	assembler   *assembler
	progress    *series // of the outer steps; nil for the square loss
}

// The kinds of the messages of a loss that is not the square.
const (
	kindEvents   = "events" // 1 for each row of the second class, the label holder's
	kindBase     = "base"   // where the steps begin, of which the label holder knows all; see firstScore
	kindGradient = "gradient"
)

// outer is where the outer steps of the logistic loss stand.
type outer struct {
	step     int
	at       rss.Share // coefficients of the kept runs, [keptRuns, D], and behind them the base, scale stepBits
	weight   rss.Share // that all rows have at the beginning, [1], scale coefBits; of bins
	weighed  *weighed  // of the last step that made one; of bins
	check    []uint64  // see addSolution; of cosines
	secants            // of cosines
	distance int       // see progress
}

// newton takes the outer steps of the logistic loss. They begin at the score at which each row's probability is the
// share of the second class.
func (t *stepper) newton(ctx context.Context, s *system, from point) (*outer, error) {
	o, err := t.firstScore(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.resumeOuter(ctx, o, from); err != nil {
		return nil, err
	}
	for o.step < t.Params.Outer && o.distance > 0 {
		step := t.secantStep
		if t.counted {
			step = t.weighedStep
		}
		if err := step(ctx, o, s); err != nil {
			return nil, err
		}
		o.step++
		if err := t.saveOuter(o, s.session); err != nil {
			return nil, err
		}
	}
	if t.stepBits() > coefBits {
		o.at, err = t.scorer.rounded(ctx, kindRounded, t.eachSteps()+1, o.at)
	}
	return o, err
}

// shareEvents shares which rows are of the second class.
func (t *scorer) shareEvents(ctx context.Context) (rss.Share, error) {
	var own []uint64
	if t.role == rss.LabelHolder {
		for _, y := range t.begun.Targets(0) {
			own = append(own, uint64((1+y)/2)<<t.sy)
		}
	}
	return t.three.Input(ctx, kindEvents, t.k, t.Rows, own)
}

// firstScore shares where the steps begin, which follows from the share of the second class: the score, and of bins the
// weight of the rows there, of cosines its like; see firstSecants.
func (t *stepper) firstScore(ctx context.Context) (*outer, error) {
	var start []uint64
	n := 2
	if t.secant {
		n += 2
	}
	if t.role == rss.LabelHolder {
		share := t.scorer.eventShare()
		start = []uint64{uint64(int64(math.Round(math.Ldexp(math.Log(share/(1-share)), coefBits))))}
		if t.secant {
			start = append(start, firstSecants(t.scorer.evenWeight())...)
		} else {
			start = append(start, uint64(math.Round(math.Ldexp(t.scorer.evenWeight(), coefBits))))
		}
	}
	words, err := t.three.Input(ctx, kindBase, wordBits, n, start)
	if err != nil {
		return nil, err
	}
	base := rss.Zero(t.role, 1)
	addTimes(base, words.Slice(0, 1), 1<<(t.stepBits()-coefBits))
	o := &outer{at: joined(rss.Zero(t.role, t.keptRuns()*t.features), base), distance: distanceLimits,
		weight: words.Slice(1, 2)}
	if t.secant {
		o.gain, o.lessGain, o.gamma = words.Slice(1, 2), words.Slice(2, 3), words.Slice(3, 4)
		if t.role != rss.Outside {
			o.check = make([]uint64, (runs-1)*t.features)
		}
	}
	return o, nil
}

// weighedStep solves with a Gram matrix whose rows are weighed as the scores say, and goes as far as that holds. At the
// beginning all rows weigh the same.
func (t *stepper) weighedStep(ctx context.Context, o *outer, s *system) error {
	at, scores, err := t.scorer.terms(ctx, o, s)
	if err != nil {
		return err
	}
	var gram rss.Share
	means := s.means
	if o.step == 0 {
		gram, err = t.scorer.even(ctx, s, o.weight)
	} else {
		if o.step <= lastWeighed || o.weighed == nil { // an earlier one is gone with its session
			n, of := sample(t.Rows, min(o.step, lastWeighed))
			if o.weighed, err = t.assembler.weighed(ctx, o.step, t.assembler.sampled(n, o.step), of, scores, 0); err != nil {
				return err
			}
		}
		gram, means = o.weighed.gram, o.weighed.means
	}
	if err != nil {
		return err
	}
	right, move, err := t.gradient(ctx, o.step, at, means, scores)
	if err != nil {
		return err
	}
	if o.step == 0 { // the base begins where the mean derivative is nothing
		move = rss.Zero(t.role, 1)
	} else if move, err = t.truncate(ctx, kindGradient, 2, wordBits, t.three.Products(move, o.weighed.inverse),
		rss.Shift{Count: 1, Bits: inverseBits}); err != nil {
		return err
	}
	change, err := t.solved(ctx, o, s, s.multiples, gram, right)
	if err != nil {
		return err
	}
	measured, err := t.measured(ctx, s, o.step+1, right, change.Slice(0, t.features))
	if err != nil {
		return err
	}
	if o.distance, err = t.openProgress(ctx, o.step+1, measured.Slice(1, 2)); err != nil {
		return err
	}
	if o.weighed != nil { // at the beginning all rows weigh the same
		// The base is the score of a row at the means of all rows, and the step was made for one at the weighed means.
		apart := s.means.Clone() // less the weighed means; both have as many bits behind the point
		minus(apart, o.weighed.means)
		more, err := t.truncate(ctx, kindTaken, 0, wordBits, t.three.Dot(change.Slice(0, t.features), apart),
			rss.Shift{Count: 1, Bits: centreBits})
		if err != nil {
			return err
		}
		move.Add(more)
	}
	taken, err := t.take(ctx, measured.Slice(0, 1), joined(change, move))
	if err != nil {
		return err
	}
	o.at.Add(taken)
	return nil
}

// solved shares the solution of all runs for a right side and its secret multiples.
func (t *stepper) solved(ctx context.Context, o *outer, s *system, multiples, gram, right rss.Share) (rss.Share,
	error) {
	right, err := t.checker.multiplied(ctx, s, multiples, right)
	if err != nil {
		return rss.Share{}, err
	}
	d := t.newDescent(s, right)
	d.gram, d.point, d.scored = gram, t.stepBits(), 0
	return d.run(ctx, func() error {
		t.report("steps", o.step*d.steps+d.step, t.Params.Outer*d.steps)
		return nil
	})
}

// eventShare is the share of the second class among the rows, at the label holder; where there is one class alone it is
// off by half a row.
func (t *scorer) eventShare() float64 {
	n := 0.0
	for _, y := range t.begun.Targets(0) {
		n += (1 + y) / 2
	}
	rows := float64(t.Rows)
	return min(max(n, 0.5), rows-0.5) / rows
}

// stepBits is how many bits behind the point coefficients have from one outer step to the next.
func (s *scales) stepBits() int {
	if s.counted {
		return coefBits
	}
	return secantBits
}

// terms returns the coefficients that scores are made of, [D], and the base, [D+1], scale coefBits, and the terms of
// the scores of all rows, scale sz+bs; none before the first step.
func (t *scorer) terms(ctx context.Context, o *outer, s *system) (at rss.Share, scores []uint64, err error) {
	at = t.ofOneRun(o.at)
	if o.step == 0 {
		return at, nil, nil
	}
	if t.stepBits() > coefBits {
		if at, err = t.rounded(ctx, kindScored, 0, at); err != nil {
			return at, nil, err
		}
	}
	beta := at.Slice(0, t.features)
	offset, err := t.offsets(ctx, 1, beta, s)
	if err != nil || t.role == rss.Outside {
		return at, nil, err
	}
	offset.Add(at.Slice(t.features, t.features+1))
	scores, err = t.scoreTerms(ctx, t.scoring(beta), offset)
	return at, scores, err
}

// keptRuns is of how many runs coefficients are kept from one outer step to the next: those of secants are of the run
// that counts alone, and each step's solution is checked by itself.
func (s *scales) keptRuns() int {
	if s.secant {
		return 1
	}
	return runs
}

// ofOneRun returns the coefficients of the run that counts, and the base.
func (t *scorer) ofOneRun(all rss.Share) rss.Share {
	n := t.keptRuns() * t.features
	return joined(all.Slice(0, t.features), all.Slice(n, n+1))
}

// rounded rounds coefficients of one run and the base from stepBits to coefBits, the former to as many bits as scores
// are made of.
func (t *scorer) rounded(ctx context.Context, kind string, turn int, all rss.Share) (rss.Share, error) {
	d := t.features
	y, err := t.truncate(ctx, kind, turn, wordBits, all.X, rss.Shift{Count: d, Bits: t.stepBits() - t.bs},
		rss.Shift{Count: 1, Bits: t.stepBits() - coefBits})
	if err != nil {
		return y, err
	}
	coarser(y.Slice(0, d), coefBits-t.bs)
	return y, nil
}

// coarser gives rounded numbers so many bits behind the point more, all of them 0.
func coarser(s rss.Share, bits int) {
	for i := range s.X {
		s.X[i] <<= bits
		s.Y[i] <<= bits
	}
}

// scoring returns coefficients at their scale in scores. Their last form has no finer bits, in no share: the steps'
// check has seen all that scores are made of, and no message comes between. They are right modulo 2^58 at least, which
// is more than the words of scores have.
func (s *scales) scoring(beta rss.Share) rss.Share {
	coarse := rss.Share{X: slices.Clone(beta.X), Y: slices.Clone(beta.Y)}
	for i := range coarse.X {
		coarse.X[i] >>= coefBits - s.bs
		coarse.Y[i] >>= coefBits - s.bs
	}
	return coarse
}

// scoreTerms returns the terms of the scores of all rows, scale sz+bs.
func (t *scorer) scoreTerms(ctx context.Context, beta, offset rss.Share) ([]uint64, error) {
	out := make([]uint64, t.Rows)
	return out, t.checkpoints.kept.each(ctx, func(b *block, z rss.Share) error {
		scoreRows(t.three, out[b.lo:b.hi], z, beta, offset, t.sz+t.bs-coefBits)
		return nil
	})
}

// scoreRows writes the terms of the scores of rows with the given features; they have finer bits more behind the point
// than the offset.
func scoreRows(three *rss.Party, out []uint64, z, beta, offset rss.Share, finer int) {
	three.MulVec(out, z, beta)
	for j := range out {
		out[j] += offset.X[0] << finer
	}
}

// gradient shares the right side of an outer step, [D], scale gs, which is minus the gradient over kappa, of features
// less means, and of cosines behind it that of the base; and minus the mean derivative over kappa, [1], scale coefBits.
func (t *stepper) gradient(ctx context.Context, step int, at, means rss.Share, scores []uint64) (right, move rss.Share,
	err error) {
	g, err := t.derivatives(ctx, step, scores)
	if err != nil {
		return right, move, err
	}
	sides, total, err := t.derivativeSums(ctx, step, g)
	if err != nil {
		return right, move, err
	}
	point, e, d := t.sums.sz+t.sums.sy, t.meanBits(), t.features
	steeper, n := int(math.Log2(1/t.kappa)), d
	var terms []uint64
	if t.role != rss.Outside {
		for i, mean := range t.three.Times(means, total) {
			terms = append(terms, mean-sides[i])
		}
		at.Slice(0, d).AddTo(terms, -uint64(math.Round(math.Ldexp(t.lambda, point+t.p-coefBits))))
		for _, x := range total.X {
			if t.secant {
				terms = append(terms, -x<<t.sums.sz)
			}
			terms = append(terms, -x*uint64(math.Round(math.Ldexp(1, e)/float64(t.Rows))))
		}
	}
	if t.secant {
		n++
	}
	y, err := t.truncate(ctx, kindGradient, 1, t.sums.k, terms,
		rss.Shift{Count: n, Bits: point + t.p - gramBits - steeper},
		rss.Shift{Count: 1, Bits: t.sums.sy + e - coefBits - steeper})
	return y.Slice(0, n), y.Slice(n, n+1), err
}

// derivatives shares each row's derivative of the loss, its probability less its event, scale sy. At the beginning all
// probabilities are the same number, which a gradient does not depend on.
func (t *stepper) derivatives(ctx context.Context, step int, scores []uint64) (rss.Share, error) {
	g := rss.Zero(t.role, t.Rows)
	if step == 0 {
		for j := range g.X {
			g.AddPublic(t.role, j, 1<<(t.sy-1))
		}
	} else {
		var err error
		if g, err = t.scorer.probabilities(ctx, step, scores); err != nil {
			return rss.Share{}, err
		}
	}
	minus(g, t.scorer.events)
	return g, nil
}

// derivativeSums returns the terms of the sums over rows of features times derivatives, [D], scale sums.sz + sums.sy,
// and shares that of derivatives, [1], scale sums.sy. In words of 32 bits the sums of each window of rows are lifted.
func (t *stepper) derivativeSums(ctx context.Context, step int, g rss.Share) (sides []uint64, total rss.Share,
	err error) {
	ends, each := t.assembler.ending(0, t.Rows, derivativeRows(t.Params), t.WindowRows, nil), t.features+1
	var out []uint64
	total = rss.Zero(t.role, len(ends))
	if t.role != rss.Outside {
		out = make([]uint64, len(ends)*t.features)
		if err := t.checkpoints.kept.each(ctx, func(b *block, z rss.Share) error {
			at, some := windowOf(ends, b.lo), g.Slice(b.lo, b.hi)
			t.three.MulVecT(out[at*t.features:(at+1)*t.features], z, some)
			total.Slice(at, at+1).AddColumns(some)
			return nil
		}); err != nil {
			return nil, total, err
		}
	}
	if !t.lifts() {
		return out, total, nil
	}
	var twice []uint64
	for _, x := range append(out, total.X...) {
		twice = append(twice, 2*x)
	}
	lifted, err := t.assembler.lift(ctx, kindSums, step, len(ends)*each, twice)
	if err != nil || t.role == rss.Outside {
		return nil, rss.Share{}, err
	}
	sides, total = make([]uint64, t.features), rss.Zero(t.role, 1)
	label := t.sums.sy - t.sy // bits behind the point that sums have more
	for at := range ends {
		lifted.Slice(at*t.features, (at+1)*t.features).AddTo(sides, 1<<(t.sums.sz-t.sz+label))
		addTimes(total, lifted.Slice(len(out)+at, len(out)+at+1), 1<<label)
	}
	return sides, total, nil
}
