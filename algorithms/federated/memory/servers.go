package memory

import (
	"context"
	"slices"
)

// Servers is the servers of a job to each other.
type Servers struct {
	board   *board
	members []*Neighbour
}

// NewServers returns so many servers, all gone.
func NewServers(n int) *Servers {
	s := &Servers{board: newBoard()}
	for range n {
		s.members = append(s.members, &Neighbour{said: make(map[letter][]float64), newest: -1, gone: true})
	}
	return s
}

// Neighbour is one server's view of the others; it implements federated.Neighbourhood.
type Neighbour struct {
	servers *Servers
	number  int
	said    map[letter][]float64
	newest  int // round of what was said
	gone    bool
}

// letter is what a vector is called.
type letter struct {
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
func (n *Neighbour) Exchange(ctx context.Context, kind string, round int, with []int, values []float64) (map[int][]float64, error) {
	n.servers.board.change(func() {
		n.said[letter{kind, round}] = slices.Clone(values)
		n.newest = max(n.newest, round)
	})
	var theirs map[int][]float64
	err := n.servers.board.await(ctx, func() bool {
		theirs = make(map[int][]float64)
		for _, r := range with {
			m := n.servers.members[r]
			if v, ok := m.said[letter{kind, round}]; ok {
				theirs[r] = slices.Clone(v)
			} else if !m.gone && m.newest <= round {
				return false
			}
		}
		return true
	})
	return theirs, err
}
