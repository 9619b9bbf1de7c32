package clients

import (
	"slices"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// groupRelation is what a peer is to a party in a group.
func groupRelation(self, peer, root int, members []int, plan contract.Plan) relation {
	switch {
	case self == peer || peer != root && !slices.Contains(members, peer):
		return unrelated
	case peer == root:
		return ownServer
	case self == root:
		return ownClient
	case plan.Parent[self] == peer:
		return above
	case plan.Parent[peer] == self:
		return below
	}
	return unrelated
}

// within takes a record of a group, whose number stands in its operation.
func (s *Conformer) within(r *transcript.Record, rule *rules.Rule) {
	number, operation := protocol.GroupOf(r.Operation)
	g := s.groups[number]
	if g == nil {
		s.found.Fail(finding.CheckOperations,
			"record %d: %s is of group %d of the servers, of which this party is not", r.Number,
			r.Kind, number)
		return
	}
	own := *r
	own.Operation = operation
	for peer := range g.links {
		g.links[peer].stated, g.links[peer].done = s.links[peer].stated, s.links[peer].done
	}
	g.Take(&own, rule)
}

// mixtures sums up what opened to a server of others' models.
func (s *Conformer) mixtures() (sums, opened uint64, fewest int) {
	for _, g := range s.groups {
		if g.server() < 0 {
			sums = g.tally.sums
			opened, fewest, _ = g.tally.spread()
		}
	}
	return sums, opened, fewest
}
