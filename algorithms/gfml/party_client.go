package gfml

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// clientSlot is where a client keeps its state in its vault.
const clientSlot = "client"

// warmup is how many of a client's first rows the learning rate is held against.
const warmup = 64

// ClientPart is a client's part of a job.
type ClientPart struct {
	Plan    *Plan
	Server  int    // the number of its server
	Client  int    // its number at the server
	Privacy string // as jobs name it
	Least   int    // the fewest clients in a total that opens
	Network federated.Client
	Rows    federated.Rows
	Vault   federated.Vault
	// Ahead is the inputs of the stream's first rows when they are there already, RowsAhead of them or
	// fewer: the learning rate is held against them before the first iteration. Without any it is held
	// against the first rows that come.
	Ahead [][]float64
	// Report is called after every iteration, Warn with a sentence for people; both may be nil.
	Report func(federated.Progress)
	Warn   func(string)
}

// clientRun is a client's part under way.
type clientRun struct {
	*ClientPart
	client   *Client
	features *Features
	z        []float64
	next     int // the first iteration that this client may take part in
	row      int // the last one learned
	learned  int
	squared  float64     // summed squared errors of the predictions
	samples  [][]float64 // features of the first rows, until they were judged
	judged   bool
	ended    bool // the stream
	heard    bool // an iteration in this session
}

// RunClient runs a client's part until its server says that the job is over. In every iteration it takes one
// step with its next row: chosen, with what the server sent, and adds its own entries to the sum after
// it; else alone.
//
// The state is saved when an upload is complete and before it leaves, and when a session is paused between two
// iterations; iterations only rise, over all sessions: no client uploads twice in one iteration, from which a server
// could take the difference. A client that is killed and returns goes on with the weights of its newest upload and the
// row after it. Rows number on over all sessions; those learned before are passed over if they come again. Without the
// total, or left out of it, a client keeps its own weights.
//
// A client whose stream has ended stays, and when chosen uploads what it has. Its model is kept as federated.Keeps says
// and when the part ends, for whatever reason.
func RunClient(ctx context.Context, p *ClientPart) error {
	a, err := p.resume()
	if err != nil {
		return err // names the client
	}
	if err := a.foresee(); err != nil {
		return err
	}
	err = a.runClient(ctx)
	if kept := a.keepModel(); err == nil {
		err = kept
	}
	return err
}

// runClient takes iterations until the server says that the job is over.
func (a *clientRun) runClient(ctx context.Context) error {
	for {
		n, entries, err := a.Network.ReceiveValues(ctx, KindModel, a.Plan.params.Entries)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			err = fmt.Errorf("%s: wait for iteration after row %d: %w", a.client.name(), a.row, err)
			if a.next == 0 || !errors.Is(err, federated.ErrPaused) {
				return err
			}
			return errors.Join(err, a.save()) // no row that was learned since the last upload is learned again
		}
		if err := a.iterate(ctx, n, entries); err != nil {
			return err
		}
	}
}

// resume starts the part, or takes it up where the vault has it.
func (p *ClientPart) resume() (*clientRun, error) {
	client, err := p.Plan.NewClient(p.Server, p.Client)
	if err != nil {
		return nil, err
	}
	if err := p.Plan.CheckPrivacy(p.Privacy, p.Least); err != nil {
		return nil, fmt.Errorf("%s: %w", client.name(), err)
	}
	a := &clientRun{ClientPart: p, client: client, features: p.Plan.Features(),
		z: make([]float64, p.Plan.params.Features)}
	data, err := p.Vault.Load(clientSlot)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", client.name(), err)
	}
	if data == nil {
		return a, nil
	}
	return a, a.read(data)
}

// iterate does one iteration.
func (a *clientRun) iterate(ctx context.Context, n int, entries []float64) error {
	if n < a.next || n >= a.Plan.params.Iterations {
		return fmt.Errorf("%s: the server announces iteration %d, want one from %d to %d", a.client.name(), n, a.next,
			a.Plan.params.Iterations-1)
	}
	if !a.heard && a.next > 0 && n > a.next && a.Warn != nil {
		a.Warn(fmt.Sprintf("iterations %d to %d passed without %s: it, or its server, was away", a.next+1, n,
			a.client.name()))
	}
	a.next, a.heard = n+1, true
	chosen := slices.Contains(a.Plan.Chosen(a.Server, n), a.Client)
	if chosen || entries != nil {
		if err := a.client.Receive(n, entries); err != nil {
			return err
		}
	}
	if err := a.learnNext(ctx, n); err != nil {
		return err
	}
	if federated.Keeps(n+1, a.Plan.params.Iterations) {
		if err := a.keepModel(); err != nil {
			return err
		}
	}
	if chosen {
		// Saves the state and adds the upload of an iteration to the sum.
		upload, err := a.client.Upload(n)
		if err != nil {
			return err
		}
		if err := a.save(); err != nil {
			return fmt.Errorf("%s, iteration %d: checkpoint after row %d: %w", a.client.name(), n, a.row, err)
		}
		if _, err := a.Network.Sum(ctx, a.Plan.sumOf(len(upload)), upload); err != nil {
			return fmt.Errorf("%s, iteration %d: sum of uploads after row %d: %w", a.client.name(), n, a.row, err)
		}
	}
	if a.Report != nil {
		a.Report(federated.Progress{
			Round: a.next, Rounds: a.Plan.params.Iterations,
			Loss: a.squared / float64(a.learned), Regret: math.NaN(),
		})
	}
	return nil
}

// learnNext takes the step of an iteration with the next row, if there is one.
func (a *clientRun) learnNext(ctx context.Context, n int) error {
	if a.ended {
		return nil
	}
	row, x, err := federated.NextRow(ctx, a.Rows, a.row)
	if errors.Is(err, io.EOF) {
		a.ended = true
		return a.judge("its first %d rows")
	}
	if err != nil {
		return fmt.Errorf("%s, iteration %d: inputs after row %d: %w", a.client.name(), n, a.row, err)
	}
	return a.learn(ctx, n, row, x)
}

// learn predicts one row, waits for its label and learns it.
func (a *clientRun) learn(ctx context.Context, n, row int, x []float64) error {
	at := func(step string, err error) error {
		return fmt.Errorf("%s, iteration %d: row %d: %s: %w", a.client.name(), n, row, step, err)
	}
	if err := a.features.Map(a.z, x); err != nil {
		return at("inputs", err)
	}
	prediction, err := a.client.Predict(a.z)
	if err != nil {
		return err
	}
	if err := a.Rows.Predicted(row, prediction); err != nil {
		return at("keep the prediction", err)
	}
	y, err := a.Rows.Label(ctx)
	if err != nil {
		return at("label", err)
	}
	if _, err := a.client.Learn(n, a.z, y); err != nil {
		return fmt.Errorf("row %d: %w", row, err)
	}
	a.row, a.learned = row, a.learned+1
	a.squared += (prediction - y) * (prediction - y)
	// Keeps the features of the newest row until there are enough to judge the learning rate.
	if a.judged {
		return nil
	}
	a.samples = append(a.samples, slices.Clone(a.z))
	if len(a.samples) < warmup {
		return nil
	}
	return a.judge("its first %d rows")
}

// foresee holds the learning rate against the rows that are there already, in the first session of the
// job. A row that cannot be read is left to its turn, and so are those after it.
func (a *clientRun) foresee() error {
	if a.learned > 0 {
		a.judged = a.judged || len(a.Ahead) > 0
		return nil
	}
	for _, x := range a.Ahead[:min(len(a.Ahead), a.Plan.RowsAhead())] {
		if a.features.Map(a.z, x) != nil {
			break
		}
		a.samples = append(a.samples, slices.Clone(a.z))
	}
	return a.judge("%d rows on file")
}

// judge holds the learning rate against the samples; by says what they are, for their number.
func (a *clientRun) judge(by string) error {
	samples := a.samples
	a.samples = nil
	if a.judged || len(samples) == 0 {
		return nil
	}
	a.judged = true
	warnings, err := a.Plan.StepWarnings(samples)
	if err != nil {
		return fmt.Errorf("%s: %w", a.client.name(), err)
	}
	for _, w := range warnings {
		if a.Warn != nil {
			a.Warn(fmt.Sprintf("%s: %v, by "+by, a.client.name(), w, len(samples)))
		}
	}
	return nil
}
