package simfed

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// kindFinished is the message by which the server ends the job.
const kindFinished = "finished"

// roundSize is the length of a round's number in front of values, in bytes.
const roundSize = 4

// vault is a party's states.
type vault = memory.Vault

// rows returns a client's stream.
func (f *federation) rows(i int) federated.Rows {
	s := &f.Streams[i-1]
	return memory.NewRows(s.X, s.Y)
}

// serverNetwork is the session as the server's part of an algorithm sees it.
type serverNetwork struct {
	server  *cohort.Server
	clients int
}

// withRound puts a round's number in front of a payload.
func withRound(round int, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(nil, uint32(round)), payload...)
}

// Clients implements federated.Server.
func (n *serverNetwork) Clients() int { return n.clients }

// Present implements federated.Server.
func (n *serverNetwork) Present() []int {
	var list []int
	for _, i := range n.server.Present() {
		list = append(list, i-1)
	}
	return list
}

// parties turns the numbers of clients into those of parties.
func parties(clients []int) []int {
	list := slices.Clone(clients)
	for i := range list {
		list[i]++
	}
	return list
}

// SendValues implements federated.Server.
func (n *serverNetwork) SendValues(ctx context.Context, client int, kind string, round int, values []float64) error {
	var payload []byte
	for _, v := range values {
		payload = binary.LittleEndian.AppendUint64(payload, math.Float64bits(v))
	}
	return n.Send(ctx, client, kind, round, payload)
}

// Send implements federated.Inquirer.
func (n *serverNetwork) Send(ctx context.Context, client int, kind string, round int, payload []byte) error {
	return n.server.Notify(ctx, client+1, kind, contract.ClassOpening, withRound(round, payload))
}

// Ask implements federated.Inquirer.
func (n *serverNetwork) Ask(ctx context.Context, round int, clients []int, q federated.Question) (map[int][]byte,
	error) {
	answers, _, err := n.server.Ask(ctx, parties(clients), cohort.Question{
		Kind: q.Kind, Class: contract.ClassOpening, Payload: withRound(round, q.Payload), Answer: q.Answer,
		Reply: contract.ClassOpening, Limit: q.Limit,
		Check: func(party int, answer []byte) error { return q.Check(party-1, answer) },
	})
	all := make(map[int][]byte)
	for party, answer := range answers {
		all[party-1] = answer
	}
	return all, err
}

// Sum implements federated.Server.
func (n *serverNetwork) Sum(ctx context.Context, s federated.Sum, clients []int) (*federated.Total, error) {
	total, err := n.server.Sum(ctx, cohort.Vector{Kind: s.Kind, Words: s.N, Bits: 64}, parties(clients))
	var few *cohort.TooFewError
	if errors.As(err, &few) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	t := &federated.Total{Values: make([]float64, s.N)}
	secagg.Fixed{Bits: s.Bits, Bound: s.Bound}.Decode(t.Values, total.Words)
	for _, party := range total.Survivors {
		t.Clients = append(t.Clients, party-1)
	}
	return t, nil
}

// clientNetwork is the session as a client's part sees it.
type clientNetwork struct {
	client  *cohort.Client
	clients int
	odd     *deviant
}

// receive waits for the server's next message.
func (n *clientNetwork) receive(ctx context.Context, kind string, limit int) (*cohort.Notice, error) {
	h, err := n.client.ReceiveNotice(ctx, kind, roundSize+limit)
	switch {
	case err != nil:
		return h, err
	case h.Kind == kindFinished:
		return h, io.EOF
	case len(h.Payload) < roundSize:
		return h, fmt.Errorf("%s of %d bytes has no round's number", h.Kind, len(h.Payload))
	}
	return h, nil
}

// ReceiveValues implements federated.Client.
func (n *clientNetwork) ReceiveValues(ctx context.Context, kind string, limit int) (int, []float64, error) {
	h, err := n.receive(ctx, kind, 8*limit)
	if err != nil {
		return 0, nil, err
	}
	var values []float64
	for b := h.Payload[roundSize:]; len(b) >= 8; b = b[8:] {
		values = append(values, math.Float64frombits(binary.LittleEndian.Uint64(b)))
	}
	return int(binary.BigEndian.Uint32(h.Payload)), values, nil
}

// Await implements federated.Respondent.
func (n *clientNetwork) Await(ctx context.Context, awaited string, limit int) (federated.Message, error) {
	h, err := n.receive(ctx, awaited, limit)
	if err != nil {
		return federated.Message{}, err
	}
	return federated.Message{Kind: h.Kind, Round: int(binary.BigEndian.Uint32(h.Payload)),
		Payload: h.Payload[roundSize:]}, nil
}

// Answer implements federated.Respondent.
func (n *clientNetwork) Answer(ctx context.Context, kind string, payload []byte) error {
	return n.client.Answer(ctx, kind, contract.ClassOpening, payload)
}

// Sum implements federated.Client.
func (n *clientNetwork) Sum(ctx context.Context, s federated.Sum, v []float64) (bool, error) {
	words := make([]uint64, len(v))
	if err := (secagg.Fixed{Bits: s.Bits, Bound: s.Bound}).Encode(s.Kind, words, v); err != nil {
		return false, err
	}
	n.odd.words = slices.Clone(words)
	err := n.client.Sum(ctx, cohort.Vector{Kind: s.Kind, Words: s.N, Bits: 64}, words)
	if errors.Is(err, cohort.ErrLeftOut) {
		return false, nil
	}
	return err == nil, err
}
