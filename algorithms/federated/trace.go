package federated

import (
	"context"
	"slices"
)

// Trace counts what a job sends, for the contract that lists it: the parts of its servers run without data against
// networks that carry nothing.
type Trace struct {
	Published bool     // servers see every client's vector
	Names     []string // the servers, in the job's order
	Servers   []*TracedServer
}

// TracedServer is the network of one server in a trace. All clients are there, and all other servers. No sum opens, so
// that a round goes on without one. It implements Server, Inquirer, Neighbourhood and Mixing.
type TracedServer struct {
	Answer []byte // of every client to every question

	trace   *Trace
	name    string
	clients int
	rounds  int64 // that the round under way stands for
	before  int   // lines that earlier rounds have counted
	lines   []Traced
}

// Traced is all operations of one kind at a server; there is one operation of a kind.
type Traced struct {
	Times int64 // with the first of those at the other ends
	Size  int64 // of these: bytes, or words of a sum
	Opens int64 // what the server learns of all ends: numbers, or answers

	operation int
	kind      string
	sum       Sum      // the longest
	others    []string // servers at the other ends
}

// The operations of a trace.
const (
	sends = iota
	answers
	sums
	exchanges
	mixes
)

// Server adds the network of the next server of the job, which has some clients.
func (t *Trace) Server(clients int) *TracedServer {
	s := &TracedServer{trace: t, name: t.Names[len(t.Servers)], clients: clients}
	t.Servers = append(t.Servers, s)
	return s
}

// Hold holds one round that stands for some, in which no client has more than the first. Of a round that is held after
// another, what is of a kind that the other had is not counted: both stand for the same rounds.
func (s *TracedServer) Hold(ctx context.Context, rounds int, p ServerPart) error {
	s.rounds, s.before = int64(rounds), len(s.lines)
	_, err := p.Round(ctx)
	return err
}

// count counts an operation with every other end, of some bytes or words.
func (s *TracedServer) count(operation int, kind string, size, opens int) *Traced {
	at := slices.IndexFunc(s.lines, func(l Traced) bool { return l.kind == kind })
	if at < 0 {
		at, s.lines = len(s.lines), append(s.lines, Traced{operation: operation, kind: kind})
	}
	l := &s.lines[at]
	if at >= s.before {
		l.Times, l.Size, l.Opens = l.Times+s.rounds, l.Size+s.rounds*int64(size), l.Opens+s.rounds*int64(opens)
	}
	return l
}

// Of returns what was counted of a kind.
func (s *TracedServer) Of(kind string) Traced {
	for _, l := range s.lines {
		if l.kind == kind {
			return l
		}
	}
	return Traced{}
}

// Clients implements federated.Server.
func (s *TracedServer) Clients() int { return s.clients }

// Present implements federated.Server.
func (s *TracedServer) Present() []int {
	all := make([]int, s.clients)
	for k := range all {
		all[k] = k
	}
	return all
}

// SendValues implements federated.Server.
func (s *TracedServer) SendValues(_ context.Context, client int, kind string, _ int, values []float64) error {
	if client == 0 {
		s.count(sends, kind, ValueBytes*len(values), 0)
	}
	return nil
}

// Send implements federated.Inquirer.
func (s *TracedServer) Send(_ context.Context, client int, kind string, _ int, payload []byte) error {
	if client == 0 {
		s.count(sends, kind, len(payload), 0)
	}
	return nil
}

// Ask implements federated.Inquirer. It checks no answer: the most that an answer can be need not be one.
func (s *TracedServer) Ask(_ context.Context, _ int, clients []int, q Question) (map[int][]byte, error) {
	s.count(sends, q.Kind, len(q.Payload), 0)
	s.count(answers, q.Answer, len(s.Answer), len(clients))
	all := make(map[int][]byte)
	for _, k := range clients {
		all[k] = s.Answer
	}
	return all, nil
}

// Sum implements federated.Server.
func (s *TracedServer) Sum(_ context.Context, sum Sum, clients []int) (*Total, error) {
	vectors := 1
	if s.trace.Published {
		vectors = len(clients)
	}
	if l := s.count(sums, sum.Kind, sum.N, vectors*sum.N); sum.N > l.sum.N {
		l.sum = sum
	}
	return nil, nil
}

// Exchange implements federated.Neighbourhood.
func (s *TracedServer) Exchange(_ context.Context, kind string, _ int, with []int,
	values []float64) (map[int][]float64, error) {
	s.count(exchanges, kind, ValueBytes*len(values), len(with)*len(values)).others = s.trace.named(with)
	return nil, nil
}

// Begin implements federated.Mixing.
func (s *TracedServer) Begin(context.Context, int) error { return nil }

// Mix implements federated.Mixing.
func (s *TracedServer) Mix(_ context.Context, sum Sum, _ int, from []int, _ func([]int) []int) (*Mixture, error) {
	l := s.count(mixes, sum.Kind, sum.N, sum.N)
	l.sum, l.others = sum, s.trace.named(from)
	return nil, nil
}

// Contribute implements federated.Mixing: what a server adds is counted where the sum opens.
func (s *TracedServer) Contribute(context.Context, Sum, int, int, func([]int) ([]float64, error)) error {
	return nil
}

// named names some servers.
func (t *Trace) named(servers []int) (names []string) {
	for _, s := range servers {
		names = append(names, t.Names[s])
	}
	return names
}

// Disclosure returns what was counted. What of it opens is for the algorithm to say.
func (t *Trace) Disclosure() (d Disclosure) {
	for _, s := range t.Servers {
		for _, l := range s.lines {
			switch l.operation {
			case sends:
				d.Told = append(d.Told, Told{s.name, l.kind, l.Times, l.Size})
			case answers:
				d.Answers = append(d.Answers, Answered{s.name, l.kind, l.Times, l.Size})
			case sums:
				d.Sums = append(d.Sums, Summed{s.name, s.clients, l.sum, l.Times, l.Size})
			case mixes:
				d.Mixed = append(d.Mixed, Mixed{Server: s.name, From: l.others, Sum: l.sum, Times: l.Times})
			case exchanges:
				d.exchange(t, s.name, &l)
			}
		}
	}
	return d
}

// exchange adds a server's pairs with those that come after it in the job's order.
func (d *Disclosure) exchange(t *Trace, name string, l *Traced) {
	at := slices.IndexFunc(d.Between, func(e Exchanged) bool { return e.Kind == l.kind })
	if at < 0 {
		at, d.Between = len(d.Between), append(d.Between, Exchanged{Kind: l.kind, Times: l.Times, Bytes: l.Size})
	}
	for _, other := range l.others {
		if slices.Index(t.Names, name) < slices.Index(t.Names, other) {
			d.Between[at].Pairs = append(d.Between[at].Pairs, [2]string{name, other})
		}
	}
}
