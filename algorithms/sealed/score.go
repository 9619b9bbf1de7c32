package sealed

import (
	"context"
	"crypto/aes"
	"crypto/cipher"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// kindPrediction is the kind of the messages of a prediction's truncation, and of the sum that opens it.
const kindPrediction = "prediction"

// Scoring is what a party brings to a joint prediction.
type Scoring struct {
	Self     int
	Receiver int // the party that the scores open to
	Model    *fdskl.Model
	Network  Network
	Workers  int
	Opened   func(kind string, count int64)
}

// Scorer is one party's part of a joint prediction.
type Scorer struct {
	*scales
	Scoring
	columns      *columns
	order        rss.Order
	begun        *fdskl.Beginning
	beta, offset rss.Share
	dither       *dither // nil where this party adds none
}

// NewScorer prepares a joint prediction with this party's part of the model.
func NewScorer(s Scoring) (*Scorer, error) {
	m := s.Model
	out := &Scorer{Scoring: s, order: rss.FirstOrder()}
	var err error
	if out.scales, err = scalesOf(m.Params, 2); err != nil {
		return nil, err
	}
	seats := seatsOf(m.Params, m.Names, s.Self)
	if (seats.role != rss.Outside) != (m.Shares != nil) {
		return nil, fmt.Errorf("the model part of %s has shares: %t, want them at %s, %s and %s alone", m.Names[s.Self], m.Shares != nil, m.Params.Active[0], m.Params.Keeper, m.Params.Helper)
	}
	three, err := s.Network.Three(seats.parties)
	if err != nil {
		return nil, err
	}
	out.columns = newColumns(out.scales, seats, s.Network, three)
	if m.Shares != nil {
		all := rss.Share{X: m.Shares.X, Y: m.Shares.Y}
		out.beta, out.offset = all.Slice(0, out.features), all.Slice(out.features, out.features+1)
	}
	if s.Self == dithers(seats, s.Receiver) {
		out.dither = newDither(m.Phase)
	}
	parts := []*fdskl.Model{m}
	if m.Normaliser == nil {
		parts = nil
	}
	out.begun, err = fdskl.BeginScoring(m, s.Self, parts, s.Workers)
	return out, err
}

// dithers is the party that adds the dither: the keeper, who knows the rows, or the label holder when the
// scores are the keeper's.
func dithers(s seats, receiver int) int {
	if s.parties[rss.Keeper] == receiver {
		return s.parties[rss.LabelHolder]
	}
	return s.parties[rss.Keeper]
}

// Score returns f of the rows at the receiver, rounded to the job's bits behind the point, and nil
// elsewhere; see fdskl.Model.Unit. matrices hold this party's parts of n rows, in the same order
// everywhere, and ids name them where this party has them.
func (s *Scorer) Score(ctx context.Context, n int, matrices []*kernel.Matrix, ids []string) ([]float64, error) {
	s.columns.turns = func(lo, hi int) ([]uint16, error) { return s.begun.Turns(matrices, lo, hi) }
	return s.score(ctx, n, ids)
}

// score is Score once it is known where turns come from.
func (s *Scorer) score(ctx context.Context, n int, ids []string) ([]float64, error) {
	var terms []uint64
	if s.columns.role != rss.Outside {
		terms = make([]uint64, n)
	}
	err := s.columns.each(ctx, 0, n, blockRows(s.features), func(b *block, z rss.Share) error {
		if s.columns.role != rss.Outside {
			scoreRows(s.columns.three, terms[b.lo:b.hi], z, s.beta, s.offset, s.sz)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := s.finish(terms, ids); err != nil {
		return nil, err
	}
	return s.open(ctx, n, terms)
}

// finish adds to the terms what one party alone knows: the label holder's intercept, and the dither.
func (s *Scorer) finish(terms []uint64, ids []string) error {
	if s.columns.role == rss.LabelHolder {
		intercept := uint64(int64(math.Round(math.Ldexp(s.Model.Intercept, s.sz+coefBits))))
		for j := range terms {
			terms[j] += intercept
		}
	}
	if s.dither == nil {
		return nil
	}
	if len(ids) != len(terms) {
		return fmt.Errorf("%d row ids for %d rows", len(ids), len(terms))
	}
	half := uint64(1) << (s.shift() - 1)
	for j, id := range ids {
		terms[j] += s.dither.of(id)&(2*half-1) - half
	}
	return nil
}

// shift is by how many bits a score is rounded.
func (s *Scorer) shift() int { return s.sz + coefBits - s.Model.Params.ScoreBits }

// open rounds the scores and opens them to the receiver.
func (s *Scorer) open(ctx context.Context, n int, terms []uint64) ([]float64, error) {
	order := s.order
	s.order = order.Next()
	y, err := s.columns.three.Truncate(ctx, kindPrediction, s.k, terms, order, rss.Shift{Count: n, Bits: s.shift()})
	if err != nil {
		return nil, err
	}
	opened := make([]uint64, n)
	y.AddTo(opened, 1)
	if err := s.Network.SumWords(ctx, kindScores, s.Receiver, opened); err != nil || s.Self != s.Receiver {
		return nil, err
	}
	if s.Opened != nil {
		s.Opened(kindScores, int64(n))
	}
	f := make([]float64, n)
	for j, w := range opened {
		f[j] = math.Ldexp(float64(int64(w)), -s.Model.Params.ScoreBits)
	}
	return f, nil
}

// dither draws for every row a number that is always the same, uniform in what is rounded away and zero on the
// mean: asking for a row's score again, with other roundings, tells no more of its bits than asking once.
type dither struct{ block cipher.Block }

// newDither takes the key from a secret of the model part.
func newDither(seed fdskl.PhaseSeed) *dither {
	key := keys.HashOf("hanse score dither v1", seed[:])
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic("aes refuses a 32-byte key: " + err.Error())
	}
	return &dither{block}
}

// of returns the number of a row.
func (d *dither) of(id string) uint64 {
	h := keys.HashOf("hanse dithered row v1", []byte(id))
	var out [aes.BlockSize]byte
	d.block.Encrypt(out[:], h[:aes.BlockSize])
	return binary.LittleEndian.Uint64(out[:])
}
