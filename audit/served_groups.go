package audit

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// layGroups settles the groups of servers that the party is in: in each, one of them is to the others what a server is
// to its clients. What passes in a group is held against the contract as a federation of its own.
func (s *served) layGroups(c *protocol.Contract) error {
	topology, err := protocol.ParseTopology(c.Job.Topology)
	if err != nil {
		return fmt.Errorf("contract: %w", err)
	}
	for i := range c.Operations {
		o := &c.Operations[i]
		root, members := c.Job.Index(o.Root), o.Members(c.Job)
		if len(o.Among) == 0 || root != s.self && !slices.Contains(members, s.self) {
			continue
		}
		number := c.Job.Group(root)
		if s.groups[number] != nil {
			continue
		}
		g := &served{
			names: s.names, job: c.Job, self: s.self, rules: s.rules, found: s.found, least: federated.LeastMixed, star: s.star,
			root: o.Root, place: make(map[*rule]int), answers: make(map[*rule]uint64), vectors: make(map[*rule]*vectorKind),
			links: make([]servedLink, len(c.Parties)), tally: newServedTally(len(c.Parties)),
			kin: make([]relation, len(c.Parties)),
			sum: newServedSum(len(c.Parties)),
		}
		plan := protocol.PlanAmong(topology, len(c.Parties), root, members)
		for peer := range c.Parties {
			g.kin[peer] = groupRelation(s.self, peer, root, members, plan)
		}
		g.vectorKinds(c)
		g.layTurns()
		s.groups[number] = g
	}
	return nil
}

// groupRelation is what a peer is to a party in a group.
func groupRelation(self, peer, root int, members []int, plan protocol.Plan) relation {
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
func (s *served) within(r *transcript.Record, rule *rule) {
	number, operation := protocol.GroupOf(r.Operation)
	g := s.groups[number]
	if g == nil {
		s.found.fail(checkOperations, "record %d: %s is of group %d of the servers, of which this party is not", r.Number,
			r.Kind, number)
		return
	}
	own := *r
	own.Operation = operation
	for peer := range g.links {
		g.links[peer].stated, g.links[peer].done = s.links[peer].stated, s.links[peer].done
	}
	g.take(&own, rule)
}

// mixtures sums up what opened to a server of others' models.
func (s *served) mixtures() (sums, opened uint64, fewest int) {
	for _, g := range s.groups {
		if g.server() < 0 {
			sums = g.tally.sums
			opened, fewest, _ = g.tally.spread()
		}
	}
	return sums, opened, fewest
}
