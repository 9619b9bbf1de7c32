package audit

import (
	"io"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Input is what an audit reads.
type Input struct {
	Contract *protocol.Contract
	// Charter is the one the job was agreed under; nil when the auditor does not have it.
	Charter *keys.SignedCharter
	// MinContributors is the charter's smallest number of parties whose data enter a masked sum.
	MinContributors int
	Sources         []Source
	// Columns are the parties' own columns, by party, as far as the auditor has them: attacks that
	// aim at them are scored, and attacks by others need their names. Nil where unknown.
	Columns []*Columns
	Rows    int // most rows that an attack works on; 0 means 4,096
	Workers int // goroutines; 0 means all cores
}

// Source is one party's transcript.
type Source struct {
	Path string // for people
	Open func() (io.ReadCloser, error)
	// Payload returns a payload that was kept; nil when none were.
	Payload func(sum [32]byte) ([]byte, error)
}

// Columns are one party's rows as they enter the training, in the order of the rows' ids.
type Columns struct {
	Names  []string       // of the columns of Rows: dense ones first, then binary ones
	Rows   *kernel.Matrix // normalised
	Labels []float64      // at an active party: per row; else nil
}
