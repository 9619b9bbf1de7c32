package node

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fxamacker/cbor/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// asker asks other members.
type asker struct {
	config *Config
	slots  chan struct{} // of the calls of ask
}

// call asks a party once. What it says of itself is an error that names it and carries its code.
func (n *asker) call(ctx context.Context, p contract.Party, method string, request, response any) error {
	data, err := cbor.Marshal(request)
	if err != nil {
		return err
	}
	answer, err := n.config.Transport.Call(ctx, p.ID, method, data)
	var remote *protocol.RemoteError
	if errors.As(err, &remote) {
		return faults.SaidBy(p.Name, remote.Fault)
	}
	if err != nil {
		return err
	}
	if err := control.Decode(answer, response); err != nil {
		return faults.Errorf(fault.CodeDeviation, "%s answers %s by a %v", p.Name, method, err)
	}
	return nil
}

// atParty asks a party once, or does what it would do when it is this one.
func (n *asker) atParty(ctx context.Context, s *jobState, p contract.Party, method string, request, response any,
	own func() error) error {
	if p.ID == n.config.Key.ID() {
		return own()
	}
	calling, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return n.call(calling, p, method, request, response)
}

// askedAtOnce is how many parties are sent a question at the same time: a contract goes to each.
const askedAtOnce = 64

// retryEvery is how often an absent or undecided party is asked again.
const retryEvery = 300 * time.Millisecond

// ask calls a party until it is there and ready, telling listen whom it waits for. What it says of itself is an error
// that names it.
func (n *asker) ask(ctx context.Context, p contract.Party, method string, request, response any,
	listen func(jobs.Event)) error {
	since, told := time.Now(), time.Time{}
	for {
		err := n.askOne(ctx, p, method, request, response)
		var said *faults.Error
		if err == nil || errors.As(err, &said) && !faults.Waits(said.Code) {
			return err
		}
		if time.Since(told) >= jobs.WaitReport && listen != nil {
			told = time.Now()
			why := err.Error() // without its id, where it is absent
			if gone := (*protocol.GoneError)(nil); errors.As(err, &gone) {
				why = gone.Reason
			} else if said != nil && said.Remote {
				why = said.Said.String()
			}
			if ctx.Err() == nil { // else another party's answer ends the question
				listen(jobs.Event{Kind: jobs.EventWaiting, Time: told, Who: []string{p.Name}, Since: since,
					Text: fmt.Sprintf("waiting for %s%s: %s", p.Name, lasting(since), why)})
			}
		}
		if err := pause(ctx, retryEvery); err != nil {
			return fmt.Errorf("waiting for %s: %w", p.Name, err)
		}
	}
}

// askOne calls a party as one of the few that are asked at the same time. Whoever has not answered after askTime makes
// room for the next, and is waited for without a place: a member that answers nothing holds up no other.
func (n *asker) askOne(ctx context.Context, p contract.Party, method string, request, response any) error {
	select {
	case n.slots <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	release := sync.OnceFunc(func() { <-n.slots })
	defer release()
	defer time.AfterFunc(askTime, release).Stop()
	return n.call(ctx, p, method, request, response)
}

// together runs f for every party but this one, all at the same time; the first error ends the others, and is returned.
func (n *asker) together(ctx context.Context, parties []contract.Party, f func(context.Context, int) error) error {
	calls, ctx := errgroup.WithContext(ctx)
	for i, p := range parties {
		if p.ID != n.config.Key.ID() {
			calls.Go(func() error { return f(ctx, i) })
		}
	}
	return calls.Wait()
}

// eachOther runs f for every party but this one, several at a time, and returns when all are done.
func (n *asker) eachOther(c *contract.Contract, f func(i int)) {
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

// atOnce is how many parties are called at the same time.
const atOnce = 16

// askOnce asks a party for its consent to a contract in force, once. With a signature it is there, and stands by it.
func (n *asker) askOnce(ctx context.Context, s *jobState, party int) (consentResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	var r consentResponse
	p := s.Contract().Members()[party]
	err := n.call(ctx, p, methodConsent, consentRequest{Contract: string(s.Text())}, &r)
	if !errors.Is(err, context.Canceled) {
		s.watched.answered(p.Name, r.Signature != nil || r.Ending != nil, err)
	}
	return r, err
}

// askTime bounds one question to a party that may be gone.
const askTime = 10 * time.Second

// placeIn asks another party where it stands in a session.
func (n *asker) placeIn(ctx context.Context, s *jobState, p contract.Party, number uint32) place {
	var r standing
	err := n.atParty(ctx, s, p, methodStanding, standingRequest{s.Contract().Hash()}, &r, nil)
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

// place is where another party stands in a session.
type place int

const (
	placeEnded place = iota // its part is done
	placeAway               // nobody can say
	placeOn                 // it is in it
	placeLeft               // it has left it, and is there for another
)

// othersOf lists the parties but this node.
func (n *asker) othersOf(c *contract.Contract) []contract.Party {
	var others []contract.Party
	for _, p := range c.Members() {
		if p.ID != n.config.Key.ID() {
			others = append(others, p)
		}
	}
	return others
}

// oneAtATime has a listener hear one event after the other.
func oneAtATime(listen func(jobs.Event)) func(jobs.Event) {
	if listen == nil {
		return nil
	}
	var mu sync.Mutex
	return func(e jobs.Event) {
		mu.Lock()
		defer mu.Unlock()
		listen(e)
	}
}

// lasting says for how long something has lasted, when it is worth saying.
func lasting(since time.Time) string {
	if d := time.Since(since).Round(time.Second); d > 0 {
		return " for " + d.String()
	}
	return ""
}

// pause waits, or returns early with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
