package sealed

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// errFollowed ends a training that is followed once no message is of rows any more: its steps may be a million.
var errFollowed = errors.New("no message is of rows any more")

// Follow says which rows and angles the messages of a session are of, in a sealed job.
func Follow(o fdskl.Outline) *trace.Follower {
	c := newTracer(o)
	return c.Network.Follow([]string{kindResume, kindHeld, trace.KindRequest}, func() error {
		_, err := c.run(context.Background())
		if errors.Is(err, errFollowed) {
			return nil
		}
		return err
	})
}

// Disclose tells what a session of a sealed job opens and does. What is done is counted by running the part of a party
// outside the three, which follows from public numbers.
func Disclose(o fdskl.Outline) (d joint.Disclosure, err error) {
	c := newTracer(o)
	if !o.OneStage() {
		var begun int64
		if d, begun, err = fdskl.DiscloseBeginning(o); err != nil {
			return d, err
		}
		c.Stage = func(kind string) int64 { return begun + stageOf(kind) }
	}
	t, err := c.run(context.Background())
	if err != nil {
		return joint.Disclosure{}, err
	}
	d.Operations, d.Notes = append(d.Operations, c.Operations...), c.Notes
	switch {
	case o.Shard != nil: // nothing opens
	case o.Receiver != "":
		each := ""
		if n := o.Params.Scores(); n > 1 {
			each = fmt.Sprintf("%d scores a row, one for each class, ", n)
		}
		d.Openings = append(d.Openings, c.opening(o.Receiver, kindScores, fmt.Sprintf("the predictions themselves, %s%d "+
			"bits behind the point: of each row that much is told of all parties' columns together", each,
			o.Params.ScoreBits)))
	default:
		d.Openings = append(d.Openings, c.openings(t)...)
	}
	return d, nil
}

// opening is what a party learns of a kind.
func (c *tracer) opening(to, kind, meaning string) contract.Opening {
	return contract.Opening{To: to, Kind: kind, Count: c.Learned(to, kind), Meaning: meaning}
}

// openings lists what a training opens, beside what its beginning does.
func (c *tracer) openings(t *trainer) (list []contract.Opening) {
	holder := c.Params.Active[0]
	add := func(to, kind, meaning string, args ...any) {
		list = append(list, c.opening(to, kind, fmt.Sprintf(meaning, args...)))
	}
	if c.Params.Bound != boundPublic {
		add(holder, kindBound, "the order of magnitude of the norm of the Gram matrix, times a random factor that nobody "+
			"knows: how alike the rows are on the whole")
		for _, name := range c.Parties {
			if name != holder {
				add(name, kindReach, "the order of magnitude of the norm of the Gram matrix, times a random factor")
			}
		}
	}
	if t.candidates != nil {
		over := ""
		if t.sides > 1 {
			over = fmt.Sprintf(", over all %d classes together", t.sides)
		}
		add(holder, kindValidation, "which lambda of %v is best on %d rows, drawn by a coin, that are kept out of a first "+
			"solution%s: %d bits", t.candidates, t.checker.heldOutRows(), over, choiceBits)
		for _, name := range c.Parties {
			if name != holder {
				add(name, kindChoice, "which of these lambdas the label holder takes")
			}
		}
	}
	if !t.square {
		for _, name := range c.Parties {
			kind := kindPace
			if name == holder || name == c.Params.Keeper || name == c.Params.Helper {
				kind = kindProgress
			}
			add(name, kind, "whether another step of the solver follows: %d bits", progressBits)
		}
	}
	for _, name := range []string{holder, c.Params.Keeper, c.Params.Helper} {
		add(name, kindCheck, "whether the steps of the solver were taken as agreed: numbers of %d bits, of an honest "+
			"training rounding alone", checkWidth)
	}
	return slices.Concat(list, pointOpenings(c.Params, c.Parties), zOpenings(c.Params, c.Parties))
}

// stageOf is the part of a training to which a kind of message belongs: no party does anything of one before
// all of the one before it is done.
func stageOf(kind string) int64 {
	for _, suffix := range []string{rss.SuffixIn, rss.SuffixCarry, rss.SuffixOut} {
		kind = strings.TrimSuffix(kind, suffix)
	}
	switch kind {
	case kindResume, kindHeld:
		return 0
	case kindLabels, kindEvents, kindRowCommitment, kindRowCoin, kindAngles, kindFactors, kindReshare, kindBinKeys,
		kindBins, kindWindows:
		return 1
	}
	return 2
}

// rowBytes is about what a row takes in the steps of the logistic loss: the term of its score, and shares of its event,
// its probability and its derivative.
const rowBytes = 120

// Memory is about how many bytes each of the three holds beside its table.
func Memory(p fdskl.Params, rows int) int64 {
	n := 8 * 8 * int64(p.Features) * int64(p.Features)
	if sides := int64(p.Scores()); sides > 1 { // what the steps of all candidates have in words, and the labels
		n += 8 * (20*int64(len(fdskl.Candidates()))*sides*int64(p.Features) + 2*sides*int64(rows))
	}
	if p.Lambda == 0 { // a second matrix, and their difference
		n += n / 2
	}
	if p.ZScores != "" { // both components of a matrix, its inverse, and their products
		n *= 2
	}
	if p.Loss != kernel.Square.String() {
		n += rowBytes * int64(rows)
	}
	return n + 16*blockBytes
}

// tracer is a joint.SealedNetwork without data; see trace.Network.
type tracer struct {
	trace.Network
	fdskl.Outline
	first int // the number of the first row of the opening under way
}

// newTracer starts the trace of a session.
func newTracer(o fdskl.Outline) *tracer {
	return &tracer{Outline: o, Network: trace.Network{Names: o.Parties, Answer: answer,
		Stage: func(string) int64 { return 1 }}}
}

// run runs the part of a party outside, and returns what it was prepared with in a training.
func (c *tracer) run(ctx context.Context) (t *trainer, err error) {
	m := &fdskl.Model{Names: c.Parties, Params: c.Params, Privacy: fdskl.Sealed, Sigma: 1}
	switch {
	case c.Receiver != "":
		return nil, c.score(ctx, m)
	case c.Shard != nil:
		if t, err = newSummer(Summing{Self: -1, Begun: m, Rows: c.Rows, Shard: *c.Shard, Network: c, blockRows: c.BlockRows,
			windowRows: c.WindowRows}); err != nil {
			return nil, err
		}
		c.blank(t.angles)
		_, err = t.sumRows(ctx, nil)
		return t, err
	}
	p := &Party{Party: &fdskl.Party{Self: -1, Names: c.Parties, Params: c.Params, Rows: c.Rows}, Network: c,
		BlockRows: c.BlockRows, WindowRows: c.WindowRows}
	if c.InShards {
		p.Sums = func(context.Context, *Begun) ([]Sums, error) { return nil, nil }
	}
	if t, err = newTrainer(p); err != nil {
		return nil, err
	}
	c.blank(t.angles)
	_, err = t.train(ctx)
	return t, err
}

// score runs a prediction, or its part in the session of a shard.
func (c *tracer) score(ctx context.Context, m *fdskl.Model) error {
	rows, batch := c.Scored()
	party := Scoring{Self: -1, Receiver: slices.Index(c.Parties, c.Receiver), Model: m, Network: c,
		Openings: (rows + batch - 1) / batch}
	if c.Shard != nil {
		s, err := newScorer(party)
		if err == nil {
			err = s.prepare()
		}
		if err != nil {
			return err
		}
		c.blank(s.angles)
		return c.batches(rows, batch, func(number, n int) error {
			_, err := s.shares(ctx, number, n, nil)
			return err
		})
	}
	if c.InShards {
		party.Words = func(int, int) (ScoreWords, error) { return nil, nil }
	}
	s, err := NewScorer(ctx, party)
	if err != nil {
		return err
	}
	c.blank(s.angles)
	score := func(number, n int) error {
		_, err := s.score(ctx, number, n, nil)
		return err
	}
	if c.Following() && c.Requests > 0 {
		return c.EachRequest(c.Rows, func(number, row int) error {
			c.first = row
			return score(number, 1)
		})
	}
	return c.batches(rows, batch, score)
}

// batches runs score for rows, so many at a time: a batch's number, from 1 on, and its rows. Truncations go there and
// back in turn, so that behind the first batch, which may have keys beside, every two are the same.
func (c *tracer) batches(rows, batch int, score func(number, n int) error) error {
	number := 0
	next := func(n int) error {
		if n == 0 {
			return nil
		}
		c.first = number * batch
		number++
		return score(number, n)
	}
	whole := rows / batch
	if whole > 0 {
		if err := next(batch); err != nil {
			return err
		}
		whole--
	}
	return cmp.Or(c.Times(whole/2, func() error { return cmp.Or(next(batch), next(batch)) }),
		next(whole%2*batch), next(rows%batch))
}

// blank has angles be those of no row.
func (c *tracer) blank(angles *columns) {
	if angles != nil {
		angles.turns = func(lo, hi int) ([]uint16, error) { return c.Turns((hi - lo) * c.Params.Angles()), nil }
	}
}

// rows notes that the next message is of a block's rows. It may be called without a tracer.
func (c *tracer) rows(b *block) {
	if c == nil {
		return
	}
	first, n := c.first+b.lo, b.hi-b.lo
	c.About(func() trace.About { return trace.About{Rows: trace.Rows(first, n), Excluded: -1} })
}

// angles notes that the next sum is of all angles of a block's rows. It may be called without a tracer.
func (c *tracer) angles(b *block) {
	if c == nil {
		return
	}
	first, n := c.first+b.lo, b.hi-b.lo
	c.About(func() trace.About {
		about := trace.About{Rows: trace.Rows(first, n), Angles: make([]trace.Angle, 0, n*c.Params.Angles()),
			Root: slices.Index(c.Parties, c.Params.Active[0]), Excluded: -1}
		for _, j := range about.Rows {
			for i := range c.Params.Angles() {
				about.Angles = append(about.Angles, trace.Angle{Row: j, Frequency: i})
			}
		}
		return about
	})
}

// answer is what is broadcast in a session that nothing came before, in which the solver takes all its steps.
func answer(kind string, limit int) (trace.Answer, error) {
	t := trace.Answer{Class: contract.ClassOpening, Data: make([]byte, limit)}
	switch kind {
	case kindResume:
		t.Class, t.Data = contract.ClassControl, nil
	case kindHeld, kindReady, kindRowCommitment, kindRowCoin, kindCommitment, kindCoin:
		t.Class = contract.ClassControl
	case kindPace:
		t.Data = []byte{distanceLimits}
	}
	return t, nil
}
