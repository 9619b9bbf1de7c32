package jobs

import (
	"cmp"
	"context"
	"path/filepath"
	"time"

	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Task is one party's part of a job.
type Task interface {
	// Facts reads the party's data, checks all that can be checked alone, and returns what the party says of it.
	Facts() (contract.Facts, error)
	// Disclose lists what the job opens and what its parties do together, from all parties' facts.
	Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error)
	// Run is the party's part of a session, from the first message to the last. A report with an error says that the
	// part is made, and that the session's last words did not reach everybody.
	Run(ctx context.Context, s *Session) (*Report, error)
}

// Holder is a Task over rows that a ledger counts.
type Holder interface {
	// Holding reads the party's table, and returns its rows and about how many bits its own columns have of one.
	Holding() (ledger.Holding, error)
}

// Kind is how a node takes part in jobs of one shape: columns.Jobs, where the parties hold columns of the same rows,
// and clients.Jobs, where servers aggregate over clients' streams.
type Kind interface {
	// Complete fills in what the proposer's node knows and a job's text leaves open.
	Complete(job *contract.Job) error
	// Settle returns what this node's data say of what a job's text leaves open.
	Settle(job *contract.Job) (Settled, error)
	// TakeIn completes a job by what the named party's data said of it, and returns that in words for the proposer, empty
	// where it said nothing, a line for each matter. What the party has no say in is an error.
	TakeIn(job *contract.Job, party string, s Settled) (string, error)
	// CompleteFor fills in what the proposer's node knows once all parties have said what they bring, and returns it in
	// words for the proposer, empty where there is nothing to say.
	CompleteFor(job *contract.Job, all []contract.Facts) (string, error)
	// Task returns this node's part of a job.
	Task(job *contract.Job) (Task, error)
	// Fit checks that what the parties bring belongs together.
	Fit(job *contract.Job, all []contract.Facts) error
	// Stands checks that a job may go on under the charter in force; the job's own rules are checked before.
	Stands(job *contract.Job) error
	// DataSum returns the digest of the table that a party consents to use, zero where there is none.
	DataSum(job *contract.Job) (keys.Hash, error)
	// Label returns the label column that this node would read for a job, empty where it would read none.
	Label(job *contract.Job) string
	// Known returns what this node knows, beside a job's contract, of how long it takes.
	Known(job *contract.Job) forecast.Known
}

// Settled is what a party's data say of what a job's text leaves open; the zero value is nothing.
type Settled struct {
	Target  string `cbor:"1,keyasint,omitempty"` // at a label holder: classes or numbers, as joint.Goal has it
	Classes int    `cbor:"2,keyasint,omitempty"` // of classes: how many
	// Bare is that a party of an alignment has no rows, and can count for the others.
	Bare bool `cbor:"3,keyasint,omitempty"`
	// Said is what the proposer's own data say to the proposer alone. It is never sent.
	Said string `cbor:"-"`
}

// Member is what tasks know of the member whose node runs them.
type Member struct {
	ID      keys.ID
	Name    func() string              // in the charter
	Charter func() *keys.SignedCharter // in force
	Tables  *Tables
	Workers int    // goroutines for arithmetic; 0 means all cores
	Dir     string // the node's own folder
	Parts   string // where parts of rows lie for workers of shards; empty: in Dir
	// Folder returns the folder of one of the node's jobs.
	Folder func(h keys.Hash) (*vault.Vault, bool)
	// Finished lists the node's jobs of that task that are done and that have that name, or a contract whose hash begins
	// so, all where which is empty, the newest first.
	Finished func(task, which string) []Finished
	Now      func() time.Time
	// Secret is what only this node's key gives: the same for the same data.
	Secret func(domain string, data []byte) keys.Hash
	// RowKey is the secret under which this node's ledger hashes ids of rows.
	RowKey func() keys.Hash
	// Signed compares a file of a job that is done with what this node signed for.
	Signed func(h keys.Hash, file string) error
}

// PartsFolder is where parts of rows lie for workers of shards.
func (m *Member) PartsFolder() string { return cmp.Or(m.Parts, filepath.Join(m.Dir, "parts")) }

// Finished is a job that is done.
type Finished struct {
	Contract *contract.Contract
	Ended    time.Time
}

// Names inside a job's folder that tasks and the daemon share.
const (
	ScoresFile = "scores.csv" // of a prediction, at the party that the scores opened to
	ModelFile  = "model.hanse"
	// AlignmentFile is what an alignment ends with.
	AlignmentFile = "alignment.hanse"
)

// PartFile names what a job over columns ends with.
func PartFile(job *contract.Job) string {
	if job.Task == contract.TaskAlign {
		return AlignmentFile
	}
	return ModelFile
}
