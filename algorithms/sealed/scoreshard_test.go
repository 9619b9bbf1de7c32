package sealed

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/rss"
)

// scoreInShards scores a fixture's rows in n shards, a few rows at a time, and opens the scores in a session of their
// own in batches of others; asked as in Scoring, by row. Every session sends what its contract lists.
func (f *fixture) scoreInShards(t *testing.T, models []*fdskl.Model, receiver, n int, asked []bool) []float64 {
	t.Helper()
	const scored, opened = 7, 9 // rows at a time, in a shard and behind it
	words := make([]ScoreWords, len(f.names))
	for _, shard := range spans(t, f.rows, 5, n) {
		o := f.prediction(f.rows, scored, receiver)
		o.Shard = &shard
		d, err := Disclose(o)
		must(t, err)
		net := newFederation(t, f.names)
		net.declare(t, d)
		must(t, first(net.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
			p := ShardScoring{Self: i, Receiver: receiver, Model: models[i], Rows: shard.Rows(), Network: n, Workers: 2,
				batch: scored}
			if parts := f.parts[i]; len(parts) > 0 {
				p.Matrices, p.IDs = []*kernel.Matrix{parts[0].Rows.Cut(shard.Lo, shard.Hi)}, rowIDs(shard.Lo, shard.Hi)
			}
			got, err := ScoreShard(ctx, p)
			if err != nil {
				return err
			}
			got, err = DecodeScoreWords(CountScoreWords(f.params, f.names, shard.Rows(), f.names[i]), got.Encode())
			words[i] = append(words[i], got...)
			return err
		})))
		spentAll(t, net)
	}
	o := f.prediction(f.rows, opened, receiver)
	o.InShards = true
	d, err := Disclose(o)
	must(t, err)
	node := newFederation(t, f.names)
	node.declare(t, d)
	f.forgetScoring()
	var scores []float64
	must(t, first(node.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
		lo := func(number int) int { return (number - 1) * opened }
		p := Scoring{Self: i, Receiver: receiver, Model: models[i], Network: n, Vault: f.scoring[i], Session: node.session,
			Openings: (f.rows + opened - 1) / opened, Workers: 2,
			Words: func(number, n int) (ScoreWords, error) {
				if len(words[i]) == 0 {
					return nil, nil
				}
				at := lo(number) * f.params.Scores()
				return words[i][at : at+n], nil
			}}
		if asked != nil {
			p.Asked = func(number int) []bool { return asked[lo(number):min(lo(number+1), f.rows)] }
		}
		s, err := NewScorer(ctx, p)
		if err != nil {
			return err
		}
		for number := 1; lo(number) < f.rows; number++ {
			got, err := s.Score(ctx, number, min(opened, f.rows-lo(number)), nil, nil)
			if err != nil {
				return err
			}
			if i == receiver {
				scores = append(scores, got...)
			}
		}
		return nil
	})))
	spentAll(t, node)
	return scores
}

// rowIDs are the ids of rows [lo, hi).
func rowIDs(lo, hi int) (ids []string) {
	for j := lo; j < hi; j++ {
		ids = append(ids, fmt.Sprint("row ", j))
	}
	return ids
}

// TestShardsScoreAsOneSession: whatever the number of shards, what opens is what the coefficients say in floating
// point, rounded, and what opens without shards, but for the units of the last bit that a truncation moves.
func TestShardsScoreAsOneSession(t *testing.T) {
	for name, c := range map[string]struct {
		params   fdskl.Params
		idle     []int
		receiver int
	}{
		"64":                         {params: fdskl.Params{Features: 12}, receiver: 3},
		"48, the keeper receives":    {params: fdskl.Params{Features: 12, Ring: ringCompact}, receiver: 1},
		"32":                         {params: fdskl.Params{Features: 12, Ring: ringSmall}, receiver: 3},
		"32, the holder receives":    {params: fdskl.Params{Features: 12, Ring: ringSmall}},
		"32, three classes":          {params: fdskl.Params{Features: 12, Ring: ringSmall, Classes: 3}, receiver: 3},
		"logistic":                   {params: fdskl.Params{Features: 12, Loss: "logistic", Outer: 2}, receiver: 3},
		"regression, an idle helper": {params: fdskl.Params{Features: 12, Target: joint.Regression}, idle: []int{2}},
		"bins":                       {params: binned(fdskl.Params{}), receiver: 3},
		"bins, 48":                   {params: binned(fdskl.Params{Ring: ringCompact}), receiver: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.params.Iterations, c.params.Lambda = 8, 1e-2
			f := newFixture(t, 4, 47, c.params, c.idle...)
			net := newFederation(t, f.names)
			models := f.train(t, net)
			whole, truth := f.predict(t, net, models, c.receiver), f.clear(t, models)
			unit := math.Ldexp(1, -f.params.ScoreBits)
			// The dithers of two leave 0.4 of a unit, a truncation another 0.4, and the rounding of features some more.
			within := unit
			if off := rms(whole, truth); !(off < within) {
				t.Fatalf("without shards scores are off by %v, want less than %v", off, within)
			}
			for _, n := range []int{1, 2, 4} {
				got := f.scoreInShards(t, models, c.receiver, n, nil)
				if off := rms(got, truth); len(got) != len(truth) || !(off < within) {
					t.Errorf("%d shards: %d scores are off by %v, want %d that are by less than %v", n, len(got), off, len(truth),
						within)
				}
				for j, y := range got {
					if !(math.Abs(y-whole[j]) <= 3*unit) {
						t.Errorf("%d shards: score %d is %v, without shards %v", n, j, y, whole[j])
					}
				}
			}
		})
	}
}

// TestRowsOfShardsThatAreNotAskedForDoNotOpen.
func TestRowsOfShardsThatAreNotAskedForDoNotOpen(t *testing.T) {
	f := newFixture(t, 4, 24, fdskl.Params{Features: 8, Iterations: 8, Sigma: 1, Lambda: 1e-2, Classes: 3})
	net := f.testNetwork(t)
	models := f.train(t, net)
	whole := f.predict(t, net, models, 3)
	asked := make([]bool, f.rows)
	for j := range asked {
		asked[j] = j%3 == 0
	}
	got := f.scoreInShards(t, models, 3, 2, asked)
	for i, y := range got {
		if want := whole[i]; asked[i/3] && math.Abs(y-want) > math.Ldexp(3, -f.params.ScoreBits) || !asked[i/3] && y != 0 {
			t.Errorf("score %d of row %d is %v; without shards %v, asked for: %t", i%3, i/3, y, want, asked[i/3])
		}
	}
}

// TestNothingOpensInShards: neither contract of a shard lists an opening or a sum that is not padded, and a receiver
// that would have the scores opened in the shard's session is refused by its own budget and those of the others.
func TestNothingOpensInShards(t *testing.T) {
	for name, p := range map[string]fdskl.Params{
		"64": {Features: 12}, "32": {Features: 12, Ring: ringSmall}, "bins": binned(fdskl.Params{}),
	} {
		p.Iterations, p.Lambda = 8, 1e-2
		f := newFixture(t, 4, 47, p)
		o := f.outline()
		o.Shard = &Shard{Lo: 16, Hi: 47}
		summing, err := Disclose(o)
		must(t, err)
		o.Receiver = f.names[0]
		scoring, err := Disclose(o)
		if err != nil || len(summing.Openings)+len(scoring.Openings) > 0 {
			t.Fatalf("shards open %v and %v, %v", summing.Openings, scoring.Openings, err)
		}
		for _, o := range slices.Concat(summing.Operations, scoring.Operations) {
			if o.Class != contract.ClassMasked.String() && o.Class != contract.ClassControl.String() ||
				o.Collective == contract.CollectiveSum && o.Kind != kindAngles {
				t.Errorf("%s: a shard does %+v", name, o)
			}
		}
		net := newFederation(t, f.names)
		net.declare(t, scoring)
		for i, err := range net.run(func(ctx context.Context, _ int, n joint.SealedNetwork) error {
			return n.SumPacked(ctx, kindScores, 3, scoreWidth(f.params, f.params.ScoreBits), make([]uint64, 31))
		}) {
			if err == nil {
				t.Errorf("%s: party %d opens scores in the session of a shard", name, i)
			}
		}
	}
}

// TestFollowerKnowsTheRowsOfShards: their messages are of the shard's rows, which are numbered from 0.
func TestFollowerKnowsTheRowsOfShards(t *testing.T) {
	p, names := followedParams()
	n := blockRows(p.Features)
	for _, rows := range []int{n, 2*n + 276, 5*n + 40} {
		o := fdskl.Outline{Params: p, Privacy: fdskl.Sealed, Parties: names, Rows: 9 * n,
			Shard: &Shard{Lo: 3 * n, Hi: 3*n + rows}}
		wantPassages(t, Follow(o), passagesOf(p, 0, rows), rows)
		o.Receiver, o.BatchRows = "p2", n+n/3
		wantPassages(t, Follow(o), passagesOfBatches(p, rows, o.BatchRows), rows)
	}
}

// TestScoreShardRefuses what does not fit together, before anything is sent.
func TestScoreShardRefuses(t *testing.T) {
	f := newFixture(t, 4, 47, fdskl.Params{Features: 6, Iterations: 2, Sigma: 1, Lambda: 1e-2, Ring: ringSmall})
	shares := make([]uint64, 7)
	rows := f.parts[0][0].Rows.Cut(8, 16)
	for _, c := range []struct {
		change func(p *ShardScoring)
		want   string
	}{
		{func(p *ShardScoring) { p.Rows = 0 }, "a shard of 0 rows, want at least 1"},
		{func(p *ShardScoring) { p.Rows = 9 }, "the table of the shard has 8 rows, want 9"},
		{func(p *ShardScoring) { p.IDs = p.IDs[1:] }, "7 row ids for 8 rows"},
		{func(p *ShardScoring) { p.IDs = nil }, "0 row ids for 8 rows"},
		{func(p *ShardScoring) { p.Matrices = append(p.Matrices, rows) }, "2 tables of a shard, want one"},
		{func(p *ShardScoring) { p.Model.Shares = nil },
			"the model part of p0 has shares: false, want them at p0, p1 and p2 alone"},
	} {
		p := ShardScoring{Receiver: 3, Rows: 8, Matrices: []*kernel.Matrix{rows}, IDs: rowIDs(8, 16),
			Model:   &fdskl.Model{Names: f.names, Params: f.params, Shares: &fdskl.Shares{X: shares, Y: shares}},
			Network: newTracer(f.outline())}
		c.change(&p)
		if _, err := ScoreShard(t.Context(), p); err == nil || err.Error() != c.want {
			t.Errorf("error is %v\nwant     %s", err, c.want)
		}
	}
	m := &fdskl.Model{Names: f.names, Params: f.params, Sigma: 1}
	words := func(int, int) (ScoreWords, error) { return make(ScoreWords, 3), nil }
	outside := Scoring{Self: 3, Receiver: 3, Model: m, Openings: 1, Singly: true, Words: words,
		Network: newTracer(f.outline())}
	if _, err := NewScorer(t.Context(), outside); err == nil || err.Error() !=
		"rows that are asked for one at a time are not scored in shards" {
		t.Errorf("error is %v", err)
	}
	outside.Singly = false
	s, err := NewScorer(t.Context(), outside)
	must(t, err)
	if _, err := s.Score(t.Context(), 1, 8, nil, nil); err == nil || err.Error() !=
		"opening 1 has 3 words of the shards' scores, want 0" {
		t.Errorf("error is %v", err)
	}
}

// TestScoreWordsAreReadAsWritten, and nothing of another size is, nor any words at a party outside the three.
func TestScoreWordsAreReadAsWritten(t *testing.T) {
	p, names := followedParams()
	p.Classes = 3
	words := make(ScoreWords, 12)
	for i := range words {
		words[i] = uint64(i) << 60
	}
	for _, name := range names {
		want := words
		if rolesOf(p, names, slices.Index(names, name)).role == rss.Outside {
			want = nil
		}
		n := CountScoreWords(p, names, 4, name)
		got, err := DecodeScoreWords(n, want.Encode())
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: words come back as %v, %v", name, got, err)
		}
		for _, wrong := range []ScoreWords{words[1:], append(slices.Clone(words), 1), words[:1]} {
			_, err := DecodeScoreWords(n, wrong.Encode())
			if err == nil || !strings.HasPrefix(err.Error(), "scores of a shard of ") {
				t.Errorf("%s: %d words are read, error %v", name, len(wrong), err)
			}
		}
	}
}
