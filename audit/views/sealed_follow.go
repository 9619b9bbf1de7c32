package views

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// The views of the three on a sealed job, as if the pads were not there.
const (
	ViewPadded   = "padded angles"     // the totals that the label holder has
	ViewFactors  = "factors"           // cosine and sine of the padded angle
	ViewFeatures = "features"          // what came of a feature
	ViewBoth     = "parts of features" // what came of it and what went, added
	kindLabels   = "labels"            // the labels' words, to the keeper
)

// Limits and roundings of these views.
const (
	mostShared     = 512             // equations of direct messages that are kept
	mostMessage    = 1 << 26         // bytes of one; no honest block has as many
	mostSharedRows = 1 << 20         // of a training
	factorNoise    = 1.0 / (1 << 13) // turns: cosine and sine have 7 or 10 bits behind the point
	cosineNoise    = 1.0 / (1 << 10) // turns: an angle by its cosine alone
	fullCosine     = 1.5             // no feature is larger, however it was rounded
)

// shares follows the messages of a sealed job as one party saw them.
type shares struct {
	three evidence.Trio
	bits  int // behind the point of a feature

	factors, features, both *partyView
	labels                  *partyView

	words  []byte // of the direct message under way
	rows   []int  // that it is about
	halves map[int][]uint64
}

// newShares returns nothing for jobs that are not sealed.
func newShares(in *evidence.Input, party int, rows []int) (*shares, error) {
	three, ok := evidence.TrioOf(in)
	if !ok {
		return nil, nil
	}
	s := &shares{three: three, halves: make(map[int][]uint64)}
	for view, place := range map[string]**partyView{ViewFactors: &s.factors, ViewFeatures: &s.features,
		ViewBoth: &s.both, kindLabels: &s.labels} {
		*place = newView(party, view, rows)
		(*place).most = mostShared
	}
	s.factors.noise, s.features.noise, s.both.noise = factorNoise, cosineNoise, cosineNoise
	return s, nil
}

// begin starts a session.
func (s *shares) begin(p fdskl.Params) {
	s.bits = sealed.FeatureBits(p)
	clear(s.halves)
	s.stop()
}

// stop forgets the message under way.
func (s *shares) stop() { s.words, s.rows = s.words[:0], nil }

// takeShares takes in one record of a sealed job.
func (f *follower) takeShares(rec *transcript.Record) error {
	first := rec.Operation != f.operation
	f.operation = rec.Operation
	if first {
		f.shares.stop()
	}
	switch rec.Kind {
	case "resume-point", "request", kindWidth, sealed.Held:
		if first {
			return f.told(rec)
		}
		return nil
	case sealed.Angles:
		if first {
			f.beginPadded(rec)
		}
		// Takes in one chunk of a sum of padded angles: what a child sent, or the total.
		payload, err := f.Payload(rec)
		if err != nil {
			return err
		}
		return f.show(rec, payload)
	case sealed.Factors, sealed.Features, kindLabels:
		// Takes in one chunk of a direct message; its words are looked at when it is whole.
		s := f.shares
		from, to := rec.Peer, f.Party
		if rec.Type == transcript.TypeSent {
			from, to = to, from
		}
		if first && rec.Kind != kindLabels {
			s.rows = f.about(rec, from, to).Rows
		}
		payload, err := f.Payload(rec)
		if err != nil {
			s.rows = nil
			return err
		}
		stride := 1
		switch {
		case f.params.Features == 0:
		case rec.Kind == sealed.Factors:
			stride = f.params.Angles()
		case rec.Kind == sealed.Features:
			stride = f.params.Features
		}
		if err := f.Words.Add(rec, payload, stride); err != nil {
			return err
		}
		if len(s.words) > mostMessage-len(payload) {
			return nil
		}
		if s.words = append(s.words, payload...); uint64(len(s.words)) == rec.Size {
			f.whole(rec, wordsOf(s.words, rec.Encoding))
		}
		return nil
	}
	return f.test(rec)
}

// beginPadded finds out which angles the sum that begins is about.
func (f *follower) beginPadded(rec *transcript.Record) {
	f.angles = nil
	if sum := f.about(rec, -1, -1); sum.Rows != nil {
		f.angles = &sum
		f.clock.start(rec.Time, sum.Angles, f.active.place)
	}
}

// about returns what the message that begins is of, nothing when that is not known.
func (f *follower) about(rec *transcript.Record, from, to int) (about trace.About) {
	if f.broken != nil {
		return about
	}
	about, err := f.layout.Next(rec.Kind, from, to, int(rec.Size/uint64(rec.Encoding.WordSize())))
	if err != nil {
		f.lose(fmt.Errorf("record %d: %w", rec.Number, err))
	}
	return about
}

// whole takes in a direct message.
func (f *follower) whole(rec *transcript.Record, words []uint64) {
	s := f.shares
	switch {
	case rec.Kind == kindLabels && rec.Type == transcript.TypeReceived:
		for k, j := range s.labels.rows {
			if j < len(words) {
				s.labels.put(trace.Angle{Row: s.labels.rows[k]}, words[j], rec.Encoding)
			}
		}
	case len(s.rows) == 0 || len(words) != len(s.rows)*f.params.Features: // its chunks do not agree
	case rec.Kind == sealed.Factors && rec.Type == transcript.TypeReceived:
		n := len(s.rows) * f.params.Angles()
		f.eachValue(s.factors, 1, func(at int) float64 {
			return turnOf(signed(words[at], rec.Encoding), signed(words[n+at], rec.Encoding))
		})
	case rec.Kind == sealed.Features:
		f.half(rec, words)
	}
}

// half takes in one of the two messages of features; the second of a block is also added to the first.
func (f *follower) half(rec *transcript.Record, words []uint64) {
	s := f.shares
	cosine := func(words []uint64) func(at int) float64 {
		return func(at int) float64 { return s.angleOf(words[at], rec.Encoding) }
	}
	if rec.Type == transcript.TypeReceived {
		f.eachValue(s.features, 2, cosine(words))
	}
	other, ok := s.halves[s.rows[0]]
	if !ok {
		s.halves[s.rows[0]] = words
		return
	}
	delete(s.halves, s.rows[0])
	if len(other) == len(words) {
		for i := range words {
			words[i] += other[i]
		}
		f.eachValue(s.both, 2, cosine(words))
	}
}

// views lists the views that attacks on angles look at, the most telling first.
func (f *follower) views() []*partyView {
	if f.shares == nil {
		return []*partyView{f.active, f.parent}
	}
	return []*partyView{f.active, f.parent, f.shares.factors}
}

// eachValue writes into a view the turns of a message's rows, so many for each angle. A sine is taken for the cosine
// that it is a quarter of a turn away: equations have shifts that nobody knows anyhow.
func (f *follower) eachValue(v *partyView, values int, turn func(at int) float64) {
	each, all := values*f.params.Angles(), f.everybody()
	for n, j := range f.shares.rows {
		k, ok := v.place[j]
		if !ok {
			continue
		}
		for i := range min(each, mostShared) {
			if column := v.at(equation{i / values, ownTotal, i%values == 1}, all); column != nil {
				column[k] = turn(n*each + i)
			}
		}
	}
}

// put writes a word as a share of its ring.
func (s *partyView) put(a trace.Angle, word uint64, encoding contract.Encoding) {
	if column := s.at(equation{a.Frequency, ownTotal, false}, nil); column != nil {
		column[s.place[a.Row]] = part(word, encoding)
	}
}

// part returns a word as a share of its ring.
func part(word uint64, encoding contract.Encoding) float64 {
	return math.Ldexp(float64(word), -8*encoding.WordSize())
}

// signed returns a word of a ring as a number of two's complement.
func signed(word uint64, encoding contract.Encoding) int64 {
	shift := 64 - 8*encoding.WordSize()
	return int64(word<<shift) >> shift
}

// turnOf returns the turn with this cosine and sine, up to a common factor.
func turnOf(cos, sin int64) float64 {
	turn := math.Atan2(float64(sin), float64(cos)) / (2 * math.Pi)
	return turn - math.Floor(turn)
}

// angleOf returns a turn with the cosine that a word may be, and where it can be none the word's share of the
// ring.
func (s *shares) angleOf(word uint64, encoding contract.Encoding) float64 {
	if z := math.Ldexp(float64(signed(word, encoding)), -s.bits); math.Abs(z) <= fullCosine {
		return math.Acos(max(-1, min(1, z))) / (2 * math.Pi)
	}
	return part(word&(1<<(8*encoding.WordSize()-1)<<1-1), encoding)
}

// wordsOf reads the words of a message.
func wordsOf(payload []byte, encoding contract.Encoding) []uint64 {
	size := encoding.WordSize()
	words := make([]uint64, len(payload)/size)
	var buffer [8]byte
	for i := range words {
		copy(buffer[:], payload[i*size:(i+1)*size])
		words[i] = binary.LittleEndian.Uint64(buffer[:])
	}
	return words
}
