package registry

import (
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/gfml"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/protocol/contract"
)

// Clients lists algorithms over clients' streams; nil stands for OverClients.
type Clients []*federated.Algorithm

// OverClients lists the algorithms over clients' streams of this program.
func OverClients() Clients {
	return Clients{gfml.Algorithm(), ofmsft.Algorithm(), pofmkl.Algorithm()}
}

// Of returns a job's algorithm; one without a name, of which nothing is known, where the list has none.
func (l Clients) Of(job *contract.Job) *federated.Algorithm {
	for _, a := range l.All() {
		if a.Name == job.Algorithm {
			return a
		}
	}
	return new(federated.Algorithm)
}

// All is the list, or the one that nil stands for.
func (l Clients) All() Clients {
	if l == nil {
		return OverClients()
	}
	return l
}
