package cohort

import (
	"context"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Finish ends the session well with the clients that are there: each says that it is done, and the two
// ends of every link sign what went over it. It returns those who did.
func (s *Server) Finish(ctx context.Context) ([]int, error) {
	s.sum++
	there := s.present.clone()
	for _, i := range there.members() {
		if err := s.send(ctx, i, control(contract.KindDone, s.sum, nil)); err != nil {
			return nil, err
		}
	}
	done, err := s.receiveFrom(ctx, contract.KindDone, there, func(m protocol.Message) error { return nil })
	if err != nil {
		return nil, err
	}
	digests := make(map[int]keys.Hash)
	for _, i := range done.members() {
		digest, signature, err := s.links.Link(i)
		if err != nil {
			return nil, err
		}
		digests[i] = digest
		if err := s.send(ctx, i, control(contract.KindCountersign, s.sum, signature)); err != nil {
			return nil, err
		}
	}
	signed, err := s.receiveFrom(ctx, contract.KindCountersign, done, func(m protocol.Message) error {
		if err := s.links.CheckLink(m, digests[m.From]); err != nil {
			return err
		}
		return s.links.Countersigned(m)
	})
	return signed.members(), err
}

// receiveFrom hears one control message from each of some clients, and returns who sent one that was taken.
func (s *Server) receiveFrom(
	ctx context.Context, kind string, from set, accept func(m protocol.Message) error,
) (set, error) {
	received := newSet(s.links.Parties())
	g := &gathering{Server: s, waiting: from.clone(), kind: kind, class: contract.ClassControl,
		late: newSet(s.links.Parties())}
	err := g.run(ctx, func(m protocol.Message) (bool, error) {
		if err := accept(m); err != nil {
			return false, err
		}
		received.add(m.From)
		return true, nil
	})
	return received, err
}

// Finish ends the session well, when the server does: see Server.Finish. What the server still sends
// of sums is passed over.
func (c *Client) Finish(ctx context.Context) error {
	if err := c.save(c.past.Drawn); err != nil {
		return err
	}
	m, err := c.receiveOnly(ctx, contract.KindDone)
	if err != nil {
		return err
	}
	if err := c.links.Send(ctx, c.spec.Server, control(contract.KindDone, m.Operation, nil)); err != nil {
		return err
	}
	digest, signature, err := c.links.Link(c.spec.Server)
	if err != nil {
		return err
	}
	if m, err = c.receiveOnly(ctx, contract.KindCountersign); err != nil {
		return err
	}
	if err := c.links.CheckLink(m, digest); err != nil {
		return err
	}
	if err := c.links.Send(ctx, c.spec.Server, control(contract.KindCountersign, m.Operation, signature)); err != nil {
		return err
	}
	return c.links.Countersigned(m)
}

// receiveOnly waits for a control message of the server of one kind.
func (c *Client) receiveOnly(ctx context.Context, kind string) (protocol.Message, error) {
	for {
		m, err := c.links.Receive(ctx, c.spec.Server, kind, nil)
		if err != nil || m.Kind == kind && m.Class == contract.ClassControl {
			return m, err
		}
		if !ofSums(m.Kind) {
			return m, c.links.Deviation(m, "it came where %s is awaited", kind)
		}
	}
}

// control makes a short control message.
func control(kind string, operation uint64, payload []byte) protocol.Message {
	return protocol.Message{Kind: kind, Class: contract.ClassControl, Operation: operation,
		Size: uint64(len(payload)), Payload: payload}
}
