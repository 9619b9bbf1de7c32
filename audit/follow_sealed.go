package audit

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/he"
)

// angleKind is the kind of sums of angles.
const angleKind = "angles"

// sealedAngles follows encrypted sums of angles. The ciphertexts tell nothing but how many numbers are in
// them: when angles are summed is known from these, and what they are from what opens. A long sum goes in
// several operations.
type sealedAngles struct {
	residues int // ciphertexts for the same numbers
	from     int // the first angle of the operation under way
	left     int // angles of the sum that no operation has had yet
	size     int // angles of the operation under way
}

// newSealedAngles returns nothing for a contract without encrypted sums.
func newSealedAngles(c *protocol.Contract) (*sealedAngles, error) {
	if c.Job.Aggregation != protocol.AggregateHE {
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
	return &sealedAngles{residues: packing.Residues()}, nil
}

// again starts a session.
func (s *sealedAngles) again() *sealedAngles {
	if s == nil {
		return nil
	}
	return &sealedAngles{residues: s.residues}
}

// takeSealed takes in a frame of an encrypted sum, or what one opened to.
func (f *follower) takeSealed(rec *transcript.Record) error {
	if rec.Type == transcript.TypeOpened {
		if rec.Kind == angleKind {
			return f.seeSealed(rec)
		}
		return nil
	}
	first := rec.Operation != f.operation
	f.operation = rec.Operation
	if first && rec.Kind == angleKind && f.broken == nil {
		f.beginSealed(rec)
	}
	return f.test(rec)
}

// beginSealed finds out which angles the ciphertexts that begin are about.
func (f *follower) beginSealed(rec *transcript.Record) {
	s := f.encrypted
	if s.left == 0 {
		f.angles = nil
		next, _ := f.layout.Angles(0) // the error is that none are asked for; the sum is the next one
		f.expect(rec, len(next.Angles))
		if f.angles == nil {
			return
		}
		*s = sealedAngles{residues: s.residues, left: len(f.angles.Angles)}
	}
	s.from += s.size
	groups := int(rec.Size) / (s.residues * he.CiphertextSize)
	s.size = min(s.left, groups*he.Degree)
	s.left -= s.size
	if want := (s.size + he.Degree - 1) / he.Degree * s.residues * he.CiphertextSize; rec.Size != uint64(want) || want == 0 {
		f.angles = nil
		f.lose(fmt.Errorf("record %d: ciphertexts of %d bytes for %d angles, want %d", rec.Number, rec.Size, s.size, want))
	}
}

// seeSealed takes in a chunk of opened angles.
func (f *follower) seeSealed(rec *transcript.Record) error {
	payload, err := f.payload(rec)
	if err != nil || f.angles == nil || f.broken != nil {
		return err
	}
	s, word := f.encrypted, rec.Encoding.WordSize()
	if rec.Size != uint64(s.size*word) {
		f.lose(fmt.Errorf("record %d: a total of %d bytes for %d angles", rec.Number, rec.Size, s.size))
		return nil
	}
	if at := int(rec.Chunk) * (protocol.DefaultChunk / word); at < s.size {
		f.active.add(f.angles.Angles[s.from+at:s.from+s.size], ownTotal, f.everybody(), rec.Encoding, payload)
	}
	return nil
}
