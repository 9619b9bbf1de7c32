package ofmsft

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Disclose tells what a job opens to whom and what its parties send, in a privacy mode as jobs name
// it: see federated.Published. clients names the parties beside the server, in their order.
func Disclose(p Params, privacy string, clients []string) federated.Disclosure {
	rounds, most := int64(p.Uploads()), p.largestChoice(clients)
	models := int64(len(p.Models))
	d := federated.Disclosure{
		Told: []federated.Told{
			{Server: p.Server, Kind: KindRound, Times: rounds, Bytes: rounds * models * int64(hashSize)},
			{Server: p.Server, Kind: KindModel, Times: rounds * most.models, Bytes: rounds * most.files},
			{Server: p.Server, Kind: KindTurn, Times: rounds, Bytes: rounds * alphaSize},
		},
		Answers: []federated.Answered{{Server: p.Server, Kind: KindChoice, Times: rounds,
			Bytes: rounds * int64(choiceSize(len(p.Models)))}},
	}
	if p.Update != UpdateNone {
		d.Told = append(d.Told, federated.Told{Server: p.Server, Kind: KindStep, Times: rounds * most.models,
			Bytes: rounds * most.models * indexSize})
		d.Sums = append(d.Sums, federated.Summed{
			Server: p.Server, Clients: len(clients), Sum: p.largestSum(len(clients)), Times: rounds * most.models,
			Words: rounds * most.words,
		})
		d.Openings = append(d.Openings, p.openUpdates(privacy, len(clients)))
	}
	d.Openings = append(d.Openings, p.openChoices(len(clients)))
	for _, c := range clients {
		d.Openings = append(d.Openings, p.openToClient(c, most.models)...)
	}
	return d
}

// openToClient says what a client learns that stores at most so many networks in a round. Who adds a network's
// steps is named to all who do, since their masks, or keys, are theirs together.
func (p Params) openToClient(client string, models int64) []contract.Opening {
	rounds := int64(p.Uploads())
	list := []contract.Opening{{
		To: client, Kind: KindModel, Count: rounds * models,
		Meaning: "the server's networks that the client asks for, as all clients' steps so far made them; one that the " +
			"client has already does not come again",
	}}
	if p.Update == UpdateNone {
		return list
	}
	others := "which others in a round's group store a network that the client stores, since all who add its steps " +
		"are named to each other"
	if p.Broadcast {
		others = "which others are in a round's group: all who add steps are named to each other, whatever they store"
	}
	return append(list,
		contract.Opening{To: client, Kind: KindRound, Count: rounds,
			Meaning: "the hashes of all networks in every round: they tell which networks have moved, and so were stored by " +
				"enough clients of a group"},
		contract.Opening{To: client, Kind: KindTurn, Count: rounds,
			Meaning: "whether the client is in a round's group, and if it is, how many groups there are, which tells how " +
				"much all clients store together"},
		contract.Opening{To: client, Kind: KindStep, Count: rounds * models, Meaning: others})
}

// load is what the networks take that one client may store in a round.
type load struct{ models, words, files int64 }

// largestChoice bounds what one client stores in a round: the smallest networks that fit its budget tell how many,
// the largest how much.
func (p Params) largestChoice(clients []string) load {
	var costs []float64
	var sizes []int
	for _, m := range p.Models {
		costs, sizes = append(costs, m.Cost), append(sizes, m.Size)
	}
	slices.Sort(costs)
	slices.Sort(sizes)
	slices.Reverse(sizes)
	budget := 0.0
	for _, c := range clients {
		budget = max(budget, p.BudgetOf(c))
	}
	var l load
	for sum := 0.0; l.models < int64(len(costs)); l.models++ {
		if sum += costs[l.models]; sum > budget*(1+tolerance) && !p.Broadcast {
			break
		}
	}
	for _, size := range sizes[:l.models] {
		l.words += int64(size)
		l.files += int64(indexSize + Model{Size: size}.fileSize())
	}
	return l
}

// largestSum is the sum of the steps of the largest network.
func (p Params) largestSum(clients int) federated.Sum {
	largest := 0
	for k, m := range p.Models {
		if m.Size > p.Models[largest].Size {
			largest = k
		}
	}
	return StepSum(p, largest, clients)
}

// openUpdates says what the server learns of the clients' steps.
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
func (p Params) openChoices(clients int) contract.Opening {
	o := contract.Opening{To: p.Server, Kind: KindChoice, Count: int64(p.Uploads()) * int64(clients)}
	if p.Broadcast {
		o.Meaning = "which networks a client says it lacks; all go to all clients, so that nothing tells what a client draws"
		return o
	}
	o.Meaning = fmt.Sprintf("which networks each client stores in each round: drawn by its own weights, so that over "+
		"%d rounds they tell which networks do well on its rows, and which of them it says it kept", p.Uploads())
	return o
}
