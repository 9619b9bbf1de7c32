package node

import (
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"runtime"
	"sync"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/recorder"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// waitReport is after how long a blocked session says whom it waits for, and how often again.
const waitReport = 2 * time.Second

// openTime bounds how long the links of a session over features may take, between members who are there.
const openTime = 10 * time.Second

// leaveTime bounds how long a party tries to tell the others why it leaves a session.
const leaveTime = time.Second

// run is one session of a job at this node, as a task sees it.
type run struct {
	node     *Node
	state    *jobState
	recorder *recorder.Recorder
	budget   *protocol.Budget
	session  *protocol.Session
	links    *protocol.Links // in jobs over clients, in place of a session
	network  fdskl.Network
	sealed   *SealedNetwork // in sealed jobs, in place of network
	number   uint32
	closes   uint32 // of a closing session: the session whose parts all keep; else 0
	began    time.Time

	mu     sync.Mutex
	gone   []int // clients whose links broke
	online federated.Progress
	opens  []Opened
	latest map[string]time.Time
}

// execute runs session number of a job to its end. Every party executes the same session at the
// same time. The mesh and the transcript are closed when it returns.
func (n *Node) execute(ctx context.Context, s *jobState, number, closes uint32) (*Report, error) {
	if err := n.underCharter(s.contract); err != nil {
		return nil, err
	}
	if err := n.dataUnchanged(s); err != nil {
		return nil, err
	}
	t, err := n.newTask(s.contract.Job)
	if err != nil {
		return nil, orElse(codeJob, err)
	}
	if served, ok := t.(servedTask); ok {
		return n.executeServed(ctx, s, number, served)
	}
	meeting, cancel := context.WithTimeout(ctx, openTime) // a party that died after it had said that it comes does not come
	mesh, err := n.config.Transport.Open(meeting, closingRoom(s.contract, number, closes), n.peersOf(s.contract))
	cancel()
	if err != nil {
		return nil, &openError{err}
	}
	defer mesh.Close()
	r := &run{node: n, state: s, number: number, closes: closes, began: time.Now(), latest: make(map[string]time.Time)}
	if r.recorder, err = n.newRecorder(s, number); err != nil {
		return nil, err
	}
	report, err := r.attend(ctx, mesh, t)
	if closed := s.closeRecorder(r.recorder, err == nil); err == nil {
		err = closed
	}
	return report, err
}

// dataUnchanged refuses a table that is not the one consented to, before anything of it is read.
func (n *Node) dataUnchanged(s *jobState) error {
	job, agreed := s.contract.Job, s.snapshot().Data
	if agreed.IsZero() {
		return nil
	}
	if !n.hasTable(job) {
		return faultf(codeData, "this node has no table %q any more, which it consented to use; start it with --data %s=FILE and the job goes on, or end it with hanse cancel %s",
			job.Table, job.Table, job.Name)
	}
	sum, err := n.dataSum(job)
	if err != nil {
		return err
	}
	return s.unchanged(n.tables.specs[job.Table].Path, sum)
}

// attend is the party's part of a session, from the exchange of keys to the last countersignature.
func (r *run) attend(ctx context.Context, mesh protocol.Mesh, t task) (*Report, error) {
	if err := r.open(ctx, mesh); err != nil {
		return nil, err
	}
	r.forewarn()
	report, err := r.part(ctx, t)
	if err == nil {
		err = r.session.Finish(ctx) // or else somebody has not stored its part, or has not signed what passed
	}
	if err != nil {
		r.leave(err)
		return nil, err
	}
	if r.closes == 0 {
		r.account(report)
	}
	return report, nil
}

// part makes this party's part of the job and stores it or, in a closing session, keeps the one that is stored.
func (r *run) part(ctx context.Context, t task) (*Report, error) {
	if r.closes > 0 {
		return r.state.keepPart(r.closes, r.number)
	}
	report, err := r.task(ctx, t)
	if err != nil {
		return nil, err
	}
	r.account(report)
	return report, r.state.partStored(r.number, report)
}

// account adds to a report what went over the links.
func (r *run) account(report *Report) {
	report.Rounds, report.BytesOut, report.BytesIn = r.session.Operations(), 0, 0
	for i := range r.state.contract.Parties {
		sent, received := r.session.Traffic(i)
		report.BytesOut += sent
		report.BytesIn += received
	}
	report.Egress = egressOf(r.state.contract, r.budget.Lines())
}

// leave tells the others why this party's session ends before its time.
func (r *run) leave(reason error) {
	ctx, cancel := context.WithTimeout(r.node.ctx, leaveTime)
	defer cancel()
	r.session.Abort(ctx, r.node.toldOnce(r.state, reason))
}

// open starts the session over the mesh.
func (r *run) open(ctx context.Context, mesh protocol.Mesh) error {
	c := r.state.contract
	var err error
	if r.budget, err = protocol.NewBudget(c, c.Job.Index(r.node.nameIn(c))); err != nil {
		return err
	}
	r.session, err = protocol.NewSession(ctx, mesh, protocol.SessionConfig{
		Contract: c.Hash(), Number: r.number, Parties: c.Members(), Key: r.node.config.Key, Budget: r.budget, Recorder: r.recorder,
	})
	if err != nil || r.closes > 0 {
		return err
	}
	if isEncrypted(c.Job) {
		r.network, err = NewEncryptedNetwork(ctx, r.session, c, r.number)
		return err
	}
	if c.Job.Privacy == fdskl.Sealed {
		r.sealed, err = NewSealedNetwork(r.session, c, cmp.Or(r.node.config.Workers, runtime.GOMAXPROCS(0)))
		return err
	}
	r.network, err = NewNetwork(r.session, c, r.opened)
	return err
}

// task runs the task while a watcher tells whom the session waits for.
func (r *run) task(ctx context.Context, t task) (*Report, error) {
	ctx, cancel := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.watch(ctx) })
	defer watch.Wait()
	defer cancel()
	return t.run(ctx, r)
}

// watch reports a session that is blocked on a peer.
func (r *run) watch(ctx context.Context) {
	tick := time.NewTicker(waitReport)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			w := r.session.Waiting()
			if w.Peer != "" && w.Kind != kindRequest && time.Since(w.Since) >= waitReport {
				r.node.tell(r.hash(), Event{Kind: EventWaiting, Text: fmt.Sprintf("waiting for %s (%s) for %s", w.Peer, w.Kind, time.Since(w.Since).Round(time.Second))})
			}
		}
	}
}

// hash returns the job's contract hash.
func (r *run) hash() keys.Hash { return r.state.contract.Hash() }

// progress passes an algorithm's progress on, at most ten times a second for each step and always
// the last.
func (r *run) progress(p fdskl.Progress) { r.step(p.Step, p.Done, p.Total, p.Metric) }

// step tells how far a step has come.
func (r *run) step(step string, done, total int, metric float64) {
	r.mu.Lock()
	now := time.Now()
	skip := done < total && now.Sub(r.latest[step]) < 100*time.Millisecond
	if !skip {
		r.latest[step] = now
	}
	r.mu.Unlock()
	if skip {
		return
	}
	e := Event{Kind: EventProgress, Step: step, Done: int64(done), Total: int64(total)}
	if !math.IsNaN(metric) && metric != 0 {
		e.Metric = &metric
	}
	r.node.tell(r.hash(), e)
}

// opened counts what this party learned.
func (r *run) opened(kind string, count int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range r.opens {
		if r.opens[i].Kind == kind {
			r.opens[i].Count += count
			return
		}
	}
	r.opens = append(r.opens, Opened{Party: r.node.nameIn(r.state.contract), Kind: kind, Count: count})
}

// report starts this party's report.
func (r *run) report(rows int) *Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.state.contract
	return &Report{
		Job: c.Job.Name, Contract: r.hash().String(), Party: r.node.nameIn(c), Seconds: time.Since(r.began).Seconds(),
		Sessions: r.number, Openings: r.opens, Rows: rows, Aggregation: c.Job.Aggregation,
	}
}

// roomOf names a session to the transport.
func roomOf(c *protocol.Contract, number uint32) protocol.Room {
	h := c.Hash()
	return protocol.Room(keys.HashOf("hanse room v1", h[:], binary.BigEndian.AppendUint32(nil, number)))
}

// closingRoom names a session to the transport; closes is 0 but in a closing session. Parties that keep the parts of
// different sessions do not meet.
func closingRoom(c *protocol.Contract, number, closes uint32) protocol.Room {
	if closes == 0 {
		return roomOf(c, number)
	}
	h := c.Hash()
	sessions := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, number), closes)
	return protocol.Room(keys.HashOf("hanse closing room v1", h[:], sessions))
}

// peersOf lists the other parties.
func (n *Node) peersOf(c *protocol.Contract) []keys.ID {
	var peers []keys.ID
	for _, p := range c.Parties {
		if p.ID != n.config.Key.ID() {
			peers = append(peers, p.ID)
		}
	}
	return peers
}
