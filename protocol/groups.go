package protocol

import (
	"context"
	"errors"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// groupShift is where in an operation's number on the wire the number of its group stands.
const groupShift = 48

// GroupOf returns the group that an operation's number on the wire and in transcripts names, 0 for none, and the
// operation's number in it.
func GroupOf(operation uint64) (group uint16, number uint64) {
	return uint16(operation >> groupShift), operation & (1<<groupShift - 1)
}

// inGroup returns the number on the wire of a group's operation.
func inGroup(group uint16, operation uint64) uint64 { return uint64(group)<<groupShift | operation }

// Most that is kept of a party that is ahead of this one.
const (
	maxAhead      = 256 // messages of one group
	maxAheadBytes = 1 << 24
)

// Groups lets servers of a job sum among themselves over one session's links. Each group has a server that learns its
// totals and others that contribute; a server may be in many. Every message says of which group it is, every group has
// session keys of its own, and what comes is sorted by group: a party may be ahead of another in one of them. It is,
// like the links, not safe for concurrent use.
type Groups struct {
	links    *Links
	arrivals arrivals
	index    map[keys.ID]int
	queues   map[uint16][]Arrival // of each group, in the order of their coming
	gone     []error              // by party: why nothing comes from it any more
}

// arrivals is where frames come in. An error means that ctx has ended, and nothing is lost, or that no more come.
type arrivals interface {
	Next(ctx context.Context) (Arrival, error)
}

// NewGroups takes over what comes from some parties, whose frames are all among the arrivals.
func (l *Links) NewGroups(from arrivals) *Groups {
	g := &Groups{
		links: l, arrivals: from, index: make(map[keys.ID]int), queues: make(map[uint16][]Arrival),
		gone: make([]error, l.Parties()),
	}
	for i := range l.Parties() {
		g.index[l.Party(i).ID] = i
	}
	return g
}

// Links returns this party's links within a group, numbered from 1, with a session key of their own. It is called
// once for each group.
func (g *Groups) Links(group uint16) (*Links, error) {
	within := *g.links
	within.group, within.groups, within.returned, within.pairs = group, g, nil, make([]*PairSecret, g.links.Parties())
	g.queues[group] = nil
	for from, err := range g.gone {
		if err != nil {
			g.queues[group] = append(g.queues[group], Arrival{From: g.links.Party(from).ID, Err: err})
		}
	}
	var err error
	within.ephemeral, within.key, err = g.links.wire.newKey(group)
	return &within, err
}

// Arrivals returns what comes in a group to the server that learns its totals.
func (g *Groups) Arrivals(group uint16) *GroupArrivals { return &GroupArrivals{g, group} }

// GroupArrivals is what comes in one group.
type GroupArrivals struct {
	groups *Groups
	group  uint16
}

// Next returns the next message of the group, or the news that a party is gone. What has arrived is returned even
// when ctx has ended.
func (a *GroupArrivals) Next(ctx context.Context) (Arrival, error) {
	for len(a.groups.queues[a.group]) == 0 {
		if err := a.groups.sort(ctx); err != nil {
			return Arrival{}, err
		}
	}
	queue := a.groups.queues[a.group]
	a.groups.queues[a.group] = queue[1:]
	return queue[0], nil
}

// receive waits for the next message of a party in a group.
func (g *Groups) receive(ctx context.Context, group uint16, from int, awaited string) (Message, error) {
	id := g.links.Party(from).ID
	for looked := 0; ; {
		for queue := g.queues[group]; looked < len(queue); looked++ {
			a := queue[looked]
			if a.From != id {
				continue
			}
			if a.Err != nil {
				return Message{}, &StepError{Peer: g.links.Name(from), Kind: awaited, Err: a.Err}
			}
			g.queues[group] = append(queue[:looked:looked], queue[looked+1:]...)
			return *a.Message, nil
		}
		if err := g.sort(ctx); err != nil {
			return Message{}, &StepError{Peer: g.links.Name(from), Kind: awaited, Err: err}
		}
	}
}

// sort takes the next arrival into the queue of its group. A party that is gone, or deviates, is gone in all groups.
func (g *Groups) sort(ctx context.Context) error {
	a, err := g.arrivals.Next(ctx)
	if err != nil {
		return err
	}
	from, ok := g.index[a.From]
	if !ok || g.gone[from] != nil {
		return nil
	}
	var m Message
	if a.Err == nil {
		m, a.Err = g.links.accept(from, a.Frame)
	}
	if a.Err == nil && m.Kind != contract.KindPast {
		a.Err = g.enqueue(m)
	}
	if a.Err == nil {
		return nil
	}
	var broken *StepError
	if a.Frame != nil && !errors.As(a.Err, &broken) {
		return a.Err // this party's own failure
	}
	g.lose(from, a.Err)
	return nil
}

// lose ends a party's part in all groups.
func (g *Groups) lose(party int, err error) {
	if g.gone[party] != nil {
		return
	}
	g.gone[party] = err
	for group := range g.queues {
		g.queues[group] = append(g.queues[group], Arrival{From: g.links.Party(party).ID, Err: err})
	}
}

// enqueue keeps a message for whoever of its group asks next.
func (g *Groups) enqueue(m Message) error {
	queue, ok := g.queues[m.Group]
	if m.Group == 0 {
		return g.links.Deviation(m, "it is of no group of the servers, and all messages between these are")
	}
	if !ok {
		return g.links.Deviation(m, "it is of group %d of the servers, of which this one is not", m.Group)
	}
	id := g.links.Party(m.From).ID
	ahead, bytes := 0, len(m.Payload)
	for _, a := range queue {
		if a.From == id && a.Message != nil {
			ahead, bytes = ahead+1, bytes+len(a.Message.Payload)
		}
	}
	if ahead == maxAhead || bytes > maxAheadBytes {
		return g.links.Deviation(m, "it sends ahead of its turn: %d messages of group %d were not asked for yet",
			ahead, m.Group)
	}
	g.queues[m.Group] = append(queue, Arrival{From: id, Message: &m})
	return nil
}
