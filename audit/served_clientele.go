package audit

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// relation is what a peer is to a party in a job over clients.
type relation int

// The relations. Parties that are unrelated have no link.
const (
	unrelated relation = iota
	ownServer          // the party's server
	ownClient          // a client of this server
	above              // the client that adds this one's vector, in a tree or ring
	below              // a client whose vector this one adds
	fellow             // another server, and this is one
)

// clientele says how the parties of a job over clients belong together.
type clientele struct {
	servers []int                 // by party: the server that it belongs to, itself if it is one
	plans   map[int]protocol.Plan // by server: along which vectors travel to it
	star    bool
}

// newClientele lays out the parties of a contract with servers.
func newClientele(c *protocol.Contract) (*clientele, error) {
	topology, err := protocol.ParseTopology(c.Job.Topology)
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	k := &clientele{plans: make(map[int]protocol.Plan), star: topology == protocol.Star}
	for i := range c.Parties {
		server := c.Job.ServerOf(i)
		k.servers = append(k.servers, server)
		if server == i {
			k.plans[i] = protocol.PlanAmong(topology, len(c.Parties), i, c.Job.ClientsOf(i))
		}
	}
	return k, nil
}

// relation returns what a peer is to a party.
func (k *clientele) relation(self, peer int) relation {
	switch server := k.servers[self]; {
	case self == peer:
		return unrelated
	case server == peer:
		return ownServer
	case k.servers[peer] == self:
		return ownClient
	case server == self && k.servers[peer] == peer:
		return fellow
	case server == self || k.servers[peer] != server:
		return unrelated
	case k.plans[server].Parent[self] == peer:
		return above
	case k.plans[server].Parent[peer] == self:
		return below
	}
	return unrelated
}

// links returns which parties of a job may have a link: any two, but in a job over clients those alone that
// have something to say to each other.
func links(c *protocol.Contract) func(a, b int) bool {
	if len(c.Job.Servers) == 0 {
		return func(a, b int) bool { return true }
	}
	all, err := newClientele(c)
	if err != nil { // then no transcript was examined
		return func(a, b int) bool { return false }
	}
	return func(a, b int) bool { return all.relation(a, b) != unrelated }
}

// misrouted says why a frame must not pass between its two ends, or nothing.
func (s *served) misrouted(r *transcript.Record, rule *rule) string {
	kin, sends := s.kin[r.Peer], r.Type == transcript.TypeSent
	up := kin == ownServer && sends || kin == ownClient && !sends
	switch rule.collective {
	case protocol.CollectiveUpload:
		along := s.vectors[rule] != nil && (kin == above && sends || kin == below && !sends)
		if !up && !along {
			return "the contract has it go from clients to their server"
		}
	case protocol.CollectiveDownload:
		if up || kin != ownServer && kin != ownClient {
			return "the contract has it go from a server to its clients"
		}
	case protocol.CollectiveServers:
		if kin != fellow {
			return "the contract has it go between servers"
		}
	default:
		if kin == unrelated || rule.kind == protocol.KindSessionKey || rule.collective != protocol.CollectiveExchange {
			return "it has no place between the two in a job over clients"
		}
	}
	return ""
}

// receive lists the budgets of what may come to a party from those that it has links with.
func (s *rules) receive(c *protocol.Contract, self int, kin []relation) error {
	for from, k := range kin {
		if k == unrelated {
			continue
		}
		lines, err := c.Egress(from)
		if err != nil {
			return fmt.Errorf("contract: %w", err)
		}
		for _, e := range lines {
			if e.To != self {
				continue
			}
			r := s.byKind[e.Kind]
			if r.ingress == nil {
				r.ingress = make([]*spending, len(kin))
			}
			r.ingress[from] = &spending{budget: e}
		}
	}
	return nil
}
