package fdskl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
)

// predictInShards scores rows in n shards, each in a session that its contract holds, and returns the receiver's scores
// and what all learned.
func (f *fixture) predictInShards(t *testing.T, models []*Model, rows []*kernel.Matrix, receiver, n int,
) ([]float64, openings) {
	t.Helper()
	const batch = 3
	var scores []float64
	learned := make(openings, len(f.names))
	for i := range f.names {
		learned.opened(i)
	}
	for _, shard := range spans(t, rows[0].Rows, 2, n) {
		d, err := Disclose(f.scoring(shard.Rows(), batch, receiver))
		mustDo(t, err)
		net := f.federation(t)
		net.declare(t, d, len(f.params.Active))
		must(t, net.run(func(ctx context.Context, i int, n joint.Network) error {
			got, err := ScoreShard(ctx, ShardScoring{Self: i, Receiver: receiver, Model: models[i], Rows: shard.Rows(),
				Matrices: []*kernel.Matrix{rows[i].Cut(shard.Lo, shard.Hi)}, Network: n, Workers: 2, batch: batch,
				Opened: func(kind string, n int64) { learned[i][kind] += n }})
			if err != nil {
				return err
			}
			if i != receiver {
				if got != nil {
					return fmt.Errorf("party %d has scores", i)
				}
				return nil
			}
			got, err = DecodeScores(shard.Rows()*f.params.Scores(), EncodeScores(got))
			scores = append(scores, got...)
			return err
		}))
	}
	return scores, learned
}

// TestShardsScoreAsAPrediction: for every receiver, and whatever the number of shards, the scores are bit for bit those
// of a prediction without shards, and all sessions together open what the prediction says.
func TestShardsScoreAsAPrediction(t *testing.T) {
	all := jobs()
	all["three classes"] = Params{Features: 12, Classes: 3, Lambda: 1e-3}
	for name, p := range all {
		for _, active := range []int{1, 3} {
			if active > 1 && p.Classes > 0 {
				continue
			}
			t.Run(fmt.Sprintf("%s, %d active", name, active), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, 4, 40, active, p)
				models, rows := f.train(t), f.newRows(t, 19)
				for _, receiver := range []int{0, len(f.names) - 1} {
					want, _ := f.predict(t, f.federation(t), models, rows, receiver)
					o := f.scoring(rows[0].Rows, 0, receiver)
					o.InShards = true
					d, err := Disclose(o)
					if err != nil || len(d.Operations) != 0 {
						t.Fatalf("the prediction's own session does %+v, %v", d.Operations, err)
					}
					for _, n := range []int{1, 2, 4} {
						got, learned := f.predictInShards(t, models, rows, receiver, n)
						if !slices.Equal(got, want) {
							t.Errorf("%d shards: the scores are %v, want %v", n, got, want)
						}
						checkOpenings(t, f, d, learned, func(kind string) bool { return kind == KindAngles || kind == KindScores })
					}
				}
			})
		}
	}
}

// TestScoreShardRefuses what does not fit together, and models whose angles open in another way, before anything is
// sent.
func TestScoreShardRefuses(t *testing.T) {
	f := newFixture(t, 3, 47, 1, Params{Loss: "square", Features: 6, Sigma: 1})
	rows := f.parts[0].Rows.Cut(8, 16)
	for _, c := range []struct {
		change func(p *ShardScoring)
		want   string
	}{
		{func(p *ShardScoring) { p.Rows = 0 }, "a shard of 0 rows, want at least 1"},
		{func(p *ShardScoring) { p.Rows = 9 }, "the table of the shard has 8 rows, want 9"},
		{func(p *ShardScoring) { p.Matrices = nil }, "0 tables of a shard, want one"},
		{func(p *ShardScoring) { p.Matrices = append(p.Matrices, rows) }, "2 tables of a shard, want one"},
		{func(p *ShardScoring) { p.Model.Privacy = Published },
			`privacy is "published": a job in shards is "masked" or "sealed"`},
		{func(p *ShardScoring) { p.Model.Alpha = p.Model.Alpha[1:] },
			"the model part of p0 has 5 coefficients, its features are 6"},
	} {
		p := ShardScoring{Rows: 8, Matrices: []*kernel.Matrix{rows}, Model: &Model{Names: f.names, Params: f.params,
			Privacy: Masked, Sigma: 1, Owner: f.parts[0].Owner, Normaliser: f.parts[0].Normaliser, Alpha: make([]float64, 6)}}
		c.change(&p)
		_, err := ScoreShard(t.Context(), p)
		wantError(t, err, c.want)
	}
	wantError(t, CheckShardedScoring(&Model{Privacy: Masked}, true),
		"sums are under homomorphic encryption: a job in shards has them under masks")
}

// TestScoresAreReadAsWritten, and none of another number, or that are not finite.
func TestScoresAreReadAsWritten(t *testing.T) {
	scores := []float64{1, -0.5, 1e-300, math.Copysign(0, -1), 7, 8}
	got, err := DecodeScores(6, EncodeScores(scores))
	if err != nil || !slices.Equal(got, scores) {
		t.Errorf("scores come back as %v, %v", got, err)
	}
	for _, c := range []struct {
		scores []float64
		n      int
		want   string
	}{
		{scores[1:], 6, "scores of a shard of 41 bytes and version 1, want 49 bytes of version 1"},
		{nil, 6, "scores of a shard of 1 bytes and version 1, want 49 bytes of version 1"},
		{scores, 0, "scores of a shard of 49 bytes and version 1, want 1 bytes of version 1"},
		{append([]float64{math.Inf(1)}, scores[1:]...), 6, "score 1 of a shard is +Inf, want a finite number"},
	} {
		_, err := DecodeScores(c.n, EncodeScores(c.scores))
		wantError(t, err, c.want)
	}
}
