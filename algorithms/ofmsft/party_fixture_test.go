package ofmsft

import (
	"context"
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/keys"
)

// testNetwork is a server and clients whose parts run over memory, session after session.
type testNetwork struct {
	t        *testing.T
	params   Params
	networks []*nn.Network
	inputs   [][][]float64 // [clients][rows][inputs]
	labels   [][]float64
	server   memory.Vault
	clients  []memory.Vault
	caches   []*countingCache
	rows     []*memory.Rows // of the newest session
	least    int
	at       func(federated.Progress) // after every communication round, at the server
	seen     []federated.Progress     // the newest of each client
}

// countingCache is a cache that forgets nothing and counts what is put on it.
type countingCache struct {
	data map[keys.Hash][]byte
	puts map[keys.Hash]int
}

func newCountingCache() *countingCache {
	return &countingCache{make(map[keys.Hash][]byte), make(map[keys.Hash]int)}
}

func (s *countingCache) Get(h keys.Hash) ([]byte, bool) { data, ok := s.data[h]; return data, ok }

func (s *countingCache) Put(h keys.Hash, data []byte) {
	s.data[h] = data
	s.puts[h]++
}

// secret is the seed of a test network.
var secret = sha256.Sum256([]byte("league"))

// newTestNetwork makes clients with streams of the given lengths.
func newTestNetwork(t *testing.T, p Params, networks []*nn.Network, rows ...int) *testNetwork {
	p.Server = "hub"
	l := &testNetwork{t: t, params: p, networks: networks, server: memory.Vault{}, least: 2,
		seen: make([]federated.Progress, len(rows))}
	for k, n := range rows {
		rng := rand.New(rand.NewPCG(7, uint64(k)))
		x, y := drawRows(rng, n, p.Classes)
		l.inputs, l.labels = append(l.inputs, x), append(l.labels, y)
		l.clients, l.caches = append(l.clients, memory.Vault{}), append(l.caches, newCountingCache())
	}
	return l
}

// name names a client as a Federation does.
func name(k int) string { return fmt.Sprint(k + 1) }

// session is one session of a test network under way.
type session struct {
	*testNetwork
	*memory.Session
}

// open starts a session: all clients attend.
func (l *testNetwork) open(ctx context.Context) *session {
	n := len(l.clients)
	s := &session{l, memory.NewSession(n, l.least)}
	l.rows = make([]*memory.Rows, n)
	for k := range n {
		s.runClient(ctx, k)
	}
	return s
}

// runClient has a client attend, with its stream from the first row on.
func (s *session) runClient(ctx context.Context, k int) {
	s.rows[k] = memory.RowsAfter(s.rows[k], s.inputs[k], s.labels[k])
	seed := derivedSeed(secret, k+1)
	part := &ClientPart{
		Name: name(k), Params: s.params, Clients: len(s.clients), Rows: s.rows[k], Vault: s.clients[k], Cache: s.caches[k],
		Report: func(p federated.Progress) { s.seen[k] = p }, seed: &seed,
	}
	s.RunClient(ctx, k, func(ctx context.Context, c *memory.Client) error {
		part.Network = c
		return RunClient(ctx, part)
	})
}

// serve runs the server to its end and waits for the clients.
func (s *session) serve(ctx context.Context) error {
	seed, names := derivedSeed(secret, 0), []string(nil)
	for k := range s.clients {
		names = append(names, name(k))
	}
	err := Serve(ctx, &ServerPart{
		Params: s.params, Networks: s.networks, Names: names, Least: s.least, Network: s.Hub, Vault: s.server,
		Report: s.at, seed: &seed,
	})
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

// federation runs the same job in one process and returns every client's predictions, [rows][clients].
func (l *testNetwork) federation() (f *Federation, predictions [][]float64) {
	l.t.Helper()
	f, err := NewFederation(l.params, l.networks, len(l.clients), secret)
	mustDo(l.t, err)
	for i := range l.params.Rounds {
		var rows [][]float64
		var labels []float64
		for k := range l.clients {
			rows, labels = append(rows, l.inputs[k][i]), append(labels, l.labels[k][i])
		}
		made := make([]float64, len(l.clients))
		mustDo(l.t, f.Round(rows, labels, made))
		predictions = append(predictions, made)
	}
	return f, predictions
}
