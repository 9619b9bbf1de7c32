package gfml

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/federated/memory"
)

// world is servers and clients whose parts run over memory.
type world struct {
	t       *testing.T
	plan    *Plan
	x       [][][][]float64 // [server][client][row]
	y       [][][]float64
	servers []memory.Vault
	clients [][]memory.Vault
	rows    [][]*memory.Rows // of the newest sessions
	seen    [][]federated.Progress
	links   *memory.Servers
	privacy string

	lost func(n, server, client int) bool
	at   func(server int, s *serverSession, p federated.Progress) // after every iteration
}

// newWorld makes clients with so many rows each.
func newWorld(t *testing.T, p *Plan, rows int) *world {
	w := &world{t: t, plan: p, links: memory.NewServers(p.Servers()), privacy: "masked"}
	draw := rand.New(rand.NewPCG(3, 1))
	for s := range p.Servers() {
		k := p.Clients(s)
		w.x, w.y = append(w.x, make([][][]float64, k)), append(w.y, make([][]float64, k))
		w.servers, w.clients = append(w.servers, memory.Vault{}), append(w.clients, nil)
		w.rows, w.seen = append(w.rows, make([]*memory.Rows, k)), append(w.seen, make([]federated.Progress, k))
		for k := range w.x[s] {
			w.clients[s] = append(w.clients[s], memory.Vault{})
			for range rows {
				x := []float64{draw.NormFloat64(), draw.NormFloat64()}
				w.x[s][k] = append(w.x[s][k], x)
				w.y[s][k] = append(w.y[s][k], math.Sin(x[0])+0.1*float64(s)*x[1]+0.05*draw.NormFloat64())
			}
		}
	}
	return w
}

// serverSession is one life of a server, with its clients.
type serverSession struct {
	*world
	*memory.Session
	server int
}

// runClient has a client attend, with its stream from the first row on.
func (s *serverSession) runClient(ctx context.Context, k int) {
	w := s.world
	rows := memory.RowsAfter(w.rows[s.server][k], w.x[s.server][k], w.y[s.server][k])
	w.rows[s.server][k] = rows
	s.RunClient(ctx, k, func(ctx context.Context, c *memory.Client) error {
		return RunClient(ctx, &ClientPart{
			Plan: w.plan, Server: s.server, Client: k, Privacy: w.privacy, Least: 2, Network: c, Rows: rows,
			Vault:  w.clients[s.server][k],
			Report: func(p federated.Progress) { w.seen[s.server][k] = p },
		})
	})
}

// serve runs a server with its clients until it ends.
func (w *world) serve(ctx context.Context, server int) error {
	n := w.plan.Clients(server)
	s := &serverSession{w, memory.NewSession(n, 2), server}
	if w.lost != nil {
		s.Lost = func(round, client int) bool { return w.lost(round, server, client) }
	}
	for k := range n {
		s.runClient(w.t.Context(), k)
	}
	neighbour := w.links.Join(server)
	err := Serve(ctx, &ServerPart{
		Plan: w.plan, Server: server, Privacy: w.privacy, Least: 2, Network: s.Hub, Neighbours: neighbour, Mixing: neighbour,
		Vault: w.servers[server], CheckpointEvery: 5,
		Report: func(p federated.Progress) {
			if w.at != nil {
				w.at(server, s, p)
			}
		},
	})
	neighbour.Leave()
	if err == nil {
		s.End()
	}
	for k := range n {
		if err != nil {
			s.Stop(k)
		} else if err := s.Ended(k); err != nil {
			w.t.Errorf("client %d of server %d: %v", k, server, err)
		}
	}
	s.Wait()
	return err
}

// run runs all servers; live is one server's life or lives, nil: one without an end before the last
// iteration.
func (w *world) run(live func(server int) error) {
	w.t.Helper()
	if live == nil {
		live = func(server int) error { return w.serve(w.t.Context(), server) }
	}
	for s := range w.plan.Servers() { // before any of them exchanges
		w.links.Join(s)
	}
	var wait sync.WaitGroup
	errs := make([]error, w.plan.Servers())
	for s := range errs {
		wait.Go(func() { errs[s] = live(s) })
	}
	wait.Wait()
	for _, err := range errs {
		must(w.t, err)
	}
}

// mirror is the same run in one process, in floats, with what clients go back to when they are
// killed.
type mirror struct {
	*world
	*Federation
	features *Features
	cursor   [][]int // rows learned
	saved    [][][]byte
	savedRow [][]int
	down     func(n, server int) bool
}

// newMirror starts it.
func newMirror(w *world) *mirror {
	m := &mirror{world: w, Federation: federation(w.t, w.plan, w.plan.NewServer), features: w.plan.Features()}
	for _, clients := range m.Clients {
		m.cursor = append(m.cursor, make([]int, len(clients)))
		m.saved, m.savedRow = append(m.saved, make([][]byte, len(clients))), append(m.savedRow, make([]int, len(clients)))
		for k, c := range clients {
			var err error
			m.saved[len(m.saved)-1][k], err = c.Save(0)
			must(w.t, err)
		}
	}
	return m
}

// step does one iteration. Clients of a server that is down wait.
func (m *mirror) step(n int) {
	m.t.Helper()
	r := Round{Sample: func(s, k int) ([]float64, float64, bool) { return m.sample(n, s, k) }}
	if m.world.lost != nil {
		r.Lost = func(s, k int) bool { return m.world.lost(n, s, k) }
	}
	if m.down != nil {
		r.Down = func(s int) bool { return m.down(n, s) }
	}
	must(m.t, m.Step(n, r))
	for s, clients := range m.Clients {
		if m.down != nil && m.down(n, s) {
			continue
		}
		for _, k := range m.Plan.Chosen(s, n) {
			var err error
			m.saved[s][k], err = clients[k].Save(n + 1)
			must(m.t, err)
			m.savedRow[s][k] = m.cursor[s][k]
		}
	}
}

// sample takes a client's next row.
func (m *mirror) sample(n, s, k int) (z []float64, y float64, ok bool) {
	i := m.cursor[s][k]
	if i == len(m.x[s][k]) || m.down != nil && m.down(n, s) {
		return nil, 0, false
	}
	m.cursor[s][k]++
	z = make([]float64, m.Plan.params.Features)
	must(m.t, m.features.Map(z, m.x[s][k][i]))
	return z, m.y[s][k][i], true
}

// revive takes a client back to its newest upload.
func (m *mirror) revive(s, k int) {
	m.t.Helper()
	_, err := m.Clients[s][k].Restore(m.saved[s][k])
	must(m.t, err)
	m.cursor[s][k] = m.savedRow[s][k]
}

// compare holds what the parts left in their vaults against the mirror.
func (m *mirror) compare() {
	m.t.Helper()
	bits, _ := m.Plan.Encoding()
	addends := 1 + len(m.Plan.Neighbourhood(0)) // of an iteration: those of the clients' mean, and of the servers' sum
	tolerance := float64(m.Plan.params.Iterations*addends) * math.Ldexp(1, -bits)
	for s, server := range m.Servers {
		got, err := m.Plan.NewServer(s)
		must(m.t, err)
		next, err := got.Restore(m.world.servers[s][federated.ServerSlot])
		must(m.t, err)
		if next != m.Plan.params.Iterations {
			continue // it was gone at the end
		}
		wantNear(m.t, fmt.Sprintf("model of server %d", s), got.Model(), server.Model(), tolerance)
		for k := range m.Clients[s] {
			m.compareClient(s, k, tolerance)
		}
	}
}

// compareClient holds one client against the mirror, as of its newest upload.
func (m *mirror) compareClient(s, k int, tolerance float64) {
	m.t.Helper()
	saved := m.world.clients[s][k][federated.ClientSlot]
	if saved == nil {
		if m.savedRow[s][k] > 0 {
			m.t.Errorf("client %d of server %d has saved nothing", k, s)
		}
		return
	}
	state, err := decodeAttendance(saved, m.Plan.params.Features)
	must(m.t, err)
	got, err := m.Plan.NewClient(s, k)
	must(m.t, err)
	_, err = got.Restore(state.Client)
	must(m.t, err)
	want, err := m.Plan.NewClient(s, k)
	must(m.t, err)
	_, err = want.Restore(m.saved[s][k])
	must(m.t, err)
	wantNear(m.t, fmt.Sprintf("model of client %d of server %d", k, s), got.Model(), want.Model(), tolerance)
	if state.Row != m.savedRow[s][k] || len(m.world.rows[s][k].Predictions) < m.cursor[s][k] {
		m.t.Errorf("client %d of server %d uploaded up to row %d and predicted %d, want %d and %d",
			k, s, state.Row, len(m.world.rows[s][k].Predictions), m.savedRow[s][k], m.cursor[s][k])
	}
}

// serveUntil runs server 2 until so many iterations are done, and kills it then.
func (w *world) serveUntil(ctx context.Context, done int, kill func()) error {
	at := w.at
	own := *w // shares all but the hook
	own.at = func(server int, s *serverSession, p federated.Progress) {
		if at != nil {
			at(server, s, p)
		}
		if p.Round == done {
			kill()
		}
	}
	return own.serve(ctx, 2)
}
