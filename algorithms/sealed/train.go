package sealed

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"gonum.org/v1/gonum/stat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// trainer is one party's part of a training. Its parts share the setting, and each owns what it has come to. A part
// calls only parts that stand above it here.
type trainer struct {
	*setting
	checkpoints *checkpoints
	checker     *checker
	scorer      *scorer
	assembler   *assembler
	cardmaker   *cardmaker
	tester      *tester
	stepper     *stepper
	chooser     *chooser
}

// setting is what a party knows before the first message.
type setting struct {
	*Party
	*scales
	roles
	begun      *fdskl.Beginning // nil where only messages are counted
	columns    source
	angles     *columns  // columns, where they are of cosines
	bins       *bins     // where they are of bins
	candidates []float64 // of the regulariser; nil: the job names it
	three      *rss.Party
	loss       kernel.Loss
	openings   openings
	space      space // of checkpoints
}

// Train runs one party's part of a training and returns its part of the model. All parties call it at the
// same time. After an interruption it is called again with the same inputs and Vault, and the number of
// the new session: it goes on from the newest checkpoint of all three, with fresh keys.
func Train(ctx context.Context, p *Party) (*fdskl.Model, error) {
	p.Party.Network = network{p.Network}
	begun, err := fdskl.Begin(ctx, p.Party)
	if err != nil {
		return nil, err
	}
	t, err := newTrainer(p)
	if err != nil {
		return nil, err
	}
	t.begun = begun
	for k := range t.sides {
		if err := checkTargets(t.Params, begun.Targets(k)); err != nil {
			return nil, err
		}
	}
	if t.counted && t.role == rss.LabelHolder {
		if err := checkShare(t.Params, begun.Targets(0)); err != nil {
			return nil, err
		}
	}
	if t.bins != nil {
		if p.Bins != nil {
			t.bins.matrix = p.Bins.Rows
		}
	} else {
		t.angles.turns = func(lo, hi int) ([]uint16, error) { return begun.Turns(begun.Matrices(), lo, hi) }
	}
	s, err := t.train(ctx)
	if err != nil {
		return nil, err
	}
	m := t.model()
	m.Points, m.ZScores, m.Lambda = t.cardmaker.card, t.tester.tested, t.chooser.chosen
	m.Iterations = t.Params.Iterations
	if !t.square {
		m.Iterations, m.ToGo = t.eachSteps()*t.stepper.steps(), toGo(s.distance)
	}
	if t.role == rss.LabelHolder && t.sides == 1 {
		m.Intercept = s.intercepts[0]
	} else if t.role == rss.LabelHolder {
		for _, intercept := range s.intercepts {
			m.Against = append(m.Against, fdskl.Coefficients{Intercept: intercept})
		}
	}
	if t.role != rss.Outside {
		beta, offsets := s.beta.Slice(0, t.sides*t.features), s.scored(t.sides)
		m.Shares = &fdskl.Shares{X: append(beta.X, offsets.X...), Y: append(beta.Y, offsets.Y...)}
	}
	return m, nil
}

// model starts this party's part of the model.
func (t *setting) model() *fdskl.Model {
	m := t.begun.Model()
	m.Owner = t.Owner
	if t.Bins != nil {
		m.Phase, m.Normaliser = t.Bins.Phase, t.Bins.Normaliser // the phase seed is the key of the dithers alone
	}
	return m
}

// checkTargets refuses targets that a score could not come near to, at the label holder, who alone has any: what opens
// has no bits for them.
func checkTargets(p fdskl.Params, targets []float64) error {
	most := farthest(targets)
	if most < float64(p.ScoreRange) {
		return nil
	}
	return fmt.Errorf("the label has a value %.0f deviations from its mean, and scores of this job end at %d: propose "+
		"it with score_range = %d, or clip the label", most, p.ScoreRange, rangeBeyond(most))
}

// rarest is the least share of the rarer class, one in so many: weights of its rows are more than their rounding.
const rarest = 4000

// leastClass is the fewest rows of the rarer class of a kernel with the logistic loss: as a bin has by default.
const leastClass = 20

// checkShare refuses labels of a training with the logistic loss of which nearly all are the same, at the label holder:
// the base would have no end, and the weights of the rows would come to nothing. A class of fewer rows than a bin has
// would be worse: of two rows the first step alone tells whether they share a cell, or are near each other.
func checkShare(p fdskl.Params, targets []float64) error {
	n := 0
	for _, y := range targets {
		if y > 0 {
			n++
		}
	}
	n = min(n, len(targets)-n)
	least, wants := leastClass, fmt.Sprint(leastClass)
	if p.Binned() {
		least, wants = p.MinCell, fmt.Sprintf("min_cell = %d", p.MinCell)
	}
	if n < least {
		return fmt.Errorf("the rarer class has %d of %d rows, and the logistic loss wants %s at least in a sealed job: its "+
			"steps would tell of single rows", n, len(targets), wants)
	}
	if n*rarest >= len(targets) {
		return nil
	}
	return fmt.Errorf("the rarer class has %d of %d rows, and the logistic loss wants one in %d at least in a sealed "+
		"job: take fewer rows of the other class", n, len(targets), rarest)
}

// farthest is the largest magnitude of targets, in deviations of the label.
func farthest(targets []float64) float64 {
	most := 0.0
	for _, y := range targets {
		most = max(most, math.Abs(y))
	}
	return most
}

// rangeBeyond is the least power of two above a magnitude.
func rangeBeyond(most float64) int { return 1 << bits.Len(uint(most)) }

// CheckLabels refuses, before a job is agreed on, labels that its training would refuse, and a training of them that
// could look as if it had come to its optimum.
func CheckLabels(p fdskl.Params, numbers []float64) error {
	if p.Loss == kernel.Logistic.String() {
		if least := leastIterations(p); p.Iterations < least {
			return fmt.Errorf("iterations is %d, want %d or more with loss %q: steps that are not solved look as if the "+
				"optimum were near", p.Iterations, least, p.Loss)
		}
		return checkShare(p, numbers)
	}
	if p.Target != joint.Regression {
		return nil
	}
	return checkTargets(p, deviations(numbers))
}

// RangeOf returns the least score_range of a job with numbers for labels, as its training scales them.
func RangeOf(numbers []float64) int {
	return max(leastRange, rangeBeyond(farthest(deviations(numbers))))
}

// deviations are numbers as a training has them as targets; none where all numbers are the same.
func deviations(numbers []float64) []float64 {
	mean, deviation := stat.PopMeanStdDev(numbers, nil)
	if deviation == 0 {
		return nil
	}
	targets := make([]float64, len(numbers))
	for i, y := range numbers {
		targets[i] = (y - mean) / deviation
	}
	return targets
}

// newTrainer settles what follows from public numbers.
func newTrainer(p *Party) (*trainer, error) {
	s, err := scalesOf(p.Params, p.Rows)
	if err != nil {
		return nil, err
	}
	t := newParts(&setting{Party: p, scales: s, roles: rolesOf(p.Params, p.Names, p.Self)})
	if t.loss, err = kernel.ParseLoss(p.Params.Loss); err != nil {
		return nil, err
	}
	if t.candidates, err = candidatesOf(p.Params, p.Rows); err != nil {
		return nil, err
	}
	if least := leastLambda(p.Params, p.Rows); t.candidates == nil && float64(p.Params.Lambda) < least {
		return nil, fmt.Errorf("lambda is %v, want %.3g or more with loss %q and %d rows: with less, the number of steps "+
			"tells more of single rows", p.Params.Lambda, 1.005*least, p.Params.Loss, p.Rows)
	}
	if l := t.precisionOf(2 * t.s0).limit; l > mostLimit {
		return nil, fmt.Errorf("%d steps with lambda %g: the rounding of honest steps could reach %.2g, and a check with "+
			"space for it would find too little; propose fewer iterations, fewer outer steps or a larger lambda",
			t.Params.Iterations, t.least/t.scaled(1), math.Ldexp(float64(l), -checkPoint))
	}
	if err := t.prepareColumns(); err != nil {
		return nil, err
	}
	t.openings = openings{roles: t.roles, names: p.Names, session: p.Session, vault: p.Vault, network: p.Network}
	holder := t.parties[rss.LabelHolder]
	if p.Params.Bound != boundPublic {
		t.assembler.bounds = t.openings.add(series{kind: kindBound, code: codeBound, most: 1, bits: orderBits, root: holder})
	}
	if t.candidates != nil {
		t.chooser.choices = t.openings.add(series{kind: kindValidation, code: codeValidation, most: 1, bits: choiceBits,
			root: holder})
	}
	if !s.square {
		t.stepper.progress = t.openings.add(series{kind: kindProgress, code: codeProgress, most: len(progressSteps(p.Params)),
			root: nobody})
	}
	t.checker.coins = t.openings.add(series{kind: kindCoin, code: codeCoin, most: 1, root: nobody})
	t.checker.checks = t.openings.add(series{kind: kindCheck, code: codeCheck, most: 1, root: nobody})
	if t.tester.z, err = zscoresOf(p.Params, s); err != nil {
		return nil, err
	}
	if n := len(cardsOf(p.Params.Points, true, p.Params, p.Names)); n > 0 {
		t.cardmaker.cards = t.openings.add(series{kind: kindPoints, code: codePoints, most: n, bits: pointsWidth,
			root: nobody})
	}
	if n := len(cardsOf(p.Params.ZScores, false, p.Params, p.Names)); n > 0 {
		t.tester.zcards = t.openings.add(series{kind: kindZScores, code: codeZScores, most: n, bits: zWidth, root: nobody})
	}
	return t, nil
}

// newParts puts the parts of a trainer together.
func newParts(s *setting) *trainer {
	t := &trainer{setting: s, checkpoints: &checkpoints{setting: s}, chooser: &chooser{setting: s}}
	t.checker = &checker{setting: s}
	t.scorer = &scorer{setting: s, checkpoints: t.checkpoints}
	t.assembler = &assembler{setting: s, checkpoints: t.checkpoints, checker: t.checker, scorer: t.scorer}
	t.cardmaker = &cardmaker{setting: s}
	t.tester = &tester{setting: s, scorer: t.scorer, assembler: t.assembler, cardmaker: t.cardmaker}
	t.stepper = &stepper{setting: s, checkpoints: t.checkpoints, checker: t.checker, scorer: t.scorer,
		assembler: t.assembler}
	t.chooser.checker = t.checker
	return t
}

// prepareColumns starts the arithmetic of the three, and what makes shares of features with it.
func (t *trainer) prepareColumns() (err error) {
	if t.three, err = t.Network.Three(t.parties); err != nil {
		return err
	}
	if t.Params.Binned() {
		t.bins = newBins(t.scales, t.roles, t.Params, t.Self, t.three)
		t.columns = t.bins
	} else {
		t.angles = newColumns(t.scales, t.roles, t.Network, t.three)
		t.columns = t.angles
	}
	if t.BlockRows == 0 {
		t.BlockRows = blockRowsOf(t.Params)
	}
	return nil
}

// blockBytes is about how large one message of a block's features is: rows enough for the Gram matrix's kernels.
const blockBytes = 4 << 20

// blockRows is how many rows a block has.
func blockRows(features int) int { return max(1, blockBytes/8/features) }

// train returns the solution, checked.
func (t *trainer) train(ctx context.Context) (*solution, error) {
	from, err := t.resume(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.openings.agree(ctx); err != nil { // which compares the resume points, too
		return nil, err
	}
	s, err := t.solve(ctx, from)
	if closed := t.checkpoints.kept.close(); err == nil {
		err = closed
	}
	if err != nil {
		return nil, err
	}
	coin, err := t.checker.tossCheck(ctx)
	if err != nil {
		return nil, err
	}
	n := t.checker.checkNumbers()
	words, err := t.openings.fix(ctx, t.checker.checks, 1, 2*n, func() ([]uint64, error) {
		shift := rss.Shift{Count: n, Bits: s.multiple + coefBits - checkPoint}
		if t.secant {
			shift.Bits += secantBits - coefBits
		}
		y, err := t.truncate(ctx, kindCheck, t.Params.Iterations+1, wordBits, t.checkTerms(s, coin), shift)
		return append(y.X, y.Y...), err
	})
	if err != nil {
		return nil, err
	}
	var v rss.Share
	if t.role != rss.Outside {
		v = rss.Share{X: words[:n], Y: words[n:]}
	}
	numbers, err := t.three.Reveal(ctx, kindCheck, checkWidth, n, v, t.checker.threeNames())
	if err != nil {
		return nil, err
	}
	if t.role != rss.Outside {
		t.told(kindCheck, n)
	}
	for i, x := range numbers {
		if x < -s.limit || x > s.limit {
			return nil, t.checker.oneOfThree(kindCheck, fmt.Sprintf(
				"number %d of %d is %v, and of an honest training it is at most %v: one of them has taken other steps "+
					"than agreed, and the model is not kept", i+1, n, math.Ldexp(float64(x), -checkPoint),
				math.Ldexp(float64(s.limit), -checkPoint)))
		}
	}
	if s.distance > 0 && t.begun != nil { // nobody knows what points would be worth
		return s, nil
	}
	if t.cardmaker.card, err = t.cardmaker.openPoints(ctx, s); err != nil {
		return nil, err
	}
	t.tester.tested, err = t.tester.openZScores(ctx, s)
	return s, err
}

// solution is what all runs of the steps come to, in its last form.
type solution struct {
	beta       rss.Share // [runs, sides, D], of cosines with the logistic loss [D], scale bs
	offsets    rss.Share // [runs, sides], and [1], scale bs
	check      []uint64  // see addSolution
	base       rss.Share // what all scores have besides, [1], scale bs; of the logistic loss
	intercepts []float64 // the same, [sides], at the label holder; of the square loss
	multiples  rss.Share // see system
	roots      rss.Share // [D], see zscores; where z-scores open
	reach      float64
	distance   int // see progress; 0 of other losses
	precision
}

// scored returns the offsets that scores are made of.
func (s *solution) scored(sides int) rss.Share {
	offsets := s.offsets.Slice(0, sides).Clone()
	if s.base.X != nil {
		offsets.Add(s.base)
	}
	return offsets
}

// solve finds the coefficients, or takes them from a checkpoint, and keeps them before anything that depends on them
// can leave.
func (t *trainer) solve(ctx context.Context, from point) (*solution, error) {
	if from.stage == stageSolved {
		if err := t.chooser.choose(ctx, nil); err != nil {
			return nil, err
		}
		distance := 0
		if !t.square {
			var err error
			if distance, err = t.stepper.openProgress(ctx, t.stepper.steps(), rss.Share{}); err != nil {
				return nil, err
			}
		}
		if t.role == rss.Outside {
			return &solution{reach: 1, distance: distance, precision: t.precisionOf(1)}, nil
		}
		s, err := t.checkpoints.load(stageSolved.file(0))
		if err != nil {
			return nil, err
		}
		if s == nil {
			return nil, t.lostSolution()
		}
		kept := t.keptRuns() * t.sides
		lengths := []int{kept * t.features, kept, runs - 1, t.bases()}
		if t.tester.z != nil {
			lengths = append(lengths, t.features)
		}
		if t.secant { // words of a party's own, in the place of a share's
			lengths = append(lengths, (runs-1)*t.features)
		}
		list, err := s.shares(lengths...)
		if err != nil {
			return nil, err
		}
		found := &solution{
			beta: list[0], offsets: list[1], multiples: list[2], reach: s.Reach, distance: distance,
			precision: t.precisionOf(s.Reach),
		}
		if t.tester.z != nil {
			found.roots = list[4]
		}
		if !t.square {
			found.base = list[3]
		}
		if t.secant {
			found.check = list[len(list)-1].X
		}
		found.intercepts, err = t.checkpoints.intercepts(s)
		return found, err
	}
	if t.checker.coins.fixed > 0 {
		return nil, t.lostSolution()
	}
	var err error
	if t.checkpoints.kept, err = t.checkpoints.newKept(); err != nil {
		return nil, err
	}
	system, err := t.assembler.gram(ctx, from)
	if err != nil {
		return nil, err
	}
	if c, ok := t.Network.(*tracer); ok && c.Following() {
		return nil, errFollowed
	}
	if err := t.chooser.choose(ctx, system); err != nil {
		return nil, err
	}
	s := &solution{intercepts: system.labelMeans, multiples: system.multiples, reach: system.reach,
		precision: system.precision}
	var last *outer
	if t.loss == kernel.Square {
		s.beta, err = t.ridge(ctx, system, from)
	} else if last, err = t.stepper.newton(ctx, system, from); err == nil {
		n := t.keptRuns() * t.features
		s.beta, s.base, s.intercepts = last.at.Slice(0, n), last.at.Slice(n, n+1), make([]float64, t.sides)
		s.distance, s.check = last.distance, last.check
	}
	if err != nil {
		return nil, err
	}
	if s.offsets, err = t.offsets(ctx, t.keptRuns()*t.sides, s.beta, system); err != nil {
		return nil, err
	}
	if t.tester.z != nil {
		if s.roots, err = t.tester.inverseRoots(ctx, s, system, last); err != nil {
			return nil, err
		}
	}
	return s, t.saveSolution(s)
}

// bases is how many numbers a solution has besides that all scores have in common, on shares.
func (t *trainer) bases() int {
	if t.square {
		return 0
	}
	return 1
}

// offsets shares -<beta, m> of n vectors of coefficients, at their scale: the features are not centred, the Gram
// matrix is.
func (t *setting) offsets(ctx context.Context, n int, beta rss.Share, s *system) (rss.Share, error) {
	var terms []uint64
	for lo := 0; lo < beta.Len(); lo += t.features {
		terms = append(terms, -t.three.Dot(beta.Slice(lo, lo+t.features), s.means)[0])
	}
	return t.truncate(ctx, kindOffset, t.Params.Iterations, t.sums.k, terms, rss.Shift{Count: n, Bits: t.sums.sz})
}

// truncate is a truncation of the job; see rss.Party.Truncate. Even and odd turns have the orders of which one
// can begin while another ends. A truncation's turn follows from its place in the job, not from what this session did
// before: a job that goes on from a checkpoint sends what the contract says, in the same direction.
func (t *setting) truncate(ctx context.Context, kind string, turn, ring int, term []uint64,
	shifts ...rss.Shift) (rss.Share, error) {
	order := rss.FirstOrder()
	if turn%2 == 1 {
		order = order.Next()
	}
	return t.three.Truncate(ctx, kind, ring, term, order, shifts...)
}

// report tells the progress, if anybody listens.
func (t *setting) report(step string, done, total int) {
	if t.Report != nil {
		t.Report(joint.Progress{Step: step, Done: done, Total: total, Metric: math.NaN()})
	}
}

// told counts values this party learned.
func (t *setting) told(kind string, count int) {
	if t.Opened != nil {
		t.Opened(kind, int64(count))
	}
}
