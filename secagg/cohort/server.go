package cohort

import (
	"context"
	"errors"
	"fmt"

	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/shamir"
)

// Arrivals is where a server's frames come in, of all clients in the order of their coming. An
// error means that ctx has ended, and nothing is lost, or that no more come at all.
type Arrivals interface {
	Next(ctx context.Context) (protocol.Arrival, error)
}

// Server is the server's end of the sums of a session. It is not safe for concurrent use.
type Server struct {
	links    *protocol.Links
	arrivals Arrivals
	spec     Spec
	plan     contract.Plan
	sum      uint64
	index    map[keys.ID]int
	keys     map[int][]byte // the clients' signed session keys
	keysSent map[int]set    // whose keys each client was sent
	present  set            // who has answered last time
	lost     map[int]error  // whose links are broken or who has deviated: they are not heard again
	losses   []Loss         // since the last sum or question said who was lost
	schemes  map[[2]int]*shamir.Scheme
	keysHE   serverKeys
}

// NewServer waits for the session keys of the clients, all of whom have links; one that is silent
// takes part as soon as its key has come.
func NewServer(
	ctx context.Context, links *protocol.Links, arrivals Arrivals, clients []int, spec Spec,
) (*Server, error) {
	spec, err := spec.complete(links.Parties())
	if err != nil {
		return nil, err
	}
	if links.Self() != spec.Server {
		return nil, fmt.Errorf("this is party %d, the server is party %d", links.Self(), spec.Server)
	}
	s := &Server{
		links: links, arrivals: arrivals, spec: spec,
		plan:  contract.PlanAmong(spec.Topology, links.Parties(), spec.Server, spec.Clients),
		index: make(map[keys.ID]int), keys: make(map[int][]byte), keysSent: make(map[int]set),
		present: newSet(links.Parties()),
		lost:    make(map[int]error), schemes: make(map[[2]int]*shamir.Scheme),
	}
	for i := range links.Parties() {
		s.index[links.Party(i).ID] = i
	}
	g := &gathering{Server: s, waiting: newSet(links.Parties(), clients...), kind: KindKey}
	return s, g.run(ctx, func(m protocol.Message) (bool, error) { return true, nil })
}

// Present lists the clients that can take part in a sum: their keys have come, and they answered
// when they were last asked.
func (s *Server) Present() []int { return s.present.members() }

// Recall takes in what has come since the last sum, such as the keys of clients that were late, and counts clients
// that were silent as there again, those of them whose links are not lost. It does not wait.
func (s *Server) Recall(ctx context.Context) error {
	come, cancel := context.WithCancel(ctx)
	cancel()
	g := &gathering{
		Server: s, kind: KindKey, waiting: newSet(s.links.Parties()), late: newSet(s.links.Parties(), s.spec.Clients...),
	}
	for {
		a, err := s.arrivals.Next(come)
		if err != nil {
			break
		}
		if err := g.arrive(a, nil); err != nil {
			return err
		}
	}
	for i := range s.keys {
		if s.lost[i] == nil {
			s.present.add(i)
		}
	}
	return ctx.Err()
}

// Least is the fewest clients that a sum opens with.
func (s *Server) Least() int { return s.spec.MinContributors }

// Lost returns why a client's part in the session is over, nil if it is not.
func (s *Server) Lost(client int) error { return s.lost[client] }

// Total is what a sum opened to the server.
type Total struct {
	Sum       uint64   // its number in the session
	Words     []uint64 // the survivors' total, each word below 2^Bits
	Survivors []int    // whose vectors are in it, ascending
	Lost      []Loss   // who was lost since the last sum or question, and in which step
}

// Sum adds the vectors of those of the clients that are present. The total is exactly the sum of
// the survivors' vectors in Z_{2^Bits}. A *TooFewError says that nothing was opened; the next sum
// may succeed. After any other error the session is over.
func (s *Server) Sum(ctx context.Context, v Vector, clients []int) (*Total, error) {
	if err := v.check(); err != nil {
		return nil, err
	}
	s.sum++
	defer func() { s.losses = nil }() // they are told with this sum
	candidates := newSet(s.links.Parties(), s.present.among(clients)...)
	t := &serverSum{Server: s, total: make([]byte, 8*v.Words), carried: newSet(s.links.Parties()),
		nears: make(map[int][]int)}
	if err := t.enough(candidates, "its begin", v); err != nil {
		return nil, err
	}
	if err := t.untilOpened(ctx, v, candidates); err != nil {
		return nil, err
	}
	words := toWords(t.total)
	truncate(words, v.Bits)
	if err := s.links.Opened(s.sum, v.Kind, contract.Fixed64, toBytes(words)); err != nil {
		return nil, err
	}
	return &Total{Sum: s.sum, Words: words, Survivors: t.survivors.members(), Lost: s.losses}, nil
}

// send sends one message to a client. A link that is broken, or takes nothing for as long as the
// server waits, loses the client and is no error.
func (s *Server) send(ctx context.Context, to int, m protocol.Message) error {
	sending, cancel := context.WithTimeout(ctx, s.spec.Patience)
	defer cancel()
	err := s.links.Send(sending, to, m)
	var broken *protocol.StepError
	if errors.As(err, &broken) && ctx.Err() == nil {
		s.lose(to, m.Kind, err)
		return nil
	}
	return err
}

// lose ends a client's part in the session.
func (s *Server) lose(client int, step string, err error) {
	if s.lost[client] == nil {
		s.lost[client] = err
		s.note(client, step, err)
	}
	s.present.remove(client)
}

// note notes a loss, for the sum or question that is under way or comes next to tell.
func (s *Server) note(client int, step string, err error) {
	s.losses = append(s.losses, Loss{Client: client, Name: s.links.Name(client), Step: step, Err: err})
}
