// Package evidence is what an audit reads: the contract, the transcripts, the tables and streams that attacks are
// scored against, and what follows from the contract on how to read them.
package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/registry"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Input is what an audit reads.
type Input struct {
	Contract   *contract.Contract
	Algorithms registry.List // that are known
	// Charter is the one the job was agreed under; nil when the auditor does not have it.
	Charter *keys.SignedCharter
	// NoCharter says why there is none, for the report; empty where none was looked for.
	NoCharter string
	// Auditor is the key of the member that audits: the report has the names of that party's columns, and numbers for
	// those of all others. Zero for an outsider.
	Auditor keys.ID
	// MinContributors is the charter's smallest number of parties whose data enter a masked sum.
	MinContributors int
	Sources         []Source
	// Others are contracts of other jobs that the auditor has a transcript of: what they tell of the same rows adds up.
	Others []*contract.Contract
	// Shards are the sessions of the job's shards, as far as the auditor has them; nil where it has no folder of any
	// party with them.
	Shards *Shards
	// Job is the job's contract where Contract is that of one of its shards, and Sigma the kernel's width where the job's
	// parties agreed on it in the job's session. Else nil and 0.
	Job   *contract.Contract
	Sigma float64
	// Model is any party's part of the model that a prediction scores with, which tells the features; nil
	// for a training, and where the auditor has none.
	Model joint.Part
	// Columns are the parties' own columns, by party, as far as the auditor has them: attacks that
	// aim at them are scored, and attacks by others need their names. Nil where unknown.
	Columns []*Columns
	// Streams are the clients' own rows in a job over clients, by party, as far as the auditor has them; nil where
	// unknown.
	Streams []*Stream
	// IDs are what the parties' rows are known by in an alignment, by party, as far as the auditor has them; nil where
	// unknown.
	IDs []*IDs
	// Approvals are those in the records of consent that the auditor has, of parties whose policy wanted approvals.
	Approvals []Approvals
	Rows      int // most rows that an attack works on; 0 means 4,096, and less leaves the audit partial
	Workers   int // goroutines; 0 means all cores
	// Told hears what the audit is at: a step, and what of it. Several goroutines may call it at once. Nil where nobody
	// listens.
	Told func(step, detail string)
}

// Begin says that the audit begins a step.
func (in *Input) Begin(step, detail string) {
	if in.Told != nil {
		in.Told(step, detail)
	}
}

// Approvals is what a party's own record of its consent has of persons' approvals.
type Approvals struct {
	Party int
	By    []string // who approved, whose signatures hold, in words
	Fault string   // why the record is no set of signatures of different persons on this contract; empty where it is
	Bound bool     // the party's transcript was begun under that consent
}

// Source is one party's transcript.
type Source struct {
	Path string // for people
	Of   string // the party in whose folder the transcript of a shard's session lies; else empty
	Open func() (io.ReadCloser, error)
	// Payload returns a payload that was kept; nil when none were.
	Payload func(sum [32]byte) ([]byte, error)
}

// Columns are one party's rows as they enter the training, in the order of the rows' ids.
type Columns struct {
	Names  []string       // of the columns of Rows: dense ones first, then binary ones
	Rows   *kernel.Matrix // normalised
	Labels []float64      // at an active party: per row; else nil
	// Table is the SHA-256 of the file that they, and the labels, were read from.
	Table keys.Hash
	// Confirmed says that the party's own record of its consent to the job names that file. Columns of which nobody
	// confirmed that they are the job's leave the audit partial: attacks that aim at others find nothing.
	Confirmed bool
}

// NewColumns returns rows with the names of their columns, without labels, of a table that nobody has confirmed.
func NewColumns(rows *kernel.Matrix) *Columns {
	return &Columns{Names: slices.Concat(rows.Dense, rows.Binary), Rows: rows}
}

// Outline is that of the session that the input is of. The error says why nobody knows it.
func (in *Input) Outline() (joint.Outline, error) {
	var shard *contract.Shard
	if in.Contract.Shard != nil {
		shard = &in.Contract.Shard.Shard
	}
	return in.outline(shard)
}

// outline is that of the job's session, or of one of its shards.
func (in *Input) outline(shard *contract.Shard) (joint.Outline, error) {
	c := in.whole()
	if job := c.Job; job.Task == contract.TaskPredict && in.Model != nil {
		if m := in.Model.Model(); m.Contract.String() != job.Model || !slices.Equal(m.Names, job.Parties) {
			return nil, fmt.Errorf("the model part given is of contract %s, the prediction is with %.8s", m.Contract.Short(),
				job.Model)
		}
	}
	return in.Algorithms.Outline(c.Job, in.Model, c.Parties, shard)
}

// Params returns the parameters of the job's features and the kernel's width, 0 when it was agreed in the
// session. The error says why angles of the job cannot be followed.
func (in *Input) Params() (fdskl.Params, float64, error) {
	job := in.Contract.Job
	switch {
	case !in.OverColumns():
		return fdskl.Params{}, 0, fmt.Errorf("attacks on angles know trainings by fdskl, this is a %s job of %s", job.Task,
			job.Algorithm)
	case job.Task == contract.TaskPredict && in.Model == nil:
		return fdskl.Params{}, 0, errors.New("the angles of a prediction are told apart by a part of its " +
			"model, and none was given")
	}
	o, err := in.Outline()
	if err != nil {
		return fdskl.Params{}, 0, err
	}
	p, ok := fdskl.ParamsIn(o)
	if !ok {
		return p, 0, fmt.Errorf("attacks on angles know trainings by fdskl, this is a %s job of %s", job.Task, job.Algorithm)
	}
	sigma := cmp.Or(p.Sigma, in.Sigma)
	if job.Task == contract.TaskPredict {
		sigma = in.Model.Model().Sigma
	}
	return p, sigma, nil
}

// Stream is one client's rows, in the order and the units in which it learns them.
type Stream struct {
	Inputs [][]float64
	Labels []float64
	// Table is the SHA-256 of the file that they were read from.
	Table keys.Hash
	// Confirmed says that the party's own record of its consent to the job names that file.
	Confirmed bool
}

// IDs are what the rows of one party's table are known by in an alignment.
type IDs struct {
	Lists   [][][32]byte // by pass and row; zero where a row has none
	Guesses [][][32]byte // by pass: ids of rows that the table does not have, which are near its own
	// Commitment is the party's commitment to the lists, made once more with its key; empty without the key.
	Commitment string
	// Table is the SHA-256 of the file that they were made of.
	Table keys.Hash
	// Confirmed says that the party's own record of its consent to the job names that file.
	Confirmed bool
}

// CheckStreams wants rows of one width with labels, of clients alone.
func CheckStreams(in *Input) error {
	if in.Streams == nil {
		return nil
	}
	if len(in.Streams) != len(in.Contract.Parties) {
		return fmt.Errorf("audit: streams of %d parties, the contract has %d", len(in.Streams), len(in.Contract.Parties))
	}
	for i, s := range in.Streams {
		if s == nil {
			continue
		}
		p := &in.Contract.Parties[i]
		if len(s.Inputs) != len(s.Labels) || len(s.Inputs) == 0 {
			return fmt.Errorf("audit: stream of %s: %d rows and %d labels, want as many, one or more", p.Name, len(s.Inputs),
				len(s.Labels))
		}
		for j, x := range s.Inputs {
			if len(x) != p.Columns {
				return fmt.Errorf("audit: stream of %s: row %d has %d inputs, the contract says %d", p.Name, j+1, len(x), p.Columns)
			}
			for _, v := range append(slices.Clone(x), s.Labels[j]) {
				if math.IsNaN(v) || math.IsInf(v, 0) {
					return fmt.Errorf("audit: stream of %s: row %d has %v in it, want finite numbers", p.Name, j+1, v)
				}
			}
		}
	}
	return nil
}

// CheckColumns wants columns that can be those of the contract's parties.
func CheckColumns(in *Input) error {
	if len(in.Columns) != len(in.Contract.Parties) {
		return fmt.Errorf("audit: columns of %d parties, the contract has %d", len(in.Columns), len(in.Contract.Parties))
	}
	for i, c := range in.Columns {
		if c == nil {
			continue
		}
		p := &in.Contract.Parties[i]
		if err := c.check(p.Rows); err != nil {
			return fmt.Errorf("audit: columns of %s: %w", p.Name, err)
		}
	}
	return nil
}

// check wants so many rows, a name for each column, and finite values.
func (c *Columns) check(rows int) error {
	if c.Rows == nil {
		return errors.New("there are no rows")
	}
	if c.Rows.Rows != rows {
		return fmt.Errorf("%d rows, the contract has %d: this is not the table that was trained on", c.Rows.Rows, rows)
	}
	if err := c.Rows.Validate(); err != nil {
		return err
	}
	if len(c.Names) != c.Rows.Columns() {
		return fmt.Errorf("%d names for %d columns", len(c.Names), c.Rows.Columns())
	}
	if c.Labels != nil && len(c.Labels) != rows {
		return fmt.Errorf("%d labels for %d rows", len(c.Labels), rows)
	}
	if j := slices.IndexFunc(c.Labels, func(v float64) bool { return math.IsInf(v, 0) }); j >= 0 {
		return fmt.Errorf("the label of row %d is %v, want a finite number, or NaN for none", j+1, c.Labels[j])
	}
	return nil
}
