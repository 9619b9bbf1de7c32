package node

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/protocol"
)

// askTime bounds one question to a party that may be gone.
const askTime = 10 * time.Second

// askOnce asks a party for its consent to a contract in force, once.
func (n *Node) askOnce(ctx context.Context, s *jobState, party int) (consentResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var r consentResponse
	return r, n.call(ctx, s.contract.Members()[party], methodConsent, consentRequest{Contract: string(s.text())}, &r)
}

// reachable reports whether a party is there and stands by the contract.
func (n *Node) reachable(ctx context.Context, s *jobState, party int) bool {
	r, err := n.askOnce(ctx, s, party)
	return err == nil && r.Signature != nil
}

// startServed starts a session of a job over clients with whoever is there, and returns its number. It
// waits for the other servers, and until every server could have enough clients.
func (n *Node) startServed(ctx context.Context, s *jobState) (uint32, error) {
	c := s.contract
	for {
		number, there := n.whoIsThere(ctx, s)
		if s.ended() != nil {
			return 0, nil
		}
		missing := n.tooFew(c, there)
		if missing == "" {
			return number, n.startThose(ctx, s, number, there)
		}
		n.tell(c.Hash(), Event{Kind: EventWaiting, Text: missing})
		if err := pause(ctx, waitReport); err != nil {
			return 0, err
		}
	}
}

// whoIsThere asks all parties, and returns the next session's number and who answered.
func (n *Node) whoIsThere(ctx context.Context, s *jobState) (number uint32, there []int) {
	answers := make([]*consentResponse, len(s.contract.Parties))
	n.eachOther(s.contract, func(i int) {
		r, err := n.askOnce(ctx, s, i)
		switch {
		case err == nil && r.Ending != nil:
			err = n.adoptText(s, r.Ending)
		case err == nil && r.Signature != nil:
			answers[i] = &r
		}
		if err != nil {
			n.config.Log.Debug("a party does not answer for a job", "party", s.contract.Parties[i].Name, "error", err)
		}
	})
	number = s.snapshot().Session
	for i, r := range answers {
		if r != nil {
			number = max(number, claimed(s.snapshot().Session, r.Session))
		}
		if r != nil || s.contract.Parties[i].ID == n.config.Key.ID() {
			there = append(there, i)
		}
	}
	return number + 1, there
}

// atOnce is how many parties are called at the same time.
const atOnce = 16

// eachOther runs f for every party but this one, several at a time, and returns when all are done.
func (n *Node) eachOther(c *protocol.Contract, f func(i int)) {
	var calls sync.WaitGroup
	slots := make(chan struct{}, atOnce)
	for i, p := range c.Parties {
		if p.ID == n.config.Key.ID() {
			continue
		}
		slots <- struct{}{}
		calls.Go(func() {
			defer func() { <-slots }()
			f(i)
		})
	}
	calls.Wait()
}

// tooFew says who is missing for a session, or nothing.
func (n *Node) tooFew(c *protocol.Contract, there []int) string {
	count := make(map[int]int)
	for _, i := range there {
		count[c.Job.ServerOf(i)]++
	}
	least := c.Job.Contributors(n.currentCharter().Rules)
	if c.Job.Privacy == "published" { // nothing is protected, and a sum of two is as good as any
		least = 2
	}
	for i, p := range c.Parties {
		if c.Job.Serves(i) && count[i] < least+1 {
			return fmt.Sprintf("waiting for clients of %s: %d are there, want at least %d", p.Name, max(0, count[i]-1), least)
		}
	}
	return ""
}

// startThose tells parties to open a session. One that has gone meanwhile is left out.
func (n *Node) startThose(ctx context.Context, s *jobState, number uint32, there []int) error {
	if err := s.openSession(number, n.config.Now()); err != nil {
		return err
	}
	request := startRequest{Contract: string(s.text()), Number: number}
	n.eachOther(s.contract, func(i int) {
		if !slices.Contains(there, i) {
			return
		}
		calling, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		var r startResponse
		if err := n.call(calling, s.contract.Members()[i], methodStart, request, &r); err != nil {
			n.config.Log.Debug("a party does not start a session", "party", s.contract.Parties[i].Name, "error", err)
		}
	})
	return nil
}
