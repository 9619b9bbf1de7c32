package sealed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// chooser chooses among the candidates of the regulariser.
type chooser struct {
	*setting
	checker *checker
	choices *series // of the number of the best candidate
	chosen  float64 // of the candidates
}

// A job with lambda = "auto" keeps a fifth of its rows out of a first Gram matrix. The solver takes the job's steps on
// it for all candidates in the same messages, and of each the three share the mean squared error on the rows kept out,
// less that of guessing the mean:
//
//	q = (1/N_v) sum_v (beta (z_j - m) - (y_j - mean))^2 - (y_j - mean)^2 = c (beta^T G_v beta - 2 beta^T h_v),
//
// where G_v and h_v are what the rows kept out add to Gram matrix and right side. Of three or more classes, each told
// from the rest, a quarter of the sum of their q counts. No error opens: the three compare them in shares, every two of
// them at once, and the number of the best one opens, choiceBits bits. The two matrices add up to that of all rows, on
// which the steps are taken once more with that candidate, three times as always, and checked.
//
// For the other losses the candidate is that of the square loss with as much on the diagonal: about the solution of the
// first outer step, up to a factor.
//
// A party that deviates can have other bits open in place of the number, as many and of its choice, such as whether one
// error is larger than another by a number that it knows. The label holder, which tells all, may name any candidate.

// The kinds of the messages that choose the regulariser.
const (
	kindTrial        = "trial step"         // steps for all candidates
	kindTrialRounded = "trial coefficients" // in their last form
	kindTrialErrors  = "trial errors"       // G_v beta - 2 h_v
	kindLosses       = "losses"             // q of each candidate, which open to nobody
	kindRanking      = "ranking"            // truncations of the products that compare them
	kindRankingBits  = "ranking bits"       // of the parts of their differences that the label holder knows
	kindValidation   = "validation"         // the number of the best, as it opens
	kindChoice       = "lambda"             // which one is taken
)

// Scales of the validation.
const (
	choiceBits = 3 // what the number of a candidate tells

	// classShift divides the sum of three or more classes' q, as a power of two. Guessing the mean is off by 4 p (1-p) for
	// a class that has the share p of all rows, so that a quarter of the sum is below 1, as of two classes.
	classShift = 2

	// For labels of mean square 1 the square of a score that is centred is at most 5/(4 lambda), of the lambda that is
	// added to the diagonal, 2^20.4 with the smallest candidate, and of all classes together at most 4 times as much.
	// Steps that have not come to their end pass it by a fifth at most.
	lossRange = 24
	lossPoint = 16                              // bits behind the point of q where two are compared
	lossBits  = lossRange + lossPoint + 2       // of a difference of two, with its sign
	lossShift = topBits - lossRange - lossPoint // from the products that q is the sum of
)

// candidatesOf lists the regularisers that a job chooses from, the largest first: those of fdskl.Candidates that its
// words have room for and that are no less than leastLambda. It is nil for a job that names one.
func candidatesOf(p fdskl.Params, rows int) ([]float64, error) {
	if chooses, err := p.Chooses(rows); !chooses {
		return nil, err
	}
	var list []float64
	var last error
	for _, lambda := range fdskl.Candidates() {
		if lambda < leastLambda(p, rows) {
			break
		}
		p.Lambda = fdskl.Lambda(lambda)
		if _, err := scalesOf(p, rows); err != nil {
			last = err
			continue
		}
		list = append(list, lambda)
	}
	if len(list) == 0 {
		return nil, last
	}
	return list, nil
}

// choose settles the regulariser of a job with lambda = "auto", in every session anew from what opened in the first. s
// is nil where the coefficients are there already.
func (t *chooser) choose(ctx context.Context, s *system) error {
	if t.candidates == nil {
		return nil
	}
	opened, err := t.openings.openVector(ctx, t.choices, 1, 1, func() (rss.Share, error) {
		if s == nil {
			return rss.Share{}, errors.New("the coefficients are there, and what chose their lambda is gone: propose the job " +
				"anew")
		}
		return t.validation(ctx, s)
	})
	if err != nil {
		return err
	}
	n, number := len(t.candidates), make([]byte, 1)
	if t.role == rss.LabelHolder {
		t.told(kindValidation, 1)
		number[0] = min(byte(opened[0]&(1<<choiceBits-1)), byte(n-1))
	}
	if number, err = t.Network.Broadcast(ctx, kindChoice, t.parties[rss.LabelHolder], number, 1); err != nil {
		return err
	}
	if err := t.Network.Confirm(ctx); err != nil {
		return err
	}
	if len(number) != 1 || int(number[0]) >= n {
		return &rss.DeviationError{Parties: []string{t.Names[t.parties[rss.LabelHolder]]}, Kind: kindChoice,
			Reason: fmt.Sprintf("it tells %v, want the number of one of %d candidates in one byte", number, n)}
	}
	if t.role != rss.LabelHolder {
		t.told(kindChoice, 1)
	}
	if err := t.keepChoice(number); err != nil {
		return err
	}
	t.chosen = t.candidates[number[0]]
	t.lambda = t.scaled(t.chosen)
	return nil
}

// choiceFile is where each of the three keeps the number of the candidate that the label holder has told.
const choiceFile = joint.FilePrefix + "choice"

// keepChoice keeps what the label holder tells, before any step is taken with it, and refuses another number than an
// earlier session had: the steps would go on with another lambda than they began with, and the check, which wants them
// to be the same for all runs, would pass.
func (t *chooser) keepChoice(number []byte) error {
	if t.role == rss.Outside {
		return nil
	}
	before, err := t.Vault.Load(choiceFile)
	if err != nil {
		return err
	}
	if before == nil {
		return t.Vault.Save(choiceFile, number)
	}
	if !bytes.Equal(before, number) {
		return &rss.DeviationError{Parties: []string{t.Names[t.parties[rss.LabelHolder]]}, Kind: kindChoice,
			Reason: fmt.Sprintf("it tells candidate %d, and an earlier session had %d: one lambda is taken for all sessions",
				number[0]+1, before[0]+1)}
	}
	return nil
}

// validation solves for all candidates without the rows that are kept out, and shares the number of the best.
func (t *chooser) validation(ctx context.Context, s *system) (rss.Share, error) {
	each, n := t.sides*t.features, len(t.candidates)
	precise := t.precisionFor(s.reach, t.Params.Iterations)
	rest := &descent{setting: t.setting, kind: kindTrial, rounded: kindTrialRounded, precision: precise,
		size: t.rightSize(s.reach) + precise.size(), right: rss.Zero(t.role, n*each), steps: t.Params.Iterations,
		point: coefBits}
	if t.role != rss.Outside {
		rest.gram = s.gram.Clone()
		minus(rest.gram, s.held)
		first := s.labelSides.Slice(0, each).Clone()
		minus(first, s.labelSides.Slice(each, 2*each))
		for i := range n {
			addTimes(rest.right.Slice(i*each, (i+1)*each), first, 1<<rest.extra())
		}
	}
	kept := float64(t.Rows-t.checker.heldOutRows()) / float64(t.Rows)
	for _, lambda := range t.candidates {
		rest.add(t.sides, t.scaled(lambda)*kept, s.reach)
	}
	beta, err := rest.run(ctx, func() error {
		t.report("choosing lambda", rest.step, t.Params.Iterations)
		return nil
	})
	if err != nil {
		return rss.Share{}, err
	}
	const twice = uint64(2) << coefBits
	var terms []uint64
	if t.role != rss.Outside {
		terms = make([]uint64, n*each)
		t.three.MulVecs(terms, s.held, beta, n*t.sides)
		for i := range n {
			s.labelSides.Slice(each, 2*each).AddTo(terms[i*each:(i+1)*each], ^twice+1)
		}
	}
	// So many bits behind the point that a sum of products with coefficients has room for q.
	point := topBits - lossRange - coefBits + t.heldOutBits()
	errs, err := t.truncate(ctx, kindTrialErrors, t.Params.Iterations+1, wordBits, terms,
		rss.Shift{Count: n * each, Bits: coefBits + gramBits - point})
	if err != nil {
		return rss.Share{}, err
	}
	terms = nil
	for i := range n {
		terms = append(terms, t.three.Dot(beta.Slice(i*each, (i+1)*each), errs.Slice(i*each, (i+1)*each))...)
	}
	losses, err := t.truncate(ctx, kindLosses, t.Params.Iterations, wordBits, terms,
		rss.Shift{Count: n, Bits: lossShift + t.sumShift()})
	if err != nil {
		return rss.Share{}, err
	}
	return t.winner(ctx, n, losses)
}

// winner shares the number of the smallest of n losses, the first of several: as fdskl.Choose has it, the last one
// where rows are many and no other is better by more than a little. Every two are compared at once, and the one that is
// better than all others is found by products.
func (t *chooser) winner(ctx context.Context, n int, losses rss.Share) (rss.Share, error) {
	number := rss.Zero(t.role, 1)
	if n == 1 {
		return number, nil
	}
	g := &gates{setting: t.setting, kind: kindRanking, turn: t.Params.Iterations + 1}
	pairs := n * (n - 1) / 2 // of each number with the ones before it, whose lambda is larger
	differences := rss.Zero(t.role, pairs)
	pair := func(later, earlier int) int { return later*(later-1)/2 + earlier }
	for i := range n {
		for j := range i {
			at := pair(i, j)
			one := differences.Slice(at, at+1)
			addTimes(one, losses.Slice(i, i+1), 1)
			addTimes(one, losses.Slice(j, j+1), ^uint64(0))
			if i == n-1 && fdskl.Many(t.Rows-t.checker.heldOutRows(), t.features) {
				differences.AddPublic(t.role, at, -t.keptLoss()-1) // as good is enough
			}
		}
	}
	later, err := g.negative(ctx, kindRankingBits, lossBits, pairs, differences)
	if err != nil {
		return rss.Share{}, err
	}
	wins := rss.Zero(t.role, (n-1)*n) // [others, candidates]
	for i := range n {
		for k := range n - 1 {
			at := k*n + i
			if k < i {
				addTimes(wins.Slice(at, at+1), later.Slice(pair(i, k), pair(i, k)+1), 1)
				continue
			}
			wins.AddPublic(t.role, at, 1)
			addTimes(wins.Slice(at, at+1), later.Slice(pair(k+1, i), pair(k+1, i)+1), ^uint64(0))
		}
	}
	best, err := g.product(ctx, n-1, n, wins)
	if err != nil {
		return rss.Share{}, err
	}
	for i := range n {
		addTimes(number, best.Slice(i, i+1), uint64(i))
	}
	return number, nil
}

// keptLoss is fdskl.KeptLoss, of a row and a function, as q has it.
func (t *chooser) keptLoss() uint64 {
	rows := math.Ldexp(float64(t.checker.heldOutRows()), -bits.Len(uint(t.checker.heldOutRows()-1)))
	return uint64(math.Round(math.Ldexp(fdskl.KeptLoss*rows*float64(t.sides), lossPoint-t.sumShift())))
}

// sumShift is by how much the sum of the functions' errors is divided, as a power of two.
func (t *chooser) sumShift() int {
	if t.sides > 1 {
		return classShift
	}
	return 0
}

// heldOutBits is the factor, as a power of two, between beta^T G_v beta and a mean over the next power of two of the
// rows that are kept out.
func (t *chooser) heldOutBits() int { return t.p - bits.Len(uint(t.checker.heldOutRows()-1)) }

// minus subtracts from a share.
func minus(s, less rss.Share) { addTimes(s, less, ^uint64(0)) }

// sharesLabels reports whether the labels are shared: the square loss has them in its right side, and so has the choice
// of a regulariser.
func (t *setting) sharesLabels() bool { return t.loss == kernel.Square || t.candidates != nil }
