package transcript

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrCut says that a transcript ends inside a record, or with zeros where records were to be, as a crash
// leaves it. All whole records before the cut have been read.
var ErrCut = errors.New("the transcript is cut short: it ends inside a record")

// ChainError says where a transcript is not a chain of well-formed records.
type ChainError struct {
	Record uint64 // how many whole records stand before it
	Reason string
}

// Error implements error.
func (e *ChainError) Error() string { return fmt.Sprintf("record %d: %s", e.Record, e.Reason) }

// RecordError says which record of an unbroken chain cannot have come about by the protocol.
type RecordError struct {
	Record uint64
	Peer   int // the index that the record names: the party's own where no other party is concerned
	Reason string
}

// Error implements error.
func (e *RecordError) Error() string {
	return fmt.Sprintf("record %d, peer %d: %s", e.Record, e.Peer, e.Reason)
}

// named says of which file an error is, once.
func named(what, path string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", what, path, bare(err))
}

// bare leaves out the name and the system call that an error of package os repeats.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
