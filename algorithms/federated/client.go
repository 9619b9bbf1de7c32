package federated

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// ClientPart is what one algorithm does at a client; RunClient does the rest.
type ClientPart interface {
	Part
	// Receive waits for the server's next message. At the job's end the error is io.EOF.
	Receive(ctx context.Context) (Message, error)
	// Take takes a message in, as far as nothing leaves. Errors that come with a Step.Where do not say where they are.
	Take(ctx context.Context, m Message) (Step, error)
}

// Step is what a client has to do once it has taken a message in.
type Step struct {
	Where    string    // the party and the round, as errors begin
	Progress Progress  // of the round that is learned; Round 0: none is yet
	Save     bool      // the state, before anything leaves
	Keep     bool      // the model, though it is not its time yet
	Vector   []float64 // to add; nil: none
	Sum      Sum       // that it is for
	Of       string    // what is added, for errors
}

// Attendance is what every client's part has, whatever its algorithm.
type Attendance struct {
	Name    string // the client, as errors begin
	Awaited string // what it waits for, in errors
	Network Adder
	Vault   Vault
	Report  func(Progress) // hears of every round; may be nil

	Row     int     // the last one learned
	Squared float64 // summed squared errors of the predictions so far, in the label's units
	Ended   bool    // the stream
}

// RunClient runs a client's part until the server says that the job is over.
//
// The state is saved before anything leaves, so that nothing leaves twice: a client that is killed and returns goes on
// from there. Rows number on over all sessions; those learned before are passed over if they come again. The model is
// kept after each sixteenth part of the job, and when the part ends, for whatever reason.
func RunClient(ctx context.Context, a *Attendance, p ClientPart) error {
	err := Resume(ctx, a.Vault, ClientSlot, p)
	if err != nil {
		return fmt.Errorf("%s: %w", a.Name, err)
	}
	for err == nil {
		err = a.step(ctx, p)
	}
	if err == errOver {
		err = nil
	}
	if kept := a.keep(p); err == nil && kept != nil {
		err = fmt.Errorf("%s: %w", a.Name, kept)
	}
	return err
}

// errOver says that the job is over.
var errOver = errors.New("the job is over")

// step takes the next message in and does what it asks for.
func (a *Attendance) step(ctx context.Context, p ClientPart) error {
	m, err := p.Receive(ctx)
	if errors.Is(err, io.EOF) {
		return errOver
	}
	if err != nil {
		return fmt.Errorf("%s: wait for %s after row %d: %w", a.Name, a.Awaited, a.Row, err)
	}
	s, err := p.Take(ctx, m)
	if err == nil {
		err = a.follow(ctx, p, &s)
	}
	if err != nil && s.Where != "" {
		err = fmt.Errorf("%s: %w", s.Where, err)
	}
	return err
}

// follow does what a step asks for.
func (a *Attendance) follow(ctx context.Context, p ClientPart, s *Step) error {
	if s.Save {
		if err := Save(a.Vault, ClientSlot, p); err != nil {
			return fmt.Errorf("checkpoint after row %d: %w", a.Row, err)
		}
	}
	learned := s.Progress.Round > 0
	if learned && (s.Keep || keeps(s.Progress.Round, s.Progress.Rounds)) {
		if err := a.keep(p); err != nil {
			return err
		}
	}
	if s.Vector != nil {
		if _, err := a.Network.Sum(ctx, s.Sum, s.Vector); err != nil {
			return fmt.Errorf("sum of %s: %w", s.Of, err)
		}
	}
	if learned && a.Report != nil {
		a.Report(s.Progress)
	}
	return nil
}

// keep keeps the model, if there is one.
func (a *Attendance) keep(p Part) error { return keep(a.Vault, p, fmt.Sprintf(" after row %d", a.Row)) }

// LearnRows takes in up to n rows after the last one learned, fewer when the stream ends.
func (a *Attendance) LearnRows(ctx context.Context, rows Rows, n int, l Learner) (err error) {
	if a.Ended {
		return nil
	}
	learn := l.Learn
	l.Learn = func(row int, prediction, y float64) error {
		if err := learn(row, prediction, y); err != nil {
			return err
		}
		a.Row = row
		a.Squared += (prediction - y) * (prediction - y)
		return nil
	}
	a.Ended, err = LearnRows(ctx, rows, a.Row, n, l)
	return err
}
