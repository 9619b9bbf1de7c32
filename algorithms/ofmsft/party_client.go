package ofmsft

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/keys"
)

// ClientPart is a client's part of a job.
type ClientPart struct {
	Name    string // the party
	Params  Params
	Clients int // of the job
	Network ClientNetwork
	Rows    federated.Rows
	Vault   federated.Vault
	Cache   federated.Cache // of networks that travelled; nil: none
	Columns []string        // names of the inputs, in the order that rows have, kept with the model; nil: unknown
	// Report is called after every communication round; it may be nil.
	Report func(federated.Progress)

	seed *[32]byte // of the draws; nil: from the operating system

	attendance federated.Attendance
	client     *Client
	right      int // predictions that were the label

	question *question // under way; nil before the first
	held     map[keys.Hash]*Runner
	step     []float64
}

// question is what a server asked, and how far its round has come.
type question struct {
	round     int
	hashes    []keys.Hash // of the networks
	selection *Selection
	wanted    []bool // have not come yet
	steady    []bool // have not changed since the question before
	tuned     []bool // their steps have left
	alpha     int    // of the server's groups; 0: this client is in none that fine-tunes
	learned   bool   // the rows of the round
}

// RunClient runs a client's part until the server says that the job is over: see federated.RunClient. In every
// communication round it draws networks, gets those that it does not have, predicts and learns its next rows, and adds
// its steps if the server drew its group.
//
// The state is saved when the rows are learned: a client that is killed and returns goes on with its own weights. A
// client whose stream has ended stays, and chooses nothing. Its model is kept then, too.
func RunClient(ctx context.Context, p *ClientPart) error {
	p.attendance = federated.Attendance{
		Name: fmt.Sprintf("client %q", p.Name), Awaited: "the server", Network: p.Network, Vault: p.Vault, Report: p.Report,
	}
	return federated.RunClient(ctx, &p.attendance, p)
}

// Receive implements federated.ClientPart: it waits for any message of a round.
func (a *ClientPart) Receive(ctx context.Context) (federated.Message, error) {
	limit := hashSize * len(a.Params.Models)
	for _, m := range a.Params.Models {
		limit = max(limit, indexSize+m.fileSize())
	}
	return a.Network.Await(ctx, a.awaited(), limit)
}

// awaited names what comes next, should somebody ask.
func (a *ClientPart) awaited() string {
	switch q := a.question; {
	case q == nil || q.learned:
		return KindRound
	case len(chosen(q.wanted)) > 0:
		return KindModel
	}
	return KindTurn
}

// Take implements federated.ClientPart: it answers, learns or adds, as the message asks.
func (a *ClientPart) Take(ctx context.Context, m federated.Message) (s federated.Step, err error) {
	s.Where = fmt.Sprintf("client %q, round %d (%s)", a.Name, m.Round+1, m.Kind)
	switch {
	case m.Kind == KindRound:
		return s, a.choose(ctx, m)
	case a.question == nil || m.Round != a.question.round:
		return s, errors.New("it came before its round")
	case m.Kind == KindModel:
		return s, a.keep(m.Payload)
	case m.Kind == KindTurn:
		if err := a.learn(ctx, m.Payload); err != nil {
			return s, err
		}
		s.Save, s.Keep, s.Progress = true, a.attendance.Ended, a.progress()
		return s, nil
	case m.Kind == KindStep:
		k, err := a.tuned(m.Payload)
		if err != nil {
			return s, err
		}
		s.Sum, s.Of = StepSum(a.Params, k, a.Clients), fmt.Sprintf("steps of model %q", a.Params.Models[k].Name)
		s.Vector, err = a.stepOf(k)
		return s, err
	}
	return s, errors.New("the job has no such message")
}

// tuned returns which network is to be tuned. A step leaves once: the difference of two sums of it among other
// clients would be somebody's own.
func (a *ClientPart) tuned(payload []byte) (int, error) {
	q := a.question
	k, rest, err := indexIn(payload, len(q.hashes))
	if err != nil {
		return 0, err
	}
	switch name := a.Params.Models[k].Name; {
	case len(rest) > 0:
		return 0, fmt.Errorf("%d bytes follow the number of model %q, want none", len(rest), name)
	case !q.learned || q.alpha == 0:
		return 0, fmt.Errorf("model %q is to be tuned by a client outside the group", name)
	case a.client.position(k) < 0 && !a.Params.Broadcast:
		return 0, fmt.Errorf("model %q is to be tuned, which this client does not store", name)
	case q.tuned[k]:
		return 0, fmt.Errorf("model %q is to be tuned again", name)
	}
	q.tuned[k] = true
	return k, nil
}

// choose answers a round's question with a draw.
func (a *ClientPart) choose(ctx context.Context, l federated.Message) error {
	models := len(a.Params.Models)
	if len(l.Payload) != models*hashSize || l.Round < 0 || l.Round >= a.Params.Uploads() {
		return fmt.Errorf("%d bytes of hashes in round %d, want %d in one of %d rounds", len(l.Payload), l.Round+1,
			models*hashSize, a.Params.Uploads())
	}
	if a.question != nil && l.Round <= a.question.round {
		return fmt.Errorf("the round is out of turn, want one after round %d", a.question.round+1)
	}
	q := &question{round: l.Round, wanted: make([]bool, models), steady: make([]bool, models), tuned: make([]bool, models)}
	for k := range models {
		h := keys.Hash(l.Payload[k*hashSize:])
		q.steady[k] = a.question == nil || a.question.hashes[k] == h
		q.hashes = append(q.hashes, h)
	}
	a.question = q
	answer := newChoice(models)
	if !a.attendance.Ended {
		q.selection = a.client.Draw()
		a.recall()
		answer = a.answer()
	}
	return a.Network.Answer(ctx, KindChoice, answer.encode())
}

// answer says what is stored and wanted; in a broadcast everything is stored, so that nothing shows what was
// drawn.
func (a *ClientPart) answer() *choice {
	c := newChoice(len(a.Params.Models))
	for _, k := range a.question.selection.Stored {
		c.stored[k] = true
	}
	for k := range c.stored {
		c.stored[k] = c.stored[k] || a.Params.Broadcast
		c.wanted[k] = a.question.wanted[k]
	}
	return c
}

// learn predicts and learns the rows of the round.
func (a *ClientPart) learn(ctx context.Context, payload []byte) error {
	q := a.question
	if len(payload) != alphaSize || q.learned || q.selection == nil {
		return fmt.Errorf("a turn of %d bytes came again, or unasked", len(payload))
	}
	if missing := chosen(q.wanted); len(missing) > 0 {
		return fmt.Errorf("model %q has not come", a.Params.Models[missing[0]].Name)
	}
	q.alpha, q.learned = int(binary.BigEndian.Uint32(payload)), true
	if q.alpha < 0 || q.alpha > maxClients {
		return fmt.Errorf("the server has %d groups, want at most %d", q.alpha, maxClients)
	}
	if q.alpha > 0 && !a.Params.Tunes(q.round) {
		return fmt.Errorf("the server has %d groups in a round without fine-tuning, want 0", q.alpha)
	}
	var models []*Runner
	for _, k := range q.selection.Stored {
		models = append(models, a.held[q.hashes[k]])
	}
	return a.attendance.LearnRows(ctx, a.Rows, a.Params.RoundsOf(q.round), federated.Learner{
		Predict: func(x []float64) (float64, error) { return a.client.Predict(models, x) },
		Learn: func(_ int, prediction, y float64) error {
			if err := a.client.Learn(y); err != nil {
				return err
			}
			if prediction == y {
				a.right++
			}
			return nil
		},
	})
}

// progress is how far the client has come. It knows no regret: it sees the losses of the networks that it stores alone.
func (a *ClientPart) progress() federated.Progress {
	p := federated.Progress{Round: a.question.round + 1, Rounds: a.Params.Uploads(), Loss: math.NaN(),
		Accuracy: math.NaN(), Regret: math.NaN()}
	switch n := float64(a.client.rounds); {
	case a.Params.Classes > 0:
		p.Accuracy = float64(a.right) / n
	default:
		p.Loss = a.attendance.Squared / n
	}
	return p
}

// stepOf returns this client's step of a network, valid until the next. One that it does not store, as in a
// broadcast, and one of a round without rows, are zeros.
func (a *ClientPart) stepOf(k int) ([]float64, error) {
	size := a.Params.Models[k].Size
	if cap(a.step) < size {
		a.step = make([]float64, size)
	}
	step := a.step[:size]
	clear(step)
	if a.client.position(k) < 0 || a.client.seen == 0 {
		return step, nil
	}
	_, err := a.client.Step(k, a.held[a.question.hashes[k]], a.question.alpha, step)
	return step, err
}
