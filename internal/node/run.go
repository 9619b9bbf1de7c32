package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Times of sessions.
const (
	openTime = 10 * time.Second // for the links of a session over columns, between members who are there
	meetTime = 20 * time.Second // for those of a session over clients, of those who are there
	// for a session to end in good order, once another one is to start: a round of a sum, and a bit
	pauseTime  = 12 * time.Second
	returnTime = 3 * time.Second // how often a server looks for clients that have come back
)

// execute runs session number of a job to its end: at every party the same one at the same time or, of a job over
// clients, at those who are there. closes is 0 but of a closing session.
func (n *Node) execute(ctx context.Context, s *jobState, f contract.InForce, number,
	closes uint32) (*jobs.Report, error) {
	c := f.Contract()
	if err := n.underCharter(c); err != nil {
		return nil, err
	}
	if err := n.dataUnchanged(ctx, s, number); err != nil {
		return nil, err
	}
	t, err := n.newTask(c.Job)
	if err != nil {
		return nil, faults.OrElse(fault.CodeJob, err)
	}
	if err := errors.Join(n.disk.free(), n.mayStart(s)); err != nil {
		return nil, err
	}
	mesh, there, err := n.meet(ctx, c, number, closes)
	if err != nil {
		return nil, err
	}
	defer mesh.Close()
	record, self := s.Record(), n.nameIn(c)
	budget, err := contract.NewBudget(c, c.Job.Index(self))
	if err != nil {
		return nil, err
	}
	recorder, err := n.newRecorder(s, number)
	if err != nil {
		return nil, err
	}
	waits, counted := n.waits.session()
	defer counted()
	meter, err := n.meterSession(s, waits)
	if err != nil {
		return nil, errors.Join(err, recorder.Close(false))
	}
	defer s.watched.ended()
	counting := countingRecorder{recorder, func(e protocol.Entry, bytes int64) {
		n.traffic.add(c.Parties[e.Peer].ID, e, bytes)
		meter.add(e, bytes)
	}}
	session := jobs.NewSession(f, jobs.Ground{
		Self: self, Closes: closes, Mesh: mesh, There: there, Vault: s.vault, Data: record.Data,
		Stored: record.Stored, Over: s.Over(), Life: n.ctx, Daemon: &attendant{n, s, number, closes},
		Config: protocol.SessionConfig{
			Contract: c.Hash(), Number: number, Parties: c.Members(), Key: n.config.Key, Budget: budget,
			Recorder: metered{counting, n.disk, c.Job.Record == contract.RecordFull}, Waits: waits,
		},
	})
	if number == 1 {
		for _, text := range summary.Warnings(c) {
			session.Warn(text)
		}
	}
	report, err := t.Run(ctx, session)

	// The transcript only grows: how long it is is noted.
	closed := recorder.Close(err == nil || errors.Is(err, federated.ErrPaused))
	var info os.FileInfo
	if closed == nil {
		info, closed = os.Stat(s.vault.Path(TranscriptFile))
	}
	if closed == nil {
		closed = n.apply(s, job.Recorded{Bytes: info.Size()})
	}
	if err == nil {
		err = closed
	}
	return report, err
}

// meet opens the links of a session: to all other parties, every one of whom must come, or, of a job over clients, to
// those whom this party has to do with, and who are there.
func (n *Node) meet(ctx context.Context, c *contract.Contract, number,
	closes uint32) (protocol.Mesh, []keys.ID, error) {
	id := jobs.SessionID(c, number, closes)
	if !c.Job.OverClients() {
		var peers []keys.ID
		for _, p := range n.othersOf(c) {
			peers = append(peers, p.ID)
		}
		ctx, cancel := context.WithTimeout(ctx, openTime) // a party that died after it had said that it comes does not come
		defer cancel()
		mesh, err := n.config.Transport.Open(ctx, id, peers)
		if err != nil {
			return nil, nil, &faults.OpenError{Err: err}
		}
		return mesh, peers, nil
	}
	peers, err := n.linksOf(c)
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, meetTime)
	defer cancel()
	mesh, absent, err := n.config.Transport.Gather(ctx, id, peers)
	if err != nil {
		return nil, nil, &faults.OpenError{Err: err}
	}
	return mesh, slices.DeleteFunc(peers, func(id keys.ID) bool { _, gone := absent[id]; return gone }), nil
}

// linksOf lists to whom a party of a job over clients has links: its server or its clients, in a tree or ring those
// above and below, and between servers.
func (n *Node) linksOf(c *contract.Contract) ([]keys.ID, error) {
	self := c.Job.Index(n.nameIn(c))
	topology, err := contract.ParseTopology(c.Job.Topology)
	if err != nil {
		return nil, err
	}
	server := c.Job.ServerOf(self)
	plan := contract.PlanAmong(topology, len(c.Parties), server, c.Job.ClientsOf(server))
	var ids []keys.ID
	for i, p := range c.Parties {
		related := i == server || c.Job.ServerOf(i) == self || c.Job.Serves(i) && c.Job.Serves(self)
		adjacent := !c.Job.Serves(self) && c.Job.ServerOf(i) == server && (plan.Parent[self] == i || plan.Parent[i] == self)
		if i != self && (related || adjacent) {
			ids = append(ids, p.ID)
		}
	}
	return ids, nil
}

// dataUnchanged refuses a table that is not the one consented to, before anything of it is read for a session. What is
// no file is asked anew.
func (n *Node) dataUnchanged(ctx context.Context, s *jobState, session uint32) error {
	job, agreed := s.Contract().Job, s.Record().Data
	if agreed.IsZero() {
		return nil
	}
	if !n.tables.Has(job.Table) {
		return faults.Errorf(fault.CodeData, "this node has no table %q any more, which it consented to use; start it with "+
			"--data %s=FILE and the job goes on, or end it with hanse cancel %s", job.Table, job.Table, job.Name)
	}
	if n.tables.FromSource(job.Table) {
		if err := pause(ctx, s.sourced.wait(time.Now())); err != nil {
			return err
		}
	}
	sum, path, err := n.tables.Refresh(ctx, job.Table, fmt.Sprintf("session %d of job %q of %s", session, job.Name,
		job.Proposer))
	if err != nil {
		return faults.OfTable(err)
	}
	return jobs.Unchanged(job, agreed, path, sum)
}

// attendant is what the node does for a session. It implements jobs.Daemon.
type attendant struct {
	node           *Node
	state          *jobState
	number, closes uint32
}

// Notify implements jobs.Daemon.
func (a *attendant) Notify(e jobs.Event) { a.node.pass(a.state.Contract().Hash(), e) }

// Fault implements jobs.Daemon.
func (a *attendant) Fault(err error) *fault.Fault { return a.node.toldOnce(a.state, err) }

// Store implements jobs.Daemon.
func (a *attendant) Store(part []byte, r *jobs.Report) error {
	text, err := a.state.reportText(r)
	if err != nil {
		return err
	}
	return a.node.apply(a.state, job.Stored{Session: a.number, Part: part, Report: text})
}

// Keep implements jobs.Daemon.
func (a *attendant) Keep() (*jobs.Report, error) { return a.node.keepPart(a.state, a.closes, a.number) }

// Known implements jobs.Daemon.
func (a *attendant) Known() int64 { return a.state.Record().Known }

// SetKnown implements jobs.Daemon.
func (a *attendant) SetKnown(rows int64) error {
	return a.node.apply(a.state, job.Known{Rows: rows})
}

// Pausable implements jobs.Daemon.
func (a *attendant) Pausable(pause func()) {
	a.node.mu.Lock()
	defer a.node.mu.Unlock()
	if active := a.node.sessions[a.state.Contract().Hash()]; active != nil {
		active.pause = pause
	}
}

// WatchReturns implements jobs.Daemon.
func (a *attendant) WatchReturns(ctx context.Context, away func() []int, back func()) {
	n, s, c := a.node, a.state, a.state.Contract()
	for pause(ctx, cmp.Or(n.config.ReturnEvery, returnTime)) == nil {
		for _, i := range away() {
			if r, err := n.askOnce(ctx, s, i); err == nil && r.Signature != nil {
				back()
				return
			}
		}
		if c.Job.Proposer != n.nameIn(c) {
			continue
		}
		for i, p := range c.Members() {
			if c.Job.Serves(i) && p.ID != n.config.Key.ID() && n.placeIn(ctx, s, p, a.number) == placeLeft {
				back()
				return
			}
		}
	}
}
