package federated

import (
	"context"
	"errors"

	"github.com/hanse-project/hanse/keys"
)

// ErrPaused is how a session ends in good order for another to follow: a server hears it before it begins a round, its
// clients after it.
var ErrPaused = errors.New("the server starts another session, since somebody has come back")

// ErrScarce is how a session ends at a server whose clients are too few for any sum. The next one starts when enough
// are there; the round that it comes in is lost.
var ErrScarce = errors.New("too few clients are left for a sum")

// Total is what a server learned.
type Total struct {
	Values  []float64
	Clients []int // whose vectors are in it, ascending
}

// Server is a server's view of the federation. Clients are numbered within the server, from 0.
type Server interface {
	// Clients returns how many clients the job gives this server, whether they are there or not.
	Clients() int
	// Present lists the clients that are there, ascending.
	Present() []int
	// SendValues sends a client the values of a round, none to say only that the round is on. A client that
	// is lost is no error. The values may change as soon as SendValues returns.
	SendValues(ctx context.Context, client int, kind string, round int, values []float64) error
	// Sum adds the vectors of those of the clients that are there. With too few of them the total is
	// nil: nothing was opened, and the round goes on without it. The parts do not wait for clients to
	// come back: it is for Sum, or Present, to hold a round up while too few are there.
	Sum(ctx context.Context, s Sum, clients []int) (*Total, error)
}

// Neighbourhood is a server's view of the other servers, numbered in the job's order.
type Neighbourhood interface {
	// Exchange sends values to some servers and returns what they sent of the same kind and round. One
	// that is gone is left out of the answer, and so is one that has come to a later round: a server
	// that returns may be rounds ahead of the others, or behind.
	Exchange(ctx context.Context, kind string, round int, with []int, values []float64) (map[int][]float64, error)
}

// Mixing is a server's view of sums of servers' vectors, each of which opens at one of them and hides the others'.
// All servers take part in such sums in the same order.
type Mixing interface {
	// Begin tells the other servers with which round this one begins, before its first sum of a session: one that has
	// come back may be ahead of them.
	Begin(ctx context.Context, round int) error
	// Mix adds vectors of other servers here, after it has told those of the list that are there who they are.
	// adders says which of these have a vector to add. It returns nil when they are too few, or too few stay.
	Mix(ctx context.Context, s Sum, round int, from []int, adders func(there []int) []int) (*Mixture, error)
	// Contribute takes part in the sum of a round at another server. vector is called once that server has told who is
	// there, and returns this one's vector, nil when it has none to add. A server that is gone, or has come to another
	// round, is no error.
	Contribute(ctx context.Context, s Sum, round, at int, vector func(there []int) ([]float64, error)) error
}

// Mixture is the total of a sum of servers' vectors.
type Mixture struct {
	Values []float64
	There  []int // the servers that were there when it began, ascending
	From   []int // those whose vectors are in the total, ascending
}

// LeastMixed is the fewest vectors of other servers in a total that opens to one: of two it learns the sum alone.
const LeastMixed = 2

// Client is a client's view of its server.
type Client interface {
	// ReceiveValues waits for what the server tells next: values of the kind, or nil when it told of a round
	// without any, whatever the kind it told that as. limit is the most values. At the job's end the
	// error is io.EOF.
	ReceiveValues(ctx context.Context, kind string, limit int) (round int, values []float64, err error)
	Adder
}

// Adder is a client's part of sums.
type Adder interface {
	// Sum adds the client's vector to the round's sum; included is false when the server went on
	// without it.
	Sum(ctx context.Context, s Sum, v []float64) (included bool, err error)
}

// Question is what a server asks clients, in bytes.
type Question struct {
	Kind    string
	Payload []byte
	Answer  string // the kind of the answers
	Limit   int    // bytes of an answer, at most
	// Check refuses an answer. Its client has no further part in the session.
	Check func(client int, answer []byte) error
}

// Inquirer is a server's view of messages between it and single clients, beside sums and what it tells.
type Inquirer interface {
	// Ask asks clients and returns the answers of those who gave one in time, by client.
	Ask(ctx context.Context, round int, clients []int, q Question) (map[int][]byte, error)
	// Send sends a client a payload of a round. A client that is lost is no error.
	Send(ctx context.Context, client int, kind string, round int, payload []byte) error
}

// Message is what a server sent a client: a question, a payload, or values.
type Message struct {
	Kind    string
	Round   int
	Payload []byte
	Values  []float64 // of those who are told values
}

// Respondent is a client's view of these messages.
type Respondent interface {
	// Await waits for the next message of the server, of at most limit bytes; awaited says for what, should
	// somebody ask. At the job's end the error is io.EOF.
	Await(ctx context.Context, awaited string, limit int) (Message, error)
	// Answer answers the question that came last.
	Answer(ctx context.Context, kind string, payload []byte) error
}

// Rows is a client's stream.
type Rows interface {
	// Inputs waits for the next row and returns its inputs. Rows are numbered from 1 on, over all
	// sessions of a job. At the end of the stream the error is io.EOF.
	Inputs(ctx context.Context) (row int, x []float64, err error)
	// Label waits for the label of the row whose inputs were returned last.
	Label(ctx context.Context) (float64, error)
	// Predicted keeps the prediction of a row before its label is asked for.
	Predicted(row int, prediction float64) error
}

// Cache keeps what can be had again, by its hash. It may forget.
type Cache interface {
	Get(hash keys.Hash) ([]byte, bool)
	Put(hash keys.Hash, data []byte)
}

// Vault keeps states across the death of the process. Load returns nil when there is none.
type Vault interface {
	Load(name string) ([]byte, error)
	Save(name string, data []byte) error
}

// Progress is how far a part has come, and how well it does.
type Progress struct {
	Round, Rounds int
	Loss          float64 // mean squared error of the predictions so far, in the label's units; NaN at a server
	Accuracy      float64 // part of the predictions that were right, where labels are classes, else NaN
	Regret        float64 // where the algorithm has one, else NaN
	Clients       int     // at a server: in the latest total
}
