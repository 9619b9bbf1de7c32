package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// neighbour is what a server knows of another one in a session.
type neighbour struct {
	gone   bool
	newest int                     // the last round that it sent a vector of: none of an earlier one follows
	early  map[exchanged][]float64 // what it sent ahead of its turn
}

// exchanged names one vector between servers.
type exchanged struct {
	kind  string
	round int
}

// maxEarly bounds what a server may send ahead of its turn.
const maxEarly = 16

// Exchange implements federated.Neighbourhood. A server that is silent for as long as a round of a sum
// is left out this time, one whose link is broken for the rest of the session.
func (n *serverNetwork) Exchange(ctx context.Context, kind string, round int, with []int,
	values []float64) (map[int][]float64, error) {
	if err := n.proceed(round); err != nil {
		return nil, err
	}
	if n.others == nil {
		n.others = make(map[int]*neighbour)
	}
	for _, s := range with {
		if n.others[s] == nil {
			n.others[s] = &neighbour{early: make(map[exchanged][]float64)}
		}
		other, payload := n.others[s], encodeRound(round, values)
		if other.gone { // which is no error
			continue
		}
		sending, cancel := context.WithTimeout(ctx, sumTime)
		err := cohort.SendLong(sending, n.links, n.party(s),
			protocol.Message{Kind: kind, Class: n.classOf(kind), Size: uint64(len(payload)), Payload: payload})
		cancel()
		if err := other.lost(ctx, err); err != nil {
			return nil, err
		}
	}
	all := make(map[int][]float64)
	for _, s := range with {
		v, err := n.receiveFrom(ctx, s, exchanged{kind, round}, len(values))
		if err != nil {
			return nil, err
		}
		if v != nil {
			all[s] = v
		}
	}
	return all, nil
}

// lost notes that a server's link is broken, which is no error; anything else is.
func (o *neighbour) lost(ctx context.Context, err error) error {
	if isLost(ctx, err) {
		o.gone = true
		return nil
	}
	return err
}

// receiveFrom waits for a vector of a server, nil when it does not come.
func (n *serverNetwork) receiveFrom(ctx context.Context, server int, want exchanged, size int) ([]float64, error) {
	other := n.others[server]
	waiting, cancel := context.WithTimeout(ctx, sumTime)
	defer cancel()
	for !other.gone {
		if v, ok := other.early[want]; ok {
			delete(other.early, want)
			return v, nil
		}
		if other.newest > want.round { // it was further when the session began
			return nil, nil
		}
		m, payload, err := cohort.ReceiveLong(waiting, n.links, n.party(server), want.kind, roundSize+8*size)
		if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
			return nil, nil
		}
		if err != nil {
			return nil, other.lost(ctx, err)
		}
		round, values, err := decodeRound(payload)
		if err == nil && len(values) != size {
			err = fmt.Errorf("%d values, want %d", len(values), size)
		}
		if err == nil && round >= want.round && len(other.early) >= maxEarly {
			err = fmt.Errorf("it sends rounds ahead of its turn")
		}
		if err != nil {
			return nil, n.links.Deviation(m, "%v", err)
		}
		other.newest = max(other.newest, round)
		if round >= want.round { // what is late is left behind
			other.early[exchanged{m.Kind, round}] = values
		}
	}
	return nil, nil
}

// party returns the index of a server among the job's parties.
func (n *serverNetwork) party(server int) int {
	for i := range n.links.Parties() {
		if n.links.Name(i) == n.job.Servers[server] {
			return i
		}
	}
	return -1
}

// place returns a server's place among the job's servers.
func (n *serverNetwork) place(party int) int { return slices.Index(n.job.Servers, n.links.Name(party)) }
