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
	Vault    Vault  // of the job; outside the three it may be nil
	Session  uint32 // which execution of the contract this is
	Openings int    // how many there are in the contract, over all sessions
	Singly   bool   // the receiver asks for one at a time, and for no older one than the last
	Workers  int
	Opened   func(kind string, count int64)
}

// Scorer is one party's part of a joint prediction.
type Scorer struct {
	*scales
	Scoring
	columns      *columns
	begun        *fdskl.Beginning
	openings     openings
	scores       *series
	beta, offset rss.Share
	dither       *dither // nil where this party adds none
}

// NewScorer prepares a session of a joint prediction with this party's part of the model. The three tell all which
// openings they hold from earlier sessions.
func NewScorer(ctx context.Context, s Scoring) (*Scorer, error) {
	m := s.Model
	out := &Scorer{Scoring: s}
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
	if out.begun, err = fdskl.BeginScoring(m, s.Self, parts, s.Workers); err != nil {
		return nil, err
	}
	out.openings = openings{seats: seats, names: m.Names, session: s.Session, vault: s.Vault, network: s.Network}
	out.scores = out.openings.add(series{kind: kindScores, code: codeScores, most: s.Openings, bits: scoreWidth(m.Params, m.Params.ScoreBits)})
	if s.Singly {
		out.scores.slots = slots
	}
	if err := out.openings.agree(ctx); err != nil {
		return nil, err
	}
	return out, s.Network.Confirm(ctx)
}

// Fixed returns up to which number the openings are fixed: asked for again they open as they did, and no
// rows are looked at.
func (s *Scorer) Fixed() int { return s.scores.fixed }

// dithers is the party that adds the dither: the keeper, who knows the rows, or the label holder when the
// scores are the keeper's.
func dithers(s seats, receiver int) int {
	if s.parties[rss.Keeper] == receiver {
		return s.parties[rss.LabelHolder]
	}
	return s.parties[rss.Keeper]
}

// Score returns f of the rows at the receiver, rounded to the job's bits behind the point, and nil elsewhere; see
// fdskl.Model.Unit. number is the opening's, from 1 on; the same rows have the same in all sessions. matrices hold this
// party's parts of n rows, in the same order everywhere, and ids name them where this party has them.
func (s *Scorer) Score(ctx context.Context, number, n int, matrices []*kernel.Matrix, ids []string) ([]float64, error) {
	s.columns.turns = func(lo, hi int) ([]uint16, error) { return s.begun.Turns(matrices, lo, hi) }
	return s.score(ctx, number, n, ids)
}

// score is Score once it is known where turns come from.
func (s *Scorer) score(ctx context.Context, number, n int, ids []string) ([]float64, error) {
	opened, err := s.openings.open(ctx, s.scores, number, s.Receiver, n, func() (rss.Share, error) {
		return s.shares(ctx, number, n, ids)
	})
	if err != nil || s.Self != s.Receiver {
		return nil, err
	}
	if s.Opened != nil {
		s.Opened(kindScores, int64(n))
	}
	f := make([]float64, n)
	for j, w := range opened {
		f[j] = math.Ldexp(float64(w), -s.Model.Params.ScoreBits)
	}
	return f, nil
}

// shares shares the rounded scores of n rows. Who begins the truncation follows from the opening's number, not from
// what this session did before: see trainer.truncate.
func (s *Scorer) shares(ctx context.Context, number, n int, ids []string) (rss.Share, error) {
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
		return rss.Share{}, err
	}
	if err := s.finish(terms, ids); err != nil {
		return rss.Share{}, err
	}
	order := rss.FirstOrder()
	if number%2 == 0 {
		order = order.Next()
	}
	return s.columns.three.Truncate(ctx, kindPrediction, s.k, terms, order, rss.Shift{Count: n, Bits: s.shift()})
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
