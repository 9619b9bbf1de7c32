package clients

import (
	"context"
	"encoding/binary"
	"io"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// withRound puts a round's number in front of a payload.
func withRound(round int, payload []byte) []byte {
	return append(binary.BigEndian.AppendUint32(make([]byte, 0, roundSize+len(payload)), uint32(round)), payload...)
}

// Ask implements federated.Inquirer.
func (n *serverNetwork) Ask(ctx context.Context, round int, clients []int,
	q federated.Question) (map[int][]byte, error) {
	if err := n.proceed(round); err != nil {
		return nil, err
	}
	if len(n.server.Present()) < n.least {
		return nil, federated.ErrScarce
	}
	var parties []int
	for _, i := range clients {
		parties = append(parties, n.clients[i])
	}
	question := cohort.Question{
		Kind: q.Kind, Class: n.classOf(q.Kind), Payload: withRound(round, q.Payload), Answer: q.Answer,
		Reply: n.classOf(q.Answer), Limit: q.Limit,
	}
	if q.Check != nil {
		question.Check = func(party int, answer []byte) error { return q.Check(slices.Index(n.clients, party), answer) }
	}
	answers, losses, err := n.server.Ask(ctx, parties, question)
	if err != nil {
		return nil, err
	}
	n.lost(round, losses)
	all := make(map[int][]byte, len(answers))
	for party, answer := range answers {
		all[slices.Index(n.clients, party)] = answer
	}
	n.opened(q.Answer, int64(len(answers)))
	return all, nil
}

// Send implements federated.Inquirer.
func (n *serverNetwork) Send(ctx context.Context, client int, kind string, round int, payload []byte) error {
	if err := n.proceed(round); err != nil {
		return err
	}
	return n.server.Notify(ctx, n.clients[client], kind, n.classOf(kind), withRound(round, payload))
}

// Await implements federated.Respondent.
func (n *clientNetwork) Await(ctx context.Context, awaited string, limit int) (federated.Message, error) {
	h, err := n.client.ReceiveNotice(ctx, awaited, roundSize+limit)
	if err != nil {
		return federated.Message{}, err
	}
	switch h.Kind {
	case kindFinished:
		return federated.Message{}, io.EOF
	case kindPaused:
		return federated.Message{}, federated.ErrPaused
	}
	if len(h.Payload) < roundSize {
		return federated.Message{}, n.links.Deviation(protocol.Message{From: n.server, Kind: h.Kind},
			"%d bytes have no round's number", len(h.Payload))
	}
	n.opened(h.Kind, 1)
	return federated.Message{Kind: h.Kind, Round: int(binary.BigEndian.Uint32(h.Payload)),
		Payload: h.Payload[roundSize:]}, nil
}

// Answer implements federated.Respondent.
func (n *clientNetwork) Answer(ctx context.Context, kind string, payload []byte) error {
	return n.client.Answer(ctx, kind, n.classOf(kind), payload)
}
