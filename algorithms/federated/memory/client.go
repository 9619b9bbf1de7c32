package memory

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// Client is a client's view of its hub; it implements federated.Client. It is for one goroutine.
type Client struct {
	hub    *Hub
	number int

	inbox    []message // guarded by the hub's board, as all that follows
	messages []federated.Message
	answer   *federated.Message // to the latest question
	told     bool               // of a round whose sum is to come
	round    int
	offer    *offer
}

// message is what a server told.
type message struct {
	kind   string
	round  int
	values []float64
}

// offer is a vector that awaits its sum.
type offer struct {
	sum            federated.Sum
	words          []int64
	done, included bool
}

// Leave has the client go, whatever it was doing.
func (c *Client) Leave() {
	c.hub.board.change(func() {
		if c.hub.present[c.number] == c {
			c.hub.present[c.number] = nil
		}
	})
}

// ReceiveValues implements federated.Client.
func (c *Client) ReceiveValues(ctx context.Context, kind string, limit int) (round int, values []float64, err error) {
	var m message
	over := false
	err = c.hub.board.await(ctx, func() bool {
		if len(c.inbox) == 0 {
			over = c.hub.over
			return over
		}
		m, c.inbox = c.inbox[0], c.inbox[1:]
		return true
	})
	switch {
	case err != nil:
		return 0, nil, err
	case over:
		return 0, nil, io.EOF
	case m.values != nil && m.kind != kind:
		return 0, nil, fmt.Errorf("the server tells %q where %q is awaited", m.kind, kind)
	case len(m.values) > limit:
		return 0, nil, fmt.Errorf("%s of %d values, want at most %d", m.kind, len(m.values), limit)
	}
	return m.round, m.values, nil
}

// Await implements federated.Respondent.
func (c *Client) Await(ctx context.Context, awaited string, limit int) (federated.Message, error) {
	var l federated.Message
	over := false
	err := c.hub.board.await(ctx, func() bool {
		if len(c.messages) == 0 {
			over = c.hub.over || c.hub.present[c.number] != c
			return over
		}
		l, c.messages = c.messages[0], c.messages[1:]
		return true
	})
	switch {
	case err != nil:
		return federated.Message{}, err
	case over:
		return federated.Message{}, io.EOF
	case len(l.Payload) > limit:
		return federated.Message{}, fmt.Errorf("%s of %d bytes, want at most %d", l.Kind, len(l.Payload), limit)
	}
	return l, nil
}

// Answer implements federated.Respondent.
func (c *Client) Answer(ctx context.Context, kind string, payload []byte) error {
	c.hub.board.change(func() { c.answer = &federated.Message{Kind: kind, Payload: slices.Clone(payload)} })
	return ctx.Err()
}

// Sum implements federated.Client.
func (c *Client) Sum(ctx context.Context, s federated.Sum, v []float64) (included bool, err error) {
	o := &offer{sum: s}
	if o.words, err = encode(s, v); err != nil {
		return false, err
	}
	c.hub.board.change(func() { c.offer = o })
	err = c.hub.board.await(ctx, func() bool { return o.done || c.hub.over })
	return o.included, err
}
