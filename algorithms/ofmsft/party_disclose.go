package ofmsft

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// trace counts what a job sends when every client stores some networks in every round, the largest first, has none of
// them yet, and fine-tunes. All networks have the longest files of their sizes.
func (p Params) trace(privacy string, clients int, stored []int) (*federated.Trace, error) {
	p.WarmUp = 0 // a round without steps sends less
	client := &ClientPart{Params: p, question: &question{
		selection: &Selection{Stored: stored}, wanted: make([]bool, len(p.Models)),
	}}
	for _, k := range stored {
		client.question.wanted[k] = true
	}
	networks := &Server{params: p, tuned: make([]tuned, len(p.Models))}
	part := &ServerPart{Params: p, server: networks, draw: func(choices map[int]*choice) (int, []int, error) {
		return 1, chosenBy(choices), nil
	}}
	longest := make([]byte, indexSize+p.Models[stored[0]].fileSize())
	for k, m := range p.Models {
		networks.tuned[k].hash = keys.Hash{1} // of no network
		part.files = append(part.files, file{bytes: longest[:indexSize+m.fileSize()]})
	}
	t := &federated.Trace{Published: privacy == federated.Published, Names: []string{p.Server}}
	n := t.Server(clients)
	n.Answer, part.Network = client.answer().encode(), n
	return t, n.Hold(context.Background(), p.Uploads(), part)
}

// Disclose tells what a job opens to whom and what its parties send, in a privacy mode as jobs name
// it: see federated.Published. clients names the parties beside the server, in their order.
func Disclose(p Params, privacy string, clients []string) (d federated.Disclosure, err error) {
	t, err := p.trace(privacy, len(clients), p.largestChoice(clients))
	if err != nil {
		return d, err
	}
	d = t.Disclosure()
	if p.Update != UpdateNone {
		d.Openings = append(d.Openings, p.openUpdates(privacy, len(clients)))
	}
	d.Openings = append(d.Openings, contract.Opening{To: p.Server, Kind: KindChoice,
		Count: t.Servers[0].Of(KindChoice).Opens, Meaning: p.openChoices()})
	for _, c := range clients {
		d.Openings = append(d.Openings, p.openToClient(c, t.Servers[0])...)
	}
	return d, nil
}

// openToClient says what a client learns of what is sent to it. Who adds a network's steps is named to all who do,
// since their masks, or keys, are theirs together.
func (p Params) openToClient(client string, sent *federated.TracedServer) (list []contract.Opening) {
	opens := func(kind, meaning string) {
		list = append(list, contract.Opening{To: client, Kind: kind, Count: sent.Of(kind).Times, Meaning: meaning})
	}
	opens(KindModel, "the server's networks that the client asks for, as all clients' steps so far made them; one that "+
		"the client has already does not come again")
	if p.Update == UpdateNone {
		return list
	}
	opens(KindRound, "the hashes of all networks in every round: they tell which networks have moved, and so were stored "+
		"by enough clients of a group")
	opens(KindTurn, "whether the client is in a round's group, and if it is, how many groups there are, which tells how "+
		"much all clients store together")
	others := "which others in a round's group store a network that the client stores, since all who add its steps " +
		"are named to each other"
	if p.Broadcast {
		others = "which others are in a round's group: all who add steps are named to each other, whatever they store"
	}
	opens(KindStep, others)
	return list
}

// largestChoice bounds what one client stores in a round: the smallest networks that fit its budget tell how many,
// the largest which.
func (p Params) largestChoice(clients []string) []int {
	costs, models, budget, sum := costs(p.Models), make([]int, len(p.Models)), 0.0, 0.0
	slices.Sort(costs)
	for k := range models {
		models[k] = k
	}
	slices.SortStableFunc(models, func(a, b int) int { return cmp.Compare(p.Models[b].Size, p.Models[a].Size) })
	for _, c := range clients {
		budget = max(budget, p.BudgetOf(c))
	}
	for n, cost := range costs {
		if sum += cost; sum > budget*(1+tolerance) && !p.Broadcast {
			return models[:n]
		}
	}
	return models
}

// openUpdates says what the server learns of the clients' steps: every network may have enough clients that store it,
// though no client stores all.
func (p Params) openUpdates(privacy string, clients int) contract.Opening {
	o := contract.Opening{To: p.Server, Kind: KindUpdates, Count: int64(p.Uploads()) * int64(p.Words())}
	if privacy == federated.Published {
		o.Count *= int64(clients)
		o.Meaning = fmt.Sprintf("every client's step of every network that it fine-tunes: gradients over %d rows or "+
			"fewer, from which inputs and labels can be computed", p.Window+p.RoundsPerUpload-1)
		return o
	}
	o.Meaning = "the sum of the steps of those in a round's group who store a network, for each network that enough " +
		"of them store; a unit of a network that only one client's row makes active shows that row, without its client's name"
	return o
}

// openChoices says what the server learns of the clients' choices.
func (p Params) openChoices() string {
	if p.Broadcast {
		return "which networks a client says it lacks; all go to all clients, so that nothing tells what a client draws"
	}
	return fmt.Sprintf("which networks each client stores in each round: drawn by its own weights, so that over "+
		"%d rounds they tell which networks do well on its rows, and which of them it says it kept", p.Uploads())
}
