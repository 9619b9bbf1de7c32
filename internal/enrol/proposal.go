package enrol

import (
	"maps"
	"slices"
	"time"

	"github.com/hanse-project/hanse/keys"
)

// proposal is a version of the charter on its way round.
type proposal struct {
	charter *keys.SignedCharter          // with the signatures that count
	path    string                       // its file; "" for none
	from    keys.ID                      // the member whose node brought it; zero for none
	told    map[keys.ID]map[keys.ID]bool // by member: the signers its node knows of; no entry when it has not the text
	refused map[keys.ID]time.Time        // by member: when its node last did not want what it was told
}

// newProposal begins to carry a version, with no signature yet.
func newProposal(c *keys.SignedCharter, path string, from keys.ID) *proposal {
	return &proposal{
		charter: c.Unsigned(), path: path, from: from,
		told: make(map[keys.ID]map[keys.ID]bool), refused: make(map[keys.ID]time.Time),
	}
}

// noteSent notes that a member's node has the text and the signatures of some.
func (p *proposal) noteSent(to keys.ID, signers []keys.ID) {
	if p.told[to] == nil {
		p.told[to] = make(map[keys.ID]bool)
	}
	for _, id := range signers {
		p.told[to][id] = true
	}
	delete(p.refused, to)
}

// untold lists the signers that a member's node does not know of, in the order of the ids.
func (p *proposal) untold(to keys.ID) []keys.ID {
	var ids []keys.ID
	for _, id := range signers(p.charter) {
		if !p.told[to][id] {
			ids = append(ids, id)
		}
	}
	return ids
}

// signers lists who has signed, in the order of the ids.
func signers(c *keys.SignedCharter) []keys.ID {
	return slices.SortedFunc(maps.Keys(c.Signatures), keys.ID.Compare)
}

// missingNames lists those who have not signed, in the order of the charter.
func missingNames(c *keys.SignedCharter) []string {
	var names []string
	for _, m := range c.Members {
		if !c.SignedBy(m.ID) {
			names = append(names, m.Name)
		}
	}
	return names
}
