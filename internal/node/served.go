package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// Times of sessions over clients.
const (
	meetTime   = 20 * time.Second // for the links of a session to come about, of those who are there
	endTime    = 15 * time.Second // for the last words of a session, more than a round of a sum
	sumTime    = 10 * time.Second // how long a server waits in each round of a sum
	toldTime   = 2 * sumTime      // how long a server waits for another one to begin a sum of servers
	mixTime    = 4 * sumTime      // and takes part in it
	pauseTime  = 12 * time.Second // for a session to end in good order, once another one is to start: a round of a sum, and a bit
	returnTime = 3 * time.Second  // how often a server looks for clients that have come back
)

// servedTask is one party's part of a kind of job over clients.
type servedTask interface {
	task
	// serve is a server's part of a session.
	serve(ctx context.Context, r *run, n *serverNetwork) (*Report, error)
	// attend is a client's part of a session.
	attend(ctx context.Context, r *run, n *clientNetwork) (*Report, error)
}

// specOf says how the sums of a job over clients are made.
func specOf(c *protocol.Contract, server, least int) (cohort.Spec, error) {
	topology, err := protocol.ParseTopology(c.Job.Topology)
	spec := cohort.Spec{
		Server: server, Clients: c.Job.ClientsOf(server), Backend: cohort.Masked, Topology: topology, Threshold: c.Job.Threshold,
		Picks:           c.Job.Algorithm != algorithmPOFMKL, // the others sum over clients that were chosen, or have chosen, in each round
		MinContributors: max(c.Job.MinContributors, least, 2), Patience: sumTime,
	}
	switch {
	case c.Job.Privacy == "published":
		spec.Backend, spec.MinContributors = cohort.Plain, 2
	case c.Job.Aggregation == protocol.AggregateHE:
		spec.Backend = cohort.HE
	}
	return spec, err
}

// executeServed runs session number of a job over clients to its end, with whoever is there.
func (n *Node) executeServed(ctx context.Context, s *jobState, number uint32, t servedTask) (*Report, error) {
	r := &run{node: n, state: s, number: number, began: time.Now(), latest: make(map[string]time.Time)}
	peers, err := n.linksOf(s.contract)
	if err != nil {
		return nil, err
	}
	gatherer, ok := n.config.Transport.(protocol.Gatherer)
	if !ok {
		return nil, fmt.Errorf("this node's network cannot start a session without everybody")
	}
	meeting, cancel := context.WithTimeout(ctx, meetTime)
	mesh, absent, err := gatherer.Gather(meeting, roomOf(s.contract, number), peers)
	cancel()
	if err != nil {
		return nil, &openError{err}
	}
	defer mesh.Close()
	if r.recorder, err = n.newRecorder(s, number); err != nil {
		return nil, err
	}
	report, err := r.attendServed(ctx, mesh, t, present(peers, absent))
	if closed := s.closeRecorder(r.recorder, err == nil || errors.Is(err, errPaused)); err == nil {
		err = closed
	}
	return report, err
}

// present lists the peers that are not absent.
func present(peers []keys.ID, absent map[keys.ID]error) []keys.ID {
	return slices.DeleteFunc(slices.Clone(peers), func(id keys.ID) bool { _, gone := absent[id]; return gone })
}

// linksOf lists to whom a party of a job over clients has links: its server or its clients, in a tree or
// ring those above and below, and between servers.
func (n *Node) linksOf(c *protocol.Contract) ([]keys.ID, error) {
	self := c.Job.Index(n.nameIn(c))
	topology, err := protocol.ParseTopology(c.Job.Topology)
	if err != nil {
		return nil, err
	}
	server := c.Job.ServerOf(self)
	plan := protocol.PlanAmong(topology, len(c.Parties), server, c.Job.ClientsOf(server))
	var ids []keys.ID
	for i, p := range c.Parties {
		related := i == c.Job.ServerOf(self) || c.Job.ServerOf(i) == self || c.Job.Serves(i) && c.Job.Serves(self)
		adjacent := !c.Job.Serves(self) && c.Job.ServerOf(i) == c.Job.ServerOf(self) && (plan.Parent[self] == i || plan.Parent[i] == self)
		if i != self && (related || adjacent) {
			ids = append(ids, p.ID)
		}
	}
	return ids, nil
}

// attendServed is the party's part of a session over clients.
func (r *run) attendServed(ctx context.Context, mesh protocol.Mesh, t servedTask, peers []keys.ID) (*Report, error) {
	c := r.state.contract
	self := c.Job.Index(r.node.nameIn(c))
	var err error
	if r.budget, err = protocol.NewBudget(c, self); err != nil {
		return nil, err
	}
	r.links, err = protocol.NewLinks(mesh, protocol.SessionConfig{
		Contract: c.Hash(), Number: r.number, Parties: c.Members(), Key: r.node.config.Key, Budget: r.budget, Recorder: r.recorder,
	}, encodingsOf(c))
	if err != nil {
		return nil, err
	}
	spec, err := specOf(c, c.Job.ServerOf(self), r.node.currentCharter().Rules.MinContributors)
	if err != nil {
		return nil, err
	}
	var report *Report
	if c.Job.Serves(self) {
		report, err = r.serveClients(ctx, mesh, t, spec, peers)
	} else {
		report, err = r.attendServer(ctx, t, spec)
	}
	if report != nil {
		r.accountServed(report)
	}
	return report, err
}

// serveClients is a server's part: it ends the session when the job is done, and pauses it when
// somebody has come back.
func (r *run) serveClients(ctx context.Context, mesh protocol.Mesh, t servedTask, spec cohort.Spec, peers []keys.ID) (*Report, error) {
	c := r.state.contract
	mine := c.Job.ClientsOf(spec.Server)
	var there []int
	var ids []keys.ID
	for _, i := range mine {
		if slices.Contains(peers, c.Parties[i].ID) {
			there, ids = append(there, i), append(ids, c.Parties[i].ID)
		}
	}
	box := inbox.New(mesh, ids)
	defer box.Close()
	server, err := cohort.NewServer(ctx, r.links, box, there, spec)
	if err != nil {
		return nil, err
	}
	network := &serverNetwork{links: r.links, mesh: mesh, peers: peers, server: server, classOf: c.ClassOf, clients: mine, least: server.Least(), opened: r.opened, lost: r.tellLosses}
	report, err := r.serveUntilReturn(ctx, t, network, there)
	ending, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	switch {
	case err == nil:
		return report, network.end(ending, kindFinished)
	case errors.Is(err, errScarce):
		return nil, joined(errScarce, network.end(ending, kindPaused))
	case errors.Is(err, errPaused):
		return nil, joined(errPaused, network.end(ending, kindPaused))
	}
	return nil, err
}

// serveUntilReturn is the algorithm's part, until the job is done or somebody has come back.
func (r *run) serveUntilReturn(ctx context.Context, t servedTask, n *serverNetwork, there []int) (*Report, error) {
	r.node.pausable(r.state, func() { n.pausing.Store(true) })
	watched, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() { r.watchReturns(watched, n.clients, there, func() { n.pausing.Store(true) }) })
	defer watching.Wait()
	defer stop()
	return t.serve(ctx, r, n)
}

// attendServer is a client's part, until its server ends the session.
func (r *run) attendServer(ctx context.Context, t servedTask, spec cohort.Spec) (*Report, error) {
	client, err := cohort.NewClient(ctx, r.links, spec)
	if err != nil {
		return nil, err
	}
	kept, err := r.state.vault.Load(cohortFile)
	if err != nil {
		return nil, err
	}
	if err := client.Remember(kept, func(b []byte) error { return r.state.vault.Save(cohortFile, b) }); err != nil {
		return nil, err
	}
	network := &clientNetwork{
		links: r.links, client: client, classOf: r.state.contract.ClassOf, server: spec.Server, addends: len(r.state.contract.Job.ClientsOf(spec.Server)), opened: r.opened,
	}
	report, err := t.attend(ctx, r, network)
	if err == nil || errors.Is(err, errPaused) {
		ending, cancel := context.WithTimeout(ctx, endTime)
		defer cancel()
		err = errors.Join(err, client.Finish(ending))
	}
	return report, err
}

// tellLosses says whom a sum lost.
func (r *run) tellLosses(number int, losses []cohort.Loss) {
	for _, l := range losses {
		r.node.tell(r.hash(), Event{Kind: EventWaiting, Text: fmt.Sprintf("sum %d goes on without %s", number, l)})
		if l.Err != nil {
			r.mu.Lock()
			r.gone = append(r.gone, l.Client)
			r.mu.Unlock()
		}
	}
}

// isGone reports whether a client's link broke in this session.
func (r *run) isGone(client int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Contains(r.gone, client)
}

// watchReturns looks from time to time whether a client that has no link has come back, and, at the proposer, whether
// another server has left the session for a next one.
func (r *run) watchReturns(ctx context.Context, clients, there []int, back func()) {
	c := r.state.contract
	for pause(ctx, cmp.Or(r.node.config.ReturnEvery, returnTime)) == nil {
		for _, i := range clients {
			if (!slices.Contains(there, i) || r.isGone(i)) && r.node.reachable(ctx, r.state, i) {
				back()
				return
			}
		}
		if c.Job.Proposer != r.node.nameIn(c) {
			continue
		}
		for i, p := range c.Members() {
			if c.Job.Serves(i) && p.ID != r.node.config.Key.ID() && r.node.placeIn(ctx, r.state, p, r.number) == placeLeft {
				back()
				return
			}
		}
	}
}

// accountServed adds to a report what went over the links.
func (r *run) accountServed(report *Report) {
	if report.Online != nil {
		report.Rounds = uint64(report.Online.Rounds)
	}
	for i := range r.state.contract.Parties {
		sent, received := r.links.Traffic(i)
		report.BytesOut += sent
		report.BytesIn += received
	}
	report.Egress = egressOf(r.state.contract, r.budget.Lines())
}

// encodingsOf says what the payloads of a contract's kinds are.
func encodingsOf(c *protocol.Contract) map[string]protocol.Encoding {
	encodings := make(map[string]protocol.Encoding)
	for i := range c.Operations {
		encodings[c.Operations[i].Kind], _ = protocol.ParseEncoding(c.Operations[i].Encoding) // checked with the contract
	}
	return encodings
}
