package pofmkl

import (
	"context"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Disclose tells what a job opens to whom and what its parties send, in a privacy mode as jobs name
// it: see federated.Published. clients names the parties beside the server.
func Disclose(p Params, privacy string, clients []string) (federated.Disclosure, error) {
	t := federated.Trace{Published: privacy == federated.Published, Names: []string{p.Server}}
	n, d := t.Server(len(clients)), &Dictionary{params: p}
	s := &ServerPart{Dictionary: d, Network: n, server: NewServer(d)}
	for p.CommonBin && len(p.Moved(s.service.Held)) < min(p.Chosen, p.Kernels()) { // the last of its bins may be smaller
		s.service.Held++
	}
	if err := n.Hold(context.Background(), p.Uploads(), s); err != nil {
		return federated.Disclosure{}, err
	}
	all := t.Disclosure()
	all.Openings = append(all.Openings, contract.Opening{
		To: p.Server, Kind: KindUpdates, Count: n.Of(KindUpdates).Opens, Meaning: p.openUpdates(privacy, len(clients)),
	})
	for _, c := range clients {
		all.Openings = append(all.Openings, contract.Opening{
			To: c, Kind: KindModel, Count: n.Of(KindModel).Size / federated.ValueBytes,
			Meaning: "theta, the server's parameters of every kernel, once a round: what all clients' updates so far made of it",
		})
	}
	return all, nil
}

// openUpdates says what the server learns of the clients' updates.
func (p Params) openUpdates(privacy string, clients int) string {
	bin := "the kernels it drew"
	if p.CommonBin {
		bin = "the kernels that the job's seed drew for all, which tell nothing of what suits it"
	}
	switch {
	case privacy == federated.Published:
		return fmt.Sprintf("every client's update of every round, with %s: of few rows, from which their "+
			"inputs and labels can be computed, and rounds_per_upload is %d", bin, p.RoundsPerUpload)
	case p.CommonBin:
		return fmt.Sprintf("the sum of the clients' updates, once a round, of at most %d of %d kernels, which the "+
			"job's seed draws for all: a kernel's part is a sum over all of the %d clients that take part in the round",
			p.Chosen, p.Kernels(), clients)
	}
	return fmt.Sprintf("the sum of the clients' updates, once a round; a client moves at most %d of %d kernels, "+
		"so that a kernel's part is a sum over about %.3g of %d clients, and may be one client's, without its name, "+
		"where that is few",
		min(p.Chosen*p.RoundsPerUpload, p.Kernels()), p.Kernels(), p.Contributors(clients), clients)
}

// Contributors returns how many of so many clients move a given kernel in an upload: all where the bins are common,
// else on average when bins are drawn alike.
func (p Params) Contributors(clients int) float64 {
	if p.CommonBin {
		return float64(clients)
	}
	missed := math.Pow(1-1/float64(p.Bins()), float64(p.RoundsPerUpload))
	return (1 - missed) * float64(clients)
}
