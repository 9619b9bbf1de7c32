package gfml

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Server is one server's model and its part of the algorithm.
type Server struct {
	plan   *Plan
	server int
	rules  rules
	w      []float64
}

// NewServer returns a server of the graph; its model starts at 0.
func (p *Plan) NewServer(server int) (*Server, error) {
	if err := p.checkPlace(server, 0); err != nil {
		return nil, err
	}
	return &Server{plan: p, server: server, rules: p.rules[server], w: make([]float64, p.params.Features)}, nil
}

// NewOnlineFed returns a server that averages its clients' models and knows no neighbours: Online-Fed,
// the baseline. It takes the same calls as a server of the graph.
func (p *Plan) NewOnlineFed(server int) (*Server, error) {
	s, err := p.NewServer(server)
	if err != nil {
		return nil, err
	}
	s.rules = rules{own: []weight{{server, 1}}}
	return s, nil
}

// Model returns a copy of w_p, of D numbers.
func (s *Server) Model() []float64 { return slices.Clone(s.w) }

// Share returns what a client is sent in iteration n, S_{p,k,n} w_p: M numbers in the ascending order
// of their entries.
func (s *Server) Share(n, client int) ([]float64, error) {
	if err := s.plan.checkPlace(s.server, client); err != nil {
		return nil, err
	}
	out := make([]float64, 0, s.plan.params.Entries)
	s.plan.eachRun(s.server, client, n, func(lo, hi int) { out = append(out, s.w[lo:hi]...) })
	return out, nil
}

// Fill is step 3: from the total of the uploads of iteration n and the clients whose uploads are in
// it, in ascending order, it returns psi', of D numbers. What a client did not send counts as the server's own
// w_p; the average is over the survivors. Without survivors there is no total, and psi' is w_p.
func (s *Server) Fill(n int, total []float64, survivors []int) ([]float64, error) {
	layout := s.plan.Layout(s.server, n)

	// Refuses clients that were not chosen, or are named twice or out of order.
	if n < 0 || n >= s.plan.params.Iterations {
		return nil, fmt.Errorf("server %q: iteration %d is out of range, want 0 to %d", s.name(), n,
			s.plan.params.Iterations-1)
	}
	chosen := s.plan.Chosen(s.server, n)
	for i, k := range survivors {
		if err := s.plan.checkPlace(s.server, k); err != nil {
			return nil, err
		}
		if !slices.Contains(chosen, k) {
			return nil, fmt.Errorf("server %q, iteration %d: the total holds an upload of %q, which is not chosen", s.name(),
				n, s.plan.clients[s.server][k])
		}
		if i > 0 && survivors[i-1] >= k {
			return nil, fmt.Errorf("server %q, iteration %d: the survivors are not in ascending order", s.name(), n)
		}
	}
	psi := slices.Clone(s.w)
	if len(survivors) == 0 {
		return psi, nil
	}
	if len(total) != len(layout) {
		return nil, fmt.Errorf("server %q, iteration %d: the total has %d entries, want %d", s.name(), n, len(total),
			len(layout))
	}
	all, counts := float64(len(survivors)), s.plan.counts(s.server, n, survivors)
	for i, e := range layout {
		if counts[e] == 0 {
			continue // only clients that dropped out select it
		}
		if !s.plan.within(total[i], counts[e]) {
			most := s.plan.params.Bound * float64(counts[e])
			return nil, fmt.Errorf("server %q, iteration %d: entry %d of the total of %d clients is %v, want a magnitude of "+
				"at most %v", s.name(), n, e, counts[e], total[i], most)
		}
		psi[e] = (total[i] + (all-float64(counts[e]))*s.w[e]) / all
	}
	return psi, nil
}

// Cooperate is step 4: from this server's psi' and those of its neighbours in other clusters it
// returns psi. A neighbour that is gone is left out of the map: its weight is shared out among the
// others there, in proportion to theirs; when all are gone the step does nothing.
func (s *Server) Cooperate(psi []float64, others map[int][]float64) ([]float64, error) {
	if err := s.checkVectors(s.rules.others, psi, others); err != nil {
		return nil, err
	}
	pull := make([]float64, len(psi))
	for _, w := range among(s.rules.others, func(r int) bool { return others[r] != nil }) {
		floats.AddScaled(pull, w.value, others[w.server])
		floats.AddScaled(pull, -w.value, psi)
	}
	out := slices.Clone(psi)
	floats.AddScaled(out, s.plan.params.Eta, pull)
	return out, nil
}

// Combine is step 5: from this server's psi and those of its neighbours in its own cluster it sets
// w_p. The weight of a neighbour that is gone is shared out among those there, this server included,
// in proportion to theirs, so that the weights still sum to 1; if all that are there had no weight,
// psi is w_p.
func (s *Server) Combine(psi []float64, own map[int][]float64) error {
	if err := s.checkVectors(s.rules.own, psi, own); err != nil {
		return err
	}
	list := among(s.rules.own, func(r int) bool { return r == s.server || own[r] != nil })
	if list == nil {
		list = []weight{{s.server, 1}}
	}
	w := make([]float64, len(psi))
	for _, c := range list {
		v := own[c.server]
		if c.server == s.server {
			v = psi
		}
		floats.AddScaled(w, c.value, v)
	}
	s.w = w
	return nil
}

// checkVectors refuses vectors of servers that have no business here, of the wrong length or with
// numbers beyond the bound.
func (s *Server) checkVectors(list []weight, psi []float64, theirs map[int][]float64) error {
	if len(psi) != len(s.w) {
		return fmt.Errorf("server %q: its vector has %d numbers, want %d", s.name(), len(psi), len(s.w))
	}
	expected := 0
	for _, w := range list {
		v, ok := theirs[w.server]
		if !ok || w.server == s.server {
			continue
		}
		expected++

		// Refuses a neighbour's vector of the wrong length, or with numbers beyond the bound: steps
		// 3 to 5 take weighted means of uploads and models, all within it.
		server := w.server
		from := s.plan.graph.names[server]
		if len(v) != len(s.w) {
			return fmt.Errorf("server %q: the vector of %q has %d numbers, want %d", s.name(), from, len(v), len(s.w))
		}
		for i, x := range v {
			if !s.plan.within(x, 1) {
				return fmt.Errorf("server %q: number %d in the vector of %q is %v, want a magnitude of at most %v", s.name(), i,
					from, x, s.plan.params.Bound)
			}
		}
	}
	if expected != len(theirs) {
		return fmt.Errorf("server %q has %d vectors of servers that are no such neighbours of it", s.name(),
			len(theirs)-expected)
	}
	return nil
}

// name says who this is.
func (s *Server) name() string { return s.plan.graph.names[s.server] }
