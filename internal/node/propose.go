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

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/psi"
)

// proposer proposes jobs and coordinates those that this node has proposed.
type proposer struct {
	config     *Config
	life       *life
	disk       *folder
	member     *member
	algorithms *algorithms
	asker      *asker
	roster     *roster
	sessions   *sessions
	workers    *workers
	keeper     *keeper
	consents   *consents
	runner     *runner
	resumed    []*jobState // what this node coordinated when it was stopped; of later jobs Launch takes care
}

// retryMost is the longest wait between two sessions of a job that keeps breaking.
const retryMost = 10 * time.Second

// Prepare turns a job text into a contract: it asks every party what it brings, checks that the
// rows match, and lists what the job opens and sends. It waits for absent parties, telling listen
// whom it waits for. The job then waits for Launch.
func (n *proposer) Prepare(ctx context.Context, text []byte, listen func(jobs.Event)) (*contract.Contract, error) {
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
	s, err := n.roster.openJob(c, job.Record{State: job.Proposed, Data: sum})
	if err != nil {
		return nil, err
	}
	n.roster.keep(s)
	return c, nil
}

// freeName refuses a second alignment of a name at its proposer, whose rows the proposer's jobs would take unasked in
// place of the first's. One that may serve no job any more has no claim to its name; another member's has none here.
func (n *proposer) freeName(name string) error {
	for _, s := range n.roster.allJobs() {
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
func (n *proposer) draft(
	ctx context.Context, text []byte, listen func(jobs.Event),
) (*contract.Contract, jobs.Kind, error) {
	if err := n.disk.free(); err != nil {
		return nil, nil, err
	}
	if err := n.consents.awaitInputs(ctx, text, listen); err != nil {
		return nil, nil, err
	}
	job, kind, err := n.complete(text)
	if err != nil {
		return nil, nil, err
	}
	why := fmt.Sprintf("this node's owner, who proposes job %q", job.Name)
	if err := n.algorithms.refreshFor(ctx, job, why); err != nil {
		return nil, nil, err
	}
	// What all parties bring, in the job's order, and what their data say of what the job leaves open; the own table is
	// read first.
	settled, err := kind.Settle(job)
	if err != nil {
		return nil, nil, err
	}
	if err := takeIn(kind, job, n.member.name(), settled, listen); err != nil {
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
	parties, err := job.Members(&n.member.currentCharter().Charter)
	if err != nil {
		return nil, nil, err
	}
	answers := make([]description, len(parties))
	inTurn := oneAtATime(listen)
	err = n.asker.together(ctx, parties, func(ctx context.Context, i int) error {
		return n.asker.ask(ctx, parties[i], methodDescribe, describeRequest{Job: string(described)}, &answers[i], inTurn)
	})
	if err != nil {
		return nil, nil, err
	}
	all := make([]contract.Facts, len(parties))
	for i, p := range parties {
		if p.Name == n.member.name() {
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
		n.keeper.lookAtOwnIDs(job, err, listen)
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
func (n *proposer) complete(text []byte) (*contract.Job, jobs.Kind, error) {
	job, err := contract.ParseJob(text)
	if err != nil {
		return nil, nil, err
	}
	charter := n.member.currentCharter()
	if err := job.SetExpiry(n.config.Now()); err != nil {
		return nil, nil, err
	}
	var nonce [16]byte
	rand.Read(nonce[:])
	job.Charter, job.Proposer, job.Nonce = charter.Digest().String(), n.member.name(), hex.EncodeToString(nonce[:])
	kind, err := n.algorithms.kindOf(job)
	if err != nil {
		return nil, nil, err
	}
	var trained keys.Hash // a prediction that states no purpose has that of its training
	if job.Purpose == nil && trained.UnmarshalText([]byte(job.Model)) == nil {
		if s, ok := n.roster.job(trained); ok {
			job.Purpose = s.Contract().Job.Purpose
		}
	}
	if err := kind.Complete(job); err != nil {
		return nil, nil, err
	}
	return job, kind, n.consents.mayPropose(n.config.Key.ID(), job)
}

// signatures are the signatures of a contract that its proposer collects.
type signatures struct {
	mu      sync.Mutex
	c       *contract.Contract
	pending []string // who is there and has yet to sign
}

// text is the contract with the signatures that are there.
func (s *signatures) text() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return string(s.c.Document.Text())
}

// add takes a party's answer: without a signature it is asked again. It returns who is pending, and who has signed.
func (s *signatures) add(p contract.Party, signature []byte) (pending, signed []string, err error) {
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
func (n *proposer) collectConsent(ctx context.Context, s *jobState) error {
	c, err := contract.ParseContract(s.Text()) // what is shared stays as it is
	if err != nil {
		return err
	}
	own, err := n.consents.signContract(s)
	if err != nil {
		return err
	}
	if err := c.AddSignature(n.config.Key.ID(), own); err != nil {
		return err
	}
	all, listen := &signatures{c: c}, n.teller(s)
	asking, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var waits sync.WaitGroup
	waits.Go(func() { n.awaitPeople(asking, s, all, stop, listen) })
	err = n.asker.together(asking, c.Members(), func(ctx context.Context, i int) error {
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
		return n.keeper.apply(s, job.Countersigned{Contract: f})
	case errors.Is(err, errEnded), errors.Is(cause, errEnded):
		return nil
	case ctx.Err() == nil && cause != nil && !errors.Is(cause, context.Canceled):
		return cause
	}
	return err
}

// collect asks one party for its signature until it has signed.
func (n *proposer) collect(ctx context.Context, s *jobState, all *signatures, p contract.Party,
	listen func(jobs.Event)) error {
	for {
		var r consentResponse
		if err := n.asker.ask(ctx, p, methodConsent, consentRequest{Contract: all.text()}, &r, listen); err != nil {
			return err
		}
		if r.Ending != nil {
			return cmp.Or(n.keeper.adoptText(s, r.Ending), errEnded)
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
func (n *proposer) awaitPeople(
	ctx context.Context, s *jobState, all *signatures, stop context.CancelCauseFunc, listen func(jobs.Event),
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
			stop(cmp.Or(n.keeper.conclude(s, contract.Ending{Outcome: contract.OutcomeExpired}, ""), errEnded))
			return
		}
		if pause(ctx, retryEvery) != nil {
			return
		}
	}
}

// teller passes events on under a job, one after the other.
func (n *proposer) teller(s *jobState) func(jobs.Event) {
	return oneAtATime(func(e jobs.Event) { n.roster.notify(s.Contract().Hash(), e) })
}
