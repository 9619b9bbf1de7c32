package audit

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg/rss"
)

// The views of the three on a sealed job, as if the pads were not there.
const (
	viewPadded   = "padded angles"     // the totals that the label holder has
	viewFactors  = "factors"           // cosine and sine of the padded angle
	viewFeatures = "features"          // what came of a feature
	viewBoth     = "parts of features" // what came of it and what went, added
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
	three  trio
	layout *sealed.Layout
	bits   int // behind the point of a feature

	factors, features, both *sight
	labels                  *sight

	words  []byte // of the direct message under way
	rows   []int  // that it is about
	halves map[int][]uint64
}

// newShares returns nothing for jobs that are not sealed.
func newShares(in *Input, party int, rows []int) (*shares, error) {
	three, ok := trioOf(in)
	if !ok {
		return nil, nil
	}
	s := &shares{three: three, halves: make(map[int][]uint64)}
	for view, place := range map[string]**sight{viewFactors: &s.factors, viewFeatures: &s.features, viewBoth: &s.both, kindLabels: &s.labels} {
		*place = newSight(party, view, rows)
		(*place).most = mostShared
	}
	s.factors.noise, s.features.noise, s.both.noise = factorNoise, cosineNoise, cosineNoise
	return s, nil
}

// begin starts a session.
func (s *shares) begin(in *Input, p fdskl.Params) {
	rows := jobRows(in.Contract)
	switch {
	case in.Contract.Job.Task != protocol.TaskPredict:
		s.layout = sealed.NewLayout(p, in.Contract.Job.Parties, rows)
	case in.Contract.Job.Requests > 0:
		s.layout = sealed.NewScoreLayout(p, in.Contract.Job.Parties, rows, 1)
	default:
		s.layout = sealed.NewScoreLayout(p, in.Contract.Job.Parties, rows, fdskl.ScoreRows)
	}
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
	case "resume-point", "request", "width", sealed.Held:
		if first {
			return f.told(rec)
		}
		return nil
	case sealed.Angles:
		if first {
			f.beginPadded(rec)
		}
		return f.seePadded(rec)
	case sealed.Factors, sealed.Features, kindLabels:
		return f.seeDirect(rec, first)
	}
	return f.test(rec)
}

// beginPadded finds out which angles the sum that begins is about.
func (f *follower) beginPadded(rec *transcript.Record) {
	f.angles = nil
	rows := f.about(rec, -1, -1)
	if rows == nil {
		return
	}
	list := make([]fdskl.Angle, 0, len(rows)*f.params.Features)
	for _, j := range rows {
		for i := range f.params.Features {
			list = append(list, fdskl.Angle{Row: j, Feature: i})
		}
	}
	f.angles = &fdskl.AngleSum{Angles: list, Root: f.shares.three[rss.LabelHolder], Excluded: -1}
	f.clock.start(rec.Time, list, f.active.place)
}

// about returns the rows of the message that begins, nil when that is not known.
func (f *follower) about(rec *transcript.Record, from, to int) []int {
	if f.broken != nil {
		return nil
	}
	rows, err := f.shares.layout.Rows(rec.Kind, from, to, int(rec.Size/uint64(rec.Encoding.WordSize())))
	if err != nil {
		f.lose(fmt.Errorf("record %d: %w", rec.Number, err))
		return nil
	}
	return rows
}

// seePadded takes in one chunk of a sum of padded angles: what a child sent, or the total.
func (f *follower) seePadded(rec *transcript.Record) error {
	payload, err := f.payload(rec)
	if err != nil {
		return err
	}
	return f.show(rec, payload)
}

// seeDirect takes in one chunk of a direct message; its words are looked at when it is whole.
func (f *follower) seeDirect(rec *transcript.Record, first bool) error {
	s := f.shares
	from, to := rec.Peer, f.party
	if rec.Type == transcript.TypeSent {
		from, to = to, from
	}
	if first && rec.Kind != kindLabels {
		s.rows = f.about(rec, from, to)
	}
	payload, err := f.payload(rec)
	if err != nil {
		s.rows = nil
		return err
	}
	stride := 1
	if rec.Kind != kindLabels && f.params.Features > 0 {
		stride = f.params.Features
	}
	if err := f.words.add(rec, payload, stride); err != nil {
		return err
	}
	if len(s.words) > mostMessage-len(payload) {
		return nil // no honest block is as long
	}
	if s.words = append(s.words, payload...); uint64(len(s.words)) == rec.Size {
		f.whole(rec, wordsOf(s.words, rec.Encoding))
	}
	return nil
}

// whole takes in a direct message.
func (f *follower) whole(rec *transcript.Record, words []uint64) {
	s, each := f.shares, f.params.Features
	switch {
	case rec.Kind == kindLabels && rec.Type == transcript.TypeReceived:
		for k, j := range s.labels.rows {
			if j < len(words) {
				s.labels.put(fdskl.Angle{Row: s.labels.rows[k]}, words[j], rec.Encoding)
			}
		}
	case len(words) != f.expected(rec.Kind): // its chunks do not agree
	case rec.Kind == sealed.Factors && rec.Type == transcript.TypeReceived:
		n := len(s.rows) * each
		f.eachWord(s.factors, func(at int) float64 {
			return turnOf(signed(words[at], rec.Encoding), signed(words[n+at], rec.Encoding))
		})
	case rec.Kind == sealed.Features:
		f.half(rec, words)
	}
}

// expected is how many words a direct message about the rows under way has; -1 when these are not known.
func (f *follower) expected(kind string) int {
	n := len(f.shares.rows) * f.params.Features
	switch {
	case n == 0:
		return -1
	case kind == sealed.Factors:
		return 2 * n
	}
	return n
}

// half takes in one of the two messages of features; the second of a block is also added to the first.
func (f *follower) half(rec *transcript.Record, words []uint64) {
	s := f.shares
	cosine := func(words []uint64) func(at int) float64 {
		return func(at int) float64 { return s.angleOf(words[at], rec.Encoding) }
	}
	if rec.Type == transcript.TypeReceived {
		f.eachWord(s.features, cosine(words))
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
		f.eachWord(s.both, cosine(words))
	}
}

// sights lists the views that attacks on angles look at, the most telling first.
func (f *follower) sights() []*sight {
	if f.shares == nil {
		return []*sight{f.active, f.parent}
	}
	return []*sight{f.active, f.parent, f.shares.factors}
}
