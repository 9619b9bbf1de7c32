package sealed

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// The ways operations travel, their classes and encodings, as contracts name them.
const (
	bySum       = "sum"
	byBroadcast = "broadcast"
	byMessage   = "direct"
	byExchange  = "exchange"

	classMasked  = "masked"
	classControl = "control"
	classOpening = "opening"

	asBytes   = "bytes"
	asTurns16 = "turns16"
	asFixed64 = "fixed64"
	asRing48  = "ring48"
	asPacked  = "packed" // the bits follow
)

// kindAsk is the kind of the messages by which the receiver of an opening asks for it, and askSize the bytes of each.
const (
	kindAsk = "ask"
	askSize = 40
)

// kindShared is the kind of the exchanges in which all compare what was told, and sharedSize the bytes of each message.
const (
	kindShared = "shared"
	sharedSize = 32
)

// DiscloseTraining tells what a training over rows opens and does. Its operations are counted by running the
// part of a party outside the three, which follows from public numbers, against a network that counts.
func DiscloseTraining(p fdskl.Params, parties []string, rows int) (fdskl.Disclosure, error) {
	return discloseTraining(p, parties, rows, 0)
}

// discloseTraining is DiscloseTraining for blocks of so many rows, 0 for the usual ones.
func discloseTraining(p fdskl.Params, parties []string, rows, block int) (fdskl.Disclosure, error) {
	d, stage := fdskl.DiscloseBeginning(p, fdskl.Sealed, parties)
	c := &counter{names: parties, stage: func(kind string) int64 { return stage + stageOf(kind) }}
	t, err := newTrainer(&Party{Party: &fdskl.Party{Self: -1, Names: parties, Params: p, Rows: rows}, Network: c, BlockRows: block})
	if err != nil {
		return fdskl.Disclosure{}, err
	}
	t.columns.turns = c.turns(p.Features)
	if _, _, _, err := t.train(context.Background()); err != nil {
		return fdskl.Disclosure{}, err
	}
	d.Operations = append(d.Operations, c.list...)
	holder := p.Active[0]
	if p.Bound != boundPublic {
		d.Openings = append(d.Openings, fdskl.Opening{To: holder, Kind: kindBound, Count: 1,
			Meaning: "the square of the Gram matrix's norm, 20 bits behind the point: how alike the rows are on the whole"})
		for _, name := range parties {
			if name != holder {
				d.Openings = append(d.Openings, fdskl.Opening{To: name, Kind: kindReach, Count: 1, Meaning: "the order of magnitude of the norm of the Gram matrix"})
			}
		}
	}
	if n := int64(rows) * int64(p.Outer-1); p.Loss != kernel.Square.String() && n > 0 {
		d.Openings = append(d.Openings, fdskl.Opening{To: holder, Kind: kindScores, Count: n, Meaning: fmt.Sprintf(
			"the score of every training row under %d models that are not its own, %d bits behind the point: about %d bits a row in all", p.Outer-1, trainBits, (trainBits+4)*(p.Outer-1))})
	}
	for _, name := range []string{holder, p.Keeper, p.Helper} {
		d.Openings = append(d.Openings, fdskl.Opening{To: name, Kind: kindCheck, Count: (runs - 1) * checkVectors, Meaning: fmt.Sprintf(
			"whether the steps of the solver were taken as agreed: numbers of %d bits, of an honest training rounding alone", checkWidth)})
	}
	d.Memory = Memory(p, rows)
	return d, nil
}

// stageOf is the part of a training to which a kind of message belongs: no party does anything of one before
// all of the one before it is done.
func stageOf(kind string) int64 {
	switch kind {
	case kindResume, kindHeld:
		return 0
	case kindLabels, kindAngles, kindFactors, kindReshare:
		return 1
	}
	return 2
}

// Memory is about how many bytes each of the three holds beside its table.
func Memory(p fdskl.Params, rows int) int64 {
	n := 8 * 8 * int64(p.Features) * int64(p.Features)
	if p.Loss != kernel.Square.String() {
		n += 8 * int64(rows) * int64(p.Features)
	}
	return n + 16*blockBytes
}

// batchRound is after how many batches of a prediction the parties' parts are the same again: truncations go there and
// back in turn. More batches are not counted one by one.
const batchRound = 2

// DisclosePrediction tells what scoring rows with a trained model opens and does, so many at a time.
func DisclosePrediction(p fdskl.Params, parties []string, rows, batch int, receiver string) (fdskl.Disclosure, error) {
	var d fdskl.Disclosure
	c := &counter{names: parties, stage: func(string) int64 { return 1 }}
	m := &fdskl.Model{Names: parties, Params: p, Privacy: fdskl.Sealed, Sigma: 1}
	s, err := NewScorer(context.Background(), Scoring{
		Self: -1, Receiver: slices.Index(parties, receiver), Model: m, Network: c, Openings: (rows + batch - 1) / batch,
	})
	if err != nil {
		return d, err
	}
	s.columns.turns = c.turns(p.Features)
	whole, rest := rows/batch, rows%batch
	first := whole % batchRound
	var sizes []int
	for range min(whole, first+batchRound) {
		sizes = append(sizes, batch)
	}
	if rest > 0 {
		sizes = append(sizes, rest)
	}
	var before []fdskl.Operation
	for i, n := range sizes {
		if i == first {
			before = c.counted()
		}
		if _, err := s.score(context.Background(), i+1, n, nil); err != nil {
			return d, err
		}
		if i+1 == first+batchRound && whole >= batchRound {
			c.repeat(before, int64(whole/batchRound-1))
		}
	}
	d.Operations = c.list
	d.Openings = []fdskl.Opening{{To: receiver, Kind: kindScores, Count: int64(rows), Meaning: fmt.Sprintf(
		"the predictions themselves, %d bits behind the point: of each row that much is told of all parties' columns together", p.ScoreBits)}}
	d.Memory = 16 * blockBytes
	return d, nil
}

// counter is a Network that only counts.
type counter struct {
	names []string
	stage func(kind string) int64
	list  []fdskl.Operation
	place map[string]int // by kind and ends
	blank []uint16
}

// add counts an operation of n words of size bytes.
func (c *counter) add(o fdskl.Operation, n, size int64) { c.addBits(o, n, 8*size) }

// addBits counts an operation of n words of so many bits.
func (c *counter) addBits(o fdskl.Operation, n, bits int64) {
	o.Stage = c.stage(o.Kind)
	key := o.Kind + "|" + o.Root + "|" + o.To
	if c.place == nil {
		c.place = make(map[string]int)
	}
	at, ok := c.place[key]
	if !ok {
		at = len(c.list)
		c.place[key] = at
		if bits > 8 {
			o.Shape = []int64{0}
		}
		c.list = append(c.list, o)
	}
	l := &c.list[at]
	l.Count++
	l.Bytes += (n*bits + 7) / 8
	if bits > 8 {
		l.Shape[0] += n
	}
}

// counted is a copy of what was counted so far.
func (c *counter) counted() []fdskl.Operation {
	list := slices.Clone(c.list)
	for i := range list {
		list[i].Shape = slices.Clone(list[i].Shape)
	}
	return list
}

// repeat counts what was counted since before so many times more.
func (c *counter) repeat(before []fdskl.Operation, times int64) {
	for i := range c.list {
		var was fdskl.Operation
		if i < len(before) {
			was = before[i]
		}
		now := &c.list[i]
		now.Count += times * (now.Count - was.Count)
		now.Bytes += times * (now.Bytes - was.Bytes)
		if now.Shape != nil {
			shape := int64(0)
			if was.Shape != nil {
				shape = was.Shape[0]
			}
			now.Shape[0] += times * (now.Shape[0] - shape)
		}
	}
}

// SumPadded implements Network.
func (c *counter) SumPadded(_ context.Context, kind string, root int, v []uint16) error {
	c.add(fdskl.Operation{Kind: kind, Collective: bySum, Root: c.names[root], Class: classMasked, Encoding: asTurns16}, int64(len(v)), 2)
	return nil
}

// SumPacked implements Network.
func (c *counter) SumPacked(_ context.Context, kind string, root, bits int, v []uint64) error {
	o := fdskl.Operation{Kind: kind, Collective: bySum, Root: c.names[root], Class: classMasked, Encoding: asPacked + strconv.Itoa(bits)}
	c.addBits(o, int64(len(v)), int64(bits))
	return nil
}

// Broadcast implements Network: it returns what says least.
func (c *counter) Broadcast(_ context.Context, kind string, root int, _ []byte, limit int) ([]byte, error) {
	o := fdskl.Operation{Kind: kind, Collective: byBroadcast, Root: c.names[root], Class: classOpening, Encoding: asBytes}
	if slices.Contains([]string{kindResume, kindHeld, kindReady, kindCommitment, kindCoin}, kind) {
		o.Class = classControl
	}
	c.add(o, int64(limit), 1)
	if kind == kindResume {
		return nil, nil
	}
	return make([]byte, limit), nil
}

// Confirm implements Network.
func (c *counter) Confirm(context.Context) error {
	c.add(fdskl.Operation{Kind: kindShared, Collective: byExchange, Class: classControl, Encoding: asBytes}, sharedSize, 1)
	return nil
}

// Ask implements Network.
func (c *counter) Ask(_ context.Context, root int, _ string, _, _ int) error {
	for i, name := range c.names {
		if i != root {
			c.add(fdskl.Operation{Kind: kindAsk, Collective: byMessage, Root: c.names[root], To: name,
				Class: classControl, Encoding: asBytes}, askSize, 1)
		}
	}
	return nil
}

// Three implements Network: nobody's part counts all the same.
func (c *counter) Three(parties [rss.Roles]int) (*rss.Party, error) {
	return rss.New(rss.Outside, &countedWire{c, parties}, nil, 1), nil
}

// countedWire is the wires of a counter.
type countedWire struct {
	*counter
	parties [rss.Roles]int
}

// Pass implements rss.Wire.
func (w *countedWire) Pass(_ context.Context, kind string, from, to rss.Role, bits, n int, _ []uint64) error {
	o := w.direct(kind, from, to)
	o.Encoding = asFixed64
	if bits == ringCompact {
		o.Encoding = asRing48
	}
	w.add(o, int64(n), int64(bits/8))
	return nil
}

// Show implements rss.Wire.
func (w *countedWire) Show(_ context.Context, kind string, from, to rss.Role, bits, n int, _ []uint64) error {
	o := w.direct(kind, from, to)
	o.Class, o.Encoding = classOpening, asPacked+strconv.Itoa(bits)
	w.addBits(o, int64(n), int64(bits))
	return nil
}

// Vouch implements rss.Wire.
func (w *countedWire) Vouch(_ context.Context, kind string, from, to rss.Role, digest *keys.Hash) error {
	o := w.direct(kind, from, to)
	o.Class, o.Encoding = classControl, asBytes
	w.add(o, int64(len(digest)), 1)
	return nil
}

// direct is a message from one role to another.
func (w *countedWire) direct(kind string, from, to rss.Role) fdskl.Operation {
	return fdskl.Operation{Kind: kind, Collective: byMessage, Root: w.names[w.parties[from]], To: w.names[w.parties[to]], Class: classMasked}
}

// turns returns blocks of nothing.
func (c *counter) turns(features int) func(lo, hi int) ([]uint16, error) {
	return func(lo, hi int) ([]uint16, error) {
		if n := (hi - lo) * features; cap(c.blank) < n {
			c.blank = make([]uint16, n)
		}
		return c.blank[:(hi-lo)*features], nil
	}
}
