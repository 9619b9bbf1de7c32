package columns

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/dataset"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/parts"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/rss"
)

// shardResult begins the names of what shards come to, in a job's folder.
const shardResult = sealed.FilePrefix + "shard-"

// RemoveParts removes the parts of a job's rows that were written for workers.
func (j *Jobs) RemoveParts(contract keys.Hash) error { return parts.Remove(j.PartsFolder(), contract) }

// shardWork is what a party does in a job's shards, each of which comes to a T.
type shardWork[T any] struct {
	task func(s fdskl.Shard) (shardTask, error) // what the worker of a shard is told beside contracts and rows
	rows *kernel.Matrix                         // nil where this party has none
	// begun is what the results depend on beside the rows.
	begun  []byte
	words  func(s fdskl.Shard) []int                   // lengths of the vectors that a shard comes to
	decode func(s fdskl.Shard, data []byte) (T, error) // refuses what is no result of a shard
	take   func(result T) error                        // takes in the results in the order of the shards
}

// runShards has the shards' workers make their results, compares with all parties what the sessions were, and takes in
// the results, shard by shard.
func runShards[T any](ctx context.Context, r *session, p fdskl.Params, j *Jobs, w shardWork[T]) error {
	c := r.Contract()
	list, err := wired.Shards(c.Job, c.Parties, p)
	if err != nil {
		return err
	}
	span := func(i int) fdskl.Shard { return fdskl.Shard{Lo: list[i].First, Hi: list[i].First + list[i].Rows} }
	digests, all := make([]keys.Hash, len(list)), []byte(nil)
	if w.rows != nil {
		var spans [][2]int
		for i := range list {
			spans = append(spans, [2]int{span(i).Lo, span(i).Hi})
		}
		if digests, err = parts.Cut(j.PartsFolder(), c.Hash(), w.rows, spans, cores(j.Workers)); err != nil {
			return fmt.Errorf("parts of the rows for workers: %w", err)
		}
	}
	for _, d := range digests {
		all = append(all, d[:]...)
	}
	var summed, done atomic.Int64 // rows and shards that were told of last
	file := func(i int) string { return fmt.Sprintf("%s%05d", shardResult, i) }
	sessions, err := r.Daemon.Shards(ctx, shards.Work{
		Self: r.wire.Self(), Shards: list, Parts: digests, ResultFile: file,
		Digest: keys.HashOf("hanse shards begun v1", w.begun, all),
		Task: func(i int) ([]byte, error) {
			t, err := w.task(span(i))
			if err != nil {
				return nil, err
			}
			return t.encode()
		},
		Size: func(i int) int64 { return fdskl.VectorsSize(w.words(span(i))...) },
		Disclose: func(i int) ([]contract.Opening, []contract.Operation, error) {
			return wired.DiscloseShard(c.Job, c.Parties, p, &list[i])
		},
		Check: func(i int, result []byte) error {
			_, err := w.decode(span(i), result)
			return err
		},
		Made: r.Sharded,
		Progress: func(rows, ready int) {
			if int64(rows) != summed.Swap(int64(rows)) {
				r.Step("rows", rows, c.Rows(), 0)
			}
			if int64(ready) > done.Swap(int64(ready)) {
				r.Daemon.Notify(jobs.Event{Kind: jobs.EventState, Text: fmt.Sprintf("%d of %s done here", ready,
					wording.Count(len(list), "shard"))})
			}
		},
	})
	if err != nil {
		return err
	}
	if err := compareShards(ctx, r.wire, c, sessions); err != nil {
		return err
	}
	for i := range list {
		data, err := r.Vault.Load(file(i))
		if err != nil {
			return err
		}
		result, err := w.decode(span(i), data)
		if err == nil {
			err = w.take(result)
		}
		if err != nil {
			return fmt.Errorf("shard %d: %w", i, err)
		}
	}
	return nil
}

// compareShards compares with all parties what the shards' sessions were. A mixture of sessions would be a model that
// is wrong, and nobody would see it.
func compareShards(ctx context.Context, wire *protocol.Session, c *contract.Contract, list []shards.Session) error {
	own := transcript.ShardStatement(c.Hash(), list)
	all, err := wire.Exchange(ctx, contract.KindShards, own, contract.ShardsSize)
	if err != nil {
		return err
	}
	for i, theirs := range all {
		if len(theirs) != contract.ShardsSize || !bytes.Equal(theirs[:contract.SharedSize], own[:contract.SharedSize]) {
			return &rss.DeviationError{Parties: []string{c.Parties[i].Name}, Kind: contract.KindShards,
				Reason: "it says that the shards had other sessions than this party knows of: the sums of the two do not belong " +
					"together"}
		}
	}
	return nil
}

// sums has the sums of all rows made in shards.
func (t *training) sums(ctx context.Context, r *session, rows *kernel.Matrix, b *fdskl.Begun) (
	list []fdskl.Sums, err error,
) {
	model, err := b.Model.Encode()
	if err != nil {
		return nil, err
	}
	p := b.Model.Params
	return runSums(ctx, r, p, t.member, fdskl.LengthsOfSums(p, t.member.Name()), shardWork[fdskl.Sums]{
		rows: rows, begun: append(model, encodeFloats(b.Labels)...),
		task: func(s fdskl.Shard) (shardTask, error) {
			return shardTask{Kind: maskedSum, Model: model, Labels: encodeFloats(b.Of(s))}, nil
		},
	})
}

// runSums is runShards for sums whose vectors have so many words: those of a shard are added to those of the shards
// before it, so that one shard's are in memory at a time.
func runSums(ctx context.Context, r *session, p fdskl.Params, j *Jobs, lengths []int, w shardWork[fdskl.Sums]) (
	list []fdskl.Sums, err error,
) {
	w.words = func(fdskl.Shard) []int { return lengths }
	w.decode = func(_ fdskl.Shard, data []byte) (fdskl.Sums, error) { return fdskl.DecodeSums(lengths, data) }
	w.take = func(more fdskl.Sums) error {
		if list == nil {
			list = []fdskl.Sums{more}
			return nil
		}
		return list[0].Add(more)
	}
	err = runShards(ctx, r, p, j, w)
	return list, err
}

// sums has the sums of all rows made in shards.
func (s *sealing) sums(ctx context.Context, r *session, p fdskl.Params, rows *kernel.Matrix, b *sealed.Begun) (
	list []sealed.Sums, err error,
) {
	model, err := b.Model.Encode()
	if err != nil {
		return nil, err
	}
	n := r.Contract().Rows()
	lengths, err := sealed.LengthsOfSums(p, s.job.Parties, n, s.member.Name())
	if err != nil {
		return nil, err
	}
	return runSums(ctx, r, p, s.member, lengths, shardWork[fdskl.Sums]{
		rows: rows, begun: slices.Concat(model, encodeWords(b.Labels), b.Coin[:]),
		task: func(shard fdskl.Shard) (shardTask, error) {
			return shardTask{Kind: sealedSums, Model: model, Labels: encodeWords(b.Of(shard, n)), Coin: b.Coin}, nil
		},
	})
}

// scoresOfShards are the scores that workers have made, of all rows, at the receiver. It implements scorer.
type scoresOfShards struct {
	each   int // scores of a row
	scores []float64
}

// score implements scorer.
func (s *scoresOfShards) score(_ context.Context, number, n int, _ *dataset.Table) ([]float64, error) {
	if s.scores == nil {
		return nil, nil
	}
	lo := (number - 1) * joint.ScoreRows * s.each
	if lo < 0 || lo+n*s.each > len(s.scores) {
		return nil, fmt.Errorf("scores of %d rows of part %d, the shards have %d in all", n, number, len(s.scores))
	}
	return s.scores[lo : lo+n*s.each], nil
}

// shardScores has all rows of a masked prediction scored in shards.
func (p *prediction) shardScores(ctx context.Context, r *session, table *dataset.Table) (scorer, error) {
	rows, err := vertical.PrepareScoring(table, p.model)
	if err != nil {
		return nil, err
	}
	model, err := p.model.Encode()
	if err != nil {
		return nil, err
	}
	out := &scoresOfShards{each: p.model.Params.Scores()}
	count := func(s fdskl.Shard) int {
		if p.job.OpenTo != p.member.Name() {
			return 0
		}
		return s.Rows() * out.each
	}
	return out, runShards(ctx, r, p.model.Params, p.member, shardWork[[]float64]{rows: rows, begun: model,
		words: func(s fdskl.Shard) []int { return []int{count(s)} },
		task: func(fdskl.Shard) (shardTask, error) {
			return shardTask{Kind: maskedScores, Model: model, Receiver: p.job.Index(p.job.OpenTo)}, nil
		},
		decode: func(s fdskl.Shard, data []byte) ([]float64, error) { return fdskl.DecodeScores(count(s), data) },
		take: func(more []float64) error {
			out.scores = append(out.scores, more...)
			return nil
		},
	})
}

// scoreWords has all rows scored in shards, and returns where this party's part of an opening's numbers are.
func (p *prediction) scoreWords(ctx context.Context, r *session, rows *kernel.Matrix, ids []string) (
	func(number, n int) (sealed.ScoreWords, error), error,
) {
	model, err := p.model.Encode()
	if err != nil {
		return nil, err
	}
	each, parties := p.model.Params.Scores(), p.job.Parties
	count := func(s fdskl.Shard) int {
		return sealed.CountScoreWords(p.model.Params, parties, s.Rows(), p.member.Name())
	}
	var words sealed.ScoreWords
	err = runShards(ctx, r, p.model.Params, p.member, shardWork[sealed.ScoreWords]{rows: rows, begun: model,
		words: func(s fdskl.Shard) []int { return []int{count(s)} },
		task: func(s fdskl.Shard) (shardTask, error) {
			t := shardTask{Kind: sealedScores, Model: model, Receiver: p.job.Index(p.job.OpenTo)}
			if ids != nil {
				t.IDs = ids[s.Lo:s.Hi]
			}
			return t, nil
		},
		decode: func(s fdskl.Shard, data []byte) (sealed.ScoreWords, error) {
			return sealed.DecodeScoreWords(count(s), data)
		},
		take: func(more sealed.ScoreWords) error {
			words = append(words, more...)
			return nil
		},
	})
	return func(number, n int) (sealed.ScoreWords, error) {
		if len(words) == 0 { // outside the three
			return nil, nil
		}
		lo := (number - 1) * joint.ScoreRows * each
		if n < 0 || lo < 0 || lo+n > len(words) {
			return nil, fmt.Errorf("%d numbers of opening %d, the shards have %d in all", n, number, len(words))
		}
		return words[lo : lo+n], nil
	}, err
}

// encodeWords writes words as bytes.
func encodeWords(words []uint64) []byte {
	b := make([]byte, 0, 8*len(words))
	for _, w := range words {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return b
}
