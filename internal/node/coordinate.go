package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/protocol"
)

// coordinate brings a job that this node has consented to, to its end: it collects the others' signatures, runs
// sessions until one ends well, and has the end signed by all. What it had reached before a crash it takes up.
func (n *Node) coordinate(ctx context.Context, s *jobState) (*Report, error) {
	driving, cancel := context.WithCancel(ctx)
	defer cancel()
	n.work.Go(func() { // whoever waits for a party that is away need not, once the job has ended
		select {
		case <-s.final:
			cancel()
		case <-n.ctx.Done():
			cancel()
		case <-driving.Done():
		}
	})
	for wait := retryEvery; ; wait = min(2*wait, retryMost) {
		err := n.attempt(driving, s)
		switch {
		case s.ended() != nil:
			return n.outcome(ctx, s)
		case ctx.Err() != nil:
			return nil, errors.Join(ctx.Err(), s.show(StatePaused, "this node was stopped"))
		case err != nil && permanent(err):
			if gaveUp := n.giveUp(s, err); s.ended() != nil {
				return nil, gaveUp
			} else { // its end cannot be stored yet
				n.paused(s, gaveUp)
			}
		case err != nil:
			n.paused(s, err)
		}
		if err := pause(driving, wait); err != nil && s.ended() == nil {
			return nil, err
		}
	}
}

// attempt takes a job as far as it goes in one session.
func (n *Node) attempt(ctx context.Context, s *jobState) error {
	if err := n.underCharter(s.contract); err != nil {
		return err
	}
	if !s.isInForce() {
		if err := n.collectConsent(ctx, s); err != nil || s.ended() != nil {
			return err
		}
	}
	if done, err := n.settleAll(ctx, s); done || err != nil {
		return err
	}
	number, closes, err := n.start(ctx, s)
	if err != nil || s.ended() != nil {
		return err
	}
	if err := n.lead(ctx, s, number, closes); err != nil {
		return err
	}
	done, err := n.settleAll(ctx, s)
	if err == nil && !done {
		who := "not every party has"
		if name := s.behind.Load(); name != nil {
			who = *name + " says that it has not"
		}
		err = faultf(codeClients, "%s finished session %d: another session follows", who, number)
	}
	return err
}

// settleAll is settle at the coordinator, which waits first until no other party is in the last session any more.
func (n *Node) settleAll(ctx context.Context, s *jobState) (bool, error) {
	finished := s.snapshot().Finished
	if finished == 0 {
		return n.settle(ctx, s)
	}
	await := n.awaitOthers
	if len(s.contract.Job.Servers) > 0 {
		await = n.awaitServers
	}
	if left, err := await(ctx, s, finished); left || err != nil {
		return false, err
	}
	return n.settle(ctx, s)
}

// awaitOthers waits, in a job over columns, until the session has ended at all who are there: the last countersignature
// does not come to all at once. One that has left it before needs another session: then it returns true.
func (n *Node) awaitOthers(ctx context.Context, s *jobState, number uint32) (left bool, err error) {
	c := s.contract
	since, told, wait := time.Now(), time.Now(), retryEvery/100
	for _, p := range n.othersOf(c) {
		for on := true; on; {
			switch n.placeIn(ctx, s, p, number) {
			case placeOn:
			case placeLeft:
				s.behind.Store(&p.Name)
				return true, nil
			case placeEnded, placeAway: // who is away cannot sign, and is asked for that
				on = false
				continue
			}
			if time.Since(told) >= 5*waitReport {
				told = time.Now()
				n.tell(c.Hash(), Event{Kind: EventWaiting,
					Text: fmt.Sprintf("waiting for %s to end session %d%s", p.Name, number, lasting(since))})
			}
			if err := pause(ctx, wait); err != nil {
				return false, err
			}
			wait = min(2*wait, retryEvery)
		}
	}
	return false, nil
}

// awaitServers waits, in a job over clients, for the other servers' parts of a session. One that has left the session,
// and is there, needs another one: then it returns true. One that stays away is left out.
func (n *Node) awaitServers(ctx context.Context, s *jobState, number uint32) (left bool, err error) {
	c := s.contract
	since, told := time.Now(), time.Time{}
	for {
		var behind []string
		for i, p := range c.Members() {
			if !c.Job.Serves(i) || p.ID == n.config.Key.ID() {
				continue
			}
			switch n.placeIn(ctx, s, p, number) {
			case placeOn:
				behind = append(behind, p.Name)
			case placeAway:
				if time.Since(since) < cmp.Or(n.config.AwayTime, awayTime) {
					behind = append(behind, p.Name+", who is away")
				} else {
					n.tell(c.Hash(), Event{Kind: EventWarning, Text: fmt.Sprintf("%s stays away: the job ends without the rest of its part", p.Name)})
				}
			case placeLeft:
				return true, nil
			}
		}
		if len(behind) == 0 {
			return false, nil
		}
		if time.Since(told) >= 5*waitReport {
			told = time.Now()
			n.tell(c.Hash(), Event{Kind: EventWaiting, Text: fmt.Sprintf("waiting for %s to end its part%s", list(behind), lasting(since))})
		}
		if err := pause(ctx, retryEvery); err != nil {
			return false, err
		}
	}
}

// awayTime is how long the end of a job over clients waits for a server that is away.
const awayTime = time.Minute

// place is where another party stands in a session.
type place int

const (
	placeEnded place = iota // its part is done
	placeAway               // nobody can say
	placeOn                 // it is in it
	placeLeft               // it has left it, and is there for another
)

// placeIn asks another party where it stands in a session.
func (n *Node) placeIn(ctx context.Context, s *jobState, p protocol.Party, number uint32) place {
	var r standing
	err := n.atParty(ctx, s, p, methodStanding, standingRequest{s.contract.Hash()}, &r, nil)
	switch {
	case err != nil:
		return placeAway
	case r.Ending != nil || r.Finished >= number:
		return placeEnded
	case r.On && r.Session == number:
		return placeOn
	}
	return placeLeft
}

// outcome is what the coordinator's owner hears of a job that has ended. All parties are told first, those who are
// there.
func (n *Node) outcome(ctx context.Context, s *jobState) (*Report, error) {
	telling, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(n.ctx, cancel)()
	away := n.tellEnding(telling, s)
	if err := s.endedError(); err != nil {
		return nil, err
	}
	report, err := s.loadReport()
	if err != nil || report == nil {
		return nil, errors.Join(fmt.Errorf("job %q is done, and this node's report of it cannot be read", s.contract.Job.Name), err)
	}
	report.Away = away
	return report, nil
}

// start starts the next session at all parties, or, of a job over clients, at those who are there. closes is 0 but of a
// closing session.
func (n *Node) start(ctx context.Context, s *jobState) (number, closes uint32, err error) {
	if len(s.contract.Job.Servers) > 0 {
		number, err = n.startServed(ctx, s)
		return number, 0, err
	}
	number, closes, err = n.gather(ctx, s)
	if err != nil || s.ended() != nil {
		return 0, 0, err
	}
	return number, closes, n.startAll(ctx, s, number, closes)
}

// gather waits until every party is there and returns the number of the next session. Where all keep their parts of one
// session, which broke before all had signed what passed, the next is a closing one: nothing is computed in it, and
// nothing opens. closes is the session of the parts then, else 0.
func (n *Node) gather(ctx context.Context, s *jobState) (number, closes uint32, err error) {
	number, closes = s.snapshot().Session, s.snapshot().Stored
	for _, p := range n.othersOf(s.contract) {
		var r consentResponse
		if err := n.ask(ctx, p, methodConsent, consentRequest{Contract: string(s.text())}, &r, n.teller(s)); err != nil {
			return 0, 0, err
		}
		switch {
		case r.Ending != nil:
			return 0, 0, n.adoptText(s, r.Ending)
		case r.Signature == nil:
			return 0, 0, faultf(codeUnsigned, "%s lost its record of who had consented: a person there runs hanse approve %s", p.Name, s.contract.Job.Name)
		}
		number = max(number, claimed(s.snapshot().Session, r.Session))
		if r.Stored != closes {
			closes = 0
		}
	}
	return number + 1, closes, nil
}

// startAll tells every party to open session number. This one has it on its disk first: no number is told twice.
func (n *Node) startAll(ctx context.Context, s *jobState, number, closes uint32) error {
	if err := s.openSession(number, n.config.Now()); err != nil {
		return err
	}
	request := startRequest{Contract: string(s.text()), Number: number, Closes: closes}
	for _, p := range n.othersOf(s.contract) {
		var r startResponse
		if err := n.ask(ctx, p, methodStart, request, &r, n.teller(s)); err != nil {
			return err
		}
		if r.Ending != nil {
			return n.adoptText(s, r.Ending)
		}
	}
	return nil
}

// lead runs a session at the coordinator.
func (n *Node) lead(ctx context.Context, s *jobState, number, closes uint32) error {
	ctx, active, _ := n.enterSession(ctx, s)
	defer n.leaveSession(s, active)
	if s.ended() != nil { // in the moment before
		return nil
	}
	n.tell(s.contract.Hash(), Event{Kind: EventState, Text: fmt.Sprintf("session %d starts", number)})
	_, err := n.session(ctx, s, number, closes)
	if ending := s.awaited(); ending != nil { // another party had all sign
		return n.adopt(s, ending)
	}
	return err
}
