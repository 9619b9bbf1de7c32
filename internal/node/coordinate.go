package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// coordinate brings a job that this node has consented to, to its end: it collects the others' signatures, runs
// sessions until one ends well, and has the end signed by all. What it had reached before a crash it takes up.
func (n *proposer) coordinate(ctx context.Context, s *jobState) (*jobs.Report, error) {
	driving, cancel := context.WithCancel(ctx)
	defer cancel()
	n.life.work.Go(func() { // whoever waits for a party that is away need not, once the job has ended
		select {
		case <-s.Final():
			cancel()
		case <-n.life.ctx.Done():
			cancel()
		case <-driving.Done():
		}
	})
	for wait := retryEvery; ; wait = min(2*wait, retryMost) {
		err := n.attempt(driving, s)
		switch {
		case s.Ending() != nil:
			// All parties are told first, those who are there.
			telling, cancel := context.WithCancel(ctx)
			defer cancel()
			defer context.AfterFunc(n.life.ctx, cancel)()
			away := n.keeper.sendEnding(telling, s)
			if err := s.EndedError(); err != nil {
				return nil, err
			}
			report, err := s.loadReport()
			if err != nil || report == nil {
				return nil, errors.Join(fmt.Errorf("job %q is done, and this node's report of it cannot be read",
					s.Contract().Job.Name), err)
			}
			report.Away = away
			return report, nil
		case ctx.Err() != nil:
			return nil, errors.Join(ctx.Err(), n.keeper.apply(s, job.Shown{State: job.Paused, Reason: "this node was stopped"}))
		case err != nil && faults.Permanent(err):
			before := s.EndedError()
			err = errors.Join(err, n.keeper.giveUp(s, err))
			if s.Ending() != nil {
				return nil, cmp.Or(before, err)
			}
			n.runner.paused(s, err) // its end cannot be stored yet
		case err != nil:
			n.runner.paused(s, err)
		}
		if err := pause(driving, wait); err != nil && s.Ending() == nil {
			return nil, err
		}
	}
}

// attempt takes a job as far as it goes in one session.
func (n *proposer) attempt(ctx context.Context, s *jobState) error {
	c := s.Contract()
	if err := n.algorithms.underCharter(c); err != nil {
		return err
	}
	f, agreed := s.InForce()
	if !agreed {
		if err := n.collectConsent(ctx, s); err != nil || s.Ending() != nil {
			return err
		}
		if f, agreed = s.InForce(); !agreed {
			return faults.Errorf(fault.CodeUnsigned, "the contract of job %q is not in force", c.Job.Name)
		}
	}
	if done, _, err := n.settleAll(ctx, s); done || err != nil {
		return err
	}

	if err := n.sessions.mayStart(s); err != nil {
		return err
	}

	// The next session starts at all parties or, of a job over clients, at those who are there. Its number is stored
	// before it is sent, so no number is used twice.
	await := n.awaitAll
	if c.Job.OverClients() {
		await = n.awaitEnough
	}
	coming, err := await(ctx, s)
	if err != nil || s.Ending() != nil {
		return err
	}
	opened := job.Opened{Number: coming.number, Closes: coming.closes, Now: n.config.Now()}
	if err := n.keeper.apply(s, opened); err != nil {
		return err
	}
	request := startRequest{Contract: string(f.Contract().Text()), Number: coming.number, Closes: coming.closes}
	if err := n.sendStart(ctx, s, request, coming.parties); err != nil || s.Ending() != nil {
		return err
	}

	session, active, _ := n.sessions.enterSession(ctx, s)
	if s.Ending() == nil { // it may have, in the moment before
		n.roster.notify(c.Hash(), jobs.Event{Kind: jobs.EventState, Text: fmt.Sprintf("session %d starts", coming.number)})
		_, err = n.runner.session(session, s, f, coming.number, coming.closes)
		if ending := s.Awaited(); ending != nil { // another party had all sign
			err = n.keeper.adopt(s, ending)
		}
	}
	n.sessions.leaveSession(s, active)
	n.workers.removeParts(s)
	if err != nil {
		return err
	}
	done, behind, err := n.settleAll(ctx, s)
	if err == nil && !done {
		who := "not every party has"
		if behind != "" {
			who = behind + " says that it has not"
		}
		err = faults.Errorf(fault.CodeClients, "%s finished session %d: another session follows", who, coming.number)
	}
	return err
}

// coming is a session that is to start.
type coming struct {
	number  uint32
	closes  uint32 // of a closing session: the session whose parts all keep; else 0
	parties []int  // who is there
}

// settleAll is settle at the coordinator, which waits first until no other party is in the last session any more.
func (n *proposer) settleAll(ctx context.Context, s *jobState) (done bool, behind string, err error) {
	finished := s.Record().Finished
	if finished == 0 {
		return n.keeper.settle(ctx, s)
	}
	await := n.awaitOthers
	if s.Contract().Job.OverClients() {
		await = n.awaitServers
	}
	if left, err := await(ctx, s, finished); left != "" || err != nil {
		return false, left, err
	}
	return n.keeper.settle(ctx, s)
}

// awaitOthers waits, in a job over columns, until the session has ended at all who are there: the last countersignature
// does not come to all at once. One that has left it before needs another session: it is returned.
func (n *proposer) awaitOthers(ctx context.Context, s *jobState, number uint32) (left string, err error) {
	c := s.Contract()
	since, told, wait := time.Now(), time.Now(), retryEvery/100
	for _, p := range n.asker.othersOf(c) {
		for on := true; on; {
			switch n.asker.placeIn(ctx, s, p, number) {
			case placeOn:
			case placeLeft:
				return p.Name, nil
			case placeEnded, placeAway: // who is away cannot sign, and is asked for that
				on = false
				continue
			}
			if time.Since(told) >= 5*jobs.WaitReport {
				told = time.Now()
				n.roster.notify(c.Hash(), jobs.Event{Kind: jobs.EventWaiting, Who: []string{p.Name}, Since: since,
					Text: fmt.Sprintf("waiting for %s to end session %d%s", p.Name, number, lasting(since))})
			}
			if err := pause(ctx, wait); err != nil {
				return "", err
			}
			wait = min(2*wait, retryEvery)
		}
	}
	return "", nil
}

// awaitServers waits, in a job over clients, for the other servers' parts of a session. One that has left the session,
// and is there, needs another one: it is returned. One that stays away is left out.
func (n *proposer) awaitServers(ctx context.Context, s *jobState, number uint32) (left string, err error) {
	c := s.Contract()
	since, told := time.Now(), time.Time{}
	for {
		var behind []string
		for i, p := range c.Members() {
			if !c.Job.Serves(i) || p.ID == n.config.Key.ID() {
				continue
			}
			switch n.asker.placeIn(ctx, s, p, number) {
			case placeOn:
				behind = append(behind, p.Name)
			case placeAway:
				if time.Since(since) < cmp.Or(n.config.AwayTime, awayTime) {
					behind = append(behind, p.Name+", who is away")
				} else {
					n.roster.notify(c.Hash(), jobs.Event{Kind: jobs.EventWarning, Text: fmt.Sprintf("%s stays away: the job ends "+
						"without the rest of its part", p.Name)})
				}
			case placeLeft:
				return p.Name, nil
			}
		}
		if len(behind) == 0 {
			return "", nil
		}
		if time.Since(told) >= 5*jobs.WaitReport {
			told = time.Now()
			n.roster.notify(c.Hash(), jobs.Event{Kind: jobs.EventWaiting, Since: since,
				Text: fmt.Sprintf("waiting for %s to end its part%s", strings.Join(behind, ", "), lasting(since))})
		}
		if err := pause(ctx, retryEvery); err != nil {
			return "", err
		}
	}
}

// awayTime is how long the end of a job over clients waits for a server that is away.
const awayTime = time.Minute

// awaitAll waits until every party is there. Where all keep their parts of one session, which broke before all had
// signed what passed, the next is a closing one: nothing is computed in it, and nothing opens.
func (n *proposer) awaitAll(ctx context.Context, s *jobState) (next coming, err error) {
	record, members, listen := s.Record(), s.Contract().Members(), n.teller(s)
	next.number, next.closes = record.Session, record.Stored
	answers := make([]consentResponse, len(members))
	err = n.asker.together(ctx, members, func(ctx context.Context, i int) error {
		request, r := consentRequest{Contract: string(s.Text())}, &answers[i]
		if err := n.asker.ask(ctx, members[i], methodConsent, request, r, listen); err != nil {
			return err
		}
		switch {
		case r.Ending != nil:
			return cmp.Or(n.keeper.adoptText(s, r.Ending), errEnded)
		case r.Signature == nil:
			return faults.Errorf(fault.CodeUnsigned, "%s lost its record of who had consented: a person there runs "+
				"hanse approve %s", members[i].Name, s.Contract().Job.Name)
		}
		return nil
	})
	if errors.Is(err, errEnded) {
		return next, nil
	}
	for i, p := range members {
		next.parties = append(next.parties, i)
		if p.ID == n.config.Key.ID() {
			continue
		}
		next.number = max(next.number, job.Claimed(record.Session, answers[i].Session))
		if answers[i].Stored != next.closes {
			next.closes = 0
		}
	}
	next.number++
	return next, err
}

// awaitEnough waits, in a job over clients, for the other servers, and until every server could have enough clients.
func (n *proposer) awaitEnough(ctx context.Context, s *jobState) (coming, error) {
	for since := time.Now(); ; {
		next := n.whoIsThere(ctx, s, -1)
		if s.Ending() != nil {
			return next, nil
		}
		missing := n.tooFew(s, next.parties, -1)
		if missing == "" {
			return next, nil
		}
		if err := n.keeper.remark(s, missing); err != nil {
			return next, err
		}
		n.roster.notify(s.Contract().Hash(), jobs.Event{Kind: jobs.EventWaiting, Since: since, Text: missing})
		if err := pause(ctx, jobs.WaitReport); err != nil {
			return next, err
		}
	}
}

// whoIsThere asks the clients of a server, or all parties for -1, whether they are there and stand by the contract.
func (n *proposer) whoIsThere(ctx context.Context, s *jobState, server int) (next coming) {
	answers := make([]*consentResponse, len(s.Contract().Parties))
	n.asker.eachOther(s.Contract(), func(i int) {
		if server >= 0 && s.Contract().Job.ServerOf(i) != server {
			return
		}
		r, err := n.asker.askOnce(ctx, s, i)
		switch {
		case err == nil && r.Ending != nil:
			err = n.keeper.adoptText(s, r.Ending)
		case err == nil && r.Signature != nil:
			answers[i] = &r
		}
		if err != nil {
			n.config.Log.Debug("a party does not answer for a job", "party", s.Contract().Parties[i].Name, "error", err)
		}
	})
	next.number = s.Record().Session
	for i, r := range answers {
		if r != nil {
			next.number = max(next.number, job.Claimed(s.Record().Session, r.Session))
		}
		if r != nil || s.Contract().Parties[i].ID == n.config.Key.ID() {
			next.parties = append(next.parties, i)
		}
	}
	next.number++
	return next
}

// tooFew says who is missing for a session over clients, of one server or of any for -1, or nothing.
func (n *proposer) tooFew(s *jobState, there []int, server int) string {
	c, count := s.Contract(), make(map[int]int)
	for _, i := range there {
		count[c.Job.ServerOf(i)]++
	}
	least := c.Job.Contributors(n.member.currentCharter().Rules)
	if c.Job.Privacy == keys.PrivacyPublished { // nothing is protected, and a sum of two is as good as any
		least = 2
	}
	for i, p := range c.Parties {
		if c.Job.Serves(i) && count[i] < least+1 && (server < 0 || server == i) {
			return fmt.Sprintf("too few clients of %s: %d of %d needed are there%s", p.Name, max(0, count[i]-1), least,
				s.watched.whyMissing(c.Job.ClientNames(i)))
		}
	}
	return ""
}

// sendStart tells parties to open a session. Over columns every one must, and is waited for; over clients one that has
// gone meanwhile is left out.
func (n *proposer) sendStart(ctx context.Context, s *jobState, request startRequest, there []int) error {
	c := s.Contract()
	if c.Job.OverClients() {
		n.asker.eachOther(c, func(i int) {
			if !slices.Contains(there, i) {
				return
			}
			calling, cancel := context.WithTimeout(ctx, askTime)
			defer cancel()
			if err := n.asker.call(calling, c.Members()[i], methodStart, request, new(startResponse)); err != nil {
				n.config.Log.Debug("a party does not start a session", "party", c.Parties[i].Name, "error", err)
			}
		})
		return nil
	}
	listen := n.teller(s)
	err := n.asker.together(ctx, c.Members(), func(ctx context.Context, i int) error {
		var r startResponse
		if err := n.asker.ask(ctx, c.Members()[i], methodStart, request, &r, listen); err != nil || r.Ending == nil {
			return err
		}
		return cmp.Or(n.keeper.adoptText(s, r.Ending), errEnded)
	})
	if errors.Is(err, errEnded) {
		return nil
	}
	return err
}

// Launch is the proposer's own consent: it collects the other parties' and runs the job to its
// end, through pauses. listen gets the job's events.
func (n *proposer) Launch(ctx context.Context, h keys.Hash, listen func(jobs.Event)) (*jobs.Report, error) {
	return n.launch(ctx, h, "", listen)
}

// launch is Launch by a person, whom the system knows by that name.
func (n *proposer) launch(
	ctx context.Context, h keys.Hash, person string, listen func(jobs.Event),
) (*jobs.Report, error) {
	s, ok := n.roster.job(h)
	if !ok {
		return nil, fmt.Errorf("this node has no job %s", h.Short())
	}
	n.life.work.Add(1) // Run waits for it
	defer n.life.work.Done()
	n.roster.listen(h, listen)
	defer n.roster.listen(h, nil)
	var err error
	if j := s.Contract().Job; j.Task == contract.TaskAlign && s.State() == job.Proposed {
		err = n.freeName(j.Name) // which another command may have taken since
	}
	if err != nil {
		s.abandoned.Store(true)
		return nil, err
	}
	if n.config.Policy.ApprovalsWanted() > 0 {
		err = n.consents.awaitApprovals(ctx, s)
	} else if _, err = n.consents.consentHere(s, Decision{Contract: h, Yes: true, Person: person}); err != nil {
		s.abandoned.Store(true) // nobody else knows of it: see look
	}
	if err != nil {
		return nil, err
	}
	return n.coordinate(ctx, s)
}

// drive coordinates a job that no command waits for.
func (n *proposer) drive(ctx context.Context, s *jobState) {
	n.life.work.Go(func() {
		if _, err := n.coordinate(ctx, s); err != nil && ctx.Err() == nil {
			n.config.Log.Error("job ended", "job", s.Contract().Job.Name, "error", err)
		}
	})
}
