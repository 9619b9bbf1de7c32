package clients

import (
	"fmt"

	"github.com/hanse-project/hanse/audit/conform/rules"
	"github.com/hanse-project/hanse/protocol/contract"
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
	plans   map[int]contract.Plan // by server: along which vectors travel to it
	star    bool
}

// newClientele lays out the parties of a contract with servers.
func newClientele(c *contract.Contract) (*clientele, error) {
	topology, err := contract.ParseTopology(c.Job.Topology)
	if err != nil {
		return nil, fmt.Errorf("contract: %w", err)
	}
	k := &clientele{plans: make(map[int]contract.Plan), star: topology == contract.Star}
	for i := range c.Parties {
		server := c.Job.ServerOf(i)
		k.servers = append(k.servers, server)
		if server == i {
			k.plans[i] = contract.PlanAmong(topology, len(c.Parties), i, c.Job.ClientsOf(i))
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

// Linked returns which parties of a job may have a link: any two, but in a job over clients those alone that
// have something to say to each other.
func Linked(c *contract.Contract) func(a, b int) bool {
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
func (s *Conformer) misrouted(r *transcript.Record, rule *rules.Rule) string {
	kin, sends := s.kin[r.Peer], r.Type == transcript.TypeSent
	up := kin == ownServer && sends || kin == ownClient && !sends
	switch rule.Collective {
	case contract.CollectiveUpload:
		along := s.vectors[rule] != nil && (kin == above && sends || kin == below && !sends)
		if !up && !along {
			return "the contract has it go from clients to their server"
		}
	case contract.CollectiveDownload:
		if up || kin != ownServer && kin != ownClient {
			return "the contract has it go from a server to its clients"
		}
	case contract.CollectiveServers:
		if kin != fellow {
			return "the contract has it go between servers"
		}
	default:
		if kin == unrelated || rule.Kind == contract.KindSessionKey || rule.Collective != contract.CollectiveExchange {
			return "it has no place between the two in a job over clients"
		}
	}
	return ""
}
