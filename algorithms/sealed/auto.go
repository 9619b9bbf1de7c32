package sealed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/bits"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// A job with lambda = "auto" keeps a fifth of its rows out of a first Gram matrix. The solver takes the job's steps on
// it for all candidates in the same messages, and of each the mean squared error on the rows kept out opens to the
// label holder, less that of guessing the mean:
//
//	q = (1/N_v) sum_v (beta (z_j - m) - (y_j - mean))^2 - (y_j - mean)^2 = c (beta^T G_v beta - 2 beta^T h_v),
//
// where G_v and h_v are what the rows kept out add to Gram matrix and right side. Of three or more classes, each told
// from the rest, a quarter of the sum of their q opens. The label holder, who knows the rest, tells all which
// candidate is best. The two matrices add up to that of all rows, on which the steps are taken once more with that
// candidate, three times as always, and checked.
//
// For the other losses the candidate is that of the square loss with as much on the diagonal: the solution of the first
// outer step, up to a factor.

// The kinds of the messages that choose the regulariser.
const (
	kindTrial        = "trial step"         // steps for all candidates
	kindTrialRounded = "trial coefficients" // in their last form
	kindTrialErrors  = "trial errors"       // G_v beta - 2 h_v
	kindValidation   = "validation"         // what opens of each candidate
	kindChoice       = "lambda"             // which one is taken
)

// Scales and limits of the validation.
const (
	errorBits       = 36 // behind the point of G_v beta - 2 h_v
	validationWidth = 10 // bits of a candidate's q that open
	choiceBits      = 3  // what the number of a candidate tells

	// classShift divides the sum of three or more classes' q, as a power of two. Guessing the mean is off by 4 p (1-p) for
	// a class that has the share p of all rows, so that a quarter of the sum is below 1, as of two classes.
	classShift = 2

	// finePoint and coarsePoint are how many of the bits that open are behind the point: the range is 2, and 16 where so
	// few rows stand against so little on the diagonal that a solution may be far worse than guessing.
	finePoint, coarsePoint = 9, 6
)

// candidatesOf lists the regularisers that a job chooses from, the largest first: those of fdskl.Candidates that its
// words have room for. It is nil for a job that names one.
func candidatesOf(p fdskl.Params, rows int) ([]float64, error) {
	if p.Lambda != 0 {
		return nil, nil
	}
	var list []float64
	var last error
	for _, lambda := range fdskl.Candidates() {
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

// heldOutRows is how many rows are kept out.
func (t *trainer) heldOutRows() int {
	n := 0
	for _, out := range t.heldOut {
		if out {
			n++
		}
	}
	return n
}

// point is how many bits behind the point open of a candidate with so much on the diagonal, for features whose squares
// add up to 1. Noise of variance 1 in the labels adds at most 1/(diagonal rows) to the error, and with rows enough
// features/(rows - features).
func (t *trainer) point(diagonal float64) int {
	rows := t.Rows - t.heldOutRows()
	if rows >= 2*t.features || diagonal*float64(rows) >= 1 {
		return finePoint
	}
	return coarsePoint
}

// choose settles the regulariser of a job with lambda = "auto", in every session anew from what opened in the first. s
// is nil where the coefficients are there already.
func (t *trainer) choose(ctx context.Context, s *system) error {
	if t.heldOut == nil {
		return nil
	}
	n := len(t.candidates)
	opened, err := t.openings.openVector(ctx, t.losses, 1, n, func() (rss.Share, error) {
		if s == nil {
			return rss.Share{}, errors.New("the coefficients are there, and the losses that chose their lambda are gone: " +
				"propose the job anew")
		}
		return t.validation(ctx, s)
	})
	if err != nil {
		return err
	}
	number := make([]byte, 1)
	if t.role == rss.LabelHolder {
		t.told(kindValidation, n)
		number[0] = byte(t.best(opened, t.guessing()))
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
const choiceFile = FilePrefix + "choice"

// keepChoice keeps what the label holder tells, before any step is taken with it, and refuses another number than an
// earlier session had: the steps would go on with another lambda than they began with, and the check, which wants them
// to be the same for all runs, would pass.
func (t *trainer) keepChoice(number []byte) error {
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

// validation solves for all candidates without the rows that are kept out, and shares what opens of each.
func (t *trainer) validation(ctx context.Context, s *system) (rss.Share, error) {
	each, n := t.sides*t.features, len(t.candidates)
	rest := &descent{trainer: t, kind: kindTrial, rounded: kindTrialRounded, precision: s.precision,
		size: t.rightSize(s.reach) + s.size(), right: rss.Zero(t.role, n*each)}
	if t.role != rss.Outside {
		rest.gram = s.gram.Clone()
		minus(rest.gram, s.held)
		first := s.labelSides.Slice(0, each).Clone()
		minus(first, s.labelSides.Slice(each, 2*each))
		for i := range n {
			at := rest.right.Slice(i*each, (i+1)*each)
			first.AddTo(at.X, 1<<s.extra())
			rss.Share{X: first.Y}.AddTo(at.Y, 1<<s.extra())
		}
	}
	kept := float64(t.Rows-t.heldOutRows()) / float64(t.Rows)
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
	errs, err := t.truncate(ctx, kindTrialErrors, t.Params.Iterations+1, wordBits, terms,
		rss.Shift{Count: n * each, Bits: coefBits + gramBits - errorBits})
	if err != nil {
		return rss.Share{}, err
	}
	terms = nil
	var shifts []rss.Shift
	for i, lambda := range t.candidates {
		if t.role != rss.Outside {
			terms = append(terms, t.three.Dot(beta.Slice(i*each, (i+1)*each), errs.Slice(i*each, (i+1)*each))...)
		}
		shifts = append(shifts, rss.Shift{Count: 1, Bits: coefBits + errorBits - t.point(t.scaled(lambda)/t.kappa) -
			t.heldOutBits() + t.sumShift()})
	}
	return t.truncate(ctx, kindValidation, t.Params.Iterations, wordBits, terms, shifts...)
}

// sumShift is by how much the sum of the functions' errors is divided, as a power of two.
func (t *trainer) sumShift() int {
	if t.sides > 1 {
		return classShift
	}
	return 0
}

// heldOutBits is the factor, as a power of two, between beta^T G_v beta and a mean over the next power of two of the
// rows that are kept out.
func (t *trainer) heldOutBits() int { return t.p - bits.Len(uint(t.heldOutRows()-1)) }

// minus subtracts from a share.
func minus(s, less rss.Share) {
	for i := range less.X {
		s.X[i] -= less.X[i]
		s.Y[i] -= less.Y[i]
	}
}

// best returns the number of the candidate with the smallest loss by what opened, the largest of several. What opened
// is q modulo its range. It is taken as at least -1, or -v where guessing leaves v, which nothing can be better than.
// The candidates are looked at from the largest on, until one is far worse than one before: after that the range might
// not do.
func (t *trainer) best(opened []int64, guess float64) int {
	var losses []float64
	least := 0.0
	for i, w := range opened {
		q := unwrapped(w, t.point(t.scaled(t.candidates[i])/t.kappa), guess)
		if i > 0 && guess+q > farWorse*(guess+least) {
			break
		}
		if i == 0 || q < least {
			least = q
		}
		losses = append(losses, q)
	}
	all := len(losses) == len(opened)
	return fdskl.Choose(losses, all && fdskl.Many(t.Rows-t.heldOutRows(), t.features))
}

// farWorse is how many times the error of a larger lambda ends the search.
const farWorse = 2

// unwrapped returns the number that opened as w, with so many bits behind the point, of those from -guess on, or
// from -1.
func unwrapped(w int64, point int, guess float64) float64 {
	unit := 1 / float64(int64(1)<<point)
	all := float64(int64(1)<<validationWidth) * unit
	q := float64(w) * unit
	for low := -min(guess, 1) - unit; q < low; {
		q += all
	}
	for high := all - min(guess, 1) - unit; q >= high; {
		q -= all
	}
	return q
}

// guessing returns the mean squared error of guessing the mean on the rows kept out, as what opens has it: over the
// next power of two of rows, and of classes a quarter of the sum.
func (t *trainer) guessing() float64 {
	var sum float64
	for k := range t.sides {
		y := t.begun.Targets(k)
		var mean float64
		for _, v := range y {
			mean += v / float64(len(y))
		}
		for j, out := range t.heldOut {
			if out {
				sum += (y[j] - mean) * (y[j] - mean)
			}
		}
	}
	return sum / float64(int(1)<<(bits.Len(uint(t.heldOutRows()-1))+t.sumShift()))
}

// Choose returns the regulariser that a job over rows with lambda = "auto" takes, for whoever takes its steps in
// floating point: guess is the squared error of guessing the mean on the rows kept out, and q by how much each of
// fdskl.Candidates is off more than that, both over the next power of two of these rows.
func Choose(p fdskl.Params, rows int, guess float64, q []float64) (float64, error) {
	s, err := scalesOf(p, rows)
	if err != nil {
		return 0, err
	}
	t := &trainer{Party: &Party{Party: &fdskl.Party{Params: p, Rows: rows}}, scales: s}
	if t.candidates, err = candidatesOf(p, rows); err != nil {
		return 0, err
	}
	if t.heldOut, err = p.HeldOut(rows); err != nil {
		return 0, err
	}
	if len(q) != len(t.candidates) {
		return 0, fmt.Errorf("errors of %d candidates, want those of %d", len(q), len(t.candidates))
	}
	const unused = 64 - validationWidth
	var opened []int64
	for i, x := range q {
		point := t.point(t.scaled(t.candidates[i]) / t.kappa)
		opened = append(opened, int64(math.Round(math.Ldexp(x, point)))<<unused>>unused)
	}
	return t.candidates[t.best(opened, guess)], nil
}

// sharesLabels reports whether the labels are shared: the square loss has them in its right side, and so has the choice
// of a regulariser.
func (t *trainer) sharesLabels() bool { return t.loss == kernel.Square || t.heldOut != nil }
