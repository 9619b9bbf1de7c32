package fdskl

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Disclosure is what a job opens to whom and what its parties do together, from public numbers
// alone.
type Disclosure struct {
	Openings   []contract.Opening
	Operations []contract.Operation
}

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

// DiscloseTraining tells what a training over rows opens and does; columns[i] is the number of
// feature columns of parties[i]. What is done is counted by running the part of a party without data.
func DiscloseTraining(p Params, privacy string, parties []string, columns []int, rows int) (Disclosure, error) {
	return discloseTraining(p, privacy, parties, columns, rows, nil)
}

// discloseTraining is DiscloseTraining where sums tells the sums of shards, nil that there are none.
func discloseTraining(p Params, privacy string, parties []string, columns []int, rows int,
	sums func(context.Context, *Begun) ([]Sums, error),
) (Disclosure, error) {
	if rows < 1 {
		return Disclosure{}, fmt.Errorf("a training over %d rows, want at least 1", rows)
	}
	c := &counter{params: p, privacy: privacy, names: parties, rows: rows}
	party := c.party()
	party.Sums = sums
	if _, err := Train(context.Background(), party); err != nil {
		return Disclosure{}, fmt.Errorf("count what is sent: %w", err)
	}
	o := openingList{params: p, privacy: privacy, parties: parties, columns: columns, rows: int64(rows)}
	o.targetAndWidth()
	d := Disclosure{Operations: c.counted()}
	for k, a := range p.Active {
		n := c.anglesOf(k)
		o.angles(k, n)
		if p.Schedule == DoublyStochastic {
			o.learns(a, KindScores, c.turnsOf(k)*int64(c.batch()), "the running model's score of each row it picked")
		}
	}
	if p.Schedule == Fixed && len(p.Active) > 1 {
		// Lists the openings of a solution by several active parties.
		evaluations := int64(maxEvaluations(o.params.Iterations))
		for _, a := range o.params.Active {
			o.learns(a, KindScores, evaluations*o.rows,
				"the score of every row whose label it owns, once a solver step, at most")
			o.learns(a, KindDerivatives, evaluations*o.rows,
				"the loss derivative of every row, once a solver step, at most: labels follow from it")
		}
		products := int64(lbfgs.MaxDots(solverHistory))
		for _, p := range o.parties {
			others := int64(len(o.params.Active))
			if slices.Contains(o.params.Active, p) {
				others--
			}
			o.learns(p, KindProducts, (products+1)*evaluations,
				"inner products of the solver's vectors and the value of the objective, at most")
			o.learns(p, KindLabelled, others*o.rows, "which rows each active party has a label for")
		}
	}
	d.Openings = o.list
	return d, nil
}

// DisclosePrediction tells what scoring rows with a trained model opens and does, so many at a time.
func DisclosePrediction(
	p Params, privacy string, parties []string, columns []int, rows, batch int, receiver string,
) (Disclosure, error) {
	c := &counter{params: p, privacy: privacy, names: parties, rows: rows, oneStage: true}
	m := &Model{Names: parties, Params: p, Privacy: privacy, Sigma: 1}
	s, err := NewScorer(Scoring{Self: -1, Receiver: slices.Index(parties, receiver), Models: []*Model{m}, Network: c})
	if err != nil {
		return Disclosure{}, fmt.Errorf("count what is sent: %w", err)
	}
	for _, blocks := range [][2]int{{rows / batch, batch}, {min(rows%batch, 1), rows % batch}} {
		if err := c.Times(blocks[0], func() error {
			_, err := s.score(context.Background(), blocks[1], nil)
			return err
		}); err != nil {
			return Disclosure{}, fmt.Errorf("count what is sent: %w", err)
		}
	}
	o := openingList{params: p, privacy: privacy, parties: parties, columns: columns, rows: int64(rows)}
	for k := range p.Active {
		o.angles(k, c.anglesOf(k))
	}
	meaning := "the predictions themselves"
	if p.Scores() > 1 {
		meaning = fmt.Sprintf("the predictions themselves: %d scores a row, one for each class", p.Scores())
	}
	o.learns(receiver, KindScores, int64(rows)*int64(p.Scores()), meaning)
	return Disclosure{Openings: o.list, Operations: c.counted()}, nil
}

// DiscloseBeginning tells what the beginning of a training opens and does; see Begin. stage is that of what
// comes next.
func DiscloseBeginning(p Params, privacy string, parties []string) (d Disclosure, stage int64, err error) {
	c := &counter{params: p, privacy: privacy, names: parties, rows: 1}
	if _, err := Begin(context.Background(), c.party()); err != nil {
		return d, 0, fmt.Errorf("count what is sent: %w", err)
	}
	o := openingList{params: p, privacy: privacy, parties: parties}
	o.targetAndWidth()
	return Disclosure{Openings: o.list, Operations: c.counted()}, p.begun(), nil
}

// openingList lists what parties learn.
type openingList struct {
	params  Params
	privacy string
	parties []string
	columns []int // feature columns of each party
	rows    int64
	list    []contract.Opening
}

// targetAndWidth lists what the target and the kernel's width open.
func (o *openingList) targetAndWidth() {
	leader := o.params.Active[0]
	meaning := "the label's name for each class"
	if o.params.Target == Regression {
		meaning = "mean and standard deviation of the target"
	}
	for _, p := range o.parties {
		if p != leader {
			o.learns(p, o.params.targetKind(), int64(o.params.targetCount()), meaning)
		}
	}
	switch {
	case o.params.Sigma != 0:
	case o.privacy == Sealed:
		o.learns(leader, KindDistances, 1, "the mean squared distance of sampled pairs of rows, for the kernel width")
	default:
		o.learns(leader, KindDistances, medianPairs, "distances of sampled pairs of rows, for the kernel width")
	}
}

// angles lists n angles opened to the k-th active party, by the privacy mode.
func (o *openingList) angles(k int, n int64) {
	to := o.params.Active[k]
	unknown := 0
	for i, p := range o.parties {
		if p == to {
			continue
		}
		unknown += o.columns[i]
		if o.privacy == Published {
			o.learns(p, "partial angles", n, "as a parent in the trees: partial sums of other parties' angles under masks "+
				"that repeat from row to row, from which their columns' differences follow exactly")
		}
	}
	o.learns(to, KindAngles, n, fmt.Sprintf(
		"about %d angles a row against %d columns of the other parties: enough to rebuild the differences of all their "+
			"rows, and with min-max scaling the rows themselves", n/max(o.rows, 1), unknown))
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
