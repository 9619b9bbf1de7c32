package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// mayPropose checks a job against the charter and its proposer.
func (n *consents) mayPropose(from keys.ID, job *contract.Job) error {
	charter := n.member.currentCharter()
	if job.Charter != charter.Digest().String() {
		return n.member.outside("", "job %q is for another charter than %q version %d", job.Name, charter.Name,
			charter.Version)
	}
	if m, ok := charter.Member(from); !ok || m.Name != job.Proposer {
		return faults.Errorf(fault.CodeJob, "job %q says it comes from %q, it came from %s", job.Name, job.Proposer,
			n.member.memberName(from))
	}
	if job.Index(n.member.name()) < 0 || job.Index(job.Proposer) < 0 {
		among := n.member.name() + ", who is asked,"
		if job.Proposer == n.member.name() {
			among = n.member.name() + ", who proposes it,"
		}
		return faults.Errorf(fault.CodeJob, "job %q: its parties are %s; %s must be among them, and so must its proposer",
			job.Name, strings.Join(job.Parties, ", "), among)
	}
	if err := job.CheckExpiry(n.config.Now()); err != nil {
		return faults.OrElse(fault.CodeJob, err)
	}
	if missing := n.config.Policy.Unstated(job); len(missing) > 0 {
		return &faults.Error{Code: fault.CodePolicy, Names: missing[:min(len(missing), maxUnstated)],
			Err: fmt.Errorf("job %q: [purpose] does not say %s, which the policy %s wants of every job: add it to the job file",
				job.Name, strings.Join(missing, ", "), n.config.Policy.File())}
	}
	_, err := job.Members(&charter.Charter)
	return faults.OrElse(fault.CodeCharter, err)
}

// maxUnstated is how many fields of a purpose a fault names.
const maxUnstated = 3

// tableFault is what a member is told whose question about a table cannot be answered: nobody has consented to one yet,
// so it is not another than that.
func tableFault(err error) error {
	if faults.WithCode(fault.CodeData)(err) {
		return &faults.Error{Code: fault.CodeTable, Err: err}
	}
	return faults.OrElse(fault.CodeTable, err)
}

// unknownModel is the fault of a job that this node cannot take part in. Who names another's training hears the same of
// one that is not done as of one that is not there.
func unknownModel(err error) error {
	if faults.WithCode(fault.CodeUnsigned)(err) {
		return &faults.Error{Code: fault.CodeJob, Err: err}
	}
	return faults.OrElse(fault.CodeJob, err)
}

// considered verifies a contract that is not known here, and keeps it as a proposal.
func (n *consents) considered(from keys.ID, r consentRequest) (*jobState, error) {
	c, err := contract.ParseContract([]byte(r.Contract))
	if err != nil {
		return nil, faults.OrElse(fault.CodeContract, err)
	}
	if err := n.mayPropose(from, c.Job); err != nil {
		return nil, err
	}
	if err := n.offered(from, c.Job); err != nil {
		return nil, err
	}
	if err := n.inputsFor(from, c.Job); err != nil {
		return nil, err
	}
	if err := n.spaceFor(c.Job.Proposer); err != nil {
		return nil, err
	}
	if err := n.disk.free(); err != nil {
		return nil, err
	}
	n.algorithms.noteQuestion(from, c.Job)
	data, err := n.verifyContract(c)
	if err != nil {
		return nil, err
	}
	n.consenting.Lock() // only now: a contract that takes long keeps nobody else's waiting
	defer n.consenting.Unlock()
	if s, ok := n.roster.job(c.Hash()); ok { // asked twice at once
		return s, nil
	}
	if err := n.spaceFor(c.Job.Proposer); err != nil {
		return nil, err
	}
	s, err := n.roster.openJob(c, job.Record{State: job.Proposed, Data: data})
	if err != nil {
		return nil, err
	}
	s.watched.sign(c.Signers())
	n.roster.keep(s)
	if note := n.digests.labelHere(c); note != "" {
		n.config.Log.Warn(note, "job", c.Job.Name)
	}
	n.roster.notify(c.Hash(), jobs.Event{Kind: jobs.EventSummary, Text: n.digests.summaryOf(c).text})
	return s, nil
}

// known returns the job whose contract a text is, nil when there is none. Where all parties have signed it, the
// contract is kept as the one in force; before that, whose signatures there are. Signatures are verified once: of
// hundreds on a long text that takes a while.
func (n *consents) known(from keys.ID, text string) (*jobState, error) {
	name, signers, err := keys.NameOf(contract.DomainContract, []byte(text))
	if err != nil {
		return nil, faults.OrElse(fault.CodeContract, err)
	}
	s, ok := n.roster.job(name)
	if !ok || s.Ending() != nil {
		return s, nil
	}
	if _, ok := s.InForce(); ok {
		return s, nil
	}
	signed, news, seen := 0, false, s.watched.signers()
	for _, p := range s.Contract().Parties {
		if slices.Contains(signers, p.ID) { // others' signatures are nothing
			signed++
			news = news || !slices.Contains(seen, p.Name)
		}
	}
	all := signed == len(s.Contract().Parties)
	if !all && (s.State() != job.Proposed || !news) {
		return s, nil
	}
	return working(n.rates, n.member.countsFor(from), func() (*jobState, error) {
		var f contract.InForce
		c, err := contract.ParseContract([]byte(text))
		if err == nil && all {
			f, err = c.InForce()
		}
		if err != nil {
			return nil, faults.OrElse(fault.CodeContract, err)
		}
		s.watched.sign(c.Signers())
		if !all {
			return s, nil
		}
		return s, n.keeper.apply(s, job.Countersigned{Contract: f})
	})
}

// verifyContract checks that a contract's parties are those of the charter, that its facts, openings and operations are
// what this node computes itself, and returns the SHA-256 of the table that it is for.
func (n *consents) verifyContract(c *contract.Contract) (data keys.Hash, err error) {
	if err := n.algorithms.underCharter(c); err != nil {
		return data, err
	}
	kind, err := n.algorithms.kindOf(c.Job)
	if err != nil {
		return data, unknownModel(err)
	}
	t, err := kind.Task(c.Job)
	if err != nil {
		return data, unknownModel(err)
	}
	own, err := t.Facts()
	if err != nil {
		return data, tableFault(err)
	}
	if got := c.Parties[c.Job.Index(n.member.name())]; !got.Equal(own) {
		return data, faults.Errorf(fault.CodeContract, "the contract of job %q misstates this party: it says %+v, right "+
			"is %+v",
			c.Job.Name, got, own)
	}
	if err := kind.Fit(c.Job, c.Parties); err != nil {
		return data, faults.OrElse(fault.CodeContract, err)
	}
	openings, operations, err := t.Disclose(c.Parties)
	if err != nil {
		return data, faults.OrElse(fault.CodeContract, err)
	}
	right, err := contract.NewContract(c.Job, c.Parties, openings, operations)
	if err != nil {
		return data, faults.OrElse(fault.CodeContract, err)
	}
	if right.Hash() != c.Hash() {
		return data, faults.Errorf(fault.CodeContract, "the contract of job %q lists other openings or operations than "+
			"the job implies",
			c.Job.Name)
	}
	return kind.DataSum(c.Job)
}

// decided answers a request for consent by the job's state. The policy decides on a proposal whenever it is asked
// about.
func (n *consents) decided(s *jobState) (consentResponse, error) {
	if text := endingOf(s); text != nil {
		return consentResponse{Ending: text}, nil
	}
	if r := s.Record(); r.State == job.Proposed {
		data, err := n.consentedData(s, r)
		if err == nil {
			err = n.applyPolicy(s, data)
		}
		if err != nil {
			return consentResponse{}, err
		}
	}
	r := s.Record()
	if r.State == job.Proposed {
		return consentResponse{}, nil
	}
	if err := s.Ailing(time.Now()); err != nil {
		return consentResponse{}, err
	}
	if err := n.keeper.mayStartFor(s); err != nil { // before it signs
		return consentResponse{}, err
	}
	signature, err := n.signContract(s)
	return consentResponse{Signature: signature, Session: r.Session, Stored: r.Stored, Ending: endingOf(s)}, err
}

// signContract signs a job's contract in this member's name. It is the one place where that is done, and needs a record
// on the disk of who consented.
func (n *consents) signContract(s *jobState) ([]byte, error) {
	if r := s.Record(); r.Consent == nil || r.State == job.Proposed {
		return nil, faults.Errorf(fault.CodeUnsigned, "nobody has consented to job %q here", s.Contract().Job.Name)
	}
	if err := n.algorithms.underCharter(s.Contract()); err != nil {
		return nil, err
	}
	if err := n.checkApprovals(s); err != nil {
		return nil, err
	}
	c, err := s.Whole() // a job that ends in this moment may be shed
	if err != nil {
		return nil, err
	}
	return n.config.Key.Sign(c.Domain, c.Body), nil
}

// consentedData is the digest of the table that a consent to a proposed job is for. Where the record of it was
// damaged, the whole contract is verified anew.
func (n *consents) consentedData(s *jobState, r job.Record) (keys.Hash, error) {
	if !r.Damaged {
		return r.Data, n.algorithms.underCharter(s.Contract())
	}
	return n.verifyContract(s.Contract())
}

// consentHere records that this node's owner consents to a proposed job: at once or, where the policy wants approvals,
// when enough have come. idle reports that it is consented to, and that no command waits for that.
func (n *consents) consentHere(s *jobState, d Decision) (idle bool, err error) {
	if err := n.heldForPerson(s, d); err != nil { // first: a source may take long
		return false, err
	}
	n.judging.Lock()
	defer n.judging.Unlock()
	r := s.Record()
	if r.State != job.Proposed {
		return false, fmt.Errorf("job %q is %s, not waiting for consent", s.Contract().Job.Name, r.State)
	}
	data, err := n.consentedData(s, r)
	if err != nil {
		return false, err
	}
	by := job.Consent{By: job.ByOwner, Person: d.Person}
	if p := n.config.Policy; p.ApprovalsWanted() > 0 {
		if by.Approvals, err = n.approved(s, d); err != nil {
			return false, err
		}
		if len(by.Approvals) < p.ApprovalsWanted() {
			return false, n.keeper.apply(s, job.Approved{Approvals: by.Approvals})
		}
		by.Policy = p.Digest().String()
	} else if d.Approval != "" {
		return false, fmt.Errorf("this node's policy wants no approvals: consent to job %q without --as",
			s.Contract().Job.Name)
	}
	if err := n.consented(s, n.salted(by), data); err != nil {
		return false, err
	}
	close(s.agreed)
	return !s.decision.launching, nil
}
