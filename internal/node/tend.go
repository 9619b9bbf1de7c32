package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// tender looks after the disk, and after the jobs that nobody else drives.
type tender struct {
	config     *Config
	life       *life
	disk       *folder
	tables     *jobs.Tables
	member     *member
	algorithms *algorithms
	asker      *asker
	roster     *roster
	sessions   *sessions
	keeper     *keeper
	proposer   *proposer
}

// How often a node looks after jobs that stand still, and how long it leaves one at most between two questions.
const (
	tendEvery = time.Second
	askAgain  = 15 * time.Second
)

// tend looks after the disk, and the jobs that nobody else drives: proposals that expire, and jobs whose coordinator
// died or which ended while this node was away. It runs until ctx ends.
func (n *tender) tend(ctx context.Context, every time.Duration) {
	var looking sync.WaitGroup
	defer looking.Wait()
	slots := make(chan struct{}, atOnce)
	var disk rounds
	for wait := time.Duration(0); pause(ctx, wait) == nil; wait = every {
		n.keepDisk(&disk)
		n.tables.Tend(ctx, looking.Go)
		n.shed()
		for _, s := range n.roster.openJobs() {
			if !s.looks.begin() {
				continue
			}
			slots <- struct{}{}
			looking.Go(func() {
				defer func() { s.looks.done(); <-slots }()
				if err := n.look(ctx, s, every); err != nil && ctx.Err() == nil {
					n.config.Log.Debug("a job stands still", "job", s.Contract().Job.Name, "error", err)
				}
			})
		}
	}
}

// How often a node looks at its disk.
const (
	tidyEvery    = 24 * time.Hour   // for payloads that are older than the policy keeps them, by the node's clock
	measureEvery = 10 * time.Second // how much its folder holds, where there is a quota
	// the same under the default one: what begins measures, too
	measureRarely = time.Minute
)

// rounds is when the disk is looked at next; the zero value is at once.
type rounds struct{ tidy, measure time.Time }

// keepDisk tidies and measures a node's folder when it is time.
func (n *tender) keepDisk(h *rounds) {
	if now := n.config.Now(); !now.Before(h.tidy) {
		h.tidy = now.Add(tidyEvery)
		if err := n.sessions.tidy(); err != nil {
			n.config.Log.Error("old payloads could not be deleted", "error", err)
		}
	}
	if now := time.Now(); n.disk.quota > 0 && !now.Before(h.measure) {
		h.measure = now.Add(measureEvery)
		if n.disk.plain { // nothing that is under way hangs on it
			h.measure = now.Add(measureRarely)
		}
		if _, err := n.disk.measure(); err != nil {
			n.config.Log.Error("the node's folder could not be measured", "error", err)
		}
	}
}

// shed drops from memory what is large of the jobs that have ended, and on which nothing works any more: the contract's
// text, signatures and operations, and the open files. All of it is on the disk, and whole reads it when it is asked
// for.
func (n *tender) shed() {
	for _, s := range n.roster.allJobs() {
		if s.Brief() || s.Ending() == nil || n.sessions.inSession(s) {
			continue
		}
		n.keeper.apply(s, job.Shed{}) // where no brief contract can be made, the job stays as it is
		if err := s.vault.Close(); err != nil {
			n.config.Log.Warn("the files of a job that has ended could not be closed", "job", s.Contract().Job.Name,
				"error", err)
		}
	}
}

// look ends a job that has expired or does not stand under the charter any more, or asks the other parties how it
// stands when no session is on.
func (n *tender) look(ctx context.Context, s *jobState, every time.Duration) error {
	record, j := s.Record(), s.Contract().Job
	if !n.member.isOurs(s.Contract()) {
		return n.keeper.remark(s, "it was agreed to under another key of this member's, which this node does not have: "+
			"nothing more comes of it here")
	}
	if s.abandoned.Load() && record.Consent == nil {
		return n.keeper.conclude(s, abandoned(), "")
	}
	// Its own proposal that not all have signed has an end, and another's that nobody here has consented to; where
	// somebody has, only the proposer knows whether all have.
	_, agreed := s.InForce()
	mayExpire := !record.State.Final() && !record.Damaged && !agreed &&
		(j.Proposer == s.Self() || record.Consent == nil)
	if mayExpire && n.expired(s) {
		return n.keeper.conclude(s, contract.Ending{Outcome: contract.OutcomeExpired}, "")
	}
	if ended, err := n.expireUnbegun(ctx, s); ended || err != nil {
		return err
	}
	if n.sessions.inSession(s) {
		return nil
	}
	if err := n.algorithms.underCharter(s.Contract()); err != nil { // also where its proposer is no member any longer
		return n.keeper.giveUp(s, err)
	}
	if j.Proposer == s.Self() && !record.State.Final() {
		return nil
	}
	if !s.looks.due(every) {
		return nil
	}
	if record.Finished > 0 && !j.OverClients() {
		if done, _, err := n.keeper.settle(ctx, s); done || err == nil {
			return err
		}
	}
	if self := j.Index(s.Self()); j.Serves(self) && record.State == job.Paused {
		if missing := n.proposer.tooFew(s, n.proposer.whoIsThere(ctx, s, self).parties, self); missing != "" {
			if err := n.keeper.remark(s, missing); err != nil {
				return err
			}
		}
	}
	// Asks the proposer how a job stands, and, if it is away, the others, and takes the ending of any that has one.
	c := s.Contract()
	parties := n.asker.othersOf(c)
	slices.SortStableFunc(parties, func(a, b contract.Party) int { return rank(c, a) - rank(c, b) })
	var last error
	for i, p := range parties {
		if rank(c, p) == clientsLast && (c.Job.Proposer != n.member.nameIn(c) || i >= clientsAsked) {
			break
		}
		var r standing
		if last = n.asker.atParty(ctx, s, p, methodStanding, standingRequest{c.Hash()}, &r, nil); last != nil {
			if faults.WithCode(fault.CodeUnknown)(last) && p.Name == c.Job.Proposer {
				return n.keeper.remark(s, fmt.Sprintf("%s, who proposed it, has no such job any more; end it with hanse cancel %s",
					p.Name, c.Job.Name))
			}
			continue
		}
		if r.Ending != nil {
			return n.keeper.adoptText(s, r.Ending)
		}
		if r.Why != nil && s.State() == job.Paused {
			return n.keeper.remark(s, fmt.Sprintf("%s says: %s; it goes on when that is mended, or end it with hanse cancel %s",
				p.Name, fault.DecodeFault(r.Why), c.Job.Name))
		}
	}
	return last
}

// expireUnbegun ends a job that was agreed to and never started, and reports whether it has. One over clients may run
// without this party, so that its proposer is asked first, and while that is away the job stays.
func (n *tender) expireUnbegun(ctx context.Context, s *jobState) (bool, error) {
	at := s.StartBy()
	if at.IsZero() || !n.config.Now().After(at) || !n.expired(s) {
		return false, nil
	}
	if c := s.Contract(); c.Job.OverClients() && c.Job.Proposer != n.member.nameIn(c) {
		var r standing
		proposer := c.Members()[c.Job.Index(c.Job.Proposer)]
		err := n.asker.atParty(ctx, s, proposer, methodStanding, standingRequest{c.Hash()}, &r, nil)
		switch {
		case err != nil && !faults.WithCode(fault.CodeUnknown)(err):
			return false, nil
		case err == nil && r.Ending != nil:
			return true, n.keeper.adoptText(s, r.Ending)
		case err == nil && r.Session > 0:
			return false, nil
		}
	}
	cause := fmt.Sprintf(neverStarted, wording.Time(at))
	return true, n.keeper.conclude(s, contract.Ending{Outcome: contract.OutcomeExpired}, cause)
}

// neverStarted is what a job's owner reads that ended since nobody started it.
const neverStarted = "no session of it began by %s, and it ended by itself; propose it anew"

// expired reports whether the time of a proposal is over, by this node's clock and by that of its proposer, who set the
// time: a node whose clock is wrong ends nobody's proposals while it can know.
func (n *tender) expired(s *jobState) bool {
	at, now := s.Contract().Job.Expiry(), n.config.Now()
	if at.IsZero() || !now.After(at) {
		return false
	}
	clocks, ok := n.config.Transport.(clockComparer)
	if !ok || s.Contract().Job.Proposer == s.Self() {
		return true
	}
	i := s.Contract().Job.Index(s.Contract().Job.Proposer)
	ahead, known := clocks.ClockDifference(s.Contract().Parties[i].ID)
	if !known {
		return time.Since(n.life.started) > meetingTime
	}
	return now.Add(ahead).After(at)
}

// clockComparer is a transport that knows how far another member's clock is ahead of this node's.
type clockComparer interface {
	ClockDifference(member keys.ID) (ahead time.Duration, known bool)
}

// meetingTime is how long a node that has just started waits for its links before it trusts its own clock alone.
const meetingTime = time.Minute

// clientsAsked is how many parties the proposer of a job over clients asks for an end that was damaged on its disk.
const clientsAsked = 8

// clientsLast is the rank of those who are not asked how a job stands: hundreds of clients.
const clientsLast = 2

// rank orders the parties by how well they know how a job stands.
func rank(c *contract.Contract, p contract.Party) int {
	i := c.Job.Index(p.Name)
	switch {
	case p.Name == c.Job.Proposer:
		return 0
	case c.Job.OverClients() && !c.Job.Serves(i):
		return clientsLast
	}
	return 1
}
