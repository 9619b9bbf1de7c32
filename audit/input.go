package audit

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// Input is what an audit reads.
type Input struct {
	Contract *protocol.Contract
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
	// Model is any party's part of the model that a prediction scores with, which tells the features; nil
	// for a training, and where the auditor has none.
	Model *fdskl.Model
	// Columns are the parties' own columns, by party, as far as the auditor has them: attacks that
	// aim at them are scored, and attacks by others need their names. Nil where unknown.
	Columns []*Columns
	// Streams are the clients' own rows in a job over clients, by party, as far as the auditor has them; nil where unknown.
	Streams []*Stream
	Rows    int // most rows that an attack works on; 0 means 4,096, and less leaves the audit partial
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

// params returns the parameters of the job's features and the kernel's width, 0 when it was agreed in the
// session. The error says why angles of the job cannot be followed.
func (in *Input) params() (fdskl.Params, float64, error) {
	job := in.Contract.Job
	if job.Task != protocol.TaskPredict || job.Algorithm != "fdskl" {
		p, err := TrainingParams(in.Contract)
		return p, p.Sigma, err
	}
	switch m := in.Model; {
	case m == nil:
		return fdskl.Params{}, 0, errors.New("the angles of a prediction are told apart by a part of its model, and none was given")
	case m.Contract.String() != job.Model || !slices.Equal(m.Names, job.Parties):
		return fdskl.Params{}, 0, fmt.Errorf("the model part given is of contract %s, the prediction is with %.8s", m.Contract.Short(), job.Model)
	default:
		return m.Params, m.Sigma, nil
	}
}

// layout starts to follow the angles of a session.
func (in *Input) layout(p fdskl.Params) *fdskl.Layout {
	job, rows := in.Contract.Job, jobRows(in.Contract)
	switch {
	case job.Task != protocol.TaskPredict:
		return fdskl.NewLayout(p, job.Privacy, job.Parties, rows)
	case job.Requests > 0:
		return fdskl.NewScoreLayout(p, job.Privacy, job.Parties, rows, 1)
	}
	return fdskl.NewScoreLayout(p, job.Privacy, job.Parties, rows, fdskl.ScoreRows)
}
