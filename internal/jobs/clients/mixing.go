package clients

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// mixing is a server's part in the masked sums of a session's servers. Each sum is that of a group: a cohort of its
// own, with one server that learns the totals and its neighbourhood as clients.
type mixing struct {
	network *serverNetwork
	told    string // the kind of what the server of a group tells before a sum
	box     *inbox.Inbox
	groups  []mixingGroup // by the server that learns the totals; empty where this one has no part
}

// mixingGroup is one group at this server.
type mixingGroup struct {
	links  *protocol.Links
	server *cohort.Server // where the totals open here
	client *cohort.Client // where they open at another server that was there when the session began
	gone   bool           // that server's link is broken
	round  int            // the latest that it has told of, from 1; 0: none
	there  []int          // in that round
}

// mixingSpec says how the sums of a group are made.
func mixingSpec(job *contract.Job, root int, members []int) (cohort.Spec, error) {
	spec, err := specOf(&contract.Contract{Job: job}, root, federated.LeastMixed)
	spec.Clients, spec.MinContributors, spec.Threshold, spec.Picks = members, federated.LeastMixed, 0, true
	return spec, err
}

// Mixing implements federated.ServerNetwork: it brings about the groups that this server is in, among the servers that
// are there.
func (n *serverNetwork) Mixing(ctx context.Context, all []federated.Mixed) (federated.Mixing, error) {
	var ids []keys.ID
	var there []int
	for i := range n.links.Parties() {
		if id := n.links.Party(i).ID; i != n.links.Self() && n.job.Serves(i) && slices.Contains(n.peers, id) {
			ids, there = append(ids, id), append(there, i)
		}
	}
	m := &mixing{network: n, box: inbox.New(n.mesh, ids), groups: make([]mixingGroup, len(all))}
	n.mixing = m
	groups := n.links.NewGroups(m.box)
	var own *mixingGroup
	var ownSpec cohort.Spec
	for at := range all {
		root, members := n.job.Index(all[at].Server), membersOf(n.job, &all[at])
		m.told = all[at].Told
		if root != n.links.Self() && (!slices.Contains(members, n.links.Self()) || !slices.Contains(there, root)) {
			continue
		}
		spec, err := mixingSpec(n.job, root, members)
		if err != nil {
			return m, err
		}
		g := &m.groups[at]
		if g.links, err = groups.Links(n.job.Group(root)); err != nil {
			return m, err
		}
		if root == n.links.Self() {
			own, ownSpec = g, spec
			continue
		}
		if g.client, err = cohort.NewClient(ctx, g.links, spec); err != nil && !isLost(ctx, err) {
			return m, err
		}
		g.gone = err != nil
	}
	if own == nil {
		return m, nil
	}
	present := slices.DeleteFunc(slices.Clone(ownSpec.Clients), func(i int) bool { return !slices.Contains(there, i) })
	var err error
	own.server, err = cohort.NewServer(ctx, own.links, groups.Arrivals(n.job.Group(ownSpec.Server)), present, ownSpec)
	return m, err
}

// membersOf lists the parties whose vectors a server sums, ascending.
func membersOf(job *contract.Job, m *federated.Mixed) []int {
	var members []int
	for _, name := range m.From {
		members = append(members, job.Index(name))
	}
	slices.Sort(members)
	return members
}

// Begin implements federated.Mixing.
func (m *mixing) Begin(ctx context.Context, round int) error {
	g := m.groups[m.network.place(m.network.links.Self())]
	if round == 0 {
		return nil
	}
	var present []int
	for _, party := range g.server.Present() {
		present = append(present, m.network.place(party))
	}
	return m.send(ctx, g.server, present, encodeThere(round-1, nil))
}

// Mix implements federated.Mixing.
func (m *mixing) Mix(ctx context.Context, s federated.Sum, round int, from []int,
	adders func(there []int) []int) (*federated.Mixture, error) {
	if err := m.network.proceed(round); err != nil {
		return nil, err
	}
	g := m.groups[m.network.place(m.network.links.Self())]
	var there []int
	if err := g.server.Recall(ctx); err != nil {
		return nil, err
	}
	for _, party := range g.server.Present() {
		at := m.network.place(party)
		if err := m.receiveTold(ctx, &m.groups[at], round); err != nil {
			return nil, err
		}
		if m.groups[at].round <= round+1 { // a server that came back may be rounds ahead, and waits for none
			there = append(there, at)
		}
	}
	slices.Sort(there)
	adding := adders(there)
	if err := m.send(ctx, g.server, there, encodeThere(round, there)); err != nil {
		return nil, err
	}
	if len(adding) < federated.LeastMixed {
		return nil, nil
	}
	v, fixed, err := sumWords(s, len(from))
	if err != nil {
		return nil, err
	}
	var parties []int
	for _, at := range adding {
		parties = append(parties, m.network.party(at))
	}
	total, err := g.server.Sum(ctx, v, parties)
	var few *cohort.TooFewError
	if errors.As(err, &few) {
		m.network.lost(int(few.Sum), few.Lost)
		return nil, m.send(ctx, g.server, adding, encodeThere(round, nil))
	}
	if err != nil {
		return nil, err
	}
	m.network.lost(int(total.Sum), total.Lost)
	m.network.opened(s.Kind, int64(s.N))
	mixture := &federated.Mixture{Values: make([]float64, s.N), There: there}
	fixed.Decode(mixture.Values, total.Words)
	for _, party := range total.Survivors {
		mixture.From = append(mixture.From, m.network.place(party))
	}
	slices.Sort(mixture.From)
	left := slices.DeleteFunc(adding, func(at int) bool { return slices.Contains(mixture.From, at) })
	return mixture, m.send(ctx, g.server, left, encodeThere(round, nil))
}

// send tells servers who is there, or nobody where the sum is over and those who are told are not in its total.
func (m *mixing) send(ctx context.Context, s *cohort.Server, servers []int, payload []byte) error {
	for _, at := range servers {
		if err := s.Notify(ctx, m.network.party(at), m.told, contract.ClassControl, payload); err != nil {
			return err
		}
	}
	return nil
}

// Contribute implements federated.Mixing. A server that is silent for as long as a round of a sum takes is left out
// this time, one whose link is broken for the rest of the session.
func (m *mixing) Contribute(ctx context.Context, s federated.Sum, round, at int,
	vector func(there []int) ([]float64, error)) error {
	if err := m.network.proceed(round); err != nil {
		return err
	}
	g := &m.groups[at]
	if g.client == nil || g.gone {
		return nil
	}
	waiting, cancel := context.WithTimeout(ctx, toldTime) // for the server of the group to tell who is there
	defer cancel()
	var err error
	for err == nil && g.round <= round {
		err = m.receive(waiting, g)
	}
	if err == nil && g.round == round+1 && g.there != nil { // it has not come to a later round
		err = m.add(ctx, g, s, g.there, vector)
	}
	switch {
	case err == nil, errors.Is(err, cohort.ErrLeftOut):
		return nil
	case ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded):
		return nil
	case isLost(ctx, err):
		g.gone = true
		return nil
	}
	return err
}

// receive waits for the server of a group to tell who is there in a round, whichever.
func (m *mixing) receive(ctx context.Context, g *mixingGroup) error {
	heard, err := g.client.ReceiveNotice(ctx, m.told, roundSize+2*len(m.groups))
	if err != nil {
		return err
	}
	told, there, err := decodeThere(heard.Payload, len(m.groups))
	if err == nil && told < g.round-1 {
		err = fmt.Errorf("round %d after round %d", told, g.round-1)
	}
	if err != nil {
		return g.links.Deviation(protocol.Message{From: g.client.Server(), Kind: heard.Kind}, "%v", err)
	}
	g.round, g.there = told+1, there
	return nil
}

// receiveTold takes in what the server of a group has told, up to a round. It does not wait.
func (m *mixing) receiveTold(ctx context.Context, g *mixingGroup, round int) error {
	come, cancel := context.WithCancel(ctx)
	cancel()
	for g.client != nil && !g.gone && g.round <= round {
		err := m.receive(come, g)
		switch {
		case err == nil:
		case ctx.Err() == nil && errors.Is(err, context.Canceled):
			return nil
		case isLost(ctx, err):
			g.gone = true
		default:
			return err
		}
	}
	return nil
}

// add adds this server's vector to a sum, if it has one.
func (m *mixing) add(ctx context.Context, g *mixingGroup, s federated.Sum, there []int,
	vector func(there []int) ([]float64, error)) error {
	v, err := vector(there)
	if err != nil || v == nil {
		return err
	}
	kind, fixed, err := sumWords(s, len(there))
	if err != nil {
		return err
	}
	words := make([]uint64, len(v))
	if err := fixed.Encode(s.Kind, words, v); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, mixTime)
	defer cancel()
	return g.client.Sum(ctx, kind, words)
}

// isLost reports whether an error says that another party's link is broken, and nothing worse.
func isLost(ctx context.Context, err error) bool {
	var broken *protocol.StepError
	return errors.As(err, &broken) && ctx.Err() == nil && !errors.Is(err, contract.ErrDeviation)
}

// encodeThere writes which servers are there in a round, by their places in the job.
func encodeThere(round int, there []int) []byte {
	out := encodeRound(round, nil)
	for _, at := range there {
		out = binary.BigEndian.AppendUint16(out, uint16(at))
	}
	return out
}

// decodeThere reads what encodeThere wrote: places of so many servers, ascending.
func decodeThere(b []byte, servers int) (round int, there []int, err error) {
	if len(b) < roundSize || len(b)%2 != 0 {
		return 0, nil, fmt.Errorf("%d bytes are no round's number and servers", len(b))
	}
	round, there = int(binary.BigEndian.Uint32(b)), []int{}
	for rest := b[roundSize:]; len(rest) > 0; rest = rest[2:] {
		at := int(binary.BigEndian.Uint16(rest))
		if at >= servers || len(there) > 0 && at <= there[len(there)-1] {
			return 0, nil, fmt.Errorf("server %d after %v, want ascending places below %d", at, there, servers)
		}
		there = append(there, at)
	}
	return round, there, nil
}
