package ofmsft

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/keys"
)

// clientSlot is where a client keeps its state in its vault.
const clientSlot = "client"

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
}

// clientRun is a client's part under way.
type clientRun struct {
	*ClientPart
	client  *Client
	row     int     // the last one learned
	squared float64 // summed squared errors of the predictions, in the label's units
	right   int     // predictions that were the label
	ended   bool    // the stream

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

// RunClient runs a client's part until the server says that the job is over. In every communication round it draws
// networks, gets those that it does not have, predicts and learns its next rows, and adds its steps if the server drew
// its group.
//
// The state is saved when the rows are learned and before steps leave, so that no row's step leaves twice: a client
// that is killed and returns goes on with its own weights. Rows number on over all sessions; those learned before are
// passed over if they come again. A client whose stream has ended stays, and chooses nothing.
//
// The model is kept as federated.Keeps says, when the stream ends, and when the part ends, for whatever reason, in a
// round whose rows are learned.
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

// runClient takes messages until the server says that the job is over.
func (a *clientRun) runClient(ctx context.Context) error {
	// Returns the most bytes that a server's message has.
	limit := hashSize * len(a.Params.Models)
	for _, m := range a.Params.Models {
		limit = max(limit, indexSize+m.fileSize())
	}
	for {
		l, err := a.Network.Await(ctx, a.awaited(), limit)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("client %q: wait for the server after row %d: %w", a.Name, a.row, err)
		}
		if err := a.answerMessage(ctx, l); err != nil {
			return fmt.Errorf("client %q, round %d (%s): %w", a.Name, l.Round+1, l.Kind, err)
		}
	}
}

// awaited names what comes next, should somebody ask.
func (a *clientRun) awaited() string {
	switch q := a.question; {
	case q == nil || q.learned:
		return KindRound
	case len(chosen(q.wanted)) > 0:
		return KindModel
	}
	return KindTurn
}

// answerMessage takes what the server sent.
func (a *clientRun) answerMessage(ctx context.Context, l federated.Message) error {
	if l.Kind == KindRound {
		return a.choose(ctx, l)
	}
	if a.question == nil || l.Round != a.question.round {
		return errors.New("it came before its round")
	}
	switch l.Kind {
	case KindModel:
		return a.keep(l.Payload)
	case KindTurn:
		return a.learn(ctx, l.Payload)
	case KindStep:
		payload := l.Payload

		// Returns which network is to be tuned. A step leaves once: the difference of two sums of it among other
		// clients would be somebody's own.
		q := a.question
		k, rest, err := indexIn(payload, len(q.hashes))
		if err != nil {
			return err
		}
		switch name := a.Params.Models[k].Name; {
		case len(rest) > 0:
			return fmt.Errorf("%d bytes follow the number of model %q, want none", len(rest), name)
		case !q.learned || q.alpha == 0:
			return fmt.Errorf("model %q is to be tuned by a client outside the group", name)
		case a.client.position(k) < 0 && !a.Params.Broadcast:
			return fmt.Errorf("model %q is to be tuned, which this client does not store", name)
		case q.tuned[k]:
			return fmt.Errorf("model %q is to be tuned again", name)
		}
		a.question.tuned[k] = true
		step, err := a.stepOf(k)
		if err != nil {
			return err
		}
		if _, err := a.Network.Sum(ctx, StepSum(a.Params, k, a.Clients), step); err != nil {
			return fmt.Errorf("sum of steps of model %q: %w", a.Params.Models[k].Name, err)
		}
		return nil
	}
	return errors.New("the job has no such message")
}

// choose answers a round's question with a draw.
func (a *clientRun) choose(ctx context.Context, l federated.Message) error {
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
	if !a.ended {
		q.selection = a.client.Draw()
		a.recall()
		answer = a.answer()
	}
	return a.Network.Answer(ctx, KindChoice, answer.encode())
}

// answer says what is stored and wanted; in a broadcast everything is stored, so that nothing shows what was
// drawn.
func (a *clientRun) answer() *choice {
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
func (a *clientRun) learn(ctx context.Context, payload []byte) error {
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
	if err := a.learnRows(ctx, models, a.Params.RoundsOf(q.round)); err != nil {
		return err
	}
	if err := a.save(); err != nil {
		return fmt.Errorf("checkpoint after row %d: %w", a.row, err)
	}
	if a.ended || federated.Keeps(q.round+1, a.Params.Uploads()) {
		if err := a.keepModel(); err != nil {
			return err
		}
	}
	a.report()
	return nil
}

// stepOf returns this client's step of a network, valid until the next. One that it does not store, as in a
// broadcast, and one of a round without rows, are zeros.
func (a *clientRun) stepOf(k int) ([]float64, error) {
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
