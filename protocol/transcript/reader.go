package transcript

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// blocksAtOnce is how many records a Reader reads with one call.
const blocksAtOnce = 256

// Reader reads a transcript and checks that it is an unbroken chain of well-formed records. It needs
// no key, the same memory for any length, and trusts nothing of what it reads.
type Reader struct {
	source io.Reader
	header Header
	buffer []byte // behind the hash of the block before at: blocks not yet returned, up to end
	at     int
	end    int
	number uint64 // of the next record
	time   int64  // of the record before
	kinds  kinds
	failed error
}

// NewReader reads and checks the header. A header cut short gives an error that wraps ErrCut.
func NewReader(source io.Reader) (*Reader, error) {
	r := &Reader{source: source, buffer: make([]byte, len(keys.Hash{})+blocksAtOnce*BlockSize), kinds: make(kinds)}
	r.at, r.end = len(keys.Hash{}), len(keys.Hash{})
	err := r.fill()
	start := string(r.buffer[r.at:r.end])
	switch {
	case err == io.EOF:
		return nil, errors.New("the file is empty, want a transcript")
	case err == ErrCut && (strings.HasPrefix(magic, start) || strings.HasPrefix(start, magic)):
		return nil, fmt.Errorf("its header is not whole: %w", ErrCut)
	case err == ErrCut:
		return nil, errors.New("it is not a transcript")
	case err != nil:
		return nil, err
	}
	if r.header, err = DecodeHeader((*[BlockSize]byte)(r.buffer[r.at:])); err != nil {
		return nil, err
	}
	r.at += BlockSize
	return r, nil
}

// Header returns whose transcript it is.
func (r *Reader) Header() Header { return r.header }

// Next reads the next record. It returns io.EOF at the end, ErrCut when the file ends inside a record or
// with zeros behind the last whole one, a *ChainError when the record is not well-formed, not the next, or
// does not have the hash that follows from those before it, and the source's error otherwise; then the
// record means nothing, and all later calls return the same.
func (r *Reader) Next(rec *Record) error {
	if r.failed == nil {
		r.failed = r.next(rec)
	}
	return r.failed
}

// next is Next without the memory of errors.
func (r *Reader) next(rec *Record) error {
	if r.end-r.at < BlockSize {
		if err := r.fill(); err != nil {
			return err
		}
	}
	block := (*[BlockSize]byte)(r.buffer[r.at:])
	if fault := r.check(block, rec); fault != "" {
		broken := &ChainError{Record: r.number, Reason: fault}
		if r.unwritten(block) {
			// Reads what stands behind a block that was not written. It returns ErrCut when that is nothing but
			// zeros, as a power cut can leave them where records were not yet on the disk, and otherwise what is
			// wrong with the block.
			rest, read := r.buffer[r.at+BlockSize:r.end], 0
			for zero(rest) && read <= maxZeros {
				n, err := r.source.Read(r.buffer)
				rest, read = r.buffer[:n], read+n
				switch {
				case err == io.EOF && zero(rest):
					return ErrCut
				case err != nil && err != io.EOF:
					return err
				}
			}
			return error(broken)
		}
		return broken
	}
	r.at += BlockSize
	r.number, r.time = r.number+1, rec.Time
	return nil
}

// check decodes a block and says what is wrong with it. The hash of the block before stands before it.
func (r *Reader) check(block *[BlockSize]byte, rec *Record) string {
	sum := sha256.Sum256(r.buffer[r.at-len(keys.Hash{}) : r.at+hashAt])
	if sum != [sha256.Size]byte(block[hashAt:]) {
		number := binary.BigEndian.Uint64(block[8:]) // that the block gives itself
		switch {
		case number > r.number:
			return fmt.Sprintf("the chain is broken: record %d stands here, so that one is missing or out of order", number)
		case number < r.number:
			return fmt.Sprintf("the chain is broken: record %d stands here, so that one is doubled or out of order", number)
		}
		return "the chain is broken: its hash does not follow from the record before it: it was changed, " +
			"or is of another transcript"
	}
	if err := rec.decode(block, r.kinds); err != nil {
		return err.Error()
	}
	if rec.Number != r.number {
		return fmt.Sprintf("its number is %d, want %d", rec.Number, r.number)
	}
	if rec.Time < r.time {
		return fmt.Sprintf("its time is %s before that of the record before it", time.Duration(r.time-rec.Time))
	}
	return ""
}

// maxZeros is the most zeros at the end of a transcript that are taken for what a power cut leaves, in bytes: a
// session syncs long before so many records.
const maxZeros = 256 << 20

// unwritten reports whether a block that does not follow is one of which the end, or all, never came to the disk. Disks
// write sectors, and file systems pages, whose bounds never are inside a hash: that is zero as a whole, and what stands
// before it has the record's number.
func (r *Reader) unwritten(block *[BlockSize]byte) bool {
	return zero(block[hashAt:]) && (zero(block[:hashAt]) || binary.BigEndian.Uint64(block[8:]) == r.number)
}

// fill reads more blocks behind those not yet returned. It returns io.EOF when there is nothing more and
// ErrCut when it is less than a block.
func (r *Reader) fill() error {
	rest := copy(r.buffer, r.buffer[r.at-len(keys.Hash{}):r.end])
	r.at, r.end = len(keys.Hash{}), rest
	n, err := io.ReadAtLeast(r.source, r.buffer[r.end:], BlockSize-(r.end-r.at))
	r.end += n
	if r.end-r.at > 0 && (err == io.EOF || err == io.ErrUnexpectedEOF) {
		return ErrCut
	}
	return err
}
