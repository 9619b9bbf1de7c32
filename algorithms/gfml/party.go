package gfml

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
)

// The kinds of what the parties of a job send each other.
const (
	KindModel     = "model"     // entries of a server's model, to the clients that it has chosen
	KindIteration = "iteration" // that an iteration is on, to its other clients; no values
	KindUploads   = "uploads"   // the sum of the chosen clients' entries
	KindPsiPrime  = "psi-prime" // psi', between neighbouring servers of different clusters
	KindPsi       = "psi"       // psi, between neighbouring servers of one cluster

	KindDiffusion  = "diffusion"  // the masked sum of a neighbourhood's weighted psi', in place of the two
	KindNeighbours = "neighbours" // which servers take part in such a sum, from the one that learns it
)

// UploadSum says how the uploads to a server in iteration n are added: see Layout and Encoding.
func (p *Plan) UploadSum(server, n int) federated.Sum {
	return p.sumOf(len(p.Layout(server, n)))
}

// sumOf says how uploads of so many entries are added.
func (p *Plan) sumOf(entries int) federated.Sum {
	bits, bound := p.Encoding()
	return federated.Sum{Kind: KindUploads, N: entries, Bits: bits, Bound: bound}
}

// CheckPrivacy refuses a job that its privacy mode would not keep its promise for; least is the fewest
// clients in a total that opens.
//
// In every mode but "published" a total must not tell about fewer than least clients. Coordinated, no
// entry does. Uncoordinated, an entry that some client selects and another does not is one of fewer
// than least clients as soon as enough drop out, whatever their number: only clients that all select
// the same entries are safe, as they do when all entries are shared.
func (p *Plan) CheckPrivacy(privacy string, least int) error {
	if err := p.checkDiffusion(privacy); err != nil {
		return err
	}
	if privacy == federated.Published {
		return nil
	}
	if p.params.Participants < least {
		return fmt.Errorf("participants is %d: no total would ever open, want at least %d, the fewest clients in one",
			p.params.Participants, least)
	}
	for s, starts := range p.starts {
		if p.params.Entries < p.params.Features && slices.Min(starts) != slices.Max(starts) {
			return fmt.Errorf("selection is %q with %d of %d entries: selections are public, so that the totals of server "+
				"%q would show single clients' weights however they are masked; want selection %q, all %d entries, or privacy %q",
				p.params.Selection, p.params.Entries, p.params.Features, p.graph.names[s], Coordinated,
				p.params.Features, federated.Published)
		}
	}
	return nil
}
