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

	attendance federated.Attendance
	client     *Client
	features   *Features
	z          []float64
	next       int // the first iteration that this client may take part in
	learned    int
	samples    [][]float64 // features of the first rows, until they were judged
	judged     bool
	heard      bool // an iteration in this session
}

// RunClient runs a client's part until its server says that the job is over: see federated.RunClient. In every
// iteration it takes one step with its next row: chosen, with what the server sent, and adds its own entries to the
// sum after it; else alone.
//
// The state is saved when an upload is complete, and when a session is paused between two iterations; iterations only
// rise, over all sessions: no client uploads twice in one iteration, from which a server could take the difference. A
// client that is killed and returns goes on with the weights of its newest upload and the row after it. Without the
// total, or left out of it, a client keeps its own weights.
//
// A client whose stream has ended stays, and when chosen uploads what it has.
func RunClient(ctx context.Context, p *ClientPart) error {
	if err := p.begin(); err != nil {
		return err // names the client
	}
	return federated.RunClient(ctx, &p.attendance, p)
}

// begin makes the client, unless its place or the job's privacy mode is refused.
func (a *ClientPart) begin() (err error) {
	if a.client, err = a.Plan.NewClient(a.Server, a.Client); err != nil {
		return err
	}
	if err := a.Plan.CheckPrivacy(a.Privacy, a.Least); err != nil {
		return fmt.Errorf("%s: %w", a.client.name(), err)
	}
	a.features, a.z = a.Plan.Features(), make([]float64, a.Plan.params.Features)
	a.attendance = federated.Attendance{
		Name: a.client.name(), Awaited: "iteration", Network: a.Network, Vault: a.Vault, Report: a.Report,
	}
	return nil
}

// Resume implements federated.ClientPart: the first session holds the step against the rows that are there already.
func (a *ClientPart) Resume(_ context.Context, state []byte) error {
	if state != nil {
		if err := a.read(state); err != nil {
			return fmt.Errorf("saved state: %w", err)
		}
	}
	return a.foresee()
}

// Receive implements federated.ClientPart: it waits for the next iteration, and saves the state at a pause.
func (a *ClientPart) Receive(ctx context.Context) (m federated.Message, err error) {
	m.Round, m.Values, err = a.Network.ReceiveValues(ctx, KindModel, a.Plan.params.Entries)
	if a.next > 0 && errors.Is(err, federated.ErrPaused) {
		// No row that was learned since the last upload is learned again.
		err = errors.Join(err, federated.Save(a.Vault, federated.ClientSlot, a))
	}
	return m, err
}

// Take implements federated.ClientPart: it does one iteration.
func (a *ClientPart) Take(ctx context.Context, m federated.Message) (federated.Step, error) {
	n, iterations := m.Round, a.Plan.params.Iterations
	var s federated.Step // errors say where they are
	if n < a.next || n >= iterations {
		return s, fmt.Errorf("%s: the server announces iteration %d, want one from %d to %d", a.client.name(), n, a.next,
			iterations-1)
	}
	if !a.heard && a.next > 0 && n > a.next && a.Warn != nil {
		a.Warn(fmt.Sprintf("iterations %d to %d passed without %s: it, or its server, was away", a.next+1, n,
			a.client.name()))
	}
	a.next, a.heard = n+1, true
	chosen := slices.Contains(a.Plan.Chosen(a.Server, n), a.Client)
	if chosen || m.Values != nil {
		if err := a.client.Receive(n, m.Values); err != nil {
			return s, err
		}
	}
	if err := a.learnNext(ctx, n); err != nil {
		return s, err
	}
	if a.attendance.Ended || len(a.samples) >= warmup {
		if err := a.judge("its first %d rows"); err != nil {
			return federated.Step{Where: a.client.name()}, err
		}
	}
	s.Save = chosen
	if chosen {
		var err error
		if s.Vector, err = a.client.Upload(n); err != nil {
			return s, err
		}
		s.Sum, s.Of = a.Plan.sumOf(len(s.Vector)), fmt.Sprintf("uploads after row %d", a.attendance.Row)
	}
	s.Where = fmt.Sprintf("%s, iteration %d", a.client.name(), n)
	s.Progress = federated.Progress{
		Round: a.next, Rounds: iterations, Loss: a.attendance.Squared / float64(a.learned), Regret: math.NaN(),
	}
	return s, nil
}

// learnNext takes the step of an iteration with the next row, if there is one.
func (a *ClientPart) learnNext(ctx context.Context, n int) error {
	if a.attendance.Ended {
		return nil
	}
	row, x, err := federated.NextRow(ctx, a.Rows, a.attendance.Row)
	if errors.Is(err, io.EOF) {
		a.attendance.Ended = true
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s, iteration %d: inputs after row %d: %w", a.client.name(), n, a.attendance.Row, err)
	}
	return a.learn(ctx, n, row, x)
}

// learn predicts one row, waits for its label and learns it.
func (a *ClientPart) learn(ctx context.Context, n, row int, x []float64) error {
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
	a.attendance.Row, a.learned = row, a.learned+1
	a.attendance.Squared += (prediction - y) * (prediction - y)
	if !a.judged { // there are not enough features yet to judge the learning rate
		a.samples = append(a.samples, slices.Clone(a.z))
	}
	return nil
}

// foresee holds the learning rate against the rows that are there already, in the first session of the
// job. A row that cannot be read is left to its turn, and so are those after it.
func (a *ClientPart) foresee() error {
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
func (a *ClientPart) judge(by string) error {
	samples := a.samples
	a.samples = nil
	if a.judged || len(samples) == 0 {
		return nil
	}
	a.judged = true
	warnings, err := a.Plan.StepWarnings(samples)
	if err != nil {
		return err
	}
	for _, w := range warnings {
		if a.Warn != nil {
			a.Warn(fmt.Sprintf("%s: %v, by "+by, a.client.name(), w, len(samples)))
		}
	}
	return nil
}
