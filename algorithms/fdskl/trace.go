package fdskl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/protocol/contract"
)

// tracer is the network of a party without data, which is none of the job's: it answers the part with what
// makes the most of what follows.
//
// Two things follow from data, and are counted as the most that they can be: how often the solver evaluates and whose
// labels count (see solver), and which angles a batch lacks (see bound).
type tracer struct {
	trace.Network
	Outline
	rows    int                // of the session
	first   int                // the number of the first row of those that are scored now
	list    func() trace.About // see angles
	bounded int                // growing features: of so many active parties the angles are counted
}

// newTracer starts the trace of a session of so many rows.
func newTracer(o Outline, rows int) *tracer {
	t := &tracer{Outline: o, rows: rows}
	t.Network = trace.Network{Names: o.Parties, Answer: t.answer, Stage: func(kind string) int64 {
		if t.OneStage() {
			return 1
		}
		return t.Params.stageOf(kind)
	}}
	return t
}

// party is the part of a training that is run.
func (c *tracer) party() *Party {
	return &Party{
		Self: -1, Names: c.Parties, Params: c.Params, Privacy: c.Privacy, Rows: c.rows, Network: c,
		Vault: blankVault{}, Workers: 1, tracer: c,
	}
}

// mostAngles bounds the angles of a sum that are listed: contracts can name more than any machine holds.
const mostAngles = 1 << 26

// angles notes that the next sum to the k-th active party is of the n angles of a list. It may be called without a
// tracer.
func (c *tracer) angles(k, n int, list func() []trace.Angle) error {
	if c == nil || !c.Following() || n == 0 { // an empty vector sends no frame
		return nil
	}
	if n > mostAngles {
		return fmt.Errorf("a sum of more than %d angles", mostAngles)
	}
	first := c.first
	c.list = func() trace.About {
		about := trace.About{Angles: list(), Root: slices.Index(c.Parties, c.Params.Active[k]), Excluded: -1}
		for i := range about.Angles {
			about.Angles[i].Row += first
		}
		return about
	}
	c.About(c.list)
	return nil
}

// excluding notes that the next sum is of some of the angles noted last, those from which party l is excluded. It may
// be called without a tracer.
func (c *tracer) excluding(l int, elements []int) {
	if c == nil {
		return
	}
	list := c.list
	c.About(func() trace.About {
		all := list()
		some := trace.About{Root: all.Root, Excluded: l}
		for _, i := range elements {
			some.Angles = append(some.Angles, all.Angles[i])
		}
		return some
	})
}

// counted returns the operations in the order that contracts have: what opens to each active party together.
func (c *tracer) counted() []contract.Operation {
	for c.bounded > 0 && c.bounded < len(c.Params.Active) { // who never leads stands there with no angles
		c.bound(c.bounded)
	}
	for i := range c.Operations {
		o := &c.Operations[i]
		if o.Tree != 0 && c.OneStage() && c.Params.Schedule == DoublyStochastic {
			// Contracts allow every pair of sums as much as all of them have together; exact would be less.
			n := c.anglesOf(slices.Index(c.Params.Active, o.Root))
			o.Shape, o.Bytes = []int64{n}, int64(contract.Float64.Size(int(n)))
		}
		if o.Kind == KindAngles || o.Tree != 0 {
			o.Shape = c.shape(o.Shape[0])
		}
	}
	if last := slices.IndexFunc(c.Operations,
		func(o contract.Operation) bool { return o.Kind == KindProducts }); last >= 0 {
		place := func(o contract.Operation) int {
			switch strings.TrimSuffix(o.Kind, total) {
			case KindScores, KindDerivatives:
				return slices.Index(c.Params.Active, o.Root)
			case KindProducts:
				return len(c.Params.Active)
			}
			return len(c.Params.Active) + 1
		}
		slices.SortStableFunc(c.Operations[last:], func(a, b contract.Operation) int {
			return cmp.Compare(place(a),
				place(b))
		})
	}
	return c.Operations
}

// shape returns rows and features of n angles, when all rows have as many.
func (c *tracer) shape(n int64) []int64 {
	rows := int64(c.rows)
	if rows == 0 || n%rows != 0 {
		return []int64{n}
	}
	return []int64{rows, n / rows}
}

// turnsOf is how often the k-th active party leads an iteration of the growing schedule.
func (c *tracer) turnsOf(k int) int64 {
	actives := len(c.Params.Active)
	return int64(max(c.Params.Iterations-k+actives-1, 0) / actives)
}

// batch is the most rows of a batch.
func (c *tracer) batch() int { return min(c.Params.Batch, c.rows) }

// anglesOf returns the angles that open to the k-th active party, at most.
//
// Where features grow, which rows lack which angles follows from the rows that are picked, and so from who has labels
// for which rows. In every iteration they are at most those of the batch, over the party's features so far, and in all
// at most every angle once.
func (c *tracer) anglesOf(k int) int64 {
	var features int64
	for _, r := range runsOf(c.Params, k) {
		features += int64(r.Count)
	}
	all := int64(c.rows) * features
	if c.OneStage() || c.Params.Schedule == Fixed {
		return all
	}
	var n int64
	actives := len(c.Params.Active)
	for t := range c.Params.Iterations {
		n += int64(c.batch()) * int64(c.Params.BlockFeatures) * int64((t+actives-k)/actives)
	}
	return min(n, all)
}

// bound counts the angles that open to the k-th active party while features grow.
func (c *tracer) bound(k int) {
	if k < c.bounded {
		return
	}
	c.bounded = k + 1
	c.AtMost(KindAngles, KindPublishedAngles, KindPublishedPhases, KindScores)
	n := c.anglesOf(k)
	root := slices.Index(c.Parties, c.Params.Active[k])
	add := func(o contract.Operation, class contract.Class, encoding contract.Encoding) {
		o.Collective, o.Root = contract.CollectiveSum, c.Parties[root]
		o.Stage, o.Class, o.Encoding = c.Params.stageOf(o.Kind), class.String(), encoding.String()
		o.Shape, o.Count, o.Bytes = []int64{n}, int64(c.Params.Iterations), int64(encoding.Size(int(n)))
		c.Operations = append(c.Operations, o)
	}
	if c.Privacy != Published {
		add(contract.Operation{Kind: KindAngles}, contract.ClassMasked, contract.Turns16)
		return
	}
	if len(c.Parties) == 1 {
		return
	}
	remains := remainingPhases(c.Params, len(c.Parties), root)
	keeps := make([]bool, len(c.Parties))
	for _, r := range runsOf(c.Params, k) {
		for i := range r.Count {
			keeps[remains[r.First+i]] = true
		}
	}
	for l, name := range c.Parties {
		if keeps[l] {
			add(contract.Operation{Kind: KindPublishedAngles, Tree: 1, Excluded: name}, contract.ClassPublished,
				contract.Float64)
			add(contract.Operation{Kind: KindPublishedPhases, Tree: 2, Excluded: name}, contract.ClassPublished,
				contract.Float64)
		}
	}
}

// solver counts the most that a run of the solver asks of the others: any active party may own the labels of all rows.
// Which angles a message is of does not depend on it.
func (c *tracer) solver(ctx context.Context, o *split) error {
	if c.Following() {
		return nil
	}
	c.AtMost(KindScores, KindDerivatives, KindProducts, KindProducts+total, KindObjective, KindObjective+total)
	rows := make([]int, c.rows)
	for j := range rows {
		rows[j] = j
	}
	for k := range o.owned {
		o.owned[k] = rows
	}
	evaluations := maxEvaluations(c.Params.Iterations)
	if err := c.Times(solverSums*evaluations, func() error {
		_, err := o.Dots(ctx, make([]lbfgs.Pair, lbfgs.MaxDots(solverHistory)))
		return err
	}); err != nil {
		return err
	}
	return c.Times(evaluations, func() error {
		_, err := o.Evaluate(ctx, nil, nil)
		return err
	})
}

// SumReals implements joint.Summer.
func (c *tracer) SumReals(_ context.Context, kind string, root int, v []float64) error {
	class, encoding := contract.ClassMasked, contract.Fixed64
	switch c.Privacy {
	case Published:
		class, encoding = contract.ClassPublished, contract.Float64
	case Sealed:
		encoding = contract.Packed(SealedWidth)
	}
	return c.Sum(kind, root, class, encoding, len(v), true)
}

// SumTree implements joint.TreeSummer. Of a pair the first sum has the angles, and the second the phases.
func (c *tracer) SumTree(_ context.Context, kind string, tree, root, excluded int, v []float64) error {
	return c.Count(contract.Operation{
		Kind: kind, Collective: contract.CollectiveSum, Root: c.Parties[root], Tree: int64(tree),
		Excluded: c.Parties[excluded],
	}, contract.ClassPublished, contract.Float64, len(v))
}

// answer is what is broadcast in a session in which nobody has anything of earlier ones, every row has labels, and a
// batch has the first rows.
func (c *tracer) answer(kind string, limit int) (t trace.Answer, err error) {
	t = trace.Answer{Class: contract.ClassOpening, Data: make([]byte, limit)}
	switch kind {
	case KindResumePoint, KindSolverPoint:
		t.Class, t.Anyone = contract.ClassControl, true
	case KindWidthKnown:
		t.Class = contract.ClassControl
	case KindTarget:
		t.Data, err = blankDescription(c.Params).encode(limit)
	case KindWidth:
		binary.LittleEndian.PutUint64(t.Data, math.Float64bits(1))
	case KindBatch:
		t.Anyone = true
		c.AtMost(kind)
		for j := range c.batch() {
			binary.LittleEndian.PutUint32(t.Data[4*j:], uint32(j))
		}
	case KindLabelled:
		t.Anyone = true
		c.AtMost(kind)
		t.Data = bytes.Repeat([]byte{0xff}, limit)
	}
	return t, err
}

// blankDescription is a description of a target without data: classes are called by their numbers.
func blankDescription(p Params) description {
	d := description{Scale: 1, Classes: make([]string, 2)}
	if n := p.ClassCount(); n > 0 {
		d.Classes = d.Classes[:0]
		for k := range n {
			d.Classes = append(d.Classes, strconv.Itoa(k))
		}
	}
	if p.Positive != "" && len(d.Classes) == 2 {
		if p.Positive.Is(d.Classes[0]) {
			d.Classes[0] = d.Classes[1]
		}
		d.Classes[1] = string(p.Positive)
	}
	return d
}

// blankVault is a joint.Vault that keeps nothing.
type blankVault struct{}

// Load implements joint.Vault.
func (blankVault) Load(string) ([]byte, error) { return nil, nil }

// Save implements joint.Vault.
func (blankVault) Save(string, []byte) error { return nil }

// Append implements joint.Vault.
func (blankVault) Append(string, []byte) error { return nil }

// Records implements joint.Vault.
func (blankVault) Records(string, int, func([]byte) error) (int, error) { return 0, nil }

// Remove implements joint.Vault.
func (blankVault) Remove(string) error { return nil }
