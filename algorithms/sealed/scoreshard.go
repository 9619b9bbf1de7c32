package sealed

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/secagg/rss"
)

// ScoreWords is one party's part of the rounded scores of rows, row-major [rows][Params.Scores]: with those of the
// other two the words add up to the scores, modulo 2 to the number of bits that open of one. It is a share, which tells
// nothing without both others, and empty outside the three.
type ScoreWords []uint64

// Encode returns the bytes of words, for DecodeScoreWords.
func (w ScoreWords) Encode() []byte { return fdskl.EncodeVectors(w) }

// CountScoreWords is how many words a party of a name has of so many rows' scores.
func CountScoreWords(p fdskl.Params, parties []string, rows int, name string) int {
	return scoreWords(rolesOf(p, parties, slices.Index(parties, name)).role, rows, p.Scores())
}

// DecodeScoreWords reads n words. Bytes of another size are refused.
func DecodeScoreWords(n int, data []byte) (ScoreWords, error) {
	vectors, err := fdskl.DecodeVectors("scores of a shard", data, n)
	if err != nil {
		return nil, err
	}
	return vectors[0], nil
}

// scoreWords is how many words a role has of rows' scores.
func scoreWords(role rss.Role, rows, sides int) int {
	if role == rss.Outside {
		return 0
	}
	return rows * sides
}

// ShardScoring is one party's part of the scores of a shard of a prediction's rows, in a session among all parties that
// is the shard's own.
type ShardScoring struct {
	Self     int
	Receiver int // the party that the scores will open to
	Model    *fdskl.Model
	Rows     int              // of the shard
	Matrices []*kernel.Matrix // these rows of this party, one table; none where it has no data
	IDs      []string         // of these rows, where this party has them: their dithers follow from them
	Network  joint.SealedNetwork
	Workers  int                  // goroutines for local arithmetic, 0 for all cores
	Report   func(joint.Progress) // may be nil

	batch int // rows that are scored at a time; 0: joint.ScoreRows
}

// ScoreShard makes this party's part of the rounded scores of a shard's rows, their dithers included. Nothing opens:
// the prediction's own session opens the scores; see Scoring.Words. Made again, the parts are others, and the scores
// are the same but for what a truncation rounds.
func ScoreShard(ctx context.Context, p ShardScoring) (ScoreWords, error) {
	s, err := newScorer(Scoring{Self: p.Self, Receiver: p.Receiver, Model: p.Model, Network: p.Network,
		Workers: p.Workers})
	if err != nil {
		return nil, err
	}
	hasIDs := p.IDs != nil || dithers(s.at.role, p.Self == p.Receiver)
	switch {
	case p.Rows < 1:
		return nil, fmt.Errorf("a shard of %d rows, want at least 1", p.Rows)
	case len(p.Matrices) > 1:
		return nil, fmt.Errorf("%d tables of a shard, want one", len(p.Matrices))
	case len(p.Matrices) == 1 && p.Matrices[0].Rows != p.Rows:
		return nil, fmt.Errorf("the table of the shard has %d rows, want %d", p.Matrices[0].Rows, p.Rows)
	case hasIDs && len(p.IDs) != p.Rows:
		return nil, fmt.Errorf("%d row ids for %d rows", len(p.IDs), p.Rows)
	}
	if err := s.prepare(); err != nil {
		return nil, err
	}
	var words ScoreWords
	batch := p.batch
	if batch == 0 {
		batch = joint.ScoreRows
	}
	for lo := 0; lo < p.Rows; lo += batch {
		hi := min(lo+batch, p.Rows)
		var ids []string
		if hasIDs {
			ids = p.IDs[lo:hi]
		}
		var rows []*kernel.Matrix
		for _, m := range p.Matrices {
			rows = append(rows, m.Cut(lo, hi))
		}
		s.nextRows(rows)
		y, err := s.shares(ctx, lo/batch+1, hi-lo, ids)
		if err != nil {
			return nil, err
		}
		words = append(words, y.X...)
		if p.Report != nil {
			p.Report(joint.Progress{Step: "scores", Done: hi, Total: p.Rows})
		}
	}
	return words, nil
}
