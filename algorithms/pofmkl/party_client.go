package pofmkl

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// clientSlot is where a client keeps its state in its vault.
const clientSlot = "client"

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
}

// clientRun is a client's part under way.
type clientRun struct {
	*ClientPart
	client  *Client
	row     int     // the last one learned
	squared float64 // summed squared errors of the predictions, in the label's units
	upload  []float64
	theta   []float64 // the one heard last
	round   int       // the newest in this session, -1 before the first
	ended   bool      // the stream
}

// RunClient runs a client's part until the server says that the job is over. In every round it predicts and
// learns its next rounds_per_upload rows with the server's theta, and adds its update to the sum.
//
// The state is saved when an update is complete and before it leaves, so that no row's update leaves
// twice: a client that is killed and returns goes on with its own weights. Rows since its newest update
// are predicted and learned again; an update that was on its way is lost, as is one that the server
// went on without. Rows number on over all sessions; those learned before are passed over if they come
// again.
//
// A client whose stream has ended stays and adds zeros. The server cannot tell them from an update of
// kernels that others drew, and the other clients' masks need no change. The price: zeros count among a sum's
// contributors. Where all streams but one have ended the total is that one's update, so a
// job should not have more rounds than its clients have rows.
//
// The model is kept as federated.Keeps says and when the part ends, for whatever reason.
func RunClient(ctx context.Context, p *ClientPart) error {
	a, err := p.resume()
	if err != nil {
		return fmt.Errorf("client %q: %w", p.Name, err)
	}
	err = a.runClient(ctx)
	if kept := a.keepModel(); err == nil && kept != nil {
		err = fmt.Errorf("client %q: %w", p.Name, kept)
	}
	return err
}

// runClient takes rounds until the server says that the job is over.
func (a *clientRun) runClient(ctx context.Context) error {
	for {
		round, theta, err := a.Network.ReceiveValues(ctx, KindModel, a.Dictionary.params.Words())
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("client %q: wait for the model after row %d: %w", a.Name, a.row, err)
		}
		if err := a.learnRound(ctx, round, theta); err != nil {
			return fmt.Errorf("client %q, round %d: %w", a.Name, round+1, err)
		}
	}
}

// resume starts the part, or takes it up where the vault has it.
func (p *ClientPart) resume() (*clientRun, error) {
	a := &clientRun{
		ClientPart: p, round: -1,
		upload: make([]float64, p.Dictionary.params.UploadWords()), theta: make([]float64, p.Dictionary.params.Words()),
	}
	if a.Columns == nil {
		a.Columns = p.Dictionary.columns
	}
	data, err := p.Vault.Load(clientSlot)
	if err != nil {
		return nil, err
	}
	if data != nil {
		return a, a.read(data)
	}
	if err := a.start(); err != nil {
		return nil, err
	}
	return a, a.save()
}

// start makes a client that has learned nothing.
func (a *clientRun) start() error {
	var seed [32]byte
	rand.Read(seed[:]) // never fails
	if a.seed != nil {
		seed = *a.seed
	}
	a.client = NewClient(a.Dictionary, a.Name, seed)
	if a.Weights == nil {
		return nil
	}
	earlier, err := readAttendance(a.Weights)
	if err != nil {
		return fmt.Errorf("weights of an earlier job: %w", err)
	}
	return a.client.WarmStart(earlier.Client)
}

// learnRound does one round.
func (a *clientRun) learnRound(ctx context.Context, round int, theta []float64) error {
	// Refuses a round that the job does not have or that does not follow, and a theta of another
	// length.
	p := a.Dictionary.params
	if round <= a.round || round >= p.Uploads() {
		return fmt.Errorf("the server's round is out of turn, want one from %d to %d", a.round+2, p.Uploads())
	}
	if len(theta) != p.Words() {
		return fmt.Errorf("the model has %d numbers, want %d", len(theta), p.Words())
	}
	a.round = round
	if err := a.client.Begin(round); err != nil {
		return err
	}
	copy(a.theta, theta) // the server may change its own
	if err := a.learnRows(ctx, a.theta, a.Dictionary.params.roundsOf(round)); err != nil {
		return err
	}
	sum := updateSum(a.Dictionary.params, round, a.Clients)
	upload := a.upload[:sum.N]
	clear(upload)
	if err := a.client.Upload(upload); err != nil {
		return err
	}
	if err := a.save(); err != nil {
		return fmt.Errorf("checkpoint after row %d: %w", a.row, err)
	}
	if federated.Keeps(round+1, a.Dictionary.params.Uploads()) {
		if err := a.keepModel(); err != nil {
			return err
		}
	}
	if _, err := a.Network.Sum(ctx, sum, upload); err != nil {
		return fmt.Errorf("sum of updates after row %d: %w", a.row, err)
	}
	if a.Report != nil {
		a.Report(federated.Progress{
			Round: a.round + 1, Rounds: a.Dictionary.params.Uploads(),
			Loss: a.squared / float64(a.client.Rounds()), Regret: a.client.Regret(),
		})
	}
	return nil
}

// learnRows predicts and learns up to n rows, fewer when the stream ends.
func (a *clientRun) learnRows(ctx context.Context, theta []float64, n int) (err error) {
	if a.ended {
		return nil
	}
	a.ended, err = federated.LearnRows(ctx, a.Rows, a.row, n, federated.Learner{
		Predict: func(x []float64) (float64, error) { return a.client.Predict(theta, x) },
		Learn:   a.learn,
	})
	return err
}

// learn learns the row that was predicted last.
func (a *clientRun) learn(row int, prediction, y float64) error {
	if err := a.client.Learn(y); err != nil {
		return err
	}
	a.row = row
	a.squared += (prediction - y) * (prediction - y)
	return nil
}
