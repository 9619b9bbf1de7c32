package gfml

import "gonum.org/v1/gonum/floats"

// Federation is all servers and clients of a job in one process, in the clear: for simulations and for
// tests of the same job across machines.
type Federation struct {
	Plan    *Plan
	Servers []*Server
	Clients [][]*Client // [server][client]
}

// NewFederation returns a federation whose servers come from newServer: Plan.NewServer, or
// Plan.NewOnlineFed for the baseline.
func NewFederation(p *Plan, newServer func(server int) (*Server, error)) (*Federation, error) {
	f := &Federation{Plan: p}
	for s := range p.Servers() {
		server, err := newServer(s)
		if err != nil {
			return nil, err
		}
		f.Servers, f.Clients = append(f.Servers, server), append(f.Clients, nil)
		for k := range p.Clients(s) {
			client, err := p.NewClient(s, k)
			if err != nil {
				return nil, err
			}
			f.Clients[s] = append(f.Clients[s], client)
		}
	}
	return f, nil
}

// Round is what happens to a federation in one iteration.
type Round struct {
	// Sample returns a client's newest row, its features z and its target; ok is false when it has none.
	Sample func(server, client int) (z []float64, y float64, ok bool)
	// Lost says that a chosen client drops out before its upload counts. Nil: none does.
	Lost func(server, client int) bool
	// Down says that a server is gone: its clients learn alone, its neighbours do without it. Nil: none is.
	Down func(server int) bool
}

// Step runs iteration n.
func (f *Federation) Step(n int, r Round) error {
	psi := make([][]float64, len(f.Servers)) // psi', then psi; nil: the server is gone
	for s := range f.Servers {
		var err error
		if psi[s], err = f.local(n, s, r); err != nil {
			return err
		}
	}
	proposals := append([][]float64(nil), psi...)
	for s, server := range f.Servers {
		if psi[s] == nil {
			continue
		}
		var err error
		if psi[s], err = server.Cooperate(proposals[s], those(proposals, server.rules.others, s)); err != nil {
			return err
		}
	}
	for s, server := range f.Servers {
		if psi[s] == nil {
			continue
		}
		if err := server.Combine(psi[s], those(psi, server.rules.own, s)); err != nil {
			return err
		}
	}
	return nil
}

// local runs steps 1 to 3 at a server and its clients and returns psi', nil when the server is gone.
func (f *Federation) local(n, s int, r Round) ([]float64, error) {
	if r.Down != nil && r.Down(s) {
		return nil, f.learn(n, s, r)
	}
	chosen := f.Plan.Chosen(s, n)
	for _, k := range chosen {
		entries, err := f.Servers[s].Share(n, k)
		if err != nil {
			return nil, err
		}
		if err := f.Clients[s][k].Receive(n, entries); err != nil {
			return nil, err
		}
	}
	if err := f.learn(n, s, r); err != nil {
		return nil, err
	}
	total, survivors, err := f.collect(n, s, chosen, r)
	if err != nil {
		return nil, err
	}
	return f.Servers[s].Fill(n, total, survivors)
}

// learn lets all clients of a server that have a new row take their step.
func (f *Federation) learn(n, s int, r Round) error {
	for k, c := range f.Clients[s] {
		z, y, ok := r.Sample(s, k)
		if !ok {
			continue
		}
		if _, err := c.Learn(n, z, y); err != nil {
			return err
		}
	}
	return nil
}

// collect adds the uploads of the chosen clients that stay.
func (f *Federation) collect(n, s int, chosen []int, r Round) (total []float64, survivors []int, err error) {
	for _, k := range chosen {
		if r.Lost != nil && r.Lost(s, k) {
			continue
		}
		upload, err := f.Clients[s][k].Upload(n)
		if err != nil {
			return nil, nil, err
		}
		if total == nil {
			total = make([]float64, len(upload))
		}
		floats.Add(total, upload)
		survivors = append(survivors, k)
	}
	return total, survivors, nil
}

// those picks the vectors of the servers with a weight at server s, its own and missing ones left out.
func those(vectors [][]float64, list []weight, s int) map[int][]float64 {
	picked := make(map[int][]float64)
	for _, w := range list {
		if w.server != s && vectors[w.server] != nil {
			picked[w.server] = vectors[w.server]
		}
	}
	return picked
}
