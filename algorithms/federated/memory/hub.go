package memory

import (
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// Hub is a server's view of its clients; it implements federated.Server.
type Hub struct {
	// Lost says that a client's vector comes too late for the sum of a round; nil: none does.
	Lost func(round, client int) bool

	least   int
	board   *board
	present []*Client // nil: the client is away
	over    bool
}

// NewHub returns a hub of so many clients, all away, whose totals open with at least least of them.
func NewHub(clients, least int) *Hub {
	return &Hub{least: least, board: newBoard(), present: make([]*Client, clients)}
}

// Join has a client come, or come back, and returns its view.
func (h *Hub) Join(client int) *Client {
	c := &Client{hub: h, number: client}
	h.board.change(func() { h.present[client] = c })
	return c
}

// End tells the clients that the job is over.
func (h *Hub) End() { h.board.change(func() { h.over = true }) }

// Clients implements federated.Server.
func (h *Hub) Clients() int { return len(h.present) }

// Present implements federated.Server.
func (h *Hub) Present() []int {
	var list []int
	h.board.mu.Lock()
	defer h.board.mu.Unlock()
	for k, c := range h.present {
		if c != nil {
			list = append(list, k)
		}
	}
	return list
}

// SendValues implements federated.Server.
func (h *Hub) SendValues(ctx context.Context, client int, kind string, round int, values []float64) error {
	h.board.change(func() {
		if c := h.present[client]; c != nil {
			c.inbox = append(c.inbox, message{kind, round, slices.Clone(values)})
			c.told, c.round = true, round
		}
	})
	return ctx.Err()
}

// Send implements federated.Inquirer.
func (h *Hub) Send(ctx context.Context, client int, kind string, round int, payload []byte) error {
	h.board.change(func() {
		if c := h.present[client]; c != nil {
			c.messages = append(c.messages, federated.Message{Kind: kind, Round: round, Payload: slices.Clone(payload)})
			c.told, c.round = true, round
		}
	})
	return ctx.Err()
}

// Ask implements federated.Inquirer. It waits for all who are asked and have not left; a client whose
// answer is refused leaves.
func (h *Hub) Ask(ctx context.Context, round int, clients []int, q federated.Question) (map[int][]byte, error) {
	h.board.change(func() {
		for _, k := range clients {
			if c := h.present[k]; c != nil {
				c.answer = nil
			}
		}
	})
	for _, k := range clients {
		if err := h.Send(ctx, k, q.Kind, round, q.Payload); err != nil {
			return nil, err
		}
	}
	answers := make(map[int][]byte)
	err := h.board.await(ctx, func() bool {
		for _, k := range clients {
			c := h.present[k]
			if c != nil && c.answer == nil {
				return false
			}
			if c != nil {
				answers[k] = c.answer.Payload
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	for k, answer := range answers {
		if len(answer) > q.Limit || q.Check != nil && q.Check(k, answer) != nil {
			delete(answers, k)
			h.board.change(func() { h.present[k] = nil })
		}
	}
	return answers, nil
}

// Sum implements federated.Server. It waits for those who were told of the round and have not left.
func (h *Hub) Sum(ctx context.Context, s federated.Sum, clients []int) (*federated.Total, error) {
	var adders []*Client
	err := h.board.await(ctx, func() bool {
		adders = adders[:0]
		for _, k := range clients {
			c := h.present[k]
			if c == nil || !c.told {
				continue
			}
			if c.offer == nil {
				return false
			}
			adders = append(adders, c)
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	var total *federated.Total
	h.board.change(func() { total, err = h.total(s, adders) })
	return total, err
}

// total adds what was offered and tells everybody whether its vector is in.
func (h *Hub) total(s federated.Sum, adders []*Client) (*federated.Total, error) {
	kept := slices.DeleteFunc(slices.Clone(adders), func(c *Client) bool {
		return h.Lost != nil &&
			h.Lost(c.round, c.number)
	})
	opens := len(kept) >= max(h.least, 1)
	total := &federated.Total{Values: make([]float64, s.N)}
	words := make([]int64, s.N)
	for _, c := range adders {
		o := c.offer
		o.done, o.included = true, opens && slices.Contains(kept, c)
		c.offer, c.told = nil, false
		if o.sum != s {
			return nil, fmt.Errorf("client %d adds %+v where the server sums %+v", c.number, o.sum, s)
		}
		if o.included {
			add(words, o.words)
			total.Clients = append(total.Clients, c.number)
		}
	}
	if !opens {
		return nil, nil
	}
	decode(total.Values, words, s.Bits)
	return total, checkSpace(s, len(kept))
}
