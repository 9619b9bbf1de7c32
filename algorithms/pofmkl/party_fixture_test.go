package pofmkl

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

// testNetwork is a server and clients whose parts run over memory, session after session.
type testNetwork struct {
	t          *testing.T
	dictionary *Dictionary
	streams    []stream
	server     memory.Vault
	clients    []memory.Vault
	rows       []*memory.Rows // of the newest session

	every int
	least int
	lost  func(round, client int) bool
	wrap  func(client int, rows *memory.Rows) federated.Rows // nil: as they are
	at    func(federated.Progress)                           // after every upload, at the server
	seen  []federated.Progress                               // the newest of each client
}

// newTestNetwork makes clients with streams of the given lengths.
func newTestNetwork(t *testing.T, p Params, rows ...int) *testNetwork {
	l := &testNetwork{t: t, dictionary: newDictionary(t, p, 3), server: memory.Vault{}, every: 5, least: 2,
		seen: make([]federated.Progress, len(rows))}
	rng := rand.New(rand.NewPCG(7, 7))
	for _, n := range rows {
		l.streams = append(l.streams, newStream(rng, n, 3))
		l.clients = append(l.clients, memory.Vault{})
	}
	return l
}

// secret is the seed of a test network's clients.
var secret = sha256.Sum256([]byte("league"))

// part returns a client's part in a session.
func (l *testNetwork) part(k int, network federated.Client) *ClientPart {
	seed := clientSeed(secret, k)
	var rows federated.Rows = l.rows[k]
	if l.wrap != nil {
		rows = l.wrap(k, l.rows[k])
	}
	return &ClientPart{
		Name: fmt.Sprintf("c%d", k+1), Dictionary: l.dictionary, Clients: len(l.clients), Network: network,
		Rows: rows, Vault: l.clients[k], Report: func(p federated.Progress) { l.seen[k] = p }, seed: &seed,
	}
}

// session is one session of a test network under way.
type session struct {
	*testNetwork
	*memory.Session
}

// open starts a session: all clients attend.
func (l *testNetwork) open(ctx context.Context) *session {
	n := len(l.clients)
	s := &session{l, memory.NewSession(n, l.least)}
	s.Lost = l.lost
	l.rows = make([]*memory.Rows, n)
	for k := range n {
		s.runClient(ctx, k)
	}
	return s
}

// runClient has a client attend, with its stream from the first row on.
func (s *session) runClient(ctx context.Context, k int) {
	s.rows[k] = memory.RowsAfter(s.rows[k], s.streams[k].rows, s.streams[k].labels)
	s.RunClient(ctx, k, func(ctx context.Context, c *memory.Client) error { return RunClient(ctx, s.part(k, c)) })
}

// serve runs the server to its end and waits for the clients.
func (s *session) serve(ctx context.Context) error {
	err := Serve(ctx, &ServerPart{Dictionary: s.dictionary, Network: s.Hub, Vault: s.server, CheckpointEvery: s.every,
		Report: s.at})
	s.End()
	s.Wait()
	return err
}

// run runs one session in which nothing goes wrong.
func (l *testNetwork) run() {
	l.t.Helper()
	s := l.open(l.t.Context())
	mustDo(l.t, s.serve(l.t.Context()))
	for k := range l.clients {
		mustDo(l.t, s.Ended(k))
	}
}

// theta returns what the server's vault has.
func (l *testNetwork) theta() []float64 {
	l.t.Helper()
	_, s, err := readServing(l.dictionary, l.server[federated.ServerSlot])
	mustDo(l.t, err)
	return s.Theta()
}

// shares returns the weights in a client's vault.
func (l *testNetwork) shares(k int) []float64 {
	l.t.Helper()
	s, err := readAttendance(l.clients[k][federated.ClientSlot])
	mustDo(l.t, err)
	c, err := RestoreClient(l.dictionary, s.Client)
	mustDo(l.t, err)
	return c.Shares()
}

// loop is the same job in one loop, in floats.
type loop struct {
	*testNetwork
	server      *Server
	clients     []*Client
	row         []int // rows learned
	predictions []map[int]float64
}

// newLoop starts it.
func newLoop(l *testNetwork) *loop {
	o := &loop{testNetwork: l, server: NewServer(l.dictionary), row: make([]int, len(l.streams))}
	for k := range l.streams {
		o.clients = append(o.clients, NewClient(l.dictionary, fmt.Sprintf("c%d", k+1), clientSeed(secret, k)))
		o.predictions = append(o.predictions, make(map[int]float64))
	}
	return o
}

// upload does the t-th upload; away says who takes no part, lost whose vector is not counted.
func (o *loop) upload(t int, away, lost func(k int) bool) {
	o.t.Helper()
	sum := make([]float64, updateSum(o.dictionary.params, t, len(o.clients)).N)
	for k, c := range o.clients {
		if away(k) {
			continue
		}
		mustDo(o.t, c.Begin(t))
		for range o.dictionary.params.roundsOf(t) {
			if i := o.row[k]; i < len(o.streams[k].rows) {
				y, err := c.Round(o.server.Theta(), o.streams[k].rows[i], o.streams[k].labels[i])
				mustDo(o.t, err)
				o.row[k]++
				o.predictions[k][i+1] = y
			}
		}
		into := sum
		if lost(k) {
			into = make([]float64, len(sum))
		}
		mustDo(o.t, c.Upload(into))
	}
	mustDo(o.t, o.server.Apply(t, sum, len(o.clients)))
}

// nobody is away or lost.
func nobody(int) bool { return false }

// run does all uploads.
func (o *loop) run() {
	o.t.Helper()
	for t := range o.dictionary.params.Uploads() {
		o.upload(t, nobody, nobody)
	}
}

// compare holds what a test network did against the loop, within what fixed-point numbers and the order of
// float64 additions leave.
func (o *loop) compare() {
	o.t.Helper()
	bits := UpdateSum(o.dictionary.params, len(o.clients)).Bits
	tolerance := 10 * float64(o.dictionary.params.Uploads()) * (math.Ldexp(1, -bits-1) + 0x1p-53)
	nearAll(o.t, "theta", o.theta(), o.server.Theta(), tolerance)
	for k, c := range o.clients {
		nearAll(o.t, fmt.Sprintf("weights of client %d", k+1), o.shares(k), c.Shares(), 100*tolerance)
		if len(o.rows[k].Predictions) != o.row[k] {
			o.t.Errorf("client %d predicted %d rows, want %d", k+1, len(o.rows[k].Predictions), o.row[k])
		}
		for row, y := range o.predictions[k] {
			if got := o.rows[k].Predictions[row]; !(math.Abs(got-y) <= 100*tolerance) {
				o.t.Fatalf("client %d, row %d: the prediction is %v, want %v", k+1, row, got, y)
			}
		}
	}
}

// nearAll wants two vectors to agree.
func nearAll(t testing.TB, what string, got, want []float64, tolerance float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if !(math.Abs(got[i]-want[i]) <= tolerance) {
			t.Fatalf("%s: number %d is %v, want %v to %g", what, i, got[i], want[i], tolerance)
		}
	}
}
