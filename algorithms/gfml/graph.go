package gfml

import (
	"fmt"
	"slices"
	"strings"
)

// graph says which servers are neighbours and in which cluster each is. Servers are numbered in the
// order of the job.
type graph struct {
	names   []string
	near    [][]bool // symmetric; a server is not its own neighbour here
	cluster []int
}

// newGraph reads the graph of a job and refuses one that is not connected, and clusters that do not
// share out the servers.
func newGraph(p *Params) (*graph, error) {
	g := &graph{names: p.Servers, near: make([][]bool, len(p.Servers)), cluster: make([]int, len(p.Servers))}
	for i := range g.near {
		g.near[i], g.cluster[i] = make([]bool, len(p.Servers)), -1
	}
	place := make(map[string]int, len(p.Servers))
	for i, name := range p.Servers {
		place[name] = i
	}
	for i, e := range p.Edges {
		if len(e) != 2 {
			return nil, fmt.Errorf("edge %d names %d servers, want 2", i+1, len(e))
		}
		a, err := find(place, e[0], fmt.Sprintf("edge %s - %s", e[0], e[1]))
		if err != nil {
			return nil, err
		}
		b, err := find(place, e[1], fmt.Sprintf("edge %s - %s", e[0], e[1]))
		if err != nil {
			return nil, err
		}
		if a == b {
			return nil, fmt.Errorf("edge %s - %s joins a server to itself", e[0], e[1])
		}
		if g.near[a][b] {
			return nil, fmt.Errorf("edge %s - %s is there twice, want it once, for both directions", e[0], e[1])
		}
		g.near[a][b], g.near[b][a] = true, true
	}
	// Puts each server into its cluster.
	for q, members := range p.Clusters {
		if len(members) == 0 {
			return nil, fmt.Errorf("cluster %d is empty, want at least one server", q+1)
		}
		for _, name := range members {
			s, err := find(place, name, fmt.Sprintf("cluster %d", q+1))
			if err != nil {
				return nil, err
			}
			if was := g.cluster[s]; was >= 0 {
				return nil, fmt.Errorf("server %q is in cluster %d and in cluster %d, want one", name, was+1, q+1)
			}
			g.cluster[s] = q
		}
	}
	if s := slices.Index(g.cluster, -1); s >= 0 {
		return nil, fmt.Errorf("server %q is in no cluster, want one", g.names[s])
	}
	return g, g.connected()
}

// find returns the place of a server that something names.
func find(place map[string]int, name, where string) (int, error) {
	s, ok := place[name]
	if !ok {
		return 0, fmt.Errorf("%s: %q is not among the servers", where, name)
	}
	return s, nil
}

// connected refuses a graph of several parts.
func (g *graph) connected() error {
	reached, next := make([]bool, len(g.names)), []int{0}
	reached[0] = true
	for len(next) > 0 {
		s := next[0]
		next = next[1:]
		for r, near := range g.near[s] {
			if near && !reached[r] {
				reached[r] = true
				next = append(next, r)
			}
		}
	}
	var apart []string
	for s, ok := range reached {
		if !ok {
			apart = append(apart, g.names[s])
		}
	}
	if len(apart) > 0 {
		return fmt.Errorf("the graph is not connected: no edges lead from %s to %s", g.names[0], strings.Join(apart, ", "))
	}
	return nil
}

// others lists the neighbours of p in other clusters, N_p \ C(p).
func (g *graph) others(p int) []int {
	return g.pick(func(r int) bool { return g.near[p][r] && g.cluster[r] != g.cluster[p] })
}

// own lists the neighbours of p in its cluster, p included: N_p and C(p).
func (g *graph) own(p int) []int {
	return g.pick(func(r int) bool { return r == p || g.near[p][r] && g.cluster[r] == g.cluster[p] })
}

// pick lists the servers that a rule takes.
func (g *graph) pick(take func(r int) bool) []int {
	var list []int
	for r := range g.names {
		if take(r) {
			list = append(list, r)
		}
	}
	return list
}
