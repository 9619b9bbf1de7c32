package ofmsft

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/algorithms/nn"
)

// errLost is what broken networks, streams and vaults say.
var errLost = errors.New("the link is lost")

// told is a client's network that says what it was made with, and ends.
type told struct {
	messages    []federated.Message
	end         error // in the place of io.EOF
	answer, sum error
	answers     [][]byte
	sums        []federated.Sum
}

func (n *told) Await(_ context.Context, _ string, limit int) (federated.Message, error) {
	if len(n.messages) == 0 {
		if n.end == nil {
			return federated.Message{}, io.EOF
		}
		return federated.Message{}, n.end
	}
	l := n.messages[0]
	n.messages = n.messages[1:]
	if len(l.Payload) > limit {
		return l, errors.New("the message is longer than the client awaits")
	}
	return l, nil
}

func (n *told) Answer(_ context.Context, _ string, payload []byte) error {
	n.answers = append(n.answers, payload)
	return n.answer
}

func (n *told) Sum(_ context.Context, s federated.Sum, _ []float64) (bool, error) {
	n.sums = append(n.sums, s)
	return true, n.sum
}

// teller writes what servers send in a job.
type teller struct {
	params   Params
	networks []*nn.Network
}

// newTeller is of a job in which clients have room for all of three networks.
func newTeller(t testing.TB, edit func(*Params)) *teller {
	p, networks := small(t, 3, 0, 3, func(p *Params) {
		p.Budget, p.Rounds = 4, 10
		if edit != nil {
			edit(p)
		}
	})
	return &teller{p, networks}
}

// round asks, with the networks' hashes.
func (w *teller) round(r int) federated.Message {
	var manifest []byte
	for _, n := range w.networks {
		h := n.Hash()
		manifest = append(manifest, h[:]...)
	}
	return federated.Message{Kind: KindRound, Round: r, Payload: manifest}
}

// model sends network k.
func (w *teller) model(r, k int) federated.Message {
	return federated.Message{Kind: KindModel, Round: r, Payload: indexed(k, w.networks[k].Bytes())}
}

// begun is a round as far as all networks have come.
func (w *teller) begun(r int) []federated.Message {
	list := []federated.Message{w.round(r)}
	for k := range w.networks {
		list = append(list, w.model(r, k))
	}
	return list
}

// turn gives the turn, in one of so many groups.
func (w *teller) turn(r, alpha int) federated.Message {
	return federated.Message{Kind: KindTurn, Round: r, Payload: binary.BigEndian.AppendUint32(nil, uint32(alpha))}
}

// step asks for a step of network k.
func (w *teller) step(r, k int) federated.Message {
	return federated.Message{Kind: KindStep, Round: r, Payload: indexed(k, nil)}
}

// runClient runs a client's part.
func (w *teller) runClient(t testing.TB, network ClientNetwork, rows federated.Rows, vault federated.Vault) error {
	return RunClient(t.Context(), &ClientPart{Name: "c", Params: w.params, Clients: 3, Network: network, Rows: rows,
		Vault: vault, seed: &secret})
}

// fewRows is a stream.
func fewRows() *memory.Rows {
	x, y := drawRows(rand.New(rand.NewPCG(1, 2)), 5, 0)
	return memory.NewRows(x, y)
}

// changed returns a message with other bytes.
func changed(l federated.Message, change func(b []byte) []byte) federated.Message {
	l.Payload = change(bytes.Clone(l.Payload))
	return l
}

// TestBadMessagesOfAServerAreRefused by name.
func TestBadMessagesOfAServerAreRefused(t *testing.T) {
	w := newTeller(t, nil)
	other := newTeller(t, nil)
	other.networks = []*nn.Network{w.networks[0].Clone(), w.networks[1].Clone(), w.networks[2].Clone()}
	other.networks[0].Parameters()[0]++
	broken := newTeller(t, nil)
	broken.networks = []*nn.Network{w.networks[0].Clone(), w.networks[1], w.networks[2]}
	broken.networks[0].Parameters()[2] = float32(math.NaN())
	swapped := changed(w.model(0, 1), func(b []byte) []byte { b[1] = 0; return b })
	cut := func(b []byte) []byte { return b[:len(b)-1] }
	more := func(b []byte) []byte { return append(b, 0) }
	for name, c := range map[string]struct {
		messages []federated.Message
		want     string
	}{
		"hashes cut":      {[]federated.Message{changed(w.round(0), cut)}, `round 1 (round): 95 bytes of hashes in round 1, want 96 in one of 10 rounds`},
		"hashes too many": {[]federated.Message{changed(w.round(0), more)}, `round 1 (round): 97 bytes of hashes in round 1, want 96 in one of 10 rounds`},
		"round too late":  {[]federated.Message{w.round(10)}, `round 11 (round): 96 bytes of hashes in round 11, want 96 in one of 10 rounds`},
		"negative round":  {[]federated.Message{w.round(-1)}, `round 0 (round): 96 bytes of hashes in round 0, want 96 in one of 10 rounds`},
		"round again":     {[]federated.Message{w.round(4), w.round(4)}, `round 5 (round): the round is out of turn, want one after round 5`},
		"round before":    {[]federated.Message{w.round(4), w.round(3)}, `round 4 (round): the round is out of turn, want one after round 5`},
		"no such message": {[]federated.Message{w.round(0), {Kind: "gossip"}},
			`round 1 (gossip): the job has no such message`},
		"before any round": {[]federated.Message{w.model(0, 0)}, `round 1 (model): it came before its round`},
		"of another round": {[]federated.Message{w.round(0), w.model(1, 0)},
			`round 2 (model): it came before its round`},
		"no number": {[]federated.Message{w.round(0), {Kind: KindModel, Payload: []byte{0}}},
			`round 1 (model): 1 bytes, want a model's number`},
		"no such model": {[]federated.Message{w.round(0), {Kind: KindModel, Payload: []byte{0, 3}}},
			`round 1 (model): model 4 of 3`},
		"empty model": {[]federated.Message{w.round(0), {Kind: KindModel, Payload: []byte{0, 1}}},
			`round 1 (model): model "m2": `},
		"model twice": {[]federated.Message{w.round(0), w.model(0, 1), w.model(0, 1)},
			`round 1 (model): model "m2" was not wanted, or came before`},
		"model unasked": {append(append(w.begun(0), w.turn(0, 0)), w.round(1), w.model(1, 0)),
			`round 2 (model): model "m1" was not wanted, or came before`},
		"model cut": {[]federated.Message{w.round(0), changed(w.model(0, 2), cut)},
			`round 1 (model): model "m3": `},
		"model with more": {[]federated.Message{w.round(0), changed(w.model(0, 2), more)},
			`round 1 (model): model "m3": `},
		"model of another hash": {[]federated.Message{w.round(0), other.model(0, 0)},
			`round 1 (model): model "m1" has hash `},
		"model of another shape": {[]federated.Message{w.round(0), swapped}, `round 1 (model): the network of model "m1" has 16 parameters, want 11`},
		"model of no numbers": {[]federated.Message{broken.round(0), broken.model(0, 0)},
			`round 1 (model): model "m1": `},
		"turn before its models": {append(w.begun(0)[:3], w.turn(0, 0)), `round 1 (turn): model "m3" has not come`},
		"turn twice": {append(w.begun(0), w.turn(0, 0), w.turn(0, 0)),
			`round 1 (turn): a turn of 4 bytes came again, or unasked`},
		"turn too short": {append(w.begun(0), changed(w.turn(0, 1), cut)),
			`round 1 (turn): a turn of 3 bytes came again, or unasked`},
		"too many groups":        {append(w.begun(0), w.turn(0, maxClients+1)), `round 1 (turn): the server has 65537 groups, want at most 65536`},
		"step before the turn":   {append(w.begun(0), w.step(0, 0)), `round 1 (step): model "m1" is to be tuned by a client outside the group`},
		"step outside the group": {append(w.begun(0), w.turn(0, 0), w.step(0, 0)), `round 1 (step): model "m1" is to be tuned by a client outside the group`},
		"step of no model":       {append(w.begun(0), w.turn(0, 1), w.step(0, 3)), `round 1 (step): model 4 of 3`},
		"step with more":         {append(w.begun(0), w.turn(0, 1), changed(w.step(0, 1), more)), `round 1 (step): 1 bytes follow the number of model "m2", want none`},
		"step twice": {append(w.begun(0), w.turn(0, 1), w.step(0, 1), w.step(0, 1)),
			`round 1 (step): model "m2" is to be tuned again`},
		"turn when nothing stored": {append(append(append(w.begun(0), w.turn(0, 1)), turnsOf(w, 1, 5)...),
			w.round(6), w.turn(6, 0)), `round 7 (turn): a turn of 4 bytes came again, or unasked`},
	} {
		err := w.runClient(t, &told{messages: c.messages}, fewRows(), memory.Vault{})
		if want := `client "c", ` + c.want; err == nil || err.Error() != want && !(want[len(want)-1] == ' ' &&
			len(err.Error()) > len(want) && err.Error()[:len(want)] == want) {
			t.Errorf("%s: error is\n\t%v\nwant\n\t%s", name, err, want)
		}
	}
}

// turnsOf are rounds from one to another in which nothing has changed.
func turnsOf(w *teller, from, to int) []federated.Message {
	var list []federated.Message
	for r := from; r <= to; r++ {
		list = append(list, w.round(r), w.turn(r, 0))
	}
	return list
}

// TestNoStepLeavesThatTheClientDoesNotStore, or in a round without fine-tuning.
func TestNoStepLeavesThatTheClientDoesNotStore(t *testing.T) {
	w := newTeller(t, func(p *Params) { p.Budget = 2.1 })
	w.params.Models[0].Cost, w.params.Models[1].Cost, w.params.Models[2].Cost = 1, 1, 1
	asked := &told{messages: []federated.Message{w.round(0)}}
	mustDo(t, w.runClient(t, asked, fewRows(), memory.Vault{}))
	c, err := decodeChoice(asked.answers[0], 3)
	mustDo(t, err)
	messages := []federated.Message{w.round(0)}
	for _, k := range chosen(c.wanted) {
		messages = append(messages, w.model(0, k))
	}
	for k := range 3 {
		if !c.stored[k] {
			err := w.runClient(t, &told{messages: append(messages, w.turn(0, 1), w.step(0, k))}, fewRows(), memory.Vault{})
			wantError(t, err, "is to be tuned, which this client does not store")
			err = w.runClient(t, &told{messages: append(messages, w.model(0, k))}, fewRows(), memory.Vault{})
			wantError(t, err, "was not wanted, or came before")
		}
	}
	warming := newTeller(t, func(p *Params) { p.WarmUp = 2 })
	err = warming.runClient(t, &told{messages: append(warming.begun(0), warming.turn(0, 1))}, fewRows(), memory.Vault{})
	wantError(t, err, `round 1 (turn): the server has 1 groups in a round without fine-tuning, want 0`)
}
