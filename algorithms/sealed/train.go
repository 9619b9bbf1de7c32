package sealed

import (
	"context"
	"fmt"
	"math"
	"math/bits"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// trainer is a Party with what training derives from it.
type trainer struct {
	*Party
	*scales
	seats
	begun   *fdskl.Beginning // nil where only messages are counted
	columns *columns
	three   *rss.Party
	loss    kernel.Loss
	blocks  []*kept // losses but the square: the features of all rows

	openings       openings
	bounds, scores *series // of the Gram matrix's norm, and of scores of training rows
	coins, checks  *series // of the check of the steps
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
	if err := t.checkTargets(begun.Targets()); err != nil {
		return nil, err
	}
	t.columns.turns = func(lo, hi int) ([]uint16, error) { return begun.Turns(begun.Matrices(), lo, hi) }
	beta, offset, intercept, err := t.train(ctx)
	if err != nil {
		return nil, err
	}
	m := begun.Model()
	m.Owner = p.Owner
	m.Intercept = intercept
	if t.role != rss.Outside {
		m.Shares = &fdskl.Shares{X: append(beta.X, offset.X...), Y: append(beta.Y, offset.Y...)}
	}
	return m, nil
}

// checkTargets refuses targets that a score could not come near to, at the label holder, who alone has any: what opens has
// no bits for them.
func (t *trainer) checkTargets(targets []float64) error {
	most := 0.0
	for _, y := range targets {
		most = max(most, math.Abs(y))
	}
	if most < float64(t.Params.ScoreRange) {
		return nil
	}
	return fmt.Errorf("the label has a value %.0f deviations from its mean, and scores of this job end at %d: propose it with "+
		"score_range = %d, or clip the label", most, t.Params.ScoreRange, 1<<bits.Len(uint(most)))
}

// newTrainer settles what follows from public numbers.
func newTrainer(p *Party) (*trainer, error) {
	s, err := scalesOf(p.Params, p.Rows)
	if err != nil {
		return nil, err
	}
	t := &trainer{Party: p, scales: s, seats: seatsOf(p.Params, p.Names, p.Self)}
	if t.loss, err = kernel.ParseLoss(p.Params.Loss); err != nil {
		return nil, err
	}
	if err := t.checkable(); err != nil {
		return nil, err
	}
	if t.three, err = p.Network.Three(t.parties); err != nil {
		return nil, err
	}
	t.columns = newColumns(s, t.seats, p.Network, t.three)
	t.columns.keeps = p.Params.Outer > 0
	if t.BlockRows == 0 {
		t.BlockRows = blockRows(p.Params.Features)
	}
	t.openings = openings{seats: t.seats, names: p.Names, session: p.Session, vault: p.Vault, network: p.Network}
	holder := t.parties[rss.LabelHolder]
	if p.Params.Bound != boundPublic {
		t.bounds = t.openings.add(series{kind: kindBound, code: codeBound, most: 1, bits: boundWidth, root: holder})
	}
	if p.Params.Outer > 1 {
		bits := scoreWidth(p.Params, trainBits)
		t.scores = t.openings.add(series{kind: kindScores, code: codeScores, most: p.Params.Outer - 1, bits: bits, root: holder})
	}
	t.coins = t.openings.add(series{kind: kindCoin, code: codeCoin, most: 1, root: nobody})
	t.checks = t.openings.add(series{kind: kindCheck, code: codeCheck, most: 1, root: nobody})
	return t, nil
}

// blockBytes is about how large one message of a block's features is: rows enough for the Gram matrix's kernels.
const blockBytes = 4 << 20

// blockRows is how many rows a block has.
func blockRows(features int) int { return max(1, blockBytes/8/features) }

// train returns shares of the coefficients and of the offset, and at the label holder its intercept.
func (t *trainer) train(ctx context.Context) (beta, offset rss.Share, intercept float64, err error) {
	from, err := t.resume(ctx)
	if err != nil {
		return beta, offset, 0, err
	}
	if err := t.openings.agree(ctx); err != nil { // which compares the resume points, too
		return beta, offset, 0, err
	}
	s, err := t.solve(ctx, from)
	if err != nil {
		return beta, offset, 0, err
	}
	if err := t.check(ctx, s); err != nil {
		return beta, offset, 0, err
	}
	return s.beta.Slice(0, t.features), s.offsets.Slice(0, 1), s.intercept, nil
}

// solution is what all runs of the steps come to, in its last form.
type solution struct {
	beta      rss.Share // [runs, D], scale bs
	offsets   rss.Share // [runs], scale bs
	intercept float64   // at the label holder
	multiples rss.Share // see system
	reach     float64
	precision
}

// solve finds the coefficients, or takes them from a checkpoint, and keeps them before anything that depends on them
// can leave.
func (t *trainer) solve(ctx context.Context, from point) (*solution, error) {
	if from.stage == stageSolved {
		return t.savedSolution()
	}
	if t.coins.fixed > 0 {
		return nil, t.lostSolution()
	}
	system, err := t.gram(ctx, from)
	if err != nil {
		return nil, err
	}
	s := &solution{intercept: system.mean, multiples: system.multiples, reach: system.reach, precision: system.precision}
	if t.loss == kernel.Square {
		s.beta, err = t.ridge(ctx, system, from)
	} else {
		s.beta, s.intercept, err = t.newton(ctx, system, from)
	}
	if err != nil {
		return nil, err
	}
	if s.offsets, err = t.offsets(ctx, runs, s.beta, system); err != nil {
		return nil, err
	}
	return s, t.saveSolution(s)
}

// offsets shares -<beta, m> of the first n runs, at the coefficients' scale: the features are not centred, the Gram
// matrix is.
func (t *trainer) offsets(ctx context.Context, n int, beta rss.Share, s *system) (rss.Share, error) {
	var terms []uint64
	for lo := 0; lo < beta.Len(); lo += t.features {
		terms = append(terms, -t.three.Dot(beta.Slice(lo, lo+t.features), s.means)[0])
	}
	return t.truncate(ctx, kindOffset, t.Params.Iterations, t.k, terms, rss.Shift{Count: n, Bits: t.sz})
}

// truncate is a truncation of the job; see rss.Party.Truncate. Even and odd turns have the orders of which one
// can begin while another ends. A truncation's turn follows from its place in the job, not from what this session did
// before: a job that goes on from a checkpoint sends what the contract says, in the same direction.
func (t *trainer) truncate(ctx context.Context, kind string, turn, ring int, term []uint64, shifts ...rss.Shift) (rss.Share, error) {
	order := rss.FirstOrder()
	if turn%2 == 1 {
		order = order.Next()
	}
	return t.three.Truncate(ctx, kind, ring, term, order, shifts...)
}

// report tells the progress, if anybody listens.
func (t *trainer) report(step string, done, total int) {
	if t.Report != nil {
		t.Report(fdskl.Progress{Step: step, Done: done, Total: total, Metric: math.NaN()})
	}
}

// told counts values this party learned.
func (t *trainer) told(kind string, count int) {
	if t.Opened != nil {
		t.Opened(kind, int64(count))
	}
}
