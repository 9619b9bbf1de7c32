package gfml

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Disclose tells what a job opens to whom and what its parties send, in a privacy mode as jobs name
// it: see federated.Published.
func (p *Plan) Disclose(privacy string) federated.Disclosure {
	d := &discloser{plan: p, privacy: privacy, iterations: int64(p.params.Iterations), numbers: int64(p.params.Features)}
	for s := range p.params.Servers {
		d.server(s)
	}
	for s := range p.params.Servers {
		d.clients(s)
	}
	if p.Diffusion(privacy) == DiffusionMasked {
		for s := range p.params.Servers {
			d.mixed(s)
		}
		return d.Disclosure
	}
	d.between(KindPsiPrime, p.OtherNeighbours)
	d.between(KindPsi, p.OwnNeighbours)
	return d.Disclosure
}

// discloser collects a Disclosure.
type discloser struct {
	federated.Disclosure
	plan       *Plan
	privacy    string
	iterations int64
	numbers    int64 // of a model
}

// longest returns the most entries that an upload may hold.
func (p *Plan) longest() int {
	if p.params.Selection == Coordinated {
		return p.params.Entries
	}
	return min(p.params.Features, p.params.Participants*p.params.Entries)
}

// server lists what a server sums and learns.
func (d *discloser) server(s int) {
	p, name := d.plan, d.plan.graph.names[s]
	entries := int64(p.longest())
	d.Sums = append(d.Sums, federated.Summed{
		Server: name, Clients: p.Clients(s), Sum: p.sumOf(p.longest()), Times: d.iterations, Words: d.iterations * entries,
	})
	d.uploads(s, name, d.iterations*entries)
	if p.Diffusion(d.privacy) == DiffusionMasked {
		return
	}
	d.learns(name, KindPsiPrime, d.iterations*d.numbers*int64(len(p.OtherNeighbours(s))),
		"the models of neighbouring servers in other clusters, once an iteration, with what their chosen clients just added")
	d.learns(name, KindPsi, d.iterations*d.numbers*int64(len(p.OwnNeighbours(s))),
		"the models of neighbouring servers in its cluster, once an iteration, after they took in those of other clusters")
}

// mixed lists what a server sums of its neighbourhood, and learns.
func (d *discloser) mixed(s int) {
	p, name, neighbours := d.plan, d.plan.graph.names[s], d.plan.Neighbourhood(s)
	m := federated.Mixed{Server: name, Sum: p.MixSum(s), Times: d.iterations, Told: KindNeighbours}
	for _, r := range neighbours {
		m.From = append(m.From, p.graph.names[r])
	}
	d.Mixed = append(d.Mixed, m)
	d.learns(name, KindDiffusion, d.iterations*d.numbers, fmt.Sprintf(
		"the weighted sum of the models of %d other servers, once an iteration, and no single one; if all but two leave, "+
			"up to "+
			"%.0f %% of it is one server's model",
		len(neighbours), math.Ceil(100*p.LargestShare(s))))
}

// uploads says what a server learns of its clients' uploads; count is the numbers of one upload in all
// iterations.
func (d *discloser) uploads(s int, name string, count int64) {
	p := d.plan.params
	if d.privacy == federated.Published {
		d.learns(name, KindUploads, count*int64(p.Participants),
			fmt.Sprintf("%d of %d weights of the model of every chosen client, once an iteration: how they change from one "+
				"row to the next tells the row's features and its error", p.Entries, p.Features))
		return
	}
	d.learns(name, KindUploads, count,
		fmt.Sprintf("the sum of %d of %d weights over the chosen clients' models, once an iteration; a client is among "+
			"the %d chosen of %d in turn", p.Entries, p.Features, p.Participants, d.plan.Clients(s)))
}

// clients lists what the clients of a server are told.
func (d *discloser) clients(s int) {
	p, name := d.plan.params, d.plan.graph.names[s]
	numbers := d.iterations * int64(p.Entries)
	d.Told = append(d.Told,
		federated.Told{Server: name, Kind: KindModel, Times: d.iterations, Bytes: numbers * federated.ValueBytes},
		federated.Told{Server: name, Kind: KindIteration, Times: d.iterations})
	for _, c := range d.plan.clients[s] {
		d.learns(c, KindModel, numbers, fmt.Sprintf("%d of %d weights of its server's model, in the iterations in which it "+
			"is chosen, at most", p.Entries, p.Features))
	}
}

// between lists what pairs of neighbours send each other.
func (d *discloser) between(kind string, neighbours func(server int) []int) {
	e := federated.Exchanged{Kind: kind, Times: d.iterations, Bytes: d.iterations * d.numbers * federated.ValueBytes}
	for s, name := range d.plan.graph.names {
		for _, r := range neighbours(s) {
			if s < r {
				e.Pairs = append(e.Pairs, [2]string{name, d.plan.graph.names[r]})
			}
		}
	}
	if len(e.Pairs) > 0 {
		d.Between = append(d.Between, e)
	}
}

// learns adds values to what a party learns.
func (d *discloser) learns(to, kind string, count int64, meaning string) {
	if count > 0 {
		d.Openings = append(d.Openings, contract.Opening{To: to, Kind: kind, Count: count, Meaning: meaning})
	}
}
