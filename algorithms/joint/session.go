package joint

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Disclosure is what a job opens to whom and what its parties do together, from public numbers
// alone.
type Disclosure struct {
	Openings   []contract.Opening
	Operations []contract.Operation
	Notes      trace.Notes
}

// Session is what a party's node offers its part of one session of a job.
type Session struct {
	Contract *contract.Contract
	Self     int            // the party's place in it
	Network  Network        // of a masked or published job, else nil
	Sealed   SealedNetwork  // of a sealed job, else nil
	Workers  int            // goroutines for arithmetic; 0 means all cores
	Report   func(Progress) // hears how far the party is; may be nil

	// What follows is zero at a worker, in the session of a shard.

	Owner  keys.ID // the party's key
	Number uint32  // which execution of the contract this is
	Vault  Vault
	Opened func(kind string, count int64) // hears what the party has learned
	// Scratch makes a file of about so many bytes, or says why it does not fit. It is called once at most, in sealed jobs.
	Scratch func(bytes int64) (Scratch, error)
	// Shards has workers do something with the rows of each shard; nil: the job has no shards.
	Shards func(ctx context.Context, w ShardWork) error
}

// Progress tells how far a party is.
type Progress struct {
	Step   string
	Done   int
	Total  int
	Metric float64 // objective or running loss; NaN when there is none
}

// Table is what a party brings to a training: its rows in the order of their ids.
type Table struct {
	Columns    []string
	Normaliser *kernel.Normaliser
	Rows       *kernel.Matrix
	Labels     *Labels  // nil without the label
	Reading    *Reading // nil: as any table is read
	Turned     bool     // see Model
}

// Scoring is what is asked of a prediction's session.
type Scoring struct {
	Receiver int  // the party that the scores open to
	Openings int  // how many there are in the contract, over all sessions
	Singly   bool // the receiver asks for one at a time, and for no older one than the last

	// Asked tells which of an opening's rows are asked for, the same in all sessions and at all parties; nil, itself or
	// what it returns: all are. Record keeps that these are scored, on this party's disk, and refuses rows that were
	// scored as often as they may be: it is called before any word of an opening leaves this party. Both are of sealed
	// jobs, else nil.
	Asked  func(number int) []bool
	Record func(number int) error

	// Rows and IDs are this party's own of all rows, for a job in shards; else nil, and where it has none.
	Rows *kernel.Matrix
	IDs  []string
}

// ScoreRows is how many rows are scored at a time in a prediction of a whole table: several blocks of a sealed job with
// many features, and one with few, of which a block has at most so many rows.
const ScoreRows = 4080

// Cut cuts rows into n shards of whole blocks of so many rows, as equal as they can be. The last block may be smaller.
func Cut(rows, block, n int) ([]contract.Shard, error) {
	blocks := (rows + block - 1) / block
	if n < 1 || n > blocks {
		return nil, fmt.Errorf("%d shards of %d rows, want 1 to %d: a shard has a block of %d rows at least", n, rows, blocks,
			block)
	}
	list := make([]contract.Shard, n)
	for i := range list {
		lo, hi := i*blocks/n*block, min((i+1)*blocks/n*block, rows)
		list[i] = contract.Shard{Index: i, Of: n, First: lo, Rows: hi - lo}
	}
	return list, nil
}

// ShardWork is what workers of all parties do with the rows of each shard, in a session of the shard's own.
type ShardWork struct {
	Rows  *kernel.Matrix // this party's, of the job; nil where it has none
	Begun []byte         // what the results depend on beside the rows
	// Task is what the worker of a shard is told beside contracts and rows.
	Task func(s contract.Shard) ([]byte, error)
	Size func(s contract.Shard) int64 // of a shard's result, in bytes
	// Check refuses what is no result of a shard. Take takes in the results, in the order of the shards.
	Check, Take func(s contract.Shard, result []byte) error
}

// Work is what a worker has of its shard, which is in the contract of its session.
type Work struct {
	Task    []byte         // see ShardWork
	Rows    *kernel.Matrix // the shard's of this party; nil where it has none
	JobRows int            // of the job
}

// Matrices returns the rows as a list, empty where there are none.
func (w Work) Matrices() []*kernel.Matrix {
	if w.Rows == nil {
		return nil
	}
	return []*kernel.Matrix{w.Rows}
}
