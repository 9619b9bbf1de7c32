package registry

import (
	"fmt"
	"slices"

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

// Check refuses a list with an entry that lacks what every job needs, or with a name that is there twice or is of an
// algorithm that is not over clients.
func (l Clients) Check() error {
	names := []string{contract.FDSKL, contract.GLM, contract.PSI}
	for i, a := range l.All() {
		switch {
		case a.Name == "" || a.Read == nil || a.Summed == nil:
			return fmt.Errorf("algorithm %d over clients, %q, lacks its Name, Read or Summed", i+1, a.Name)
		case slices.Contains(names, a.Name):
			return fmt.Errorf("algorithm %d over clients is called %q: another has this name", i+1, a.Name)
		}
		names = append(names, a.Name)
	}
	return nil
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
