package sealed

import (
	"context"
	"crypto/aes"
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/secagg/rss"
)

// The kinds of the messages of a prediction: of the truncation, and of the sum that opens scores.
const (
	kindPrediction = "prediction"
	kindScores     = "scores"
)

// Scores is the kind of the sums and openings of scores.
const Scores = kindScores

// Scoring is what a party brings to a joint prediction.
type Scoring struct {
	Self     int
	Receiver int // the party that the scores open to
	Model    *fdskl.Model
	Network  joint.SealedNetwork
	Vault    joint.Vault // of the job; outside the three it may be nil
	Session  uint32      // which execution of the contract this is
	Openings int         // how many there are in the contract, over all sessions
	Singly   bool        // the receiver asks for one at a time, and for no older one than the last
	Workers  int
	Opened   func(kind string, count int64)

	// Words has the rows scored elsewhere, shard by shard, and returns this party's part of an opening's n numbers: see
	// ScoreShard. The parts of an opening's rows are of one session of each shard at all of the three: that they are is
	// for the caller to compare, or what opens is noise. nil: the prediction's own session scores the rows.
	Words func(number, n int) (ScoreWords, error)

	// Asked tells which of an opening's rows are asked for, the same in all sessions and at all parties: of the others
	// every party leaves out what it would add, and they open to 0. nil, itself or what it returns: all are.
	Asked func(number int) []bool
	// Record keeps that the rows asked for are scored, on this party's disk, and refuses rows that were scored as often as
	// they may be. It is called in every session before any word of an opening leaves this party; it may be nil.
	Record func(number int) error
}

// Scorer is one party's part of a joint prediction.
type Scorer struct {
	*scales
	Scoring
	at       roles
	three    *rss.Party
	columns  source
	angles   *columns // columns, where they are of cosines
	bins     *bins    // where they are of bins
	begun    *fdskl.Beginning
	openings openings
	scores   *series
	beta     rss.Share // [sides, D]
	offsets  rss.Share // [sides]
	dither   dither    // nil where this party adds none
}

// NewScorer prepares a session of a joint prediction with this party's part of the model. The three tell all which
// openings they hold from earlier sessions.
func NewScorer(ctx context.Context, s Scoring) (*Scorer, error) {
	if s.Words != nil && s.Singly {
		return nil, fmt.Errorf("rows that are asked for one at a time are not scored in shards")
	}
	out, err := newScorer(s)
	if err != nil {
		return nil, err
	}
	if s.Words == nil {
		if err := out.prepare(); err != nil {
			return nil, err
		}
	}
	m := s.Model
	out.openings = openings{roles: out.at, names: m.Names, session: s.Session, vault: s.Vault, network: s.Network}
	bits := scoreWidth(m.Params, m.Params.ScoreBits)
	out.scores = out.openings.add(series{kind: kindScores, code: codeScores, most: s.Openings, bits: bits,
		root: s.Receiver})
	if s.Singly {
		out.scores.slots = slots
	}
	return out, out.openings.agree(ctx)
}

// newScorer settles what follows from the model part.
func newScorer(s Scoring) (*Scorer, error) {
	m := s.Model
	out := &Scorer{Scoring: s, at: rolesOf(m.Params, m.Names, s.Self)}
	var err error
	if out.scales, err = scalesOf(m.Params, 2); err != nil {
		return nil, err
	}
	if (out.at.role != rss.Outside) != (m.Shares != nil) {
		return nil, fmt.Errorf("the model part of %s has shares: %t, want them at %s, %s and %s alone", m.Names[s.Self],
			m.Shares != nil, m.Params.Active[0], m.Params.Keeper, m.Params.Helper)
	}
	if n := len(m.Functions()); out.at.role == rss.LabelHolder && n != out.sides {
		return nil, fmt.Errorf("the model part of %s has %d intercepts, want %d", m.Names[s.Self], n, out.sides)
	}
	return out, nil
}

// prepare starts the arithmetic of the three, and what makes shares of features and scores with it.
func (s *Scorer) prepare() (err error) {
	m := s.Model
	if s.three, err = s.Network.Three(s.at.parties); err != nil {
		return err
	}
	if m.Params.Binned() {
		s.bins = newBins(s.scales, s.at, m.Params, s.Self, s.three)
		s.columns = s.bins
	} else {
		s.angles = newColumns(s.scales, s.at, s.Network, s.three)
		s.columns = s.angles
	}
	if m.Shares != nil {
		all := rss.Share{X: m.Shares.X, Y: m.Shares.Y}
		n := s.sides * s.features
		s.beta, s.offsets = s.scoring(all.Slice(0, n)), all.Slice(n, n+s.sides)
	}
	if dithers(s.at.role, s.Self == s.Receiver) {
		// Takes the key from a secret of this party's model part, which no other party has.
		key := keys.HashOf("hanse score dither v2", m.Contract[:], m.Phase[:])
		block, err := aes.NewCipher(key[:])
		if err != nil {
			panic("aes refuses a 32-byte key: " + err.Error())
		}
		several := s.sides > 1
		s.dither = func(id string, side int) uint64 {
			h := keys.HashOf("hanse dithered row v1", []byte(id))
			if several {
				h = keys.HashOf("hanse dithered score v1", []byte(id), []byte{byte(side)})
			}
			var out [aes.BlockSize]byte
			block.Encrypt(out[:], h[:aes.BlockSize])
			return binary.LittleEndian.Uint64(out[:])
		}
	}
	parts := []*fdskl.Model{m}
	if m.Normaliser == nil || m.Params.Binned() {
		parts = nil
	}
	s.begun, err = fdskl.BeginScoring(m, s.Self, parts, s.Workers)
	return err
}

// Fixed returns up to which number the openings are fixed: asked for again they open as they did, and no
// rows are looked at.
func (s *Scorer) Fixed() int { return s.scores.fixed }

// dithers reports whether a party of a role adds a dither: the label holder and the keeper do, who both have the rows'
// ids, but for the one that receives the scores.
//
// What a coalition may be is one of the three and any parties outside. Where the scores open to one of its members, a
// dither stays unknown to it: the keeper's if it has the label holder, the label holder's if it has the keeper, and
// both if it has the helper, who needs no rows, or nobody of the three. A dither of the receiver's own would hide
// nothing from it.
func dithers(role rss.Role, receives bool) bool {
	return (role == rss.LabelHolder || role == rss.Keeper) && !receives
}

// Score returns f of the rows at the receiver, row-major [rows][Params.Scores], rounded to the job's bits behind the
// point, and nil elsewhere; see fdskl.Model.Unit. number is the opening's, from 1 on; the same rows have the same in
// all sessions. matrices hold this party's parts of n rows, in the same order everywhere, and ids name them where this
// party has them. Of rows that are scored in shards nobody looks at either.
func (s *Scorer) Score(ctx context.Context, number, n int, matrices []*kernel.Matrix, ids []string) ([]float64, error) {
	s.nextRows(matrices)
	return s.score(ctx, number, n, ids)
}

// nextRows has the next rows be those of this party's parts.
func (s *Scorer) nextRows(matrices []*kernel.Matrix) {
	switch {
	case s.angles != nil:
		s.angles.turns = func(lo, hi int) ([]uint16, error) { return s.begun.Turns(matrices, lo, hi) }
	case s.bins != nil && len(matrices) > 0:
		s.bins.matrix = matrices[0]
	}
}

// score is Score once it is known where turns come from.
func (s *Scorer) score(ctx context.Context, number, n int, ids []string) ([]float64, error) {
	if s.Record != nil && number <= s.scores.fixed { // computed in an earlier session, in which this party may have died
		if err := s.Record(number); err != nil {
			return nil, err
		}
	}
	words := n * s.sides
	opened, err := s.openings.openVector(ctx, s.scores, number, words, func() (rss.Share, error) {
		y, err := s.parts(ctx, number, n, ids)
		if err == nil && s.Record != nil {
			err = s.Record(number)
		}
		if err == nil {
			s.leaveOut(number, y)
		}
		return y, err
	})
	if err != nil || s.Self != s.Receiver {
		return nil, err
	}
	if s.Opened != nil {
		s.Opened(kindScores, int64(words-s.sides*s.blanks(number)))
	}
	f := make([]float64, words)
	for j, w := range opened {
		f[j] = math.Ldexp(float64(w), -s.Model.Params.ScoreBits)
	}
	return f, nil
}

// parts shares the rounded scores of n rows, or takes this party's part of them from their shards.
func (s *Scorer) parts(ctx context.Context, number, n int, ids []string) (rss.Share, error) {
	if s.Words == nil {
		return s.shares(ctx, number, n, ids)
	}
	words, err := s.Words(number, n*s.sides)
	if want := scoreWords(s.at.role, n, s.sides); err == nil && len(words) != want {
		err = fmt.Errorf("opening %d has %d words of the shards' scores, want %d", number, len(words), want)
	}
	return rss.Share{X: slices.Clone(words)}, err
}

// shares shares the rounded scores of n rows, [n, sides]. Who begins the truncation follows from the opening's number,
// not from what this session did before: see trainer.truncate.
func (s *Scorer) shares(ctx context.Context, number, n int, ids []string) (rss.Share, error) {
	var terms []uint64
	if s.at.role != rss.Outside {
		terms = make([]uint64, n*s.sides)
	}
	take := func(b *block, z rss.Share) error {
		for k := range s.sides {
			if s.at.role == rss.Outside {
				break
			}
			of := make([]uint64, b.hi-b.lo)
			scoreRows(s.three, of, z, s.beta.Slice(k*s.features, (k+1)*s.features), s.offsets.Slice(k, k+1),
				s.sz+s.bs-coefBits)
			for j, term := range of {
				terms[(b.lo+j)*s.sides+k] = term
			}
		}
		return nil
	}
	nothing := func(context.Context, int) error { return nil }
	if err := s.columns.each(ctx, 0, n, blockRowsOf(s.Model.Params), take, nothing); err != nil {
		return rss.Share{}, err
	}
	if err := s.finish(terms, ids); err != nil {
		return rss.Share{}, err
	}
	order := rss.FirstOrder()
	if number%2 == 0 {
		order = order.Next()
	}
	return s.three.Truncate(ctx, kindPrediction, s.k, terms, order,
		rss.Shift{Count: n * s.sides, Bits: s.shift()})
}

// leaveOut takes out of this party's share of an opening the rows that are not asked for. A party alone that leaves out
// its part hides a row from a coalition only where that part is the one that the coalition lacks; so all honest ones
// leave out theirs, and who finds a row in its own book leaves the session.
func (s *Scorer) leaveOut(number int, y rss.Share) {
	if s.Asked == nil || y.X == nil {
		return
	}
	for j, asked := range s.Asked(number) {
		if !asked {
			clear(y.X[j*s.sides : (j+1)*s.sides]) // y.Y stays here
		}
	}
}

// blanks counts the rows of an opening that are not asked for.
func (s *Scorer) blanks(number int) int {
	if s.Asked == nil {
		return 0
	}
	n := 0
	for _, asked := range s.Asked(number) {
		if !asked {
			n++
		}
	}
	return n
}

// finish adds to the terms what one party alone knows: the label holder's intercepts, and its own dithers.
func (s *Scorer) finish(terms []uint64, ids []string) error {
	if s.at.role == rss.LabelHolder {
		functions := s.Model.Functions()
		for i := range terms {
			terms[i] += uint64(int64(math.Round(math.Ldexp(functions[i%s.sides].Intercept, s.sz+s.bs))))
		}
	}
	if s.dither == nil {
		return nil
	}
	if len(ids)*s.sides != len(terms) {
		return fmt.Errorf("%d row ids for %d rows", len(ids), len(terms)/s.sides)
	}
	half := uint64(1) << (s.shift() - 1)
	for i := range terms {
		terms[i] += s.dither(ids[i/s.sides], i%s.sides)&(2*half-1) - half
	}
	return nil
}

// shift is by how many bits a score is rounded.
func (s *Scorer) shift() int { return s.sz + s.bs - s.Model.Params.ScoreBits }

// dither gives for every row, by its id at this party, and each of its scores a number of 64 bits that is always the
// same. What is added of it
// before rounding is uniform in what is rounded away, and zero on the mean.
//
// Shares of a session are rounded in their own way, which moves a score by some 2^-12 before the dithers come to it;
// and a party that knows all dithers, or can choose the only one, moves it by as much as it likes. Many openings of one
// row would then tell the score as finely as their number. With a dither d that a coalition does not know, all of them
// together tell at most the score plus d: as d does not change, and is uniform over a unit of the rounding, the score
// stays uniform over that unit, given what opens. Beside the d of one party that of another is a constant.
//
// The functions of K classes, three or more, add up to a constant, and so do a row's scores. What opens of all of
// them tells the sum of their dithers, and leaves each score off by 0.29 sqrt(1 - 1/K) of a unit, root mean square,
// where one alone leaves 0.29.
type dither func(id string, side int) uint64
