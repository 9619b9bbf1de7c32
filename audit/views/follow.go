// Package views attacks what a party of a job over columns saw: it follows the transcript, so that every word that was
// kept becomes an equation in the other parties' columns, and has package attack solve them.
package views

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
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/views/payload"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/he"
)

// mostRows is how many rows a job may have for its angles to be followed, over all active parties.
const mostRows = 1 << 26

// mostCells is how many values of a view are kept, for all that send them together.
const mostCells = 1 << 26

// kindWidth is the kind of the broadcasts of the kernel's width.
const kindWidth = "width"

// errNoSession is why nothing can be followed before a session has begun.
var errNoSession = errors.New("no session has begun")

// follower reads one transcript with its payloads and follows the job's operations as its party could,
// so that every recorded word is known to be the angle of a row and a frequency.
type follower struct {
	*payload.Reader
	params fdskl.Params
	layout *trace.Follower // of the session; nil before the first, and of jobs that cannot be followed
	sigma  float64

	operation uint64 // the one that is going on
	angles    *trace.About
	strange   error // why angles of this job cannot be followed at all
	broken    error // why those of this session cannot be followed any more
	blind     error // why angles of any session could not be followed

	active *partyView
	parent *partyView
	clock  *clock

	encrypted *encryptedAngles // nil in jobs without encrypted sums
	shares    *shares          // nil in jobs that are not sealed
}

// follow reads a transcript to its end, or to where it is cut off.
func follow(ctx context.Context, in *evidence.Input, s *evidence.Source, party int) (*follower, error) {
	rows := evidence.SampleRows(evidence.JobRows(in.Contract), in.Rows)
	f := &follower{
		Reader: payload.NewReader(in, s, party), clock: newClock(len(rows)),
		active: newView(party, ViewActive, rows), parent: newView(party, ViewParent, rows),
	}
	for _, s := range []*partyView{f.active, f.parent} {
		s.most = max(1, mostCells/max(1, len(rows)*len(in.Contract.Parties)))
	}
	if err := f.modes(rows); err != nil {
		return nil, err
	}
	f.broken = cmp.Or(f.strange, errNoSession)
	defer func() { f.layout.Close() }()
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
		asked := f.Asked
		err = f.take(&rec)
		if err == nil && rec.Kept && f.Asked == asked && f.Source.Payload != nil { // it must be there all the same
			_, err = f.Payload(&rec)
		}
		if err := f.Without(&rec, err); err != nil {
			return err
		}
	}
}

func (f *follower) take(rec *transcript.Record) error {
	if rec.Type == transcript.TypeSession {
		f.operation, f.angles = 0, nil
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
	if f.encrypted != nil && (rec.Class == contract.ClassHE || rec.Type == transcript.TypeOpened) {
		return f.takeEncrypted(rec)
	}
	first := rec.Operation != f.operation
	f.operation = rec.Operation
	switch rec.Kind {
	case "resume-point", "batch", "request", kindWidth:
		if first {
			return f.told(rec)
		}
	case "angles", "published-angles":
		if first {
			f.begin(rec)
		}
		// Takes in one chunk of a sum of angles: an opened total, or what a child sent.
		payload, err := f.Payload(rec)
		if err != nil {
			return err
		}
		return f.show(rec, payload)
	default:
		if f.encrypted == nil { // the parts of an encrypted sum have kinds of their own
			f.angles = nil
		}
		return f.test(rec)
	}
	return nil
}

func (f *follower) told(rec *transcript.Record) error {
	payload, err := f.Payload(rec)
	if err != nil {
		f.lose(fmt.Errorf("the broadcast %q of record %d, by which later angles are told apart, cannot be had",
			rec.Kind, rec.Number))
		return err
	}
	if rec.Kind == kindWidth && len(payload) == 8 {
		f.sigma = math.Float64frombits(binary.LittleEndian.Uint64(payload))
		return nil
	}
	if f.broken == nil {
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

// expect takes a sum of so many angles, -1 where nobody knows, for the job's next.
func (f *follower) expect(rec *transcript.Record, words int) {
	sum, err := f.layout.Next(rec.Kind, -1, -1, words)
	if err == nil && (rec.Encoding.WordSize() < 2 || rec.Encoding == contract.Ring48) {
		err = fmt.Errorf("angles as %s, want turns or real numbers", rec.Encoding)
	}
	if err != nil {
		f.lose(fmt.Errorf("record %d: %w", rec.Number, err))
		return
	}
	f.angles = &sum
	f.clock.start(rec.Time, sum.Angles, f.active.place)
}

// show takes in the words of a chunk of a sum of angles.
func (f *follower) show(rec *transcript.Record, payload []byte) error {
	if err := f.Words.Add(rec, payload, f.stride()); err != nil || f.angles == nil {
		return err
	}
	at := int(rec.Chunk) * contract.DefaultChunk / rec.Encoding.WordSize()
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
	if !evidence.Protected(rec.Class) {
		return nil
	}
	payload, err := f.Payload(rec)
	if err != nil {
		return err
	}
	return f.Words.Add(rec, payload, 1)
}

// stride returns how many words lie between the same angle of two rows, 1 where rows are not alike.
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

func (f *follower) everybody() []int {
	all := make([]int, len(f.In.Contract.Parties))
	for i := range all {
		all[i] = i
	}
	return all
}

// below lists the parties whose addends are in what a child sends in the sum that is going on.
func (f *follower) below(child int) ([]int, error) {
	o := contract.Operation{Collective: contract.CollectiveSum}
	if f.angles.Excluded >= 0 { // angles go along the first tree
		o.Tree, o.Excluded = 1, f.In.Contract.Parties[f.angles.Excluded].Name
	}
	plan, err := f.In.Contract.Plan(&o, f.angles.Root)
	if err != nil {
		return nil, err
	}
	return subtree(plan, child), nil
}

// subtree lists a party and all below it.
func subtree(p contract.Plan, i int) []int {
	set := []int{i}
	for _, child := range p.Children[i] {
		set = append(set, subtree(p, child)...)
	}
	slices.Sort(set)
	return set
}

// modes prepares for the job's parameters and for what protects its sums.
func (f *follower) modes(rows []int) (err error) {
	f.params, f.sigma, f.strange = f.In.Params()
	elsewhere := f.In.Contract.Job.Shards > 0 && f.In.Contract.Shard == nil // rows are in the shards' sessions
	if n := evidence.JobRows(f.In.Contract); f.strange == nil && !elsewhere && n > mostRows/len(f.params.Active) {
		f.strange = fmt.Errorf("attacks on angles work on at most %d rows, the contract has %d",
			mostRows/len(f.params.Active), n)
	}
	if f.encrypted, err = newEncryptedAngles(f.In.Contract); err != nil {
		return err
	}
	if f.shares, err = newShares(f.In, f.Party, rows); f.shares != nil {
		f.active.view = ViewPadded
		if n := evidence.JobRows(f.In.Contract); f.strange == nil && !elsewhere &&
			f.In.Contract.Job.Task == contract.TaskTrain && n > mostSharedRows {
			f.strange = fmt.Errorf("a sealed training takes at most %d rows, the contract has %d", mostSharedRows, n)
		}
	}
	return err
}

// lay starts to follow the angles of a session.
func (f *follower) lay() {
	f.layout.Close()
	f.layout, f.broken = nil, f.strange
	if f.strange != nil {
		return
	}
	o, err := f.In.Outline()
	if err != nil {
		f.lose(err)
		return
	}
	f.layout = o.Follow()
	if f.shares != nil {
		f.shares.begin(f.params)
	}
}

// Width reads from a transcript of a job's own session which width its parties agreed on for the kernel, 0 where the
// transcript or its payloads do not tell.
func Width(ctx context.Context, in *evidence.Input, s *evidence.Source) (float64, error) {
	again, err := s.Reread()
	if err != nil {
		return 0, err
	}
	defer again.Close()
	f := follower{Reader: payload.NewReader(in, s, 0)}
	var rec transcript.Record
	for f.sigma == 0 && again.Next(ctx, &rec) == nil {
		if rec.Type.Payload() && rec.Kind == kindWidth && rec.Bytes == 8 {
			if err := f.Without(&rec, f.told(&rec)); err != nil {
				return 0, err
			}
		}
	}
	return f.sigma, ctx.Err()
}

// angleKind is the kind of sums of angles.
const angleKind = "angles"

// encryptedAngles follows encrypted sums of angles. The ciphertexts tell nothing but how many numbers are in
// them: when angles are summed is known from these, and what they are from what opens. A long sum goes in
// several operations.
type encryptedAngles struct {
	residues int // ciphertexts for the same numbers
	from     int // the first angle of the operation under way
	left     int // angles of the sum that no operation has had yet
	size     int // angles of the operation under way
}

// newEncryptedAngles returns nothing for a contract without encrypted sums.
func newEncryptedAngles(c *contract.Contract) (*encryptedAngles, error) {
	if c.Job.Aggregation != contract.AggregateHE {
		return nil, nil
	}
	scheme, err := he.NewScheme()
	if err != nil {
		return nil, err
	}
	packing, err := scheme.NewPacking(secagg.Turns16, len(c.Parties), len(c.Parties))
	if err != nil {
		return nil, err
	}
	return &encryptedAngles{residues: packing.Residues()}, nil
}

func (s *encryptedAngles) again() *encryptedAngles {
	if s == nil {
		return nil
	}
	return &encryptedAngles{residues: s.residues}
}

// takeEncrypted takes in a frame of an encrypted sum, or what one opened to.
func (f *follower) takeEncrypted(rec *transcript.Record) error {
	if rec.Type == transcript.TypeOpened {
		if rec.Kind == angleKind {
			// Takes in a chunk of opened angles.
			payload, err := f.Payload(rec)
			if err != nil || f.angles == nil || f.broken != nil {
				return err
			}
			s, word := f.encrypted, rec.Encoding.WordSize()
			if rec.Size != uint64(s.size*word) {
				f.lose(fmt.Errorf("record %d: a total of %d bytes for %d angles", rec.Number, rec.Size, s.size))
				return nil
			}
			if at := int(rec.Chunk) * (contract.DefaultChunk / word); at < s.size {
				f.active.add(f.angles.Angles[s.from+at:s.from+s.size], ownTotal, f.everybody(), rec.Encoding, payload)
			}
			return nil
		}
		return nil
	}
	first := rec.Operation != f.operation
	f.operation = rec.Operation
	if first && rec.Kind == angleKind && f.broken == nil {
		f.beginEncrypted(rec)
	}
	return f.test(rec)
}

// beginEncrypted finds out which angles the ciphertexts that begin are about.
func (f *follower) beginEncrypted(rec *transcript.Record) {
	s := f.encrypted
	if s.left == 0 {
		f.angles = nil
		f.expect(rec, -1)
		if f.angles == nil {
			return
		}
		*s = encryptedAngles{residues: s.residues, left: len(f.angles.Angles)}
	}
	s.from += s.size
	groups := int(rec.Size) / (s.residues * he.CiphertextSize)
	s.size = min(s.left, groups*he.Degree)
	s.left -= s.size
	if want := (s.size + he.Degree - 1) / he.Degree * s.residues * he.CiphertextSize; rec.Size != uint64(want) ||
		want == 0 {
		f.angles = nil
		f.lose(fmt.Errorf("record %d: ciphertexts of %d bytes for %d angles, want %d", rec.Number, rec.Size, s.size, want))
	}
}
