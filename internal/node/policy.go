package node

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/psi"
)

// consents decides on what is proposed to this node, by its policy and its owner's word.
type consents struct {
	config     *Config
	life       *life
	disk       *folder
	tables     *jobs.Tables
	rates      *rates
	member     *member
	algorithms *algorithms
	roster     *roster
	accounts   *accounts
	keeper     *keeper
	digests    *digests
	consenting sync.Mutex // one proposal is looked at at a time
	judging    sync.Mutex // one consent is given at a time
}

// maxPerson is the longest name of a user that is kept, in bytes.
const maxPerson = 64

// salted completes a consent with the time and what hides it in a digest.
func (n *consents) salted(c job.Consent) *job.Consent {
	var salt [16]byte
	rand.Read(salt[:])
	c.At, c.Salt, c.Person = n.config.Now().UTC().Round(0), hex.EncodeToString(salt[:]), wording.Line(c.Person,
		maxPerson)
	return &c
}

// applyPolicy has the policy decide on a proposed job, if it has a word on it. One job is judged at a time: two that
// fit a bound one by one need not fit it together.
func (n *consents) applyPolicy(s *jobState, data keys.Hash) error {
	n.judging.Lock()
	defer n.judging.Unlock()
	p := n.config.Policy
	c, err := n.caseOf(s)
	if err != nil {
		return faults.OrElse(fault.CodeTable, err)
	}
	judged, by := p.Judge(c), job.Consent{}
	switch judged.Verdict {
	case consent.Accept:
		by = job.Consent{By: job.ByPolicy, Rule: judged.Rule, Policy: p.Digest().String()}
	case consent.Refuse:
		n.config.Log.Info("the policy refuses a job", "job", s.Contract().Job.Name, "rule", judged.Rule)
		word := contract.Ending{Outcome: contract.OutcomeRefused, Fault: &fault.Fault{Code: fault.CodePolicy}}
		return n.keeper.conclude(s, word, "")
	default:
		if by, err = n.inSeries(s, c); err != nil {
			return err
		}
	}
	if by.By != "" {
		if held, err := n.heldForRule(s, data, by.Who()); !held {
			return err
		}
		return n.consented(s, n.salted(by), data)
	}
	if why := judged.Why(); p != nil { // a person is told what it waits for, once
		if s.decision.judged == why {
			return nil
		}
		s.decision.judged = why
		n.roster.notify(s.Contract().Hash(), jobs.Event{Kind: jobs.EventState, Text: why})
	}
	return nil
}

// caseOf is what the policy is asked about a job: as of the moment of the consent or, before it, of now. The ledger is
// the records of the other jobs.
func (n *consents) caseOf(s *jobState) (*consent.Case, error) {
	c := &consent.Case{
		Contract: s.Contract(), Self: s.Self(), Role: n.algorithms.roleIn(s.Contract(), s.Self()),
		Charter: &n.member.currentCharter().Charter, Now: n.config.Now(), Memory: n.algorithms.memoryOf(s.Contract()),
	}
	own := s.Record().Consent
	if own != nil {
		c.Now = own.At
	}
	var err error
	if c.Told, err = n.accounts.toldBefore(s); err != nil {
		return nil, err
	}
	for _, other := range n.roster.allJobs() {
		at, ok := n.accounts.opensAt(other)
		its := other.Record().Consent
		if other != s && ok && (own == nil || its == nil || its.At.Before(own.At)) { // of a decided job, what counted then
			c.Consented = append(c.Consented, consent.Past{Contract: asOpened(other), At: at})
		}
	}
	return c, nil
}

// asOpened is a job's contract with as many scores as were asked for, where the receiver said that it had others.
func asOpened(s *jobState) *contract.Contract {
	known := s.Record().Known
	if known == 0 {
		return s.Contract()
	}
	c := *s.Contract()
	c.Openings = slices.Clone(c.Openings)
	for i := range c.Openings {
		if o := &c.Openings[i]; o.Kind == sealed.Scores {
			o.Count -= known * (o.Count / int64(s.Contract().Rows())) // of each row as many as the model has
		}
	}
	return &c
}

// roleIn is a party's role in a job, as policies name it.
func (n *algorithms) roleIn(c *contract.Contract, name string) string {
	if c.Job.Task == contract.TaskAlign {
		p, err := psi.ParamsOf(c.Job)
		switch {
		case err != nil: // no such job has become a contract
		case name == p.Keeper:
			return consent.RoleKeeper
		case name == p.Helper:
			return consent.RoleHelper
		}
	} else if c.Job.Privacy == keys.PrivacySealed {
		switch three := n.config.Algorithms.Sharers(c); name {
		case three.Holder:
			return consent.RoleActive
		case three.Keeper:
			return consent.RoleKeeper
		case three.Helper:
			return consent.RoleHelper
		}
	}
	return c.Parties[c.Job.Index(name)].Role
}

// offered refuses to look at a table for another member's job that the owner does not offer to that member. The member
// learns a code; what it asked for is in this node's log.
func (n *consents) offered(from keys.ID, job *contract.Job) error {
	// Its own word counts; a server reads no table.
	if from == n.config.Key.ID() || slices.Contains(job.Servers, n.member.name()) {
		return nil
	}
	label, asker := "", n.member.memberName(from) // the column that this node would read
	if kind, err := n.algorithms.kindOf(job); err == nil && job.Task == contract.TaskTrain {
		label = kind.Label(job)
	}
	c := fault.CodeLabel
	err := n.config.Policy.Offers(job.Table, label, asker)
	if refusal := new(consent.NotOffered); errors.As(err, &refusal) && refusal.OfTable {
		c = fault.CodeOffer
	}
	if err == nil && job.Task == contract.TaskTrain {
		g, wrong := n.config.Algorithms.Goal(job) // one that cannot be read is refused for that
		if wrong == nil && g.Binned() {
			c, err = fault.CodePolicy, n.config.Policy.Cells(int64(g.Scales.MinCell))
		}
	}
	if err == nil {
		return nil
	}
	count := n.algorithms.questions.refused(from)
	return faults.Errorf(c, "%w; it is refusal %d of %s since this node started", err, count, asker)
}

// Explanation says what the policy makes of a job, rule by rule.
type Explanation struct {
	Job       string            `json:"job"`
	Contract  string            `json:"contract"`
	State     job.State         `json:"state"`
	Consent   *job.Consent      `json:"consent,omitempty"`
	AsOf      time.Time         `json:"as_of"` // when the job is judged: when it was consented to or, before that, now
	File      string            `json:"file,omitempty"`
	Policy    string            `json:"policy,omitempty"` // SHA-256 of the policy's file
	Judgement consent.Judgement `json:"judgement"`
}

// Explain holds a job against the node's policy.
func (n *consents) Explain(h keys.Hash) (*Explanation, error) {
	s, ok := n.roster.job(h)
	if !ok {
		return nil, fmt.Errorf("this node has no job %s", h.Short())
	}
	asked, err := n.caseOf(s)
	if err != nil {
		return nil, err
	}
	p, r := n.config.Policy, s.Record()
	e := &Explanation{
		Job: s.Contract().Job.Name, Contract: h.String(), State: r.State, Consent: r.Consent, AsOf: asked.Now, File: p.File(),
		Judgement: p.Judge(asked),
	}
	if p != nil {
		e.Policy = p.Digest().String()
	}
	return e, nil
}

// consented books a job in the ledger, and then records who consented to it.
func (n *consents) consented(s *jobState, by *job.Consent, data keys.Hash) error {
	s.counted.mu.Lock()
	h, err := n.accounts.holding(s)
	s.counted.mu.Unlock()
	if err == nil {
		err = n.accounts.enter(s, h, by.At)
	}
	if err != nil {
		return err
	}
	return n.keeper.apply(s, job.Consented{By: by, Data: data})
}

// inSeries returns the consent of a series that a proposal belongs to, empty where it belongs to none: a person or a
// rule has consented to a prediction with Repeat, so many jobs have not had that consent yet, and this one differs from
// it in its rows alone. What it adds to what was told of its rows is within the standards of a rule. consents.judging
// is held.
func (n *consents) inSeries(s *jobState, c *consent.Case) (job.Consent, error) {
	j := s.Contract().Job
	if j.Repeat < 2 || n.config.Policy.ApprovalsWanted() > 0 || !c.WithinStandards() {
		return job.Consent{}, nil
	}
	others, err := n.keeper.othersOfSeries(s)
	if err != nil {
		return job.Consent{}, err
	}
	var first *jobState
	count := 0
	for _, other := range others {
		if other.refused() { // whoever refuses one ends the series
			return job.Consent{}, nil
		}
		r := other.Record()
		if r.Consent == nil || !n.accounts.has(other) {
			continue
		}
		count++
		if r.Consent.By != job.BySeries && (first == nil || r.Consent.At.Before(first.Record().Consent.At)) {
			first = other
		}
	}
	if first == nil || count >= j.Repeat || 2*s.Contract().Rows() > 3*first.Contract().Rows() {
		return job.Consent{}, nil
	}
	return job.Consent{By: job.BySeries, Rule: fmt.Sprintf("%d of %d after job %s", count+1, j.Repeat,
		first.Contract().Job.Name)}, nil
}

// heldForRule reports whether a proposed job may be consented to by a rule: its table was read after it was proposed,
// and is as the contract says. The source is run for that once, by this node and not within the proposer's call: until
// then there is no answer. Where the table is another, or cannot be read, the job waits for another reading that
// somebody else asks for, however often its proposer asks. consents.judging is held.
func (n *consents) heldForRule(s *jobState, data keys.Hash, by string) (bool, error) {
	j, h := s.Contract().Job, &s.decision
	switch {
	case h.good || data.IsZero() || j.OverClients() || !n.tables.FromSource(j.Table):
		return true, nil
	case h.running:
		return false, nil
	case h.err != nil:
		times := n.tables.Times(j.Table)
		if times == h.times {
			return false, h.err
		}
		sum, path, err := n.tables.Now(j.Table)
		if err == nil {
			err = changedSince(j, path, data, sum)
		}
		if err != nil {
			n.heldWrong(s, err, times)
			return false, h.err
		}
		h.good = true
		return true, nil
	}
	h.running = true
	n.life.work.Go(func() {
		err := n.heldAgainst(s, data, fmt.Sprintf("the consent to job %q of %s by %s", j.Name, j.Proposer, by))
		times := n.tables.Times(j.Table)
		n.judging.Lock()
		h.running, h.good = false, err == nil
		if err != nil {
			n.heldWrong(s, err, times)
		}
		n.judging.Unlock()
		if err == nil && s.State() == job.Proposed {
			err = n.applyPolicy(s, data)
		}
		if err != nil && n.life.ctx.Err() == nil {
			e := jobs.Event{Kind: jobs.EventWarning, Text: "not consented to yet: " + err.Error()}
			n.roster.notify(s.Contract().Hash(), e)
		}
	})
	return false, nil
}

// heldWrong notes why a job cannot be consented to by a rule: who asks again hears the same, under one reference.
// consents.judging is held.
func (n *consents) heldWrong(s *jobState, err error, times int) {
	told := n.keeper.toldOnce(s, err)
	s.decision.err, s.decision.times = &faults.Error{Code: told.Code, Err: err, Said: told}, times
}
