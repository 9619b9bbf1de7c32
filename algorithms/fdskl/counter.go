package fdskl

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/algorithms/dryrun"
	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
	"github.com/hanse-project/hanse/protocol/contract"
)

// counter is the network and the vault of a party without data, which is none of the job's: it counts what the part
// asks of the others, carries nothing and answers with what makes the most of what follows.
//
// Two things follow from data, and are counted as the most that they can be: how often the solver evaluates and whose
// labels count (see solver), and which angles a batch lacks (see bound).
type counter struct {
	dryrun.Tally
	blankVault
	params  Params
	privacy string
	names   []string
	rows    int

	// No part of the session waits for all of another: that of a prediction, or of a shard. All angles open there.
	oneStage bool

	bounded int // growing features: of so many active parties the angles are counted
}

// party is the part that is run.
func (c *counter) party() *Party {
	return &Party{
		Self: -1, Names: c.names, Params: c.params, Privacy: c.privacy, Rows: c.rows, Network: c,
		Vault: c, Workers: 1, counter: c,
	}
}

// counted returns the operations in the order that contracts have: what opens to each active party together.
func (c *counter) counted() []contract.Operation {
	for c.bounded > 0 && c.bounded < len(c.params.Active) { // who never leads stands there with no angles
		c.bound(c.bounded)
	}
	for i := range c.Operations {
		o := &c.Operations[i]
		if o.Tree != 0 && c.oneStage && c.params.Schedule == DoublyStochastic {
			// Contracts allow every pair of sums as much as all of them have together; exact would be less.
			n := c.anglesOf(slices.Index(c.params.Active, o.Root))
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
				return slices.Index(c.params.Active, o.Root)
			case KindProducts:
				return len(c.params.Active)
			}
			return len(c.params.Active) + 1
		}
		slices.SortStableFunc(c.Operations[last:], func(a, b contract.Operation) int {
			return cmp.Compare(place(a),
				place(b))
		})
	}
	return c.Operations
}

// shape returns rows and features of n angles, when all rows have as many.
func (c *counter) shape(n int64) []int64 {
	rows := int64(c.rows)
	if rows == 0 || n%rows != 0 {
		return []int64{n}
	}
	return []int64{rows, n / rows}
}

// turnsOf is how often the k-th active party leads an iteration of the growing schedule.
func (c *counter) turnsOf(k int) int64 {
	actives := len(c.params.Active)
	return int64(max(c.params.Iterations-k+actives-1, 0) / actives)
}

// batch is the most rows of a batch.
func (c *counter) batch() int { return min(c.params.Batch, c.rows) }

// anglesOf returns the angles that open to the k-th active party, at most.
//
// Where features grow, which rows lack which angles follows from the rows that are picked, and so from who has labels
// for which rows. In every iteration they are at most those of the batch, over the party's features so far, and in all
// at most every angle once.
func (c *counter) anglesOf(k int) int64 {
	var features int64
	for _, r := range runsOf(c.params, k) {
		features += int64(r.Count)
	}
	all := int64(c.rows) * features
	if c.oneStage || c.params.Schedule == Fixed {
		return all
	}
	var n int64
	actives := len(c.params.Active)
	for t := range c.params.Iterations {
		n += int64(c.batch()) * int64(c.params.BlockFeatures) * int64((t+actives-k)/actives)
	}
	return min(n, all)
}

// bound counts the angles that open to the k-th active party while features grow.
func (c *counter) bound(k int) {
	if k < c.bounded {
		return
	}
	c.bounded = k + 1
	n := c.anglesOf(k)
	root := slices.Index(c.names, c.params.Active[k])
	add := func(o contract.Operation, class contract.Class, encoding contract.Encoding) {
		o.Collective, o.Root = contract.CollectiveSum, c.names[root]
		o.Stage, o.Class, o.Encoding = c.params.stageOf(o.Kind), class.String(), encoding.String()
		o.Shape, o.Count, o.Bytes = []int64{n}, int64(c.params.Iterations), int64(encoding.Size(int(n)))
		c.Operations = append(c.Operations, o)
	}
	if c.privacy != Published {
		add(contract.Operation{Kind: KindAngles}, contract.ClassMasked, contract.Turns16)
		return
	}
	if len(c.names) == 1 {
		return
	}
	remains := remainingPhases(c.params, len(c.names), root)
	keeps := make([]bool, len(c.names))
	for _, r := range runsOf(c.params, k) {
		for i := range r.Count {
			keeps[remains[r.First+i]] = true
		}
	}
	for l, name := range c.names {
		if keeps[l] {
			add(contract.Operation{Kind: KindPublishedAngles, Tree: 1, Excluded: name}, contract.ClassPublished,
				contract.Float64)
			add(contract.Operation{Kind: KindPublishedPhases, Tree: 2, Excluded: name}, contract.ClassPublished,
				contract.Float64)
		}
	}
}

// solver counts the most that a run of the solver asks of the others: any active party may own the labels of all rows.
func (c *counter) solver(ctx context.Context, o *joint) error {
	rows := make([]int, c.rows)
	for j := range rows {
		rows[j] = j
	}
	for k := range o.owned {
		o.owned[k] = rows
	}
	evaluations := maxEvaluations(c.params.Iterations)
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

// add counts an operation of n numbers.
func (c *counter) add(o contract.Operation, class contract.Class, encoding contract.Encoding, n int) {
	o.Stage = 1
	if !c.oneStage {
		o.Stage = c.params.stageOf(o.Kind)
	}
	c.Add(o, class, encoding, n)
}

// SumTurns implements Summer.
func (c *counter) SumTurns(_ context.Context, kind string, root int, v []uint16) error {
	o := contract.Operation{Kind: kind, Collective: contract.CollectiveSum, Root: c.names[root]}
	c.add(o, contract.ClassMasked, contract.Turns16, len(v))
	return nil
}

// SumReals implements Summer.
func (c *counter) SumReals(_ context.Context, kind string, root int, v []float64) error {
	class, encoding := contract.ClassMasked, contract.Fixed64
	switch c.privacy {
	case Published:
		class, encoding = contract.ClassPublished, contract.Float64
	case Sealed:
		encoding = contract.Packed(SealedWidth)
	}
	c.add(contract.Operation{Kind: kind, Collective: contract.CollectiveSum, Root: c.names[root]}, class, encoding, len(v))
	return nil
}

// SumTree implements TreeSummer.
func (c *counter) SumTree(_ context.Context, kind string, tree, root, excluded int, v []float64) error {
	o := contract.Operation{
		Kind: kind, Collective: contract.CollectiveSum, Root: c.names[root], Tree: int64(tree), Excluded: c.names[excluded],
	}
	c.add(o, contract.ClassPublished, contract.Float64, len(v))
	return nil
}

// Broadcast implements Broadcaster: nobody has anything of earlier sessions, every row has labels, and a batch has the
// first rows.
func (c *counter) Broadcast(_ context.Context, kind string, root int, _ []byte, limit int) ([]byte, error) {
	o := contract.Operation{Kind: kind, Collective: contract.CollectiveBroadcast, Root: c.names[root]}
	class := contract.ClassOpening
	data := make([]byte, limit)
	var err error
	switch kind {
	case KindResumePoint, KindSolverPoint:
		o.Root, class = contract.Anyone, contract.ClassControl
	case KindWidthKnown:
		class = contract.ClassControl
	case KindTarget:
		data, err = blankDescription(c.params).encode(limit)
	case KindWidth:
		binary.LittleEndian.PutUint64(data, math.Float64bits(1))
	case KindBatch:
		o.Root = contract.Anyone
		for j := range c.batch() {
			binary.LittleEndian.PutUint32(data[4*j:], uint32(j))
		}
	case KindLabelled:
		o.Root = contract.Anyone
		data = bytes.Repeat([]byte{0xff}, limit)
	}
	c.add(o, class, contract.Bytes, limit)
	return data, err
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

// Confirm implements Broadcaster.
func (c *counter) Confirm(context.Context) error {
	o := contract.Operation{Kind: contract.KindShared, Collective: contract.CollectiveExchange}
	c.add(o, contract.ClassControl, contract.Bytes, contract.SharedSize)
	return nil
}

// blankVault is a Vault that keeps nothing.
type blankVault struct{}

// Load implements Vault.
func (blankVault) Load(string) ([]byte, error) { return nil, nil }

// Save implements Vault.
func (blankVault) Save(string, []byte) error { return nil }

// Append implements Vault.
func (blankVault) Append(string, []byte) error { return nil }

// Records implements Vault.
func (blankVault) Records(string, int, func([]byte) error) (int, error) { return 0, nil }

// Remove implements Vault.
func (blankVault) Remove(string) error { return nil }
