package sealed

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// Shard is a run of a job's rows, [Lo, Hi), of which a session of its own makes the sums.
type Shard = fdskl.Shard

// Shards cuts a job's rows into n shards of whole blocks, as equal as they can be.
func Shards(p fdskl.Params, rows, n int) ([]contract.Shard, error) {
	return joint.Cut(rows, blockRowsOf(p), n)
}

// Begun is what a party knows of a training before any row is summed: what those who sum rows for it need.
type Begun struct {
	Model  *fdskl.Model // this party's part, without a solution
	Labels []uint64     // at the label holder, [sides, N]: the labels less their mean, as words
	Coin   keys.Hash    // that draws the rows kept out, where lambda is "auto"
}

// Of returns the labels of a shard, [sides, rows of it].
func (b *Begun) Of(s Shard, rows int) []uint64 {
	var words []uint64
	for at := 0; at < len(b.Labels); at += rows {
		words = append(words, b.Labels[at+s.Lo:at+s.Hi]...)
	}
	return words
}

// Sums is one party's part of what rows add up to, in the ring of sums. It tells as much of the rows as a share does:
// nothing without another of the three. Outside them it is empty.
type Sums = fdskl.Sums

// LengthsOfSums lists how many words the vectors have of the sums of a shard of a training over so many rows, at the
// party of a name.
func LengthsOfSums(p fdskl.Params, parties []string, rows int, name string) ([]int, error) {
	t, err := newSummer(Summing{Self: slices.Index(parties, name), Begun: &fdskl.Model{Names: parties, Params: p},
		Rows: rows, Shard: Shard{Hi: rows}, Network: newTracer(fdskl.Outline{Parties: parties})})
	if err != nil {
		return nil, err
	}
	return t.lengthsOfSums(), nil
}

// Summing is one party's part of the sums of a shard, in a session among all parties that is the shard's own.
type Summing struct {
	Self     int
	Begun    *fdskl.Model // see Begun
	Rows     int          // of the job
	Shard    Shard
	Matrices []*kernel.Matrix // the shard's rows of this party; none where it has no data
	Labels   []uint64         // at the label holder; see Begun.Of
	Coin     keys.Hash        // see Begun
	Network  joint.SealedNetwork
	Workers  int                  // goroutines for local arithmetic, 0 for all cores
	Report   func(joint.Progress) // may be nil

	blockRows, windowRows int // 0: the usual ones
}

// SumRows makes this party's part of the sums of a shard of a job with the square loss. Nothing opens. Windows of sums
// are lifted in the shard's session: what comes out is exact, so that shards, however they are cut, add up to the same.
func SumRows(ctx context.Context, p Summing) (Sums, error) {
	t, err := p.summer()
	if err != nil {
		return nil, err
	}
	return t.sumRows(ctx, p.Labels)
}

// summer prepares for the sums of the rows that this party has.
func (p Summing) summer() (*trainer, error) {
	t, err := newSummer(p)
	if err != nil {
		return nil, err
	}
	switch {
	case len(p.Matrices) > 1:
		return nil, fmt.Errorf("%d tables of a shard, want one", len(p.Matrices))
	case len(p.Matrices) == 1 && p.Matrices[0].Rows != t.Rows:
		return nil, fmt.Errorf("the table of the shard has %d rows, want %d", p.Matrices[0].Rows, t.Rows)
	case t.role == rss.LabelHolder && len(p.Labels) != t.sides*t.Rows:
		return nil, fmt.Errorf("%d labels of the shard, want %d", len(p.Labels), t.sides*t.Rows)
	}
	if t.candidates != nil {
		t.checker.heldOut = heldOutOf(p.Rows, p.Shard.Lo, p.Shard.Hi, p.Coin)
	}
	if t.bins != nil {
		if len(p.Matrices) == 1 {
			t.bins.matrix = p.Matrices[0]
		}
		return t, nil
	}
	var parts []*fdskl.Model
	if len(p.Matrices) == 1 {
		parts = append(parts, p.Begun)
	}
	begun, err := fdskl.BeginScoring(p.Begun, p.Self, parts, p.Workers)
	t.angles.turns = func(lo, hi int) ([]uint16, error) { return begun.Turns(p.Matrices, lo, hi) }
	return t, err
}

// newSummer prepares for the sums of a shard: its rows are numbered from 0, and the scales are the job's.
func newSummer(p Summing) (*trainer, error) {
	m := p.Begun
	s, err := scalesOf(m.Params, p.Rows)
	if err != nil {
		return nil, err
	}
	if err := s.checkSharded(m.Params.Loss); err != nil {
		return nil, err
	}
	if p.Shard.Lo < 0 || p.Shard.Hi > p.Rows || p.Shard.Rows() < 1 {
		return nil, fmt.Errorf("a shard of rows %d to %d, the job has %d", p.Shard.Lo, p.Shard.Hi, p.Rows)
	}
	party := &fdskl.Party{Self: p.Self, Names: m.Names, Params: m.Params, Privacy: fdskl.Sealed, Rows: p.Shard.Rows(),
		Workers: p.Workers, Report: p.Report}
	t := newParts(&setting{
		Party:  &Party{Party: party, Network: p.Network, BlockRows: p.blockRows, WindowRows: p.windowRows},
		scales: s, roles: rolesOf(m.Params, m.Names, p.Self), loss: kernel.Square,
	})
	if t.candidates, err = candidatesOf(m.Params, p.Rows); err != nil {
		return nil, err
	}
	return t, t.prepareColumns()
}

// checkSharded refuses a loss whose steps need the rows again.
func (s *scales) checkSharded(loss string) error {
	if s.square {
		return nil
	}
	return fmt.Errorf("loss is %q: rows are summed in shards for the loss \"square\" alone, the others need them again: "+
		"say that loss, or leave shards out", loss)
}

// sumRows adds up all rows.
func (t *trainer) sumRows(ctx context.Context, words []uint64) (Sums, error) {
	acc, err := t.assembler.savedSums(point{})
	if err != nil {
		return nil, err
	}
	labels, err := t.three.Input(ctx, kindLabels, t.k, t.sides*t.Rows, words)
	if err != nil {
		return nil, err
	}
	take := func(b *block, z rss.Share) error {
		t.assembler.addBlock(acc, b, z, labels)
		acc.next = b.hi
		t.report("columns", b.hi, t.Rows)
		return nil
	}
	behind := func(ctx context.Context, row int) error { return t.assembler.liftWindows(ctx, acc, row) }
	if err := t.columns.each(ctx, 0, t.Rows, t.BlockRows, take, behind); err != nil {
		return nil, err
	}
	t.columns.done()
	return t.assembler.sumsIn(acc), nil
}

// lengthsOfSums lists how many words the vectors of sumsIn have.
func (t *trainer) lengthsOfSums() (lengths []int) {
	if t.role == rss.Outside {
		return nil
	}
	for range t.assembler.parts() {
		if n := t.assembler.sumsOf(1); t.lifts() {
			lengths = append(lengths, n, n)
			continue
		}
		d, all := t.features, t.sides*t.features
		lengths = append(lengths, triangle(d), d, d, all, t.sides, t.sides)
	}
	return lengths
}

// sumsIn returns the vectors of sums that add up over shards: of what is lifted, and of what is not.
func (t *assembler) sumsIn(acc *sums) (s Sums) {
	if t.role == rss.Outside {
		return nil
	}
	for i := range acc.parts {
		p := &acc.parts[i]
		if t.lifts() {
			s = append(s, p.total.X, p.total.Y)
			continue
		}
		s = append(s, p.squares, p.columns.X, p.columns.Y, p.sides, p.labels.X, p.labels.Y)
	}
	return s
}

// gathered returns the sums of all rows, which others have made shard by shard, and the labels' means.
func (t *assembler) gathered(ctx context.Context) (acc *sums, means []float64, err error) {
	if err := t.checkSharded(t.Params.Loss); err != nil {
		return nil, nil, err
	}
	if acc, err = t.savedSums(point{}); err != nil {
		return nil, nil, err
	}
	b := new(Begun)
	if t.candidates != nil {
		if b.Coin, err = t.checker.tossRows(ctx, false); err != nil {
			return nil, nil, err
		}
	}
	if t.begun != nil { // nil where only messages are counted
		b.Model = t.model()
	}
	if t.role == rss.LabelHolder {
		means, b.Labels = t.labelWords()
	}
	list, err := t.Sums(ctx, b)
	if err != nil {
		return nil, nil, err
	}
	all := t.sumsIn(acc)
	for i, s := range list {
		if err := all.Add(s); err != nil {
			return nil, nil, fmt.Errorf("shard %d: %w", i, err)
		}
	}
	return acc, means, nil
}
