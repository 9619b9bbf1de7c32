package clients

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/inbox"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// Times of sessions over clients.
const (
	endTime  = 15 * time.Second // for the last words of a session, more than a round of a sum
	sumTime  = 10 * time.Second // how long a server waits in each round of a sum
	toldTime = 2 * sumTime      // how long a server waits for another one to begin a sum of servers
	mixTime  = 4 * sumTime      // and takes part in it
)

// cohortFile is where a client keeps what it remembers of a job's sums, in the job's vault.
const cohortFile = "cohort"

// session is one session of a job over clients: whoever is there takes part, each client with its server.
type session struct {
	*jobs.Session
	links *protocol.Links

	mu     sync.Mutex
	gone   []int // clients whose links broke
	online federated.Progress
}

// task is this node's part of a job.
type task struct {
	member     *Jobs
	algorithm  *federated.Algorithm
	contracted *contract.Job
	job        federated.Job // as the algorithm reads it
}

// Run implements jobs.Task.
func (t *task) Run(ctx context.Context, s *jobs.Session) (*jobs.Report, error) {
	r, c, self := &session{Session: s}, s.Contract(), s.Contract().Job.Index(s.Self)
	encodings := make(map[string]contract.Encoding) // by kind of messages
	for i := range c.Operations {
		encodings[c.Operations[i].Kind], _ = contract.ParseEncoding(c.Operations[i].Encoding) // checked with the contract
	}
	var err error
	if r.links, err = protocol.NewLinks(s.Mesh, s.Config, encodings); err != nil {
		return nil, err
	}
	spec, err := specOf(c, c.Job.ServerOf(self), t.member.Charter().Rules.MinContributors)
	spec.Picks = t.algorithm.Picks
	if err != nil {
		return nil, err
	}
	var report *jobs.Report
	if c.Job.Serves(self) {
		report, err = r.serve(ctx, t, spec)
	} else {
		report, err = r.runClient(ctx, t, spec)
	}
	if report != nil {
		report.Rounds = uint64(report.Online.Rounds)
		s.Account(report, r.links.Traffic)
	}
	return report, err
}

// specOf says how the sums of a job over clients are made, but for Picks.
func specOf(c *contract.Contract, server, least int) (cohort.Spec, error) {
	topology, err := contract.ParseTopology(c.Job.Topology)
	spec := cohort.Spec{
		Server: server, Clients: c.Job.ClientsOf(server), Backend: cohort.Masked, Topology: topology,
		Threshold: c.Job.Threshold, MinContributors: max(c.Job.MinContributors, least, 2), Patience: sumTime,
	}
	switch {
	case c.Job.Privacy == keys.PrivacyPublished:
		spec.Backend, spec.MinContributors = cohort.Plain, 2
	case c.Job.Encrypted():
		spec.Backend = cohort.HE
	}
	return spec, err
}

// offer is what both kinds of parts get.
func (r *session) offer() *federated.Session {
	c := r.Contract()
	return &federated.Session{Contract: c, Self: c.Job.Index(r.Self), Vault: r.Vault, Report: r.progress, Warn: r.Warn}
}

// serve is a server's part, until the job is done, which ends the session, or somebody has come back, which pauses it.
func (r *session) serve(ctx context.Context, t *task, spec cohort.Spec) (*jobs.Report, error) {
	c := r.Contract()
	var there []int
	var ids []keys.ID
	for _, i := range spec.Clients {
		if slices.Contains(r.There, c.Parties[i].ID) {
			there, ids = append(there, i), append(ids, c.Parties[i].ID)
		}
	}
	box := inbox.New(r.Mesh, ids)
	defer box.Close()
	server, err := cohort.NewServer(ctx, r.links, box, there, spec)
	if err != nil {
		return nil, err
	}
	n := &serverNetwork{
		links: r.links, mesh: r.Mesh, peers: r.There, server: server, classOf: c.ClassOf, clients: spec.Clients,
		least: server.Least(), opened: r.Learned, lost: r.reportLosses, job: c.Job,
	}

	// The algorithm runs while a watcher looks for who comes back.
	pause := func() { n.pausing.Store(true) }
	r.Daemon.Pausable(pause)
	watched, stop := context.WithCancel(ctx)
	var watching sync.WaitGroup
	away := func() []int { // who was not there when the session began, or whose link broke
		r.mu.Lock()
		defer r.mu.Unlock()
		return slices.DeleteFunc(slices.Clone(n.clients), func(i int) bool {
			return slices.Contains(there, i) && !slices.Contains(r.gone, i)
		})
	}
	watching.Go(func() { r.Daemon.WatchReturns(watched, away, pause) })
	offer := r.offer()
	offer.Server, offer.Least, offer.Table = n, n.least, t.member.table
	err = t.job.Serve(ctx, offer)
	if n.mixing != nil {
		n.mixing.box.Close()
	}
	stop()
	watching.Wait()

	ending, cancel := context.WithTimeout(ctx, endTime)
	defer cancel()
	switch {
	case err == nil:
		return r.report(), n.end(ending, kindFinished)
	case errors.Is(err, federated.ErrScarce):
		return nil, joined(federated.ErrScarce, n.end(ending, kindPaused))
	case errors.Is(err, federated.ErrPaused):
		return nil, joined(federated.ErrPaused, n.end(ending, kindPaused))
	}
	return nil, err
}

// runClient is a client's part, until its server ends the session.
func (r *session) runClient(ctx context.Context, t *task, spec cohort.Spec) (*jobs.Report, error) {
	client, err := cohort.NewClient(ctx, r.links, spec)
	if err != nil {
		return nil, err
	}
	kept, err := r.Vault.Load(cohortFile)
	if err != nil {
		return nil, err
	}
	if err := client.Remember(kept, func(b []byte) error { return r.Vault.Save(cohortFile, b) }); err != nil {
		return nil, err
	}
	n := &clientNetwork{
		links: r.links, client: client, classOf: r.Contract().ClassOf, server: spec.Server, addends: len(spec.Clients),
		opened: r.Learned,
	}
	var rows *rowStream
	offer := r.offer()
	offer.Client, offer.Cache, offer.Earlier = n, t.member.openCache, t.member.earlier
	offer.Rows = func(label string, inputs []string) (_ federated.Stream, err error) {
		rows, err = t.member.openRows(r, label, inputs)
		return rows, err
	}
	err = t.job.RunClient(ctx, offer)
	if rows != nil {
		err = r.attended(joined(err, rows.close()))
	}
	var report *jobs.Report
	if err == nil {
		report = r.report()
	}
	if err == nil || errors.Is(err, federated.ErrPaused) {
		ending, cancel := context.WithTimeout(ctx, endTime)
		defer cancel()
		err = errors.Join(err, client.Finish(ending))
	}
	return report, err
}

// reportLosses says whom a sum lost.
func (r *session) reportLosses(number int, losses []cohort.Loss) {
	for _, l := range losses {
		r.Daemon.Notify(jobs.Event{Kind: jobs.EventWaiting, Text: fmt.Sprintf("sum %d goes on without %s", number, l)})
		if l.Err != nil {
			r.mu.Lock()
			r.gone = append(r.gone, l.Client)
			r.mu.Unlock()
		}
	}
}

// progress passes on how far an algorithm over clients has come.
func (r *session) progress(p federated.Progress) {
	r.mu.Lock()
	r.online = p
	r.mu.Unlock()
	metric := math.NaN()
	if p.Loss > 0 {
		metric = p.Loss
	}
	r.Step("round", p.Round, p.Rounds, metric)
}

// attended is the error of a client's part when it has ended. A link that breaks after the job's end is none: whoever
// waited for a row then has missed its server's last words.
func (r *session) attended(err error) error {
	select {
	case <-r.Over:
		if !faults.Permanent(err) {
			return nil
		}
	default:
	}
	return err
}

// report is this party's report on its part.
func (r *session) report() *jobs.Report {
	report := r.Report(0)
	r.mu.Lock()
	defer r.mu.Unlock()
	report.Online = &jobs.Online{
		Rounds: r.online.Round, MeanSquaredError: jobs.Finite(r.online.Loss), Regret: jobs.Finite(r.online.Regret),
		Clients: r.online.Clients,
	}
	return report
}
