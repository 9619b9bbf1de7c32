package fdskl

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Memory is about how many bytes an active party of a training over rows, to which so many angles open, holds beside
// its own table: two for each angle and, where it solves on its own, the matrices for it.
func (p Params) Memory(rows int, angles int64) int64 {
	n, d := 2*angles, int64(p.Features)
	if p.Schedule != Fixed || len(p.Active) > 1 {
		return n
	}
	if p.Loss == kernel.Square.String() {
		halves := int64(2) // of matrices: the sums of products, and what is factorised
		if p.Lambda == 0 {
			halves = 3 // and the sums without the rows that are kept out
		}
		return n + 8*halves*d*(d+1)/2
	}
	side := int64(p.NewtonSide(rows))
	return n + 8*side*(side+1) + 2*side*d // two halves, and the rows as whole numbers
}

// Outline is what public numbers say of one session of a job.
type Outline struct {
	Params  Params   // with defaults; in a prediction those of the model
	Privacy string   // Published, Masked or Sealed
	Parties []string // in the job's order
	Columns []int    // feature columns, by party
	Rows    int      // of the job

	// Receiver is the party that the scores of a prediction open to; empty: the job is a training.
	Receiver string
	Requests int // rows that are scored, one at a time, when the receiver asks; 0: all rows are, ScoreRows at a time

	InShards bool   // the job's own session takes what rows come to from the sessions of shards
	Shard    *Shard // the session is one of a shard; nil: the job's own

	// Rows of a block, of a window of sums, and of those that are scored at a time, for tests; 0: the usual ones.
	BlockRows, WindowRows, BatchRows int
}

// OneStage reports whether no part of the session waits for all of another: in a prediction, and in the session of a
// shard. All angles open there.
func (o *Outline) OneStage() bool { return o.Receiver != "" || o.Shard != nil }

// Scored is how many rows a prediction's session scores, and how many at a time.
func (o *Outline) Scored() (rows, batch int) {
	rows, batch = o.Rows, cmp.Or(o.BatchRows, joint.ScoreRows)
	if o.Requests > 0 {
		return o.Requests, 1
	}
	if o.Shard != nil {
		rows = o.Shard.Rows()
	}
	return rows, batch
}

// trace starts a trace of the session, and returns what is run on it.
func (o Outline) trace() (*tracer, func() error) {
	ctx := context.Background()
	switch {
	case o.Receiver != "":
		rows, batch := o.Scored()
		t := newTracer(o, rows)
		return t, func() error { return t.score(ctx, rows, batch) }
	case o.Shard != nil:
		t := newTracer(o, o.Shard.Rows())
		m := &Model{Names: o.Parties, Params: o.Params, Privacy: o.Privacy, Sigma: 1}
		return t, func() error {
			_, err := SumRows(ctx, Summing{Self: -1, Begun: m, Rows: o.Rows, Shard: *o.Shard, Network: t, Workers: 1, tracer: t})
			return err
		}
	}
	t := newTracer(o, o.Rows)
	return t, func() error {
		p := t.party()
		if o.InShards {
			p.Sums = func(context.Context, *Begun) ([]Sums, error) { return nil, nil }
		}
		_, err := Train(ctx, p)
		return err
	}
}

// score scores rows, so many at a time; a Follower's when they are asked for.
func (c *tracer) score(ctx context.Context, rows, batch int) error {
	m := &Model{Names: c.Parties, Params: c.Params, Privacy: c.Privacy, Sigma: 1}
	s, err := NewScorer(Scoring{Self: -1, Receiver: slices.Index(c.Parties, c.Receiver), Models: []*Model{m}, Network: c,
		tracer: c})
	if err != nil {
		return err
	}
	if c.Following() && c.Requests > 0 {
		return c.EachRequest(c.Rows, func(_, row int) error {
			c.first = row
			_, err := s.score(ctx, 1, nil)
			return err
		})
	}
	for _, blocks := range [][2]int{{rows / batch, batch}, {min(rows%batch, 1), rows % batch}} {
		if err := c.Times(blocks[0], func() error {
			_, err := s.score(ctx, blocks[1], nil)
			c.first += blocks[1]
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// Disclose tells what a session of a job opens and does, in the modes in which angles open. What is done is counted by
// running the part of a party without data.
func Disclose(o Outline) (joint.Disclosure, error) {
	if o.Receiver == "" && o.Rows < 1 {
		return joint.Disclosure{}, fmt.Errorf("a training over %d rows, want at least 1", o.Rows)
	}
	c, run := o.trace()
	if err := run(); err != nil {
		return joint.Disclosure{}, fmt.Errorf("count what is sent: %w", err)
	}
	list := openingList{trace: c}
	if !o.OneStage() {
		list.targetAndWidth()
	}
	for k, a := range o.Params.Active {
		list.angles(k, c.anglesOf(k))
		if o.Receiver == "" && o.Params.Schedule == DoublyStochastic {
			list.learns(a, KindScores, c.turnsOf(k)*int64(c.batch()), "the running model's score of each row it picked")
		}
	}
	switch {
	case o.Receiver != "":
		meaning := "the predictions themselves"
		if n := o.Params.Scores(); n > 1 {
			meaning = fmt.Sprintf("the predictions themselves: %d scores a row, one for each class", n)
		}
		list.learns(o.Receiver, KindScores, int64(c.rows)*int64(o.Params.Scores()), meaning)
		if o.InShards { // the sessions of the shards do all of it
			c.Operations = nil
		}
	case !o.OneStage() && o.Params.Schedule == Fixed && len(o.Params.Active) > 1:
		list.solver()
	}
	return joint.Disclosure{Openings: list.list, Operations: c.counted(), Notes: c.Notes}, nil
}

// Follow says which angles the messages of a session are of, in the modes in which angles open.
func Follow(o Outline) *trace.Follower {
	c, run := o.trace()
	return c.Follow([]string{KindResumePoint, KindBatch, trace.KindRequest}, run)
}

// DiscloseBeginning tells what the beginning of a training opens and does; see Begin. stage is that of what
// comes next.
func DiscloseBeginning(o Outline) (d joint.Disclosure, stage int64, err error) {
	c := newTracer(o, 1)
	if _, err := Begin(context.Background(), c.party()); err != nil {
		return d, 0, fmt.Errorf("count what is sent: %w", err)
	}
	list := openingList{trace: c}
	list.targetAndWidth()
	return joint.Disclosure{Openings: list.list, Operations: c.counted(), Notes: c.Notes}, o.Params.begun(), nil
}

// openingList lists what parties learn.
type openingList struct {
	trace *tracer
	list  []contract.Opening
}

// targetAndWidth lists what the target and the kernel's width open.
func (o *openingList) targetAndWidth() {
	leader := o.trace.Params.Active[0]
	meaning := "the label's name for each class"
	if o.trace.Params.Target == joint.Regression {
		meaning = "mean and standard deviation of the target"
	}
	for _, p := range o.trace.Parties {
		o.learns(p, o.trace.Params.targetKind(), o.trace.Learned(p, KindTarget)*int64(o.trace.Params.targetCount()), meaning)
	}
	meaning = "distances of sampled pairs of rows, for the kernel width"
	if o.trace.Privacy == Sealed {
		meaning = "the mean squared distance of sampled pairs of rows, for the kernel width"
	}
	o.learns(leader, KindDistances, o.trace.Learned(leader, KindDistances), meaning)
}

// angles lists n angles opened to the k-th active party, by the privacy mode.
func (o *openingList) angles(k int, n int64) {
	to := o.trace.Params.Active[k]
	unknown := 0
	for i, p := range o.trace.Parties {
		if p == to {
			continue
		}
		unknown += o.trace.Columns[i]
		if o.trace.Privacy == Published {
			o.learns(p, "partial angles", n, "as a parent in the trees: partial sums of other parties' angles under masks "+
				"that repeat from row to row, from which their columns' differences follow exactly")
		}
	}
	o.learns(to, KindAngles, n, fmt.Sprintf(
		"about %d angles a row against %d columns of the other parties: enough to rebuild the differences of all their "+
			"rows, and with min-max scaling the rows themselves", n/int64(max(o.trace.rows, 1)), unknown))
}

// solver lists the openings of a solution by several active parties.
func (o *openingList) solver() {
	for _, a := range o.trace.Params.Active {
		o.learns(a, KindScores, o.trace.Learned(a, KindScores),
			"the score of every row whose label it owns, once a solver step, at most")
		o.learns(a, KindDerivatives, o.trace.Learned(a, KindDerivatives),
			"the loss derivative of every row, once a solver step, at most: labels follow from it")
	}
	products := (int64(lbfgs.MaxDots(solverHistory)) + 1) * int64(maxEvaluations(o.trace.Params.Iterations))
	for _, p := range o.trace.Parties {
		o.learns(p, KindProducts, products,
			"inner products of the solver's vectors and the value of the objective, at most")
		o.learns(p, KindLabelled, o.trace.Learned(p, KindLabelled)*int64(o.trace.rows),
			"which rows each active party has a label for")
	}
}

// learns adds values to what a party learns.
func (o *openingList) learns(to, kind string, count int64, meaning string) {
	if count == 0 {
		return
	}
	for i := range o.list {
		if l := &o.list[i]; l.To == to && l.Kind == kind {
			l.Count += count
			return
		}
	}
	o.list = append(o.list, contract.Opening{To: to, Kind: kind, Count: count, Meaning: meaning})
}
