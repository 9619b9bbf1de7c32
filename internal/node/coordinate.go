package node

import (
	"context"
	"errors"
	"fmt"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/keys"
)

// coordinate runs sessions of an agreed job until one ends well, or one fails for good.
func (n *Node) coordinate(ctx context.Context, s *jobState) (*Report, error) {
	for wait := retryEvery; ; wait = min(2*wait, retryMost) {
		number, err := n.start(ctx, s)
		if err == nil {
			var report *Report
			if report, err = n.lead(ctx, s, number); err == nil {
				n.finish(s, report)
				n.work.Go(func() { n.tellOver(n.ctx, s) })
				return report, nil
			}
		}
		if ctx.Err() != nil {
			return nil, errors.Join(ctx.Err(), s.set(StatePaused, "this node was stopped"))
		}
		if permanent(err) {
			return nil, n.giveUp(ctx, s, err)
		}
		n.pauseOrFail(s, err)
		if err := pause(ctx, wait); err != nil {
			return nil, err
		}
	}
}

// start starts the next session at all parties, or, of a job over clients, at those who are there.
func (n *Node) start(ctx context.Context, s *jobState) (uint32, error) {
	if len(s.contract.Job.Servers) > 0 {
		return n.startServed(ctx, s)
	}
	number, err := n.gather(ctx, s)
	if err != nil {
		return 0, err
	}
	return number, n.startAll(ctx, s, number)
}

// gather waits until every party is there and returns the number of the next session.
func (n *Node) gather(ctx context.Context, s *jobState) (uint32, error) {
	number := s.snapshot().Session
	for _, p := range n.othersOf(s.contract) {
		var r consentResponse
		if err := n.ask(ctx, p, methodConsent, consentRequest{Contract: string(s.contract.Document.Text())}, &r, n.teller(s)); err != nil {
			return 0, err
		}
		number = max(number, r.Session)
	}
	return number + 1, nil
}

// startAll tells every party to open session number.
func (n *Node) startAll(ctx context.Context, s *jobState, number uint32) error {
	request := startRequest{Contract: string(s.contract.Document.Text()), Number: number}
	for _, p := range n.othersOf(s.contract) {
		if err := n.ask(ctx, p, methodStart, request, new(struct{}), n.teller(s)); err != nil {
			return err
		}
	}
	return s.update(func(r *statusRecord) { r.State, r.Reason, r.Session = StateRunning, "", number })
}

// lead runs a session at the coordinator.
func (n *Node) lead(ctx context.Context, s *jobState, number uint32) (*Report, error) {
	n.tell(s.contract.Hash(), Event{Kind: EventState, Text: fmt.Sprintf("session %d starts", number)})
	return n.execute(ctx, s, number)
}

// giveUp stores that a job failed, tells the other parties, and returns why.
func (n *Node) giveUp(ctx context.Context, s *jobState, reason error) error {
	if ctx.Err() != nil {
		return reason
	}
	n.pauseOrFail(s, &permanentError{reason})
	data, err := cbor.Marshal(stopRequest{Contract: s.contract.Hash(), Reason: reason.Error()})
	if err != nil {
		return errors.Join(reason, err)
	}
	for _, p := range n.othersOf(s.contract) {
		if _, err := n.config.Transport.Call(ctx, p.ID, methodStop, data); err != nil {
			n.config.Log.Debug("a party could not be told that a job failed", "party", p.Name, "error", err)
		}
	}
	return reason
}

// tellOver tells the clients of a job that it is done: one that waits for a row hears nothing of its
// server. Those that ended with their server know.
func (n *Node) tellOver(ctx context.Context, s *jobState) {
	c := s.contract
	data, err := cbor.Marshal(overRequest{Contract: c.Hash()})
	if err != nil {
		n.config.Log.Error("clients could not be told that a job is done", "error", err)
		return
	}
	n.eachOther(c, func(i int) {
		if len(c.Job.Servers) == 0 || c.Job.Serves(i) {
			return
		}
		calling, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		if _, err := n.config.Transport.Call(calling, c.Parties[i].ID, methodOver, data); err != nil {
			n.config.Log.Debug("a client could not be told that a job is done", "client", c.Parties[i].Name, "error", err)
		}
	})
}

// serveOver ends the waits for rows of a job that is done for its coordinator.
func (n *Node) serveOver(from keys.ID, r overRequest) error {
	s, ok := n.job(r.Contract)
	if !ok {
		return nil
	}
	if m, ok := n.currentCharter().Member(from); !ok || m.Name != s.contract.Job.Proposer {
		return fmt.Errorf("only the proposer ends a job")
	}
	s.end()
	return nil
}

// serveStop ends a job that its coordinator gave up.
func (n *Node) serveStop(from keys.ID, r stopRequest) error {
	s, ok := n.job(r.Contract)
	if !ok {
		return nil
	}
	if m, ok := n.currentCharter().Member(from); !ok || m.Name != s.contract.Job.Proposer {
		return fmt.Errorf("only the proposer stops a job")
	}
	if state := s.status(); state == StateDone || state == StateFailed || state == StateRefused {
		return nil
	}
	n.replaceSession(s, func(context.Context) {})
	n.tell(r.Contract, Event{Kind: EventError, Text: fmt.Sprintf("failed: %s says: %s", s.contract.Job.Proposer, r.Reason)})
	return s.set(StateFailed, r.Reason)
}
