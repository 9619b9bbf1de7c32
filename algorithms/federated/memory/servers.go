package memory

import (
	"context"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// Servers is the servers of a job to each other.
type Servers struct {
	board   *board
	members []*Neighbour
	mixings map[place]*mixing
}

// place names a sum of servers' vectors.
type place struct{ at, round int }

// mixing is such a sum.
type mixing struct {
	ready map[int]bool // who waits to hear who takes part
	told  bool
	there []int
	words map[int][]int64
}

// mixing returns a sum; the board is locked.
func (s *Servers) mixing(at, round int) *mixing {
	m := s.mixings[place{at, round}]
	if m == nil {
		m = &mixing{ready: make(map[int]bool), words: make(map[int][]int64)}
		s.mixings[place{at, round}] = m
	}
	return m
}

// NewServers returns so many servers, all gone.
func NewServers(n int) *Servers {
	s := &Servers{board: newBoard(), mixings: make(map[place]*mixing)}
	for range n {
		s.members = append(s.members, &Neighbour{said: make(map[messageKey][]float64), newest: -1, gone: true})
	}
	return s
}

// Neighbour is one server's view of the others; it implements federated.Neighbourhood.
type Neighbour struct {
	servers *Servers
	number  int
	said    map[messageKey][]float64
	newest  int // round of what was said
	gone    bool
}

// messageKey is what a vector is called.
type messageKey struct {
	kind  string
	round int
}

// Join has a server come, or come back, and returns its view.
func (s *Servers) Join(server int) *Neighbour {
	n := &Neighbour{servers: s, number: server}
	s.board.change(func() {
		n.said, n.newest = s.members[server].said, s.members[server].newest
		s.members[server] = n
	})
	return n
}

// Leave has the server go. What it has said stays.
func (n *Neighbour) Leave() { n.servers.board.change(func() { n.gone = true }) }

// Exchange implements federated.Neighbourhood. It does not wait for a server that is gone or has
// come to a later round.
func (n *Neighbour) Exchange(ctx context.Context, kind string, round int, with []int,
	values []float64) (map[int][]float64, error) {
	n.servers.board.change(func() {
		n.said[messageKey{kind, round}] = slices.Clone(values)
		n.newest = max(n.newest, round)
	})
	var theirs map[int][]float64
	err := n.servers.board.await(ctx, func() bool {
		theirs = make(map[int][]float64)
		for _, r := range with {
			m := n.servers.members[r]
			if v, ok := m.said[messageKey{kind, round}]; ok {
				theirs[r] = slices.Clone(v)
			} else if !m.gone && m.newest <= round {
				return false
			}
		}
		return true
	})
	return theirs, err
}

// without reports whether a sum of a round goes on without a server: it is gone, or has come to a later round. The
// board is locked.
func (n *Neighbour) without(server, round int) bool {
	m := n.servers.members[server]
	return m.gone || m.newest > round
}

// Begin implements federated.Mixing. Here all know where the others are.
func (n *Neighbour) Begin(ctx context.Context, _ int) error { return ctx.Err() }

// Mix implements federated.Mixing. It waits for each server until it takes part, is gone or has come to a later round.
func (n *Neighbour) Mix(ctx context.Context, s federated.Sum, round int, from []int,
	adders func(there []int) []int) (*federated.Mixture, error) {
	var m *mixing
	n.servers.board.change(func() {
		n.newest = max(n.newest, round)
		m = n.servers.mixing(n.number, round)
	})
	var there []int
	err := n.servers.board.await(ctx, func() bool {
		there = there[:0]
		for _, r := range from {
			if m.ready[r] {
				there = append(there, r)
			} else if !n.without(r, round) {
				return false
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	n.servers.board.change(func() {
		m.told, m.there = true, there
	})
	adding := adders(there)
	if len(adding) < federated.LeastMixed {
		return nil, nil
	}
	mixture := &federated.Mixture{Values: make([]float64, s.N), There: m.there}
	words := make([]int64, s.N)
	err = n.servers.board.await(ctx, func() bool {
		mixture.From = mixture.From[:0]
		for _, r := range adding {
			if m.words[r] != nil {
				mixture.From = append(mixture.From, r)
			} else if !n.without(r, round) {
				return false
			}
		}
		return true
	})
	if err != nil || len(mixture.From) < federated.LeastMixed {
		return nil, err
	}
	for _, r := range mixture.From {
		add(words, m.words[r])
	}
	decode(mixture.Values, words, s.Bits)
	return mixture, checkSpace(s, len(from))
}

// Contribute implements federated.Mixing.
func (n *Neighbour) Contribute(ctx context.Context, s federated.Sum, round, at int,
	vector func(there []int) ([]float64, error)) error {
	var m *mixing
	n.servers.board.change(func() {
		n.newest = max(n.newest, round)
		m = n.servers.mixing(at, round)
		m.ready[n.number] = true
	})
	err := n.servers.board.await(ctx, func() bool { return m.told || n.without(at, round) })
	if err != nil || !slices.Contains(m.there, n.number) {
		return err
	}
	v, err := vector(m.there)
	if err != nil || v == nil {
		return err
	}
	words, err := encode(s, v)
	n.servers.board.change(func() { m.words[n.number] = words })
	return err
}
