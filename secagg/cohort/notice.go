package cohort

import (
	"context"
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Notify sends a client a message that belongs to no sum, in chunks. A client that is lost on the way,
// or was before, is no error.
func (s *Server) Notify(ctx context.Context, client int, kind string, class contract.Class, payload []byte) error {
	m := protocol.Message{Kind: kind, Class: class, Operation: s.sum, Size: uint64(len(payload)), Payload: payload}
	return s.sendLong(ctx, client, m)
}

// sendLong is send for a message in chunks.
func (s *Server) sendLong(ctx context.Context, to int, m protocol.Message) error {
	return eachChunk(m, s.links.Chunk(), func(m protocol.Message) error {
		if s.lost[to] != nil {
			return nil
		}
		return s.send(ctx, to, m)
	})
}

// Notice is what a server told.
type Notice struct {
	Kind      string
	Operation uint64 // of the latest sum or question
	Payload   []byte
}

// ReceiveNotice waits for the server's next message that belongs to no sum, of at most limit bytes. It is not
// called while the server sums with this client.
func (c *Client) ReceiveNotice(ctx context.Context, awaited string, limit int) (*Notice, error) {
	var h *Notice
	for a := (assembly{}); ; {
		m, err := c.links.Receive(ctx, c.spec.Server, awaited, nil)
		if err != nil {
			return nil, err
		}
		switch {
		case ofSums(m.Kind):
			if err := c.keepKeys(m); err != nil {
				return nil, err
			}
			continue
		case h != nil && m.Kind != h.Kind:
			return nil, c.links.Deviation(m, "it came where the rest of %s is awaited", h.Kind)
		case m.Size > uint64(limit):
			return nil, c.links.Deviation(m, "it has %d bytes, at most %d are awaited", m.Size, limit)
		case h == nil:
			h, a.size, c.noticed = &Notice{Kind: m.Kind, Operation: m.Operation}, int(m.Size), m.Operation
		}
		if a.size == 0 && len(m.Payload) == 0 {
			return h, nil
		}
		done, err := a.add(m, c.links.Chunk())
		if err != nil {
			return nil, c.links.Deviation(m, "%v", err)
		}
		if done {
			h.Payload = a.bytes
			return h, nil
		}
	}
}

// keepKeys takes from a message of a sum that this client has no vector for what later sums need: keys, which the
// server sends once. The server goes on without it.
func (c *Client) keepKeys(m protocol.Message) error {
	if m.Operation > c.last {
		c.last = m.Operation - 1
	}
	var list []clientKey
	switch {
	case m.Kind == KindBegin:
		b, err := parseBegin(m.Payload, c.links.Parties())
		if err != nil {
			return c.links.Deviation(m, "%v", err)
		}
		list = b.keys
	case m.Kind == KindHolders && c.spec.Backend == HE:
		var err error
		if size := setSize(c.links.Parties()); len(m.Payload) < size {
			err = fmt.Errorf("it has %d bytes and ends early", len(m.Payload))
		} else {
			list, err = parseKeys(m.Payload[size:], c.links.Parties())
		}
		if err != nil {
			return c.links.Deviation(m, "%v", err)
		}
	case m.Kind == KindHEKey && c.spec.Backend == HE:
		if err := c.needScheme(); err != nil {
			return err
		}
		return c.acceptPublicKey(m)
	}
	for _, k := range list {
		if err := c.learn(m, k); err != nil {
			return err
		}
	}
	return nil
}

// ReceiveLong waits for the next message of party from, in chunks and of at most limit bytes. It returns
// the last chunk and the whole.
func ReceiveLong(
	ctx context.Context, l *protocol.Links, from int, awaited string, limit int,
) (protocol.Message, []byte, error) {
	var a *assembly
	var kind string
	for {
		m, err := l.Receive(ctx, from, awaited, nil)
		switch {
		case err != nil:
			return m, nil, err
		case a != nil && m.Kind != kind:
			return m, nil, l.Deviation(m, "it came where the rest of %s is awaited", kind)
		case m.Size > uint64(limit):
			return m, nil, l.Deviation(m, "it has %d bytes, at most %d are awaited", m.Size, limit)
		case a == nil:
			a, kind = &assembly{size: int(m.Size)}, m.Kind
		}
		done, err := a.add(m, l.Chunk())
		if err != nil {
			return m, nil, l.Deviation(m, "%v", err)
		}
		if done {
			return m, a.bytes, nil
		}
	}
}

// sendLong sends the server a long control message of a sum, or of its preparation.
func (c *Client) sendLong(ctx context.Context, operation uint64, kind string, payload []byte) error {
	m := protocol.Message{Kind: kind, Class: contract.ClassControl, Operation: operation,
		Size: uint64(len(payload)), Payload: payload}
	return SendLong(ctx, c.links, c.spec.Server, m)
}

// receiveLong waits for a message of the server of the given length, in chunks; it returns the last of
// them too. If the server has begun something else, that is kept for whoever asks next.
func (c *Client) receiveLong(
	ctx context.Context, operation uint64, kind string, size int,
) ([]byte, protocol.Message, error) {
	for a := (assembly{size: size}); ; {
		m, err := c.links.Receive(ctx, c.spec.Server, kind, nil)
		if err != nil {
			return nil, m, err
		}
		if m.Operation > operation || !ofSums(m.Kind) {
			c.links.Return(m)
			return nil, m, ErrLeftOut
		}
		if m.Kind != kind || m.Operation != operation {
			return nil, m, c.links.Deviation(m, "it came where %s is awaited in sum %d", kind, operation)
		}
		done, err := a.add(m, c.links.Chunk())
		if err != nil {
			return nil, m, c.links.Deviation(m, "%v", err)
		}
		if done {
			return a.bytes, m, nil
		}
	}
}
