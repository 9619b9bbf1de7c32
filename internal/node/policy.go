package node

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
	"github.com/hanse-project/hanse/secagg/psi"
)

// maxPerson is the longest name of a user that is kept, in bytes.
const maxPerson = 64

// salted completes a consent with the time and what hides it in a digest.
func (n *Node) salted(c job.Consent) *job.Consent {
	var salt [16]byte
	rand.Read(salt[:])
	c.At, c.Salt, c.Person = n.config.Now().UTC().Round(0), hex.EncodeToString(salt[:]), wording.Line(c.Person,
		maxPerson)
	return &c
}

// applyPolicy has the policy decide on a proposed job, if it has a word on it. One job is judged at a time: two that
// fit a bound one by one need not fit it together.
func (n *Node) applyPolicy(s *jobState, data keys.Hash) error {
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
		return n.conclude(s, word, "")
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
		n.notify(s.Contract().Hash(), jobs.Event{Kind: jobs.EventState, Text: why})
	}
	return nil
}

// caseOf is what the policy is asked about a job: as of the moment of the consent or, before it, of now. The ledger is
// the records of the other jobs.
func (n *Node) caseOf(s *jobState) (*consent.Case, error) {
	c := &consent.Case{
		Contract: s.Contract(), Self: s.Self(), Role: roleIn(s.Contract(), s.Self()),
		Charter: &n.currentCharter().Charter, Now: n.config.Now(), Memory: n.memoryOf(s.Contract()),
	}
	own := s.Record().Consent
	if own != nil {
		c.Now = own.At
	}
	var err error
	if c.Told, err = n.toldBefore(s); err != nil {
		return nil, err
	}
	for _, other := range n.allJobs() {
		at, ok := n.opensAt(other)
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

// opensAt says when something of a job that this member consented to may open, or may have opened, at the latest: now,
// while the job has not ended, and else when it ended. A job that ended before its first session opened nothing. A
// consent whose record was damaged counts as one of this moment.
func (n *Node) opensAt(s *jobState) (at time.Time, ok bool) {
	r := s.Record()
	switch {
	case r.Consent == nil && r.Damaged:
		return n.config.Now(), true
	case r.Consent == nil || r.State.Final() && r.Session == 0 && !r.Damaged && !r.Renewed:
		return at, false
	case r.Ended.After(r.Consent.At):
		return r.Ended, true
	case r.State.Final():
		return r.Consent.At, true
	}
	return n.config.Now(), true
}

// allJobs lists the node's jobs.
func (n *Node) allJobs() []*jobState {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Collect(maps.Values(n.jobs))
}

// roleIn is a party's role in a job, as policies name it.
func roleIn(c *contract.Contract, name string) string {
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
		switch three := columns.SharersOf(c); name {
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
func (n *Node) offered(from keys.ID, job *contract.Job) error {
	if from == n.config.Key.ID() || slices.Contains(job.Servers, n.name()) { // its own word; a server reads no table
		return nil
	}
	label, asker := "", n.memberName(from) // the column that this node would read
	if kind, err := n.kindOf(job); err == nil && job.Task == contract.TaskTrain {
		label = kind.Label(job)
	}
	c := fault.CodeLabel
	err := n.config.Policy.Offers(job.Table, label, asker)
	if refusal := new(consent.NotOffered); errors.As(err, &refusal) && refusal.OfTable {
		c = fault.CodeOffer
	}
	if err == nil && job.Algorithm == contract.GLM && job.Task == contract.TaskTrain {
		if p, wrong := fdskl.ParamsOf(job.Parameters, job.Parties); wrong == nil { // else it is refused for that
			c, err = fault.CodePolicy, n.config.Policy.Cells(int64(p.MinCell))
		}
	}
	if err == nil {
		return nil
	}
	n.mu.Lock()
	n.refusals[from]++
	count := n.refusals[from]
	n.mu.Unlock()
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
func (n *Node) Explain(h keys.Hash) (*Explanation, error) {
	s, ok := n.job(h)
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
