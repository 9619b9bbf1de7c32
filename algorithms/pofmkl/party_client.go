package pofmkl

import (
	"context"
	"crypto/rand"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// ClientPart is a client's part of a job.
type ClientPart struct {
	Name       string // the party, for errors
	Dictionary *Dictionary
	Clients    int // of the job
	Network    federated.Client
	Rows       federated.Rows
	Vault      federated.Vault
	// Columns are the names of the inputs, in the order that rows have, kept with the model; nil: the dictionary's.
	Columns []string
	// Weights is what the RunClient of an earlier job kept in its vault as "client": the weights to start
	// from; nil: equal ones. A job that is resumed has its own.
	Weights []byte
	// Report is called after every upload; it may be nil.
	Report func(federated.Progress)

	seed *[32]byte // of the draws of bins; nil: from the operating system

	attendance federated.Attendance
	client     *Client
	upload     []float64
	theta      []float64 // the one heard last
	round      int       // the newest in this session, -1 before the first
}

// RunClient runs a client's part until the server says that the job is over: see federated.RunClient. In every round it
// predicts and learns its next rounds_per_upload rows with the server's theta, and adds its update to the sum.
//
// A client that is killed and returns goes on with its own weights. Rows since its newest update are predicted and
// learned again; an update that was on its way is lost, as is one that the server went on without.
//
// A client whose stream has ended stays and adds zeros. The server cannot tell them from an update of
// kernels that others drew, and the other clients' masks need no change. The price: zeros count among a sum's
// contributors. Where all streams but one have ended the total is that one's update, so a
// job should not have more rounds than its clients have rows.
func RunClient(ctx context.Context, p *ClientPart) error {
	p.attendance = federated.Attendance{
		Name: fmt.Sprintf("client %q", p.Name), Awaited: "the model", Network: p.Network, Vault: p.Vault, Report: p.Report,
	}
	return federated.RunClient(ctx, &p.attendance, p)
}

// Resume implements federated.ClientPart: a new client has equal weights, or those of an earlier job.
func (a *ClientPart) Resume(_ context.Context, state []byte) error {
	p := &a.Dictionary.params
	a.round, a.upload, a.theta = -1, make([]float64, p.UploadWords()), make([]float64, p.Words())
	if a.Columns == nil {
		a.Columns = a.Dictionary.columns
	}
	if state != nil {
		return a.read(state)
	}
	var seed [32]byte
	rand.Read(seed[:]) // never fails
	if a.seed != nil {
		seed = *a.seed
	}
	a.client = NewClient(a.Dictionary, a.Name, seed)
	if a.Weights != nil {
		earlier, err := readAttendance(a.Weights)
		if err != nil {
			return fmt.Errorf("weights of an earlier job: %w", err)
		}
		if err := a.client.WarmStart(earlier.Client); err != nil {
			return err
		}
	}
	return federated.Save(a.Vault, federated.ClientSlot, a)
}

// Receive implements federated.ClientPart: it waits for the server's theta.
func (a *ClientPart) Receive(ctx context.Context) (m federated.Message, err error) {
	m.Round, m.Values, err = a.Network.ReceiveValues(ctx, KindModel, a.Dictionary.params.Words())
	return m, err
}

// Take implements federated.ClientPart: it does one round.
func (a *ClientPart) Take(ctx context.Context, m federated.Message) (federated.Step, error) {
	// Refuses a round that the job does not have or that does not follow, and a theta of another
	// length.
	p := a.Dictionary.params
	s := federated.Step{Where: fmt.Sprintf("client %q, round %d", a.Name, m.Round+1), Save: true}
	if m.Round <= a.round || m.Round >= p.Uploads() {
		return s, fmt.Errorf("the server's round is out of turn, want one from %d to %d", a.round+2, p.Uploads())
	}
	if len(m.Values) != p.Words() {
		return s, fmt.Errorf("the model has %d numbers, want %d", len(m.Values), p.Words())
	}
	a.round = m.Round
	if err := a.client.Begin(a.round); err != nil {
		return s, err
	}
	copy(a.theta, m.Values) // the server may change its own
	if err := a.attendance.LearnRows(ctx, a.Rows, p.roundsOf(a.round), federated.Learner{
		Predict: func(x []float64) (float64, error) { return a.client.Predict(a.theta, x) },
		Learn:   func(_ int, _, y float64) error { return a.client.Learn(y) },
	}); err != nil {
		return s, err
	}
	s.Sum = updateSum(p, a.round, a.Clients)
	s.Vector, s.Of = a.upload[:s.Sum.N], fmt.Sprintf("updates after row %d", a.attendance.Row)
	clear(s.Vector)
	s.Progress = federated.Progress{
		Round: a.round + 1, Rounds: p.Uploads(), Loss: a.attendance.Squared / float64(a.client.Rounds()),
		Regret: a.client.Regret(),
	}
	return s, a.client.Upload(s.Vector)
}
