package audit

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// mostRows is how many rows a job may have for its angles to be followed, over all active parties.
const mostRows = 1 << 26

// mostCells is how many values of a view are kept, for all that send them together.
const mostCells = 1 << 26

// follower reads one transcript with its payloads and follows the job's operations as its party could,
// so that every recorded word is known to be the angle of a row and a feature.
type follower struct {
	in     *Input
	source *Source
	party  int
	params fdskl.Params
	layout *fdskl.Layout
	sigma  float64

	operation uint64 // the one that is going on
	angles    *fdskl.AngleSum
	strange   error // why angles of this job cannot be followed at all
	broken    error // why those of this session cannot be followed any more
	blind     error // why angles of any session could not be followed
	kept      int   // payloads that were there
	missed    int   // payloads that were not kept
	lost      int   // payloads that were kept and cannot be had
	firstLost error
	asked     uint64 // payloads that were asked for
	compared  bool   // the columns given were compared with what was seen
	unfit     string // why they are not those that were summed

	active *sight
	parent *sight
	words  *wordTests
	clock  *clock

	encrypted *sealedAngles // nil in jobs without encrypted sums
	shares    *shares       // nil in jobs that are not sealed
}

// follow reads a transcript to its end, or to where it is cut off.
func follow(ctx context.Context, in *Input, s *Source, party int) (*follower, error) {
	rows := sampleRows(jobRows(in.Contract), in.Rows)
	f := &follower{
		in: in, source: s, party: party, words: newWordTests(), clock: newClock(len(rows)),
		active: newSight(party, viewActive, rows), parent: newSight(party, viewParent, rows),
	}
	for _, s := range []*sight{f.active, f.parent} {
		s.most = max(1, mostCells/max(1, len(rows)*len(in.Contract.Parties)))
	}
	if err := f.modes(rows); err != nil {
		return nil, err
	}
	file, err := s.Open()
	if err != nil {
		return nil, err
	}
	defer file.Close()
	r, err := transcript.NewReader(file)
	if err != nil {
		return nil, err
	}
	return f, f.read(ctx, r)
}

// read goes through all records.
func (f *follower) read(ctx context.Context, r *transcript.Reader) error {
	var rec transcript.Record
	for n := 0; ; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		err := r.Next(&rec)
		if err == io.EOF || errors.Is(err, transcript.ErrCut) {
			return nil
		}
		if err != nil {
			return err
		}
		asked := f.asked
		err = f.take(&rec)
		if err == nil && rec.Kept && f.asked == asked && f.source.Payload != nil { // it must be there all the same
			_, err = f.payload(&rec)
		}
		if err := f.without(&rec, err); err != nil {
			return err
		}
	}
}

// take takes in one record.
func (f *follower) take(rec *transcript.Record) error {
	if rec.Type == transcript.TypeSession {
		f.operation, f.angles, f.broken = 0, nil, f.strange
		f.encrypted = f.encrypted.again()
		f.clock.stop()
		f.lay()
		return nil
	}
	if !rec.Type.Payload() {
		return nil
	}
	if f.shares != nil {
		return f.takeShares(rec)
	}
	if f.encrypted != nil && (rec.Class == protocol.ClassHE || rec.Type == transcript.TypeOpened) {
		return f.takeSealed(rec)
	}
	first := rec.Operation != f.operation
	f.operation = rec.Operation
	switch rec.Kind {
	case "resume-point", "batch", "request", "width":
		if first {
			return f.told(rec)
		}
	case "angles", "published-angles":
		if first {
			f.begin(rec)
		}
		return f.see(rec)
	default:
		if f.encrypted == nil { // the parts of an encrypted sum have kinds of their own
			f.angles = nil
		}
		return f.test(rec)
	}
	return nil
}

// told takes in a broadcast.
func (f *follower) told(rec *transcript.Record) error {
	payload, err := f.payload(rec)
	if err != nil {
		f.lose(fmt.Errorf("the broadcast %q of record %d, by which later angles are told apart, cannot be had", rec.Kind, rec.Number))
		return err
	}
	if rec.Kind == "width" && len(payload) == 8 {
		f.sigma = math.Float64frombits(binary.LittleEndian.Uint64(payload))
		return nil
	}
	switch {
	case f.broken != nil:
	case f.shares != nil:
		f.lose(f.shares.layout.Broadcast(rec.Kind, payload))
	default:
		f.lose(f.layout.Broadcast(rec.Kind, payload))
	}
	return nil
}

// lose notes why angles of this session cannot be followed any more, if there is a reason.
func (f *follower) lose(err error) {
	f.broken = cmp.Or(f.broken, err)
	f.blind = cmp.Or(f.blind, err)
}

// begin finds out which angles the sum that begins is about.
func (f *follower) begin(rec *transcript.Record) {
	f.angles = nil
	if f.broken == nil {
		f.expect(rec, int(rec.Size/uint64(rec.Encoding.WordSize())))
	}
}

// expect takes a sum of so many angles for the job's next.
func (f *follower) expect(rec *transcript.Record, words int) {
	sum, err := f.layout.Angles(words)
	if err == nil && (rec.Encoding.WordSize() < 2 || rec.Encoding == protocol.Ring48) {
		err = fmt.Errorf("angles as %s, want turns or real numbers", rec.Encoding)
	}
	strange := func(a fdskl.Angle) bool { return a.Feature >= f.params.Features }
	if err == nil && slices.ContainsFunc(sum.Angles, strange) {
		err = fmt.Errorf("angles of more than the job's %d features", f.params.Features)
	}
	if err != nil {
		f.lose(fmt.Errorf("record %d: %w", rec.Number, err))
		return
	}
	f.angles = &sum
	f.clock.start(rec.Time, sum.Angles, f.active.place)
}

// see takes in one chunk of a sum of angles: an opened total, or what a child sent.
func (f *follower) see(rec *transcript.Record) error {
	payload, err := f.payload(rec)
	if err != nil {
		return err
	}
	return f.show(rec, payload)
}

// show takes in the words of a chunk of a sum of angles.
func (f *follower) show(rec *transcript.Record, payload []byte) error {
	if err := f.words.add(rec, payload, f.stride()); err != nil || f.angles == nil {
		return err
	}
	at := int(rec.Chunk) * protocol.DefaultChunk / rec.Encoding.WordSize()
	if at >= len(f.angles.Angles) {
		return nil
	}
	part := f.angles.Angles[at:]
	switch rec.Type {
	case transcript.TypeOpened:
		f.active.add(part, ownTotal, f.everybody(), rec.Encoding, payload)
	case transcript.TypeReceived:
		from, err := f.below(rec.Peer)
		if err != nil {
			return err
		}
		f.parent.add(part, rec.Peer, from, rec.Encoding, payload)
	}
	return nil
}

// test passes masked words and ciphertexts on to the tests of words.
func (f *follower) test(rec *transcript.Record) error {
	if !isProtected(rec.Class) {
		return nil
	}
	payload, err := f.payload(rec)
	if err != nil {
		return err
	}
	return f.words.add(rec, payload, 1)
}

// stride returns how many words lie between the same feature of two rows, 1 where rows are not alike.
func (f *follower) stride() int {
	if f.angles == nil || len(f.angles.Angles) < 2 || f.params.Schedule != fdskl.Fixed {
		return 1
	}
	list := f.angles.Angles
	n := 1
	for n < len(list) && list[n].Row == list[0].Row {
		n++
	}
	return n
}

// everybody lists all parties.
func (f *follower) everybody() []int {
	all := make([]int, len(f.in.Contract.Parties))
	for i := range all {
		all[i] = i
	}
	return all
}

// below lists the parties whose addends are in what a child sends in the sum that is going on.
func (f *follower) below(child int) ([]int, error) {
	o := protocol.Operation{Collective: protocol.CollectiveSum}
	if f.angles.Excluded >= 0 { // angles go along the first tree
		o.Tree, o.Excluded = 1, f.in.Contract.Parties[f.angles.Excluded].Name
	}
	plan, err := f.in.Contract.Plan(&o, f.angles.Root)
	if err != nil {
		return nil, err
	}
	return subtree(plan, child), nil
}

// subtree lists a party and all below it.
func subtree(p protocol.Plan, i int) []int {
	set := []int{i}
	for _, child := range p.Children[i] {
		set = append(set, subtree(p, child)...)
	}
	slices.Sort(set)
	return set
}
