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
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// runner runs this party's sessions.
type runner struct {
	config     *Config
	life       *life
	disk       *folder
	tables     *jobs.Tables
	shards     *shards.Service
	traffic    *traffic
	waits      *waits
	member     *member
	algorithms *algorithms
	asker      *asker
	roster     *roster
	sessions   *sessions
	workers    *workers
	keeper     *keeper
}

// execute runs session number of a job to its end: at every party the same one at the same time or, of a job over
// clients, at those who are there. closes is 0 but of a closing session.
func (n *runner) execute(ctx context.Context, s *jobState, f contract.InForce, number,
	closes uint32) (*jobs.Report, error) {
	c := f.Contract()
	if err := n.algorithms.underCharter(c); err != nil {
		return nil, err
	}
	if err := n.dataUnchanged(ctx, s, number); err != nil {
		return nil, err
	}
	t, err := n.algorithms.newTask(c.Job)
	if err != nil {
		return nil, faults.OrElse(fault.CodeJob, err)
	}
	if err := errors.Join(n.disk.free(), n.sessions.mayStart(s)); err != nil {
		return nil, err
	}
	mesh, there, err := n.meet(ctx, c, number, closes)
	if err != nil {
		return nil, err
	}
	defer mesh.Close()
	record, self := s.Record(), n.member.nameIn(c)
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
	meter, err := n.sessions.meterSession(s, waits)
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
		Stored: record.Stored, Over: s.Over(), Life: n.life.ctx, Daemon: &attendant{n, s, number, closes},
		Config: protocol.SessionConfig{
			Contract: c.Hash(), Number: number, Parties: c.Members(), Key: n.config.Key, Budget: budget,
			Recorder: metered{counting, n.disk, c.Job.Record == contract.RecordFull}, Waits: waits,
		},
	})
	if number == 1 {
		for _, text := range summary.Warnings(c, n.config.Algorithms) {
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
		closed = n.keeper.apply(s, job.Recorded{Bytes: info.Size()})
	}
	if err == nil {
		err = closed
	}
	return report, err
}

// meet opens the links of a session: to all other parties, every one of whom must come, or, of a job over clients, to
// those whom this party has to do with, and who are there.
func (n *runner) meet(ctx context.Context, c *contract.Contract, number,
	closes uint32) (protocol.Mesh, []keys.ID, error) {
	id := protocol.NewSessionID(c.Hash(), number, closes)
	if !c.Job.OverClients() {
		var peers []keys.ID
		for _, p := range n.asker.othersOf(c) {
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
func (n *runner) linksOf(c *contract.Contract) ([]keys.ID, error) {
	self := c.Job.Index(n.member.nameIn(c))
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
func (n *runner) dataUnchanged(ctx context.Context, s *jobState, session uint32) error {
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
	runner         *runner
	state          *jobState
	number, closes uint32
}

// Notify implements jobs.Daemon.
func (a *attendant) Notify(e jobs.Event) { a.runner.roster.pass(a.state.Contract().Hash(), e) }

// Fault implements jobs.Daemon.
func (a *attendant) Fault(err error) *fault.Fault { return a.runner.keeper.toldOnce(a.state, err) }

// Store implements jobs.Daemon.
func (a *attendant) Store(part []byte, r *jobs.Report) error {
	text, err := a.state.reportText(r)
	if err != nil {
		return err
	}
	return a.runner.keeper.apply(a.state, job.Stored{Session: a.number, Part: part, Report: text})
}

// Keep implements jobs.Daemon.
func (a *attendant) Keep() (*jobs.Report, error) {
	return a.runner.keepPart(a.state, a.closes, a.number)
}

// Known implements jobs.Daemon.
func (a *attendant) Known() int64 { return a.state.Record().Known }

// SetKnown implements jobs.Daemon.
func (a *attendant) SetKnown(rows int64) error {
	return a.runner.keeper.apply(a.state, job.Known{Rows: rows})
}

// Pausable implements jobs.Daemon.
func (a *attendant) Pausable(pause func()) {
	a.runner.sessions.pausable(a.state, pause)
}

// WatchReturns implements jobs.Daemon.
func (a *attendant) WatchReturns(ctx context.Context, away func() []int, back func()) {
	n, s, c := a.runner, a.state, a.state.Contract()
	for pause(ctx, cmp.Or(n.config.ReturnEvery, returnTime)) == nil {
		for _, i := range away() {
			if r, err := n.asker.askOnce(ctx, s, i); err == nil && r.Signature != nil {
				back()
				return
			}
		}
		if c.Job.Proposer != n.member.nameIn(c) {
			continue
		}
		for i, p := range c.Members() {
			if c.Job.Serves(i) && p.ID != n.config.Key.ID() && n.asker.placeIn(ctx, s, p, a.number) == placeLeft {
				back()
				return
			}
		}
	}
}

// keepPart makes the part of an earlier session that of a closing one, and returns its report. Where either is damaged
// nothing is stored: another session makes them anew.
func (n *runner) keepPart(s *jobState, from, to uint32) (*jobs.Report, error) {
	report, err := s.loadReport()
	if err == nil && report == nil {
		err = &vault.DamagedError{Path: s.vault.Path(job.ReportFile), Why: "it is not there"}
	}
	if err != nil {
		return nil, errors.Join(err, n.keeper.apply(s, job.Lost{}))
	}
	err = n.keeper.apply(s, job.Kept{From: from, To: to})
	if faults.IsDamage(err) {
		err = errors.Join(err, n.keeper.lose(s, from, err))
	}
	if err != nil {
		return nil, err
	}
	report.Sessions = to
	return report, nil
}

// Shards implements jobs.Daemon.
func (a *attendant) Shards(ctx context.Context, w shards.Work) ([]shards.Session, error) {
	n, s := a.runner, a.state
	f, agreed := s.InForce()
	if !agreed {
		return nil, faults.Errorf(fault.CodeUnsigned, "the contract of job %q is not in force", s.Contract().Job.Name)
	}
	c := f.Contract()
	w.Contract, w.Vault, w.Reserve = f, s.vault, n.disk.reserve
	w.Payloads = cmp.Or(n.config.RecordLimit, transcript.DefaultRecordLimit) / int64(len(w.Shards))
	w.Consent = s.Record().Consent.Digest(c.Hash())
	if c.Job.Proposer == n.member.nameIn(c) {
		w.Ask = func(ctx context.Context, party int, q shards.Request) (a2 shards.Response, err error) {
			return a2, n.asker.call(ctx, c.Members()[party], methodShards, shardsRequest{c.Hash(), a.number, q}, &a2)
		}
	}
	w.Passed = func(t shards.Traffic) { n.countShard(s, t) }
	w.Alive = func(ctx context.Context) bool {
		return n.asker.placeIn(ctx, s, c.Members()[c.Job.Index(c.Job.Proposer)], a.number) == placeOn
	}
	w.Waiting = func(shard int, names []string, since time.Time) {
		n.roster.notify(c.Hash(), jobs.Event{Kind: jobs.EventWaiting, Who: names, Since: since, Text: fmt.Sprintf(
			"shard %d of %d has no worker at %s%s: %s, docs/shards.md", shard, len(w.Shards), wording.List(names, "and"),
			lasting(since), ownersRun(len(names)))})
	}
	return n.shards.Run(ctx, w)
}

// ownersRun says what is to be done where so many members have no worker.
func ownersRun(members int) string {
	if members == 1 {
		return "its owner runs hanse worker there"
	}
	return "their owners run hanse worker there"
}

// countShard counts what a job's workers say of the session of a shard, whose result this node keeps.
func (n *runner) countShard(s *jobState, t shards.Traffic) {
	c := s.Contract()
	classes := make(map[string]contract.Class)
	for i := range c.Sharded {
		classes[c.Sharded[i].Kind], _ = contract.ParseClass(c.Sharded[i].Class) // checked with the contract
	}
	meter := s.watched.meter()
	for _, f := range t.Flows {
		class, ok := classes[f.Kind]
		if !ok || f.Party < 0 || f.Party >= len(c.Parties) { // a worker of another program
			continue
		}
		sent := protocol.Entry{Event: protocol.EventSent, Peer: f.Party, Class: class}
		n.traffic.add(c.Parties[f.Party].ID, sent, f.Sent)
		if meter != nil {
			meter.add(sent, f.Sent)
		}
		n.traffic.add(c.Parties[f.Party].ID, protocol.Entry{Event: protocol.EventReceived, Class: class}, f.Read)
	}
}
