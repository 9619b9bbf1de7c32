package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// retryEvery is how often an absent or undecided party is asked again.
const retryEvery = 300 * time.Millisecond

// retryMost is the longest wait between two sessions of a job that keeps breaking.
const retryMost = 10 * time.Second

// Prepare turns a job text into a contract: it asks every party what it brings, checks that the
// rows match, and lists what the job opens and sends. It waits for absent parties, telling listen
// whom it waits for. The job then waits for Launch.
func (n *Node) Prepare(ctx context.Context, text []byte, listen func(jobs.Event)) (*contract.Contract, error) {
	c, kind, err := n.draft(ctx, text, listen)
	if err != nil {
		return nil, keys.FindValue(err, text, "parameters")
	}
	sum, err := kind.DataSum(c.Job)
	if err != nil {
		return nil, err
	}
	s, err := n.openJob(c, statusRecord{State: StateProposed, Data: sum})
	if err != nil {
		return nil, err
	}
	n.keep(s)
	return c, nil
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
	all := make([]contract.Facts, len(parties))
	for i, p := range parties {
		if p.Name == n.name() {
			all[i] = own
			continue
		}
		var r description
		if err := n.ask(ctx, p, methodDescribe, describeRequest{Job: string(described)}, &r, listen); err != nil {
			return nil, nil, err
		}
		if all[i] = r.Facts; all[i].Name != p.Name || all[i].ID != p.ID {
			return nil, nil, fmt.Errorf("%s describes itself as %q", p.Name, all[i].Name)
		}
		if err := takeIn(kind, job, p.Name, r.Settled, listen); err != nil {
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
			job.Purpose = s.contract.Job.Purpose
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
		err := n.call(ctx, p, method, request, response)
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
			listen(jobs.Event{Kind: jobs.EventWaiting, Time: told, Who: []string{p.Name}, Since: since,
				Text: fmt.Sprintf("waiting for %s%s: %s", p.Name, lasting(since), why)})
		}
		if err := pause(ctx, retryEvery); err != nil {
			return fmt.Errorf("waiting for %s: %w", p.Name, err)
		}
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

// collectConsent asks every party for its signature until all have signed. It returns early when one says that the job
// has ended.
func (n *Node) collectConsent(ctx context.Context, s *jobState) error {
	c, err := contract.ParseContract(s.text()) // what is shared stays as it is
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
	since, told := time.Now(), time.Time{}
	for {
		var pending []string
		for _, p := range n.othersOf(c) {
			if c.SignedBy(p.ID) {
				continue
			}
			var r consentResponse
			if err := n.ask(ctx, p, methodConsent, consentRequest{Contract: string(c.Document.Text())}, &r,
				n.teller(s)); err != nil {
				return err
			}
			if r.Ending != nil {
				return n.adoptText(s, r.Ending)
			}
			if r.Signature == nil {
				pending = append(pending, p.Name)
				continue
			}
			if err := c.AddSignature(p.ID, r.Signature); err != nil {
				return faults.Errorf(fault.CodeDeviation, "%s: %v", p.Name, err)
			}
			n.notify(c.Hash(), jobs.Event{Kind: jobs.EventState, Text: p.Name + " consents"})
		}
		s.watched.lacks(pending)
		if len(pending) == 0 {
			f, err := c.InForce()
			if err != nil {
				return err
			}
			return s.putInForce(f)
		}
		if time.Since(told) >= 5*jobs.WaitReport {
			told = time.Now()
			n.notify(c.Hash(), jobs.Event{Kind: jobs.EventWaiting, Who: pending, Since: since, Text: fmt.Sprintf("waiting for "+
				"the consent of %s%s: a person there runs hanse approve %s", strings.Join(pending, ", "), lasting(since),
				c.Job.Name)})
		}
		if at := c.Job.Expiry(); n.config.Now().After(at) {
			return n.conclude(s, contract.Ending{Outcome: contract.OutcomeExpired})
		}
		if err := pause(ctx, retryEvery); err != nil {
			return err
		}
	}
}

// teller passes events on under a job.
func (n *Node) teller(s *jobState) func(jobs.Event) {
	return func(e jobs.Event) { n.notify(s.contract.Hash(), e) }
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
