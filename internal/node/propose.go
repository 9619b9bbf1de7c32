package node

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/psi"
)

// retryEvery is how often an absent or undecided party is asked again.
const retryEvery = 300 * time.Millisecond

// retryMost is the longest wait between two sessions of a job that keeps breaking.
const retryMost = 10 * time.Second

// Prepare turns a job text into a contract: it asks every party what it brings, checks that the
// rows match, and lists what the job opens and sends. It waits for absent parties, telling listen
// whom it waits for. The job then waits for Launch.
func (n *Node) Prepare(ctx context.Context, text []byte, listen func(jobs.Event)) (*contract.Contract, error) {
	if j, err := contract.ParseJob(text); err == nil && j.Task == contract.TaskAlign {
		if err := n.freeName(j.Name); err != nil {
			return nil, err
		}
	}
	c, kind, err := n.draft(ctx, text, listen)
	if err != nil {
		return nil, keys.FindValue(err, text, "parameters")
	}
	sum, err := kind.DataSum(c.Job)
	if err != nil {
		return nil, err
	}
	s, err := n.openJob(c, job.Record{State: job.Proposed, Data: sum})
	if err != nil {
		return nil, err
	}
	n.keep(s)
	return c, nil
}

// freeName refuses a second alignment of a name at its proposer, whose rows the proposer's jobs would take unasked in
// place of the first's. One that may serve no job any more has no claim to its name; another member's has none here.
func (n *Node) freeName(name string) error {
	for _, s := range n.allJobs() {
		j, r := s.Contract().Job, s.Record()
		if j.Task != contract.TaskAlign || j.Name != name || !r.Removed.IsZero() || r.State == job.Proposed ||
			r.State.Final() && r.State != job.Done {
			continue
		}
		short, instead := s.Contract().Hash().Short(), "give another name"
		if r.State == job.Done {
			p, err := psi.ParamsOf(j)
			if err == nil && n.config.Now().After(r.Ended.AddDate(0, 0, p.KeepDays)) {
				continue
			}
			instead += fmt.Sprintf(", or remove that one: hanse remove %s", short)
		} else {
			instead += fmt.Sprintf(", or end that one: hanse cancel %s", short)
		}
		return fmt.Errorf("this node has an alignment %q, contract %s, which is %s: %s", name, short, r.State, instead)
	}
	return nil
}

// draft is Prepare up to the contract, of which nothing is kept anywhere.
func (n *Node) draft(ctx context.Context, text []byte, listen func(jobs.Event)) (*contract.Contract, jobs.Kind, error) {
	if err := n.disk.free(); err != nil {
		return nil, nil, err
	}
	if err := n.awaitInputs(ctx, text, listen); err != nil {
		return nil, nil, err
	}
	job, kind, err := n.complete(text)
	if err != nil {
		return nil, nil, err
	}
	if err := n.refreshFor(ctx, job, fmt.Sprintf("this node's owner, who proposes job %q", job.Name)); err != nil {
		return nil, nil, err
	}
	// What all parties bring, in the job's order, and what their data say of what the job leaves open; the own table is
	// read first.
	settled, err := kind.Settle(job)
	if err != nil {
		return nil, nil, err
	}
	if err := takeIn(kind, job, n.name(), settled, listen); err != nil {
		return nil, nil, err
	}
	t, err := kind.Task(job)
	if err != nil {
		return nil, nil, err
	}
	own, err := t.Facts()
	if err != nil {
		return nil, nil, err
	}
	described, err := job.Text()
	if err != nil {
		return nil, nil, err
	}
	parties, err := job.Members(&n.currentCharter().Charter)
	if err != nil {
		return nil, nil, err
	}
	answers := make([]description, len(parties))
	inTurn := oneAtATime(listen)
	err = n.together(ctx, parties, func(ctx context.Context, i int) error {
		return n.ask(ctx, parties[i], methodDescribe, describeRequest{Job: string(described)}, &answers[i], inTurn)
	})
	if err != nil {
		return nil, nil, err
	}
	all := make([]contract.Facts, len(parties))
	for i, p := range parties {
		if p.Name == n.name() {
			all[i] = own
			continue
		}
		if all[i] = answers[i].Facts; all[i].Name != p.Name || all[i].ID != p.ID {
			return nil, nil, fmt.Errorf("%s describes itself as %q", p.Name, all[i].Name)
		}
		if err := takeIn(kind, job, p.Name, answers[i].Settled, listen); err != nil {
			return nil, nil, err
		}
	}
	completed, err := kind.CompleteFor(job, all)
	if err != nil {
		return nil, nil, err
	}
	say(listen, completed)
	if t, err = kind.Task(job); err != nil { // it may be more than it was
		return nil, nil, err
	}
	if err := kind.Fit(job, all); err != nil {
		n.lookAtOwnIDs(job, err, listen)
		return nil, nil, err
	}
	openings, operations, err := t.Disclose(all)
	if err != nil {
		return nil, nil, err
	}
	c, err := contract.NewContract(job, all, openings, operations)
	return c, kind, err
}

// takeIn completes a job by what a party's data said of it, and tells listen.
func takeIn(kind jobs.Kind, job *contract.Job, party string, s jobs.Settled, listen func(jobs.Event)) error {
	text, err := kind.TakeIn(job, party, s)
	if err == nil {
		say(listen, text)
	}
	return err
}

// say tells listen how a job was completed, if there is anything to tell.
func say(listen func(jobs.Event), text string) {
	if text == "" || listen == nil {
		return
	}
	for line := range strings.SplitSeq(text, "\n") {
		listen(jobs.Event{Kind: jobs.EventState, Time: time.Now(), Text: line})
	}
}

// complete parses a job text and fills in what the proposer's node knows.
func (n *Node) complete(text []byte) (*contract.Job, jobs.Kind, error) {
	job, err := contract.ParseJob(text)
	if err != nil {
		return nil, nil, err
	}
	charter := n.currentCharter()
	if err := job.SetExpiry(n.config.Now()); err != nil {
		return nil, nil, err
	}
	var nonce [16]byte
	rand.Read(nonce[:])
	job.Charter, job.Proposer, job.Nonce = charter.Digest().String(), n.name(), hex.EncodeToString(nonce[:])
	kind, err := n.kindOf(job)
	if err != nil {
		return nil, nil, err
	}
	var trained keys.Hash // a prediction that states no purpose has that of its training
	if job.Purpose == nil && trained.UnmarshalText([]byte(job.Model)) == nil {
		if s, ok := n.job(trained); ok {
			job.Purpose = s.Contract().Job.Purpose
		}
	}
	if err := kind.Complete(job); err != nil {
		return nil, nil, err
	}
	return job, kind, n.mayPropose(n.config.Key.ID(), job)
}

// ask calls a party until it is there and ready, telling listen whom it waits for. What it says of itself is an error
// that names it.
func (n *Node) ask(ctx context.Context, p contract.Party, method string, request, response any,
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

// askedAtOnce is how many parties are sent a question at the same time: a contract goes to each.
const askedAtOnce = 64

// askOne calls a party as one of the few that are asked at the same time. Whoever has not answered after askTime makes
// room for the next, and is waited for without a place: a member that answers nothing holds up no other.
func (n *Node) askOne(ctx context.Context, p contract.Party, method string, request, response any) error {
	select {
	case n.asking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	release := sync.OnceFunc(func() { <-n.asking })
	defer release()
	defer time.AfterFunc(askTime, release).Stop()
	return n.call(ctx, p, method, request, response)
}

// together runs f for every party but this one, all at the same time; the first error ends the others, and is returned.
func (n *Node) together(ctx context.Context, parties []contract.Party, f func(context.Context, int) error) error {
	calls, ctx := errgroup.WithContext(ctx)
	for i, p := range parties {
		if p.ID != n.config.Key.ID() {
			calls.Go(func() error { return f(ctx, i) })
		}
	}
	return calls.Wait()
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

// Launch is the proposer's own consent: it collects the other parties' and runs the job to its
// end, through pauses. listen gets the job's events.
func (n *Node) Launch(ctx context.Context, h keys.Hash, listen func(jobs.Event)) (*jobs.Report, error) {
	return n.launch(ctx, h, "", listen)
}

// launch is Launch by a person, whom the system knows by that name.
func (n *Node) launch(ctx context.Context, h keys.Hash, person string, listen func(jobs.Event)) (*jobs.Report, error) {
	s, ok := n.job(h)
	if !ok {
		return nil, fmt.Errorf("this node has no job %s", h.Short())
	}
	n.work.Add(1) // Run waits for it
	defer n.work.Done()
	n.listen(h, listen)
	defer n.listen(h, nil)
	var err error
	if j := s.Contract().Job; j.Task == contract.TaskAlign && s.State() == job.Proposed {
		err = n.freeName(j.Name) // which another command may have taken since
	}
	if err != nil {
		s.abandoned.Store(true)
		return nil, err
	}
	if n.config.Policy.ApprovalsWanted() > 0 {
		err = n.awaitApprovals(ctx, s)
	} else if _, err = n.consentHere(s, Decision{Contract: h, Yes: true, Person: person}); err != nil {
		s.abandoned.Store(true) // nobody else knows of it: see look
	}
	if err != nil {
		return nil, err
	}
	return n.coordinate(ctx, s)
}

// consents are the signatures of a contract that its proposer collects.
type consents struct {
	mu      sync.Mutex
	c       *contract.Contract
	pending []string // who is there and has yet to sign
}

// text is the contract with the signatures that are there.
func (s *consents) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.c.Document.Text())
}

// add takes a party's answer: without a signature it is asked again. It returns who is pending, and who has signed.
func (s *consents) add(p contract.Party, signature []byte) (pending, signed []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := slices.Index(s.pending, p.Name)
	switch {
	case signature == nil && at < 0:
		s.pending = append(s.pending, p.Name)
		slices.SortFunc(s.pending, func(a, b string) int { return s.c.Job.Index(a) - s.c.Job.Index(b) })
	case signature != nil:
		if at >= 0 {
			s.pending = slices.Delete(s.pending, at, at+1)
		}
		if err := s.c.AddSignature(p.ID, signature); err != nil {
			return nil, nil, faults.Errorf(fault.CodeDeviation, "%s: %v", p.Name, err)
		}
	}
	return slices.Clone(s.pending), s.c.Signers(), nil
}

// errEnded ends what is done for a job that has ended.
var errEnded = errors.New("the job has ended")

// collectConsent asks all parties for their signatures, at the same time, until all have signed. It returns early when
// one says that the job has ended.
func (n *Node) collectConsent(ctx context.Context, s *jobState) error {
	c, err := contract.ParseContract(s.Text()) // what is shared stays as it is
	if err != nil {
		return err
	}
	own, err := n.signContract(s)
	if err != nil {
		return err
	}
	if err := c.AddSignature(n.config.Key.ID(), own); err != nil {
		return err
	}
	all, listen := &consents{c: c}, n.teller(s)
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var waits sync.WaitGroup
	waits.Go(func() { n.awaitPeople(asking, s, all, stop, listen) })
	err = n.together(asking, c.Members(), func(ctx context.Context, i int) error {
		return n.collect(ctx, s, all, c.Members()[i], listen)
	})
	stop(nil)
	waits.Wait()
	switch cause := context.Cause(asking); {
	case err == nil:
		s.watched.lacks(nil)
		f, err := c.InForce()
		if err != nil {
			return err
		}
		return n.apply(s, job.Countersigned{Contract: f})
	case errors.Is(err, errEnded), errors.Is(cause, errEnded):
		return nil
	case ctx.Err() == nil && cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	}
	return err
}

// collect asks one party for its signature until it has signed.
func (n *Node) collect(ctx context.Context, s *jobState, all *consents, p contract.Party,
	listen func(jobs.Event)) error {
	for {
		var r consentResponse
		if err := n.ask(ctx, p, methodConsent, consentRequest{Contract: all.text()}, &r, listen); err != nil {
			return err
		}
		if r.Ending != nil {
			return cmp.Or(n.adoptText(s, r.Ending), errEnded)
		}
		pending, signed, err := all.add(p, r.Signature)
		if err != nil {
			return err
		}
		s.watched.lacks(pending)
		s.watched.sign(signed)
		if r.Signature != nil {
			listen(jobs.Event{Kind: jobs.EventState, Text: p.Name + " consents"})
			return nil
		}
		if err := pause(ctx, retryEvery); err != nil {
			return err
		}
	}
}

// awaitPeople says from time to time who has yet to consent, and ends the job when its time is over; then it stops the
// asking, with the error of that.
func (n *Node) awaitPeople(
	ctx context.Context, s *jobState, all *consents, stop context.CancelCauseFunc, listen func(jobs.Event),
) {
	since := time.Now()
	for before, said, told := 0, 0, (time.Time{}); ; {
		all.mu.Lock()
		pending := slices.Clone(all.pending)
		all.mu.Unlock()
		settled := len(pending) == before
		before = len(pending)
		if len(pending) > 0 && settled && (len(pending) != said || time.Since(told) >= 5*jobs.WaitReport) {
			said, told = len(pending), time.Now()
			listen(jobs.Event{Kind: jobs.EventWaiting, Who: pending, Since: since,
				Text: fmt.Sprintf("waiting for the consent of %s%s: a person there runs hanse approve %s", wording.Named(pending),
					lasting(since), s.Contract().Job.Name)})
		}
		if at := s.Contract().Job.Expiry(); n.config.Now().After(at) {
			stop(cmp.Or(n.conclude(s, contract.Ending{Outcome: contract.OutcomeExpired}, ""), errEnded))
			return
		}
		if pause(ctx, retryEvery) != nil {
			return
		}
	}
}

// teller passes events on under a job, one after the other.
func (n *Node) teller(s *jobState) func(jobs.Event) {
	return oneAtATime(func(e jobs.Event) { n.notify(s.Contract().Hash(), e) })
}

// othersOf lists the parties but this node.
func (n *Node) othersOf(c *contract.Contract) []contract.Party {
	var others []contract.Party
	for _, p := range c.Members() {
		if p.ID != n.config.Key.ID() {
			others = append(others, p)
		}
	}
	return others
}
