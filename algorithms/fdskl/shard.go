package fdskl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Shard is a run of a job's rows, [Lo, Hi), on which the parties work in a session of its own.
type Shard struct{ Lo, Hi int }

// Rows is how many rows a shard has.
func (s Shard) Rows() int { return s.Hi - s.Lo }

// check refuses a shard that is none of a job with so many rows.
func (s Shard) check(rows int) error {
	if s.Lo < 0 || s.Hi > rows || s.Rows() < 1 {
		return fmt.Errorf("a shard of rows %d to %d, the job has %d", s.Lo, s.Hi, rows)
	}
	return nil
}

// Shards cuts a masked job's rows into n shards of whole blocks of angles.
func Shards(p Params, rows, n int) ([]contract.Shard, error) {
	return joint.Cut(rows, blockRows(rows, blockBytes, p.Angles()), n)
}

// CheckSharded refuses a training that cannot have its rows summed in shards: all but those of a masked job with the
// square loss, the fixed schedule and one active party. encrypted tells whether its sums are under homomorphic
// encryption. Sealed jobs have rules of their own.
func CheckSharded(p Params, privacy string, encrypted bool) error {
	switch {
	case p.Schedule != Fixed:
		return fmt.Errorf("schedule is %q: rows are summed in shards with schedule %q alone, the other picks rows from the "+
			"whole table", p.Schedule, Fixed)
	case len(p.Active) != 1:
		return fmt.Errorf("%d parties are active: rows are summed in shards for one, several need the rows again",
			len(p.Active))
	case p.Loss != kernel.Square.String():
		return fmt.Errorf("loss is %q: rows are summed in shards for the loss %q alone, the others need them again: "+
			"say that loss, or leave shards out", p.Loss,
			kernel.Square)
	}
	return checkMasked(privacy, encrypted)
}

// checkMasked refuses shards of jobs whose angles open in another way than in masked sums.
func checkMasked(privacy string, encrypted bool) error {
	if privacy != Masked {
		return fmt.Errorf("privacy is %q: a job in shards is %q or %q", privacy, Masked, Sealed)
	}
	if encrypted {
		return fmt.Errorf("sums are under homomorphic encryption: a job in shards has them under masks")
	}
	return nil
}

// Begun is what a party knows of a training before any row is summed: what those who sum rows for it need.
type Begun struct {
	Model  *Model    // this party's part, without a solution
	Labels []float64 // at the label holder, of each row: as Labels.Values, those of a regression standardised
}

// Of returns the labels of a shard.
func (b *Begun) Of(s Shard) []float64 {
	if b.Labels == nil {
		return nil
	}
	return b.Labels[s.Lo:s.Hi]
}

// Sums are vectors of words that rows add up to, of one party: those of all shards add up to those of all rows, word by
// word.
//
// In a masked training the label holder alone has any: the normal equations (see kernel.Gram.Words), and behind them
// those of the rows that are kept out, where the job chooses its regulariser. They tell what the rows tell, and less
// than the angles that opened to it. In a sealed one they are shares.
type Sums [][]uint64

// Add adds the sums of other rows.
func (s Sums) Add(more Sums) error {
	if len(s) != len(more) {
		return fmt.Errorf("sums of %d vectors, want %d", len(more), len(s))
	}
	for i, w := range more {
		if len(w) != len(s[i]) {
			return fmt.Errorf("sums with %d words in vector %d, want %d", len(w), i, len(s[i]))
		}
	}
	for i, w := range more {
		for j, x := range w {
			s[i][j] += x
		}
	}
	return nil
}

// vectorsVersion is the first byte of encoded vectors. Evolution: a changed meaning is a new version.
const vectorsVersion = 1

// EncodeVectors returns the bytes of vectors of words: a version, and the words in little-endian order, vector after
// vector. How many there are it does not say.
func EncodeVectors(vectors ...[]uint64) []byte {
	lengths := make([]int, len(vectors))
	for i, v := range vectors {
		lengths[i] = len(v)
	}
	b := append(make([]byte, 0, VectorsSize(lengths...)), vectorsVersion)
	for _, v := range vectors {
		for _, w := range v {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
	}
	return b
}

// VectorsSize is how many bytes EncodeVectors returns of vectors of so many words.
func VectorsSize(lengths ...int) int64 {
	size := int64(1)
	for _, n := range lengths {
		size += 8 * int64(n)
	}
	return size
}

// DecodeVectors reads vectors of so many words, which the reader knows. It refuses bytes of any other size, before it
// makes room for any; what names them in the error.
func DecodeVectors(what string, data []byte, lengths ...int) ([][]uint64, error) {
	size := VectorsSize(lengths...)
	if int64(len(data)) != size || data[0] != vectorsVersion {
		version := "none"
		if len(data) > 0 {
			version = fmt.Sprint(data[0])
		}
		return nil, fmt.Errorf("%s of %d bytes and version %s, want %d bytes of version %d", what, len(data), version, size,
			vectorsVersion)
	}
	data = data[1:]
	vectors := make([][]uint64, len(lengths))
	for i, n := range lengths {
		vectors[i] = make([]uint64, n)
		for j := range vectors[i] {
			vectors[i][j] = binary.LittleEndian.Uint64(data[8*j:])
		}
		data = data[8*n:]
	}
	return vectors, nil
}

// Encode returns the bytes of sums, for DecodeSums.
func (s Sums) Encode() []byte { return EncodeVectors(s...) }

// LengthsOfSums lists how many words the vectors have of the sums of a shard of a masked training, at the party of a
// name: there are none at passive ones.
func LengthsOfSums(p Params, name string) []int {
	if !slices.Contains(p.Active, name) {
		return nil
	}
	n := kernel.GramWords(p.Features, p.Scores())
	if p.Lambda == 0 {
		return []int{n, n}
	}
	return []int{n}
}

// DecodeSums reads the sums of a shard, whose vectors have so many words; see LengthsOfSums. Bytes of another size than
// such sums have are refused.
func DecodeSums(lengths []int, data []byte) (Sums, error) {
	return DecodeVectors("sums of a shard", data, lengths...)
}

// Summing is one party's part of the sums of a shard of a masked training, in a session among all parties that is the
// shard's own.
type Summing struct {
	Self     int
	Begun    *Model // see Begun
	Rows     int    // of the job
	Shard    Shard
	Matrices []*kernel.Matrix // the shard's rows of this party; one table
	Labels   []float64        // at the label holder; see Begun.Of
	Network  joint.Network
	Workers  int                            // goroutines for arithmetic, 0 for all cores
	Report   func(joint.Progress)           // may be nil
	Opened   func(kind string, count int64) // may be nil; see Party

	blockBytes int
	tracer     *tracer // see Party
}

// SumRows opens the angles of a shard's rows to the label holder, as a training does, and returns there what the rows
// add up to, elsewhere nothing. The sums are whole numbers: over all shards, however they are cut, they are those of a
// training without shards.
func SumRows(ctx context.Context, p Summing) (Sums, error) {
	t, err := p.summer()
	if err != nil {
		return nil, err
	}
	o, err := t.newOpener()
	if err != nil {
		return nil, err
	}
	var e *equations // at the label holder
	if t.rank == 0 {
		if e, err = t.solver.newEquations(); err != nil {
			return nil, err
		}
	}
	if err := t.eachBlock(0, func(lo, hi int) error {
		turns, err := o.openAngles(ctx, 0, p.Matrices, lo, hi)
		if err == nil && e != nil {
			t.opened(KindAngles, len(turns))
			err = t.solver.addRows(e, lo, turns)
		}
		t.report("angles", hi, t.Rows, math.NaN())
		return err
	}); err != nil || e == nil {
		return nil, err
	}
	return e.sums(t.Workers), nil
}

// summer prepares for the rows of a shard, which are numbered from 0.
func (p Summing) summer() (*trainer, error) {
	m := p.Begun
	if err := CheckSharded(m.Params, m.Privacy, false); err != nil {
		return nil, err
	}
	if err := p.Shard.check(p.Rows); err != nil {
		return nil, err
	}
	party := &Party{Self: p.Self, Names: m.Names, Params: m.Params, Privacy: m.Privacy, Rows: p.Shard.Rows(),
		Network: p.Network, Workers: p.Workers, Report: p.Report, Opened: p.Opened, blockBytes: p.blockBytes,
		tracer: p.tracer}
	party.Params.Sigma = m.Sigma
	if p.tracer == nil {
		if len(p.Matrices) != 1 {
			return nil, fmt.Errorf("%d tables of a shard, want one", len(p.Matrices))
		}
		party.Parts = []Part{{Owner: m.Owner, Normaliser: m.Normaliser, Rows: p.Matrices[0], Phase: m.Phase}}
	}
	if p.Labels != nil {
		party.Labels = &joint.Labels{Values: p.Labels}
		if m.Params.Target != joint.Regression {
			party.Labels.Classes = m.Classes
		}
	}
	t, err := newTrainer(party)
	if err != nil {
		return nil, err
	}
	t.target = target{description: m.target(), values: slices.Clone(p.Labels)}
	if m.Params.Scores() > 1 {
		t.target.places = p.Labels
	}
	return t, t.keepOut(p.Rows, p.Shard.Lo)
}

// sums returns what the rows of the equations add up to.
func (e *equations) sums(workers int) Sums {
	s := Sums{e.all.Words(workers)}
	if e.out != nil {
		s = append(s, e.out.Words(workers))
	}
	return s
}

// gathered trains with sums of rows that others have made shard by shard.
func (t *trainer) gathered(ctx context.Context, m *Model) error {
	b := &Begun{Model: m}
	if t.rank == 0 {
		b.Labels = t.target.values
		if t.target.places != nil {
			b.Labels = t.target.places
		}
	}
	list, err := t.Sums(ctx, b)
	if err != nil || t.rank < 0 {
		return err
	}
	e, err := t.solver.newEquations()
	if err != nil {
		return err
	}
	grams := []*kernel.Gram{e.all}
	if e.out != nil {
		grams = append(grams, e.out)
	}
	for i, s := range list {
		if len(s) != len(grams) {
			return fmt.Errorf("shard %d: sums of %d vectors, want %d", i, len(s), len(grams))
		}
		for k, g := range grams {
			if err := g.AddWords(s[k], t.Workers); err != nil {
				return fmt.Errorf("shard %d: %w", i, err)
			}
		}
	}
	if n := e.all.Rows(); n != t.Rows {
		return fmt.Errorf("the shards' sums are of %d rows, the job has %d", n, t.Rows)
	}
	if e.out != nil && e.out.Rows() != t.Rows/HeldOutShare {
		return fmt.Errorf("the shards' sums are of %d rows that are kept out, the job has %d", e.out.Rows(),
			t.Rows/HeldOutShare)
	}
	m.Held = []Run{t.share(t.rank).features()}
	lambda, err := t.solver.ridge(m, e)
	if err != nil {
		return err
	}
	t.solver.judgeSums(m, e, lambda)
	return nil
}

// judgeSums is judge without the rows: the objective, and of a regression the training error. The share of wrong labels
// is not known, nor are scores.
func (t *solver) judgeSums(m *Model, e *equations, lambda float64) {
	n := float64(t.Rows)
	m.Objective = 0
	for k, f := range m.Functions() {
		var norm float64
		for _, a := range f.Alpha {
			norm += a * a
		}
		ridge := kernel.Ridge{Alpha: f.Alpha, Intercept: f.Intercept}
		loss := e.all.SquaredErrors(k, &ridge, t.squares(k, nil), t.Workers) / n
		m.Objective += loss + lambda/2*float64(t.Params.Features)*norm
		if t.Params.Target == joint.Regression {
			m.TrainError = t.target.Scale * math.Sqrt(loss)
		}
	}
}
