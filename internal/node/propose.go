package node

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// retryEvery is how often an absent or undecided party is asked again.
const retryEvery = 300 * time.Millisecond

// retryMost is the longest wait between two sessions of a job that keeps breaking.
const retryMost = 10 * time.Second

// Prepare turns a job text into a contract: it asks every party what it brings, checks that the
// rows match, and lists what the job opens and sends. It waits for absent parties, telling hear
// whom it waits for. The job then waits for Launch.
func (n *Node) Prepare(ctx context.Context, text []byte, hear func(Event)) (*protocol.Contract, error) {
	job, err := n.complete(text)
	if err != nil {
		return nil, err
	}
	t, err := n.newTask(job)
	if err != nil {
		return nil, err
	}
	all, err := n.describeAll(ctx, job, t, hear)
	if err != nil {
		return nil, err
	}
	if err := fit(job, all); err != nil {
		return nil, err
	}
	openings, operations, err := t.disclose(all)
	if err != nil {
		return nil, err
	}
	c, err := protocol.NewContract(job, all, openings, operations)
	if err != nil {
		return nil, err
	}
	sum, err := n.dataSum(job)
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

// fit checks that what the parties bring belongs together: as many rows, or, over clients, the same
// columns.
func fit(job *protocol.Job, all []protocol.Facts) error {
	if len(job.Servers) > 0 {
		return sameColumns(all)
	}
	return aligned(all)
}

// sameColumns checks that all clients' streams have the same columns.
func sameColumns(all []protocol.Facts) error {
	var first *protocol.Facts
	for i := range all {
		f := &all[i]
		switch {
		case f.Role != roleClient:
		case first == nil:
			first = f
		case f.Columns != first.Columns:
			return fmt.Errorf("%s has %d input columns, %s has %d: all clients' streams need the same", f.Name, f.Columns, first.Name, first.Columns)
		case f.Header != first.Header:
			return fmt.Errorf("the input columns of %s have other names, or another order, than those of %s", f.Name, first.Name)
		}
	}
	return nil
}

// dataSum returns the SHA-256 of the data file that a party consents to use; streams grow and have
// none, and a sealed job's helper may have none.
func (n *Node) dataSum(job *protocol.Job) (sum keys.Hash, err error) {
	if len(job.Servers) > 0 || job.Privacy == fdskl.Sealed && !n.hasTable(job) {
		return sum, nil
	}
	return fileSum(n.tables.specs[job.Table].Path)
}

// complete parses a job text and fills in what the proposer's node knows.
func (n *Node) complete(text []byte) (*protocol.Job, error) {
	job, err := protocol.ParseJob(text)
	if err != nil {
		return nil, err
	}
	charter := n.currentCharter()
	if err := charter.Complete(); err != nil {
		return nil, err
	}
	if err := job.SetExpiry(n.config.Now()); err != nil {
		return nil, err
	}
	var nonce [16]byte
	rand.Read(nonce[:])
	job.Charter, job.Proposer, job.Nonce = charter.Digest().String(), n.name(), hex.EncodeToString(nonce[:])
	if job.Algorithm == algorithmOFMSFT {
		if err := n.describeModels(job); err != nil {
			return nil, err
		}
	}
	if job.Algorithm == "fdskl" && job.Task == protocol.TaskTrain && job.Privacy == fdskl.Sealed {
		if err := n.completeSealed(job); err != nil {
			return nil, err
		}
	}
	return job, n.mayPropose(n.config.Key.ID(), job)
}

// describeAll collects every party's facts in the job's order; the own table is read first.
func (n *Node) describeAll(ctx context.Context, job *protocol.Job, t task, hear func(Event)) ([]protocol.Facts, error) {
	own, err := t.facts()
	if err != nil {
		return nil, err
	}
	text, err := job.Text()
	if err != nil {
		return nil, err
	}
	parties, err := job.Members(&n.currentCharter().Charter)
	if err != nil {
		return nil, err
	}
	all := make([]protocol.Facts, len(parties))
	for i, p := range parties {
		if p.Name == n.name() {
			all[i] = own
			continue
		}
		if err := n.ask(ctx, p, methodDescribe, describeRequest{Job: string(text)}, &all[i], hear); err != nil {
			return nil, err
		}
		if all[i].Name != p.Name || all[i].ID != p.ID {
			return nil, fmt.Errorf("%s describes itself as %q", p.Name, all[i].Name)
		}
	}
	return all, nil
}

// ask calls a party until it is there and ready, telling hear whom it waits for. What it says of itself is an error
// that names it.
func (n *Node) ask(ctx context.Context, p protocol.Party, method string, request, response any, hear func(Event)) error {
	since, told := time.Now(), time.Time{}
	for {
		err := n.call(ctx, p, method, request, response)
		var said *faultError
		if err == nil || errors.As(err, &said) && !waits(said.code) {
			return err
		}
		if time.Since(told) >= waitReport && hear != nil {
			told = time.Now()
			hear(Event{Kind: EventWaiting, Time: told, Text: fmt.Sprintf("waiting for %s%s: %s", p.Name, lasting(since), reasonOf(err))})
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

// reasonOf says why a party is absent, without its id.
func reasonOf(err error) string {
	var gone *protocol.GoneError
	if errors.As(err, &gone) {
		return gone.Reason
	}
	var said *faultError
	if errors.As(err, &said) && said.remote {
		return said.said.String()
	}
	return err.Error()
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
// end, through pauses. hear gets the job's events.
func (n *Node) Launch(ctx context.Context, h keys.Hash, hear func(Event)) (*Report, error) {
	return n.launch(ctx, h, "", hear)
}

// launch is Launch by a person, whom the system knows by that name.
func (n *Node) launch(ctx context.Context, h keys.Hash, person string, hear func(Event)) (*Report, error) {
	s, ok := n.job(h)
	if !ok {
		return nil, fmt.Errorf("this node has no job %s", h.Short())
	}
	if err := n.consentHere(s, person); err != nil {
		s.abandoned.Store(true) // nobody else knows of it: see look
		return nil, err
	}
	n.work.Add(1) // Run waits for it
	defer n.work.Done()
	n.hear(h, hear)
	defer n.hear(h, nil)
	return n.coordinate(ctx, s)
}

// collectConsent asks every party for its signature until all have signed. It returns early when one says that the job
// has ended.
func (n *Node) collectConsent(ctx context.Context, s *jobState) error {
	c, err := protocol.ParseContract(s.text()) // what is shared stays as it is
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
			if err := n.ask(ctx, p, methodConsent, consentRequest{Contract: string(c.Document.Text())}, &r, n.teller(s)); err != nil {
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
				return faultf(codeDeviation, "%s: %v", p.Name, err)
			}
			n.tell(c.Hash(), Event{Kind: EventState, Text: p.Name + " consents"})
		}
		if len(pending) == 0 {
			return s.putInForce(c)
		}
		if time.Since(told) >= 5*waitReport {
			told = time.Now()
			n.tell(c.Hash(), Event{Kind: EventWaiting, Text: fmt.Sprintf("waiting for the consent of %s%s: a person there runs hanse approve %s", list(pending), lasting(since), c.Job.Name)})
		}
		if at := c.Job.Expiry(); n.config.Now().After(at) {
			return n.conclude(s, protocol.Ending{Outcome: protocol.OutcomeExpired})
		}
		if err := pause(ctx, retryEvery); err != nil {
			return err
		}
	}
}

// teller passes events on under a job.
func (n *Node) teller(s *jobState) func(Event) {
	return func(e Event) { n.tell(s.contract.Hash(), e) }
}

// othersOf lists the parties but this node.
func (n *Node) othersOf(c *protocol.Contract) []protocol.Party {
	var others []protocol.Party
	for _, p := range c.Members() {
		if p.ID != n.config.Key.ID() {
			others = append(others, p)
		}
	}
	return others
}
