package sealed

import (
	"fmt"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/secagg/rss"
)

// recordVersion is the version of the files about openings.
const recordVersion = 1

// record is one party's words of an opening.
type record struct {
	number uint32
	origin uint32 // the session that computed them
	words  []uint64
}

// savedRecord is a record on the disk, or, without words, the mark that it may have left.
//
// Evolution: fields are added with new numbers and a zero value that keeps the old meaning; a changed
// meaning is a new version.
type savedRecord struct {
	Version int    `cbor:"1,keyasint"`
	Code    byte   `cbor:"2,keyasint"`
	Number  uint32 `cbor:"3,keyasint"`
	Origin  uint32 `cbor:"4,keyasint"`
	Words   []byte `cbor:"5,keyasint,omitempty"` // little-endian
}

// file returns where the words of an opening are kept.
func (s *series) file(number int) string {
	if s.slots > 0 {
		number %= s.slots
	}
	return fmt.Sprintf("%sopening-%s-%d", joint.FilePrefix, s.kind, number)
}

// mark returns where it is kept which opening has left last.
func (s *series) mark() string { return joint.FilePrefix + "left-" + s.kind }

// load reads what this party holds of all series.
func (o *openings) load() error {
	if o.role == rss.Outside {
		return nil
	}
	for _, s := range o.list {
		mark, err := o.read(s, s.mark())
		if err != nil {
			return err
		}
		s.own = held{}
		if mark != nil {
			s.own.left, s.own.origin = mark.number, mark.origin
		}
		if int(s.own.left) >= s.most {
			continue
		}
		next, err := o.find(s, int(s.own.left)+1)
		if err != nil {
			return err
		}
		if next != nil {
			s.own.next = next.origin
		}
	}
	return nil
}

// find returns the words of an opening, nil when they are not kept.
func (o *openings) find(s *series, number int) (*record, error) {
	r, err := o.read(s, s.file(number))
	if err != nil || r == nil || int(r.number) != number {
		return nil, err
	}
	return r, nil
}

// read reads a file about openings, nil when there is none.
func (o *openings) read(s *series, file string) (*record, error) {
	data, err := o.vault.Load(file)
	if err != nil || data == nil {
		return nil, err
	}
	var d savedRecord
	if err := checkpoint.Decode(data, &d, checkpoint.Limits{Bytes: maxState}); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if err := checkpoint.CheckVersion(d.Version, recordVersion); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	listed := d.Code == s.code && d.Number >= 1 && int64(d.Number) <= int64(s.most)
	if !listed || d.Origin < 1 || d.Origin > o.session || len(d.Words)%8 != 0 {
		return nil, fmt.Errorf("%s: opening %d of session %d is none of this job, which is in session %d; "+
			"it is damaged, or of another job", file, d.Number, d.Origin, o.session)
	}
	return &record{number: d.Number, origin: d.Origin, words: wordsOf(d.Words)}, nil
}

// leave marks an opening as leaving, before any of its words does.
func (o *openings) leave(s *series, r *record) error {
	if o.role == rss.Outside || r.number <= s.own.left {
		return nil
	}
	if err := o.write(s, s.mark(), r, nil); err != nil {
		return err
	}
	s.own = held{left: r.number, origin: r.origin}
	return nil
}

// write writes a file about an opening.
func (o *openings) write(s *series, file string, r *record, words []byte) error {
	saved := savedRecord{Version: recordVersion, Code: s.code, Number: r.number, Origin: r.origin, Words: words}
	data, err := checkpoint.Encode(&saved)
	if err != nil {
		return err
	}
	return o.vault.Save(file, data)
}
