package fdskl

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// ShardTask is what a worker of a shard is told beside contracts and rows.
type ShardTask struct {
	Model    []byte    `cbor:"2,keyasint"`           // this party's part, as far as it is known
	Labels   []byte    `cbor:"3,keyasint,omitempty"` // at the label holder: words, or of a masked training numbers
	Receiver int       `cbor:"4,keyasint,omitempty"` // of a prediction
	IDs      []string  `cbor:"5,keyasint,omitempty"` // of the rows of a prediction, where this party has them
	Coin     keys.Hash `cbor:"6,keyasint"`           // of the rows kept out of a sealed training; zeros: none
}

// ReadTask reads what a worker is told, and the part in it.
func ReadTask(data []byte) (t ShardTask, m *Model, err error) {
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxArrayElements: 1 << 27,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
	if err == nil {
		err = mode.Unmarshal(data, &t)
	}
	if err != nil {
		return t, nil, fmt.Errorf("the task of a worker: %w", err)
	}
	if len(t.Labels)%8 != 0 {
		return t, nil, fmt.Errorf("%d bytes of labels, want a multiple of 8", len(t.Labels))
	}
	m, err = DecodeModel(t.Model)
	return t, m, err
}

// Span is a shard as this package has it.
func Span(s contract.Shard) Shard { return Shard{Lo: s.First, Hi: s.First + s.Rows} }

// SumsOfShards has the sums of all rows made in shards: those of a shard, vectors of these lengths, are added to those
// of the shards before it, so that one shard's are in memory at a time. begun is what all shards go on from, and task
// what one is told beside the model.
func SumsOfShards(ctx context.Context, s *joint.Session, rows *kernel.Matrix, lengths []int, begun *Model, more []byte,
	task func(at Shard) ShardTask) (list []Sums, err error) {
	model, err := begun.Encode()
	if err != nil {
		return nil, err
	}
	w := joint.ShardWork{Rows: rows, Begun: append(model[:len(model):len(model)], more...),
		Task: func(at contract.Shard) ([]byte, error) {
			t := task(Span(at))
			t.Model = model
			return cbor.Marshal(t)
		},
		Size: func(contract.Shard) int64 { return VectorsSize(lengths...) },
		Check: func(_ contract.Shard, result []byte) error {
			_, err := DecodeSums(lengths, result)
			return err
		},
		Take: func(_ contract.Shard, result []byte) error {
			sums, err := DecodeSums(lengths, result)
			switch {
			case err != nil:
				return err
			case list == nil:
				list = []Sums{sums}
				return nil
			}
			return list[0].Add(sums)
		}}
	err = s.Shards(ctx, w)
	return list, err
}

// ScoresOfShards has all rows of a prediction scored in shards, and returns what this party gets of them, in the order
// of the rows: of a shard as many numbers as count says, which decode reads. Workers are told the ids of their rows,
// unless ids is nil.
func ScoresOfShards[S ~[]T, T any](ctx context.Context, s *joint.Session, o joint.Scoring, m *Model, ids []string,
	count func(rows int) int, decode func(n int, data []byte) (S, error)) (all S, err error) {
	model, err := m.Encode()
	if err != nil {
		return nil, err
	}
	err = s.Shards(ctx, joint.ShardWork{Rows: o.Rows, Begun: model,
		Task: func(at contract.Shard) ([]byte, error) {
			t := ShardTask{Model: model, Receiver: o.Receiver}
			if ids != nil {
				t.IDs = ids[at.First : at.First+at.Rows]
			}
			return cbor.Marshal(t)
		},
		Size: func(at contract.Shard) int64 { return VectorsSize(count(at.Rows)) },
		Check: func(at contract.Shard, result []byte) error {
			_, err := decode(count(at.Rows), result)
			return err
		},
		Take: func(at contract.Shard, result []byte) error {
			more, err := decode(count(at.Rows), result)
			all = append(all, more...)
			return err
		},
	})
	return all, err
}

// OfOpening returns the n numbers of an opening among all that ScoresOfShards returned, of which a row has each; nil at
// a party that gets none.
func OfOpening[S ~[]T, T any](all S, number, each, n int) (S, error) {
	if len(all) == 0 {
		return nil, nil
	}
	lo := (number - 1) * joint.ScoreRows * each
	if n < 0 || lo < 0 || lo+n > len(all) {
		return nil, fmt.Errorf("%d numbers of opening %d, the shards have %d in all", n, number, len(all))
	}
	return all[lo : lo+n], nil
}

// inShards has all rows of a masked prediction scored in shards.
func (p *prediction) inShards(ctx context.Context, s *joint.Session, o joint.Scoring) (joint.Scorer, error) {
	each := p.model.Params.Scores()
	count := func(rows int) int {
		if o.Receiver != s.Self {
			return 0
		}
		return rows * each
	}
	scores, err := ScoresOfShards(ctx, s, o, p.model, nil, count, DecodeScores)
	return &scoresOfShards{each, scores}, err
}

// scoresOfShards are the scores that workers have made, of all rows, at the receiver.
type scoresOfShards struct {
	each   int // scores of a row
	scores []float64
}

func (s *scoresOfShards) Score(_ context.Context, number, n int, _ *kernel.Matrix, _ []string) ([]float64, error) {
	return OfOpening(s.scores, number, s.each, n*s.each)
}

// Work is a worker's part of a shard's session of a masked job.
func Work(ctx context.Context, s *joint.Session, w joint.Work) ([]byte, error) {
	t, m, err := ReadTask(w.Task)
	if err != nil {
		return nil, err
	}
	at := Span(s.Contract.Shard.Shard)
	if s.Contract.Job.Task == contract.TaskPredict {
		scores, err := ScoreShard(ctx, ShardScoring{Self: s.Self, Receiver: t.Receiver, Model: m, Rows: at.Rows(),
			Matrices: w.Matrices(), Network: s.Network, Workers: s.Workers, Report: s.Report})
		return EncodeScores(scores), err
	}
	sums, err := SumRows(ctx, Summing{Self: s.Self, Begun: m, Rows: w.JobRows, Shard: at, Matrices: w.Matrices(),
		Labels: decodeFloats(t.Labels), Network: s.Network, Workers: s.Workers, Report: s.Report})
	return sums.Encode(), err
}

// encodeFloats writes numbers as bytes.
func encodeFloats(list []float64) []byte {
	b := make([]byte, 0, 8*len(list))
	for _, x := range list {
		b = binary.LittleEndian.AppendUint64(b, math.Float64bits(x))
	}
	return b
}

// decodeFloats reads what encodeFloats wrote; of nothing it is nil.
func decodeFloats(b []byte) (list []float64) {
	for ; len(b) > 0; b = b[8:] {
		list = append(list, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return list
}
