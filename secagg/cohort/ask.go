package cohort

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Question is what a server asks clients, with the shape of what they answer.
type Question struct {
	Kind    string         // of the question
	Class   contract.Class // of the question
	Payload []byte         // told to all alike
	Answer  string         // the kind of the answers
	Reply   contract.Class // their class
	Limit   int            // bytes of an answer, at most
	// Check refuses an answer, which loses its client; nil: none is refused.
	Check func(client int, answer []byte) error
}

// Ask tells clients a message that belongs to no sum and returns what each of them answers. It has a
// number of its own among the sums, so that an answer that comes too late is known and discarded.
// A client that is silent for as long as the server waits, that is lost or sends what it must not has
// no answer; it is among the losses, with whoever was lost since the last sum or question.
func (s *Server) Ask(ctx context.Context, clients []int, q Question) (map[int][]byte, []Loss, error) {
	s.sum++
	defer func() { s.losses = nil }() // they are told with this question
	asked := newSet(s.links.Parties(), s.present.among(clients)...)
	for _, i := range asked.members() {
		if err := s.Notify(ctx, i, q.Kind, q.Class, q.Payload); err != nil {
			return nil, nil, err
		}
	}
	a := &answering{Question: q, chunk: s.links.Chunk(), parts: make(map[int]*assembly), whole: make(map[int][]byte)}
	g := &gathering{Server: s, waiting: asked, kind: q.Answer, class: q.Reply, late: newSet(s.links.Parties())}
	err := g.run(ctx, a.add)
	return a.whole, s.losses, err
}

// answering is the answers to one question.
type answering struct {
	Question
	chunk int
	parts map[int]*assembly
	whole map[int][]byte
}

// add takes a chunk of an answer and reports whether the answer is whole.
func (a *answering) add(m protocol.Message) (done bool, err error) {
	if m.Size > uint64(a.Limit) {
		return false, fmt.Errorf("it has %d bytes, at most %d are awaited", m.Size, a.Limit)
	}
	if a.parts[m.From] == nil {
		a.parts[m.From] = &assembly{size: int(m.Size)}
	}
	if m.Size > 0 {
		if done, err = a.parts[m.From].add(m, a.chunk); err != nil || !done {
			return false, err
		}
	}
	answer := a.parts[m.From].bytes
	if a.Check != nil {
		if err := a.Check(m.From, answer); err != nil {
			return false, err
		}
	}
	a.whole[m.From] = answer
	return true, nil
}

// Answer answers the server's question that was heard last.
func (c *Client) Answer(ctx context.Context, kind string, class contract.Class, payload []byte) error {
	m := protocol.Message{Kind: kind, Class: class, Operation: c.noticed, Size: uint64(len(payload)), Payload: payload}
	return SendLong(ctx, c.links, c.spec.Server, m)
}
