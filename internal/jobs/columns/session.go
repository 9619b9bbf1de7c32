package columns

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/trace"
	"github.com/hanse-project/hanse/algorithms/wired"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
)

// leaveTime bounds how long a party tries to tell the others why it leaves a session.
const leaveTime = time.Second

// session is one session of a job over columns: all parties take part, from the exchange of keys to the last
// countersignature.
type session struct {
	*jobs.Session
	wire    *protocol.Session
	network joint.Network
	sealed  *wired.SealedNetwork // in sealed jobs, in place of network
	parts   string               // where parts of rows lie for workers
	workers int                  // see jobs.Member
	kept    []byte               // this party's part of the job; nil where its part is a file of its own
}

// part is what a party does in one kind of job over columns.
type part interface {
	Facts() (contract.Facts, error)
	Disclose(all []contract.Facts) ([]contract.Opening, []contract.Operation, error)
	run(ctx context.Context, r *session) (*jobs.Report, error)
}

// task makes a jobs.Task of a part.
type task struct {
	part
	member *Jobs
}

// Facts implements jobs.Task, and notes how long it took to read a table and its ids: a session begins with that.
func (t *task) Facts() (contract.Facts, error) {
	began := time.Now()
	facts, err := t.part.Facts()
	t.member.looks.since(began)
	return facts, err
}

// Run implements jobs.Task: the part is made and stored or, in a closing session, the one that is stored is kept; then
// all sign what passed.
func (t *task) Run(ctx context.Context, s *jobs.Session) (*jobs.Report, error) {
	// The session starts over its mesh, and its sums.
	r, c := &session{Session: s, parts: t.member.PartsFolder(), workers: t.member.Workers}, s.Contract()
	s.Config.Waits.Ignore(trace.KindRequest) // the receiver of a serving prediction asks when it wants to
	var err error
	if r.wire, err = protocol.NewSession(ctx, s.Mesh, s.Config); err != nil {
		return nil, err
	}
	switch {
	case s.Closes > 0 || c.Job.Task == contract.TaskAlign: // an alignment has no sums
	case c.Job.Privacy == keys.PrivacySealed:
		r.sealed, err = wired.NewSealedNetwork(r.wire, c, cores(t.member.Workers))
	default:
		r.network, err = wired.NewNetwork(ctx, r.wire, c, s.Learned)
	}
	if err != nil {
		return nil, err
	}

	// The part is made and stored, while a watcher tells whom the session waits for.
	account := func(report *jobs.Report) {
		report.Rounds = r.wire.Operations()
		s.Account(report, r.wire.Traffic)
	}
	var report *jobs.Report
	if s.Closes > 0 {
		report, err = s.Daemon.Keep()
	} else {
		watched, cancel := context.WithCancel(ctx)
		var watch sync.WaitGroup
		watch.Go(func() { r.watch(watched) })
		report, err = t.run(watched, r)
		cancel()
		watch.Wait()
		if err == nil {
			account(report)
			err = s.Daemon.Store(r.kept, report)
		}
	}

	// All sign what passed; whoever leaves before says why.
	if err == nil {
		err = r.wire.Finish(ctx) // or else somebody has not stored its part, or has not signed what passed
	}
	if err != nil {
		ctx, cancel := context.WithTimeout(s.Life, leaveTime)
		defer cancel()
		r.wire.Abort(ctx, s.Daemon.Fault(err))
		return nil, err
	}
	if s.Closes == 0 {
		account(report)
	}
	return report, nil
}

// watch reports a session that is blocked on a peer.
func (r *session) watch(ctx context.Context) {
	tick := time.NewTicker(jobs.WaitReport)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if w := r.Config.Waits.Now(); w.Peer != "" && time.Since(w.Since) >= jobs.WaitReport {
				r.Daemon.Notify(jobs.Event{Kind: jobs.EventWaiting, Who: []string{w.Peer}, Since: w.Since, Text: fmt.Sprintf(
					"waiting for %s (%s) for %s", w.Peer, w.Kind, time.Since(w.Since).Round(time.Second))})
			}
		}
	}
}

// progress passes an algorithm's progress on.
func (r *session) progress(p joint.Progress) { r.Step(p.Step, p.Done, p.Total, p.Metric) }

// joint is what the session offers the algorithm.
func (r *session) joint(o wired.Outliner) *joint.Session {
	c := r.Contract()
	s := &joint.Session{
		Contract: c, Self: r.wire.Self(), Owner: c.Parties[r.wire.Self()].ID, Number: r.Number(), Network: r.network,
		Vault: r.Vault, Workers: r.workers, Report: r.progress, Opened: r.Learned,
		Scratch: func(bytes int64) (joint.Scratch, error) {
			f, err := r.Vault.Scratch(featuresFile, bytes)
			if err != nil {
				return nil, fmt.Errorf("shares of features: %w", err)
			}
			return f, nil
		},
	}
	if r.sealed != nil { // a nil of that type is a network, too
		s.Sealed = r.sealed
	}
	if c.Job.Shards > 0 {
		s.Shards = func(ctx context.Context, w joint.ShardWork) error { return r.runShards(ctx, o, w) }
	}
	return s
}

// cores is how many goroutines do arithmetic where so many are wanted; 0: one for each core.
func cores(wanted int) int { return cmp.Or(wanted, runtime.GOMAXPROCS(0)) }
