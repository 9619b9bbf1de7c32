package gfml

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol/contract"
)

// trace counts what a job sends. Any client of a server may be chosen in every iteration, or in none.
func (p *Plan) trace(privacy string) (*federated.Trace, error) {
	t := &federated.Trace{Published: privacy == federated.Published, Names: p.graph.names}
	entries := p.params.Entries
	if p.params.Selection != Coordinated { // no two of the chosen clients share an entry, if there are enough
		entries = min(p.params.Features, p.params.Participants*entries)
	}
	for s := range p.params.Servers {
		n := t.Server(p.Clients(s))
		server, err := p.NewServer(s)
		if err != nil {
			return nil, err
		}
		for _, chosen := range [][]int{n.Present()[:p.params.Participants], nil} {
			if err := n.Hold(context.Background(), p.params.Iterations, &ServerPart{
				Plan: p, Server: s, Privacy: privacy, Network: n, Neighbours: n, Mixing: n, server: server,
				reserved: math.MaxInt, choose: func(int, int) []int { return chosen },
				uploads: func(int, int) federated.Sum { return p.sumOf(entries) },
			}); err != nil {
				return nil, err
			}
		}
	}
	return t, nil
}

// Disclose tells what a job opens to whom and what its parties send, in a privacy mode as jobs name
// it: see federated.Published.
func (p *Plan) Disclose(privacy string) (d federated.Disclosure, err error) {
	t, err := p.trace(privacy)
	if err != nil {
		return d, err
	}
	entries, features := p.params.Entries, p.params.Features
	d = t.Disclosure()
	slices.SortFunc(d.Between, func(a, b federated.Exchanged) int { return cmp.Compare(b.Kind, a.Kind) }) // psi' is first
	learns := func(s int, kind, meaning string) {
		if count := t.Servers[s].Of(kind).Opens; count > 0 {
			d.Openings = append(d.Openings, contract.Opening{To: p.graph.names[s], Kind: kind, Count: count, Meaning: meaning})
		}
	}
	for s := range t.Servers {
		uploads := fmt.Sprintf("the sum of %d of %d weights over the chosen clients' models, once an iteration; a client is "+
			"among the %d chosen of %d in turn", entries, features, p.params.Participants, p.Clients(s))
		if privacy == federated.Published {
			uploads = fmt.Sprintf("%d of %d weights of the model of every chosen client, once an iteration: how they change "+
				"from one row to the next tells the row's features and its error", entries, features)
		}
		learns(s, KindUploads, uploads)
		learns(s, KindPsiPrime, "the models of neighbouring servers in other clusters, once an iteration, with what their "+
			"chosen clients just added")
		learns(s, KindPsi, "the models of neighbouring servers in its cluster, once an iteration, after they took in those "+
			"of other clusters")
	}
	for s, clients := range p.clients {
		bytes := t.Servers[s].Of(KindModel).Size
		for _, c := range clients {
			d.Openings = append(d.Openings, contract.Opening{
				To: c, Kind: KindModel, Count: bytes / federated.ValueBytes, Meaning: fmt.Sprintf("%d of %d weights of its "+
					"server's model, in the iterations in which it is chosen, at most", entries, features),
			})
		}
	}
	for s := range d.Mixed { // one at every server, or none
		d.Mixed[s].Told = KindNeighbours
		learns(s, KindDiffusion, fmt.Sprintf(
			"the weighted sum of the models of %d other servers, once an iteration, and no single one; if all but two leave, "+
				"up to %.0f %% of it is one server's model", len(d.Mixed[s].From), math.Ceil(100*p.LargestShare(s))))
	}
	return d, nil
}
