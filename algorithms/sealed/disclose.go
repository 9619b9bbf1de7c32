package sealed

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/dryrun"
	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// DiscloseTraining tells what a training over rows opens and does. Its operations are counted by running the
// part of a party outside the three, which follows from public numbers, against a network that counts.
func DiscloseTraining(p fdskl.Params, parties []string, rows int) (fdskl.Disclosure, error) {
	return discloseTraining(p, parties, rows, 0, 0, nil)
}

// DiscloseSharded is DiscloseTraining of the session that takes the sums of rows from shards; see DiscloseShard for
// theirs.
func DiscloseSharded(p fdskl.Params, parties []string, rows int) (fdskl.Disclosure, error) {
	return discloseTraining(p, parties, rows, 0, 0, noSums)
}

// noSums are the shards' sums at a party that only counts.
func noSums(context.Context, *Begun) ([]Sums, error) { return nil, nil }

// discloseTraining is DiscloseTraining for blocks and windows of so many rows, 0 for the usual ones, where sums tells
// the sums of shards, nil that there are none.
func discloseTraining(
	p fdskl.Params, parties []string, rows, block, window int, sums func(context.Context, *Begun) ([]Sums, error),
) (fdskl.Disclosure, error) {
	d, stage, err := fdskl.DiscloseBeginning(p, fdskl.Sealed, parties)
	if err != nil {
		return d, err
	}
	c := &counter{names: parties, stage: func(kind string) int64 { return stage + stageOf(kind) }}
	t, err := newTrainer(&Party{Party: &fdskl.Party{Self: -1, Names: parties, Params: p, Rows: rows}, Network: c,
		BlockRows: block, WindowRows: window, Sums: sums})
	if err != nil {
		return fdskl.Disclosure{}, err
	}
	if t.angles != nil {
		t.angles.turns = c.turns(p.Angles())
	}
	if _, err := t.train(context.Background()); err != nil {
		return fdskl.Disclosure{}, err
	}
	d.Operations = append(d.Operations, c.Operations...)
	holder := p.Active[0]
	if p.Bound != boundPublic {
		d.Openings = append(d.Openings, contract.Opening{To: holder, Kind: kindBound, Count: 1,
			Meaning: "the order of magnitude of the norm of the Gram matrix, times a random factor that nobody knows: how " +
				"alike the rows are on the whole"})
		for _, name := range parties {
			if name != holder {
				d.Openings = append(d.Openings, contract.Opening{To: name, Kind: kindReach, Count: 1,
					Meaning: "the order of magnitude of the norm of the Gram matrix, times a random factor"})
			}
		}
	}
	if t.candidates != nil {
		over := ""
		if t.sides > 1 {
			over = fmt.Sprintf(", over all %d classes together", t.sides)
		}
		d.Openings = append(d.Openings, contract.Opening{To: holder, Kind: kindValidation, Count: 1,
			Meaning: fmt.Sprintf("which lambda of %v is best on %d rows, drawn by a coin, that are kept out of a first "+
				"solution%s: %d bits", t.candidates, t.checker.heldOutRows(), over, choiceBits)})
		for _, name := range parties {
			if name != holder {
				d.Openings = append(d.Openings, contract.Opening{To: name, Kind: kindChoice, Count: 1,
					Meaning: "which of these lambdas the label holder takes"})
			}
		}
	}
	if !t.square {
		for _, name := range parties {
			kind := kindPace
			if name == holder || name == p.Keeper || name == p.Helper {
				kind = kindProgress
			}
			d.Openings = append(d.Openings, contract.Opening{To: name, Kind: kind, Count: int64(len(progressSteps(p))),
				Meaning: fmt.Sprintf("whether another step of the solver follows: %d bits", progressBits)})
		}
	}
	for _, name := range []string{holder, p.Keeper, p.Helper} {
		d.Openings = append(d.Openings, contract.Opening{To: name, Kind: kindCheck, Count: int64(t.checker.checkNumbers()),
			Meaning: fmt.Sprintf(
				"whether the steps of the solver were taken as agreed: numbers of %d bits, of an honest training "+
					"rounding alone", checkWidth)})
	}
	d.Openings = append(d.Openings, pointOpenings(p, parties)...)
	d.Openings = append(d.Openings, zOpenings(p, parties)...)
	return d, nil
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

// DisclosePrediction tells what scoring rows with a trained model opens and does, so many at a time.
func DisclosePrediction(p fdskl.Params, parties []string, rows, batch int, receiver string) (fdskl.Disclosure, error) {
	return disclosePrediction(p, parties, rows, batch, receiver, nil)
}

// DiscloseShardedPrediction is DisclosePrediction of the session that opens scores which shards have made; see
// DiscloseScoreShard for theirs.
func DiscloseShardedPrediction(
	p fdskl.Params, parties []string, rows, batch int, receiver string,
) (fdskl.Disclosure, error) {
	return disclosePrediction(p, parties, rows, batch, receiver, func(int, int) (ScoreWords, error) { return nil, nil })
}

// disclosePrediction is DisclosePrediction where words tells the shards' parts, nil that there are none.
func disclosePrediction(p fdskl.Params, parties []string, rows, batch int, receiver string,
	words func(number, n int) (ScoreWords, error),
) (fdskl.Disclosure, error) {
	var d fdskl.Disclosure
	c := &counter{names: parties, stage: func(string) int64 { return 1 }}
	m := &fdskl.Model{Names: parties, Params: p, Privacy: fdskl.Sealed, Sigma: 1}
	s, err := NewScorer(context.Background(), Scoring{
		Self: -1, Receiver: slices.Index(parties, receiver), Model: m, Network: c, Openings: (rows + batch - 1) / batch,
		Words: words,
	})
	if err != nil {
		return d, err
	}
	if s.angles != nil {
		s.angles.turns = c.turns(p.Angles())
	}
	if err := c.batches(rows, batch, func(number, n int) error {
		_, err := s.score(context.Background(), number, n, nil)
		return err
	}); err != nil {
		return d, err
	}
	d.Operations = c.Operations
	each := ""
	if p.Scores() > 1 {
		each = fmt.Sprintf("%d scores a row, one for each class, ", p.Scores())
	}
	d.Openings = []contract.Opening{{To: receiver, Kind: kindScores, Count: int64(rows) * int64(p.Scores()),
		Meaning: fmt.Sprintf("the predictions themselves, %s%d bits behind the point: of each row that much is told of all "+
			"parties' columns together", each, p.ScoreBits)}}
	return d, nil
}

// batches counts what score does with rows, so many at a time: a batch's number, from 1 on, and its rows. Truncations
// go there and back in turn, so that behind the first batch, which may have keys beside, every two are the same.
func (c *counter) batches(rows, batch int, score func(number, n int) error) error {
	number := 0
	next := func(n int) error {
		if n == 0 {
			return nil
		}
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

// counter is a Network that only counts.
type counter struct {
	dryrun.Tally
	names []string
	stage func(kind string) int64
	blank []uint16
}

// add counts an operation of n numbers.
func (c *counter) add(o contract.Operation, class contract.Class, encoding contract.Encoding, n int) {
	o.Stage = c.stage(o.Kind)
	c.Add(o, class, encoding, n)
}

// atOnce ends what was over when it began.
func atOnce(context.Context) error { return nil }

// BeginPadded implements Network.
func (c *counter) BeginPadded(
	_ context.Context, kind string, root int, v []uint16,
) (func(context.Context) error, error) {
	o := contract.Operation{Kind: kind, Collective: contract.CollectiveSum, Root: c.names[root]}
	c.add(o, contract.ClassMasked, contract.Turns16, len(v))
	return atOnce, nil
}

// SumPacked implements Network.
func (c *counter) SumPacked(_ context.Context, kind string, root, bits int, v []uint64) error {
	o := contract.Operation{Kind: kind, Collective: contract.CollectiveSum, Root: c.names[root]}
	c.add(o, contract.ClassMasked, contract.Packed(bits), len(v))
	return nil
}

// Broadcast implements Network: it returns what says least.
func (c *counter) Broadcast(_ context.Context, kind string, root int, _ []byte, limit int) ([]byte, error) {
	class := contract.ClassOpening
	if slices.Contains([]string{kindResume, kindHeld, kindReady, kindRowCommitment, kindRowCoin,
		kindCommitment, kindCoin}, kind) {
		class = contract.ClassControl
	}
	o := contract.Operation{Kind: kind, Collective: contract.CollectiveBroadcast, Root: c.names[root]}
	c.add(o, class, contract.Bytes, limit)
	if kind == kindResume {
		return nil, nil
	}
	if kind == kindPace { // that every step is to be followed by another
		return []byte{distanceLimits}, nil
	}
	return make([]byte, limit), nil
}

// Confirm implements Network.
func (c *counter) Confirm(context.Context) error {
	o := contract.Operation{Kind: contract.KindShared, Collective: contract.CollectiveExchange}
	c.add(o, contract.ClassControl, contract.Bytes, contract.SharedSize)
	return nil
}

// Ask implements Network.
func (c *counter) Ask(_ context.Context, root int, _ string, _, _ int) error {
	for i, name := range c.names {
		if i != root {
			o := contract.Operation{Kind: contract.KindAsk, Collective: contract.CollectiveDirect, Root: c.names[root], To: name}
			c.add(o, contract.ClassControl, contract.Bytes, contract.AskSize)
		}
	}
	return nil
}

// Three implements Network: nobody's part counts all the same.
func (c *counter) Three(parties [rss.Roles]int) (*rss.Party, error) {
	return rss.New(rss.Outside, &countedWire{c, parties}, nil, 1), nil
}

// turns returns blocks of nothing.
func (c *counter) turns(angles int) func(lo, hi int) ([]uint16, error) {
	return func(lo, hi int) ([]uint16, error) {
		if n := (hi - lo) * angles; cap(c.blank) < n {
			c.blank = make([]uint16, n)
		}
		return c.blank[:(hi-lo)*angles], nil
	}
}

// countedWire is the wires of a counter.
type countedWire struct {
	counter *counter
	parties [rss.Roles]int
}

// direct counts a message from one role to another.
func (w *countedWire) direct(kind string, from, to rss.Role, class contract.Class, encoding contract.Encoding, n int) {
	names := w.counter.names
	o := contract.Operation{
		Kind: kind, Collective: contract.CollectiveDirect, Root: names[w.parties[from]], To: names[w.parties[to]],
	}
	w.counter.add(o, class, encoding, n)
}

// BeginPass implements rss.Wire.
func (w *countedWire) BeginPass(
	_ context.Context, kind string, from, to rss.Role, bits, n int, _ []uint64,
) (func(context.Context) error, error) {
	w.direct(kind, from, to, contract.ClassMasked, rss.EncodingOf(bits), n)
	return atOnce, nil
}

// Show implements rss.Wire.
func (w *countedWire) Show(_ context.Context, kind string, from, to rss.Role, bits, n int, _ []uint64) error {
	w.direct(kind, from, to, contract.ClassOpening, contract.Packed(bits), n)
	return nil
}

// Vouch implements rss.Wire.
func (w *countedWire) Vouch(_ context.Context, kind string, from, to rss.Role, digest *keys.Hash) error {
	w.direct(kind, from, to, contract.ClassControl, contract.Bytes, len(digest))
	return nil
}

// Keys implements rss.Wire: of each component that has a pad to the two that hold it.
func (w *countedWire) Keys(ctx context.Context, kind string, from int) (rss.Source, error) {
	for _, unknown := range []rss.Role{rss.Keeper, rss.Helper} {
		for to := range rss.Role(rss.Roles) {
			if to != unknown {
				w.give(kind, from, to, contract.Fixed64, rss.KeyWords)
			}
		}
	}
	return nil, nil
}

// Give implements rss.Wire.
func (w *countedWire) Give(_ context.Context, kind string, from int, to rss.Role, bits, n int, _ []uint64) error {
	w.give(kind, from, to, rss.EncodingOf(bits), n)
	return nil
}

// give counts masked words from a party outside to one of the three.
func (w *countedWire) give(kind string, from int, to rss.Role, encoding contract.Encoding, n int) {
	names := w.counter.names
	o := contract.Operation{
		Kind: kind, Collective: contract.CollectiveDirect, Root: names[from], To: names[w.parties[to]],
	}
	w.counter.add(o, contract.ClassMasked, encoding, n)
}
