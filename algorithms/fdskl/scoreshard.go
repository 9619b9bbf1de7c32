package fdskl

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// CheckShardedScoring refuses a prediction whose rows cannot be scored in shards: of a published model, or with sums
// under homomorphic encryption. Sealed predictions have rules of their own.
func CheckShardedScoring(m *Model, encrypted bool) error { return checkMasked(m.Privacy, encrypted) }

// ShardScoring is one party's part of the scores of a shard of a masked prediction's rows, in a session among all
// parties that is the shard's own.
type ShardScoring struct {
	Self     int
	Receiver int // the party that the scores open to
	Model    *Model
	Rows     int              // of the shard
	Matrices []*kernel.Matrix // these rows of this party; one table
	Network  joint.Network
	Workers  int                            // goroutines for arithmetic, 0 for all cores
	Report   func(joint.Progress)           // may be nil
	Opened   func(kind string, count int64) // may be nil; see Party

	batch int // rows that are scored at a time; 0: joint.ScoreRows
}

// ScoreShard scores a shard's rows as a prediction does: their angles open to the active parties, and the scores to the
// receiver, where it returns them, row-major [rows][Params.Scores]; elsewhere nothing. They are those of a prediction
// without shards, bit for bit.
func ScoreShard(ctx context.Context, p ShardScoring) ([]float64, error) {
	switch {
	case p.Rows < 1:
		return nil, fmt.Errorf("a shard of %d rows, want at least 1", p.Rows)
	case len(p.Matrices) != 1:
		return nil, fmt.Errorf("%d tables of a shard, want one", len(p.Matrices))
	case p.Matrices[0].Rows != p.Rows:
		return nil, fmt.Errorf("the table of the shard has %d rows, want %d", p.Matrices[0].Rows, p.Rows)
	}
	if err := CheckShardedScoring(p.Model, false); err != nil {
		return nil, err
	}
	s, err := NewScorer(Scoring{Self: p.Self, Receiver: p.Receiver, Models: []*Model{p.Model}, Network: p.Network,
		Workers: p.Workers, Opened: p.Opened})
	if err != nil {
		return nil, err
	}
	s.Report = p.Report
	batch := p.batch
	if batch == 0 {
		batch = joint.ScoreRows
	}
	var scores []float64
	for lo := 0; lo < p.Rows; lo += batch {
		hi := min(lo+batch, p.Rows)
		f, err := s.Score(ctx, []*kernel.Matrix{p.Matrices[0].Cut(lo, hi)})
		if err != nil {
			return nil, err
		}
		scores = append(scores, f...)
		s.report("scores", hi, p.Rows, math.NaN())
	}
	return scores, nil
}

// EncodeScores returns the bytes of scores, for DecodeScores.
func EncodeScores(scores []float64) []byte {
	words := make([]uint64, len(scores))
	for i, f := range scores {
		words[i] = math.Float64bits(f)
	}
	return EncodeVectors(words)
}

// DecodeScores reads n scores of a shard. Bytes of another size are refused, and scores that are not finite.
func DecodeScores(n int, data []byte) ([]float64, error) {
	vectors, err := DecodeVectors("scores of a shard", data, n)
	if err != nil || n == 0 {
		return nil, err
	}
	scores := make([]float64, n)
	for i, w := range vectors[0] {
		if scores[i] = math.Float64frombits(w); !parameters.IsFinite(scores[i]) {
			return nil, fmt.Errorf("score %d of a shard is %v, want a finite number", i+1, scores[i])
		}
	}
	return scores, nil
}
