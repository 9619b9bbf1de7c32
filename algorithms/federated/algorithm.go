package federated

import (
	"context"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Algorithm is all that nodes and auditors know of one algorithm over clients' streams. Package registry lists them.
type Algorithm struct {
	Name string // as jobs have it
	// Read reads a job's parameters. It refuses a job whose totals would tell of fewer clients than least; 0: a job that
	// its parties have agreed on.
	Read func(job *contract.Job, least int) (Job, error)
	// Lens makes an auditor's lens of a job for the server at a place of the contract; nil: attacks on clients' vectors
	// are reported as not tried.
	Lens func(c *contract.Contract, server int) (Lens, error)
	// Complete fills in what only the server's node knows; nil: nothing.
	Complete func(job *contract.Job, table Folder) error
	// Warnings says what is doubtful by public numbers alone; nil: nothing.
	Warnings func(job *contract.Job) []string
	// Summed returns how many clients have a part in the totals that a server learns, at most or about, and a sentence on
	// what of a single one is in them all the same, with a blank before it; empty: nothing. nil: a total may be of one.
	Summed func(job *contract.Job, server string) (clients float64, beside string)
	// Given reports whether a job starts from models that are one party's alone, so that it cannot be rehearsed; nil: none
	// does.
	Given    func(job *contract.Job) bool
	Private  string // what of a client's model is the client's alone, with a verb
	Uploaded bool   // clients upload numbers of their models: the server of a published job has seen them
	Picks    bool   // clients are chosen, or choose, in each round
	Alone    bool   // contracts say that a part of a total may be one client's
	// Asked and Answered are the kinds of the question that servers ask each of their clients, and of its answer; empty:
	// none.
	Asked, Answered string
	// Messages are the kinds of openings that contracts count by messages, and not by the numbers in them.
	Messages []string
	// Beside says in a report what goes to a server by itself beside totals; empty: nothing.
	Beside string
}

// Job is a job as its algorithm reads it.
type Job interface {
	// Stream names the columns of a client's stream: the label, and the inputs; nil: all others.
	Stream() (label string, inputs []string)
	// Brings returns how many columns a server states, and refuses a table that is not as the job says.
	Brings(table Folder) (columns int, err error)
	// Disclose tells what the job opens to whom and what its parties send. all are the parties, in the job's order.
	Disclose(all []contract.Facts) (Disclosure, error)
	// Serve is a server's part of a session.
	Serve(ctx context.Context, s *Session) error
	// RunClient is a client's part of a session.
	RunClient(ctx context.Context, s *Session) error
	// Model reads what the party at a place of the contract has kept as ModelSlot.
	Model(c *contract.Contract, self int, data []byte) (Model, error)
}

// Session is what a party's node offers its part of one session of a job.
type Session struct {
	Contract *contract.Contract
	Self     int // the party's place in it
	Vault    Vault
	Report   func(Progress) // hears of every round
	Warn     func(string)   // hears sentences for people
	Server   ServerNetwork  // nil at a client
	Least    int            // at a server: the fewest clients in a sum that opens
	Table    Folder         // at a server
	Client   ClientNetwork  // nil at a server
	// Rows opens the client's stream, until the session ends.
	Rows func(label string, inputs []string) (Stream, error)
	// Cache returns what keeps what can be had again.
	Cache func() (Cache, error)
	// Earlier returns the state that this party has kept as a client of an earlier job; nil: none.
	Earlier func(contract keys.Hash) ([]byte, error)
}

// Folder returns the path of a job's table at a server, a folder of files; of says of what files, for errors.
type Folder func(job *contract.Job, of string) (path string, err error)

// ServerNetwork is all of a server's views of the federation.
type ServerNetwork interface {
	Server
	Inquirer
	Neighbourhood
	// Mixing brings about the sums of servers' vectors that a Disclosure lists, until the session ends.
	Mixing(ctx context.Context, all []Mixed) (Mixing, error)
}

// ClientNetwork is all of a client's views of its server.
type ClientNetwork interface {
	Client
	Respondent
}

// Stream is a client's stream and what is known of it.
type Stream interface {
	Rows
	// Columns names the inputs in the order that rows have.
	Columns() []string
	// Ahead returns the inputs of the first n rows, fewer where they are not there yet.
	Ahead(ctx context.Context, n int) ([][]float64, error)
}

// The roles of a party in a job over clients, as contracts name them.
const (
	RoleServer = "server"
	RoleClient = "client"
)

// ModeOf is how the algorithms over clients name a job's protection.
func ModeOf(job *contract.Job) string {
	if job.Privacy == keys.PrivacyMasked && job.Aggregation == contract.AggregateHE {
		return contract.AggregateHE
	}
	return job.Privacy
}
