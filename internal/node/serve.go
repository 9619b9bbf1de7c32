package node

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// The control methods about jobs. Requests and responses are CBOR.
const (
	methodDescribe = "job/describe" // job text -> facts
	methodConsent  = "job/consent"  // contract text -> signature, or pending
	methodStart    = "job/start"    // contract text, session number -> nothing
)

// MaxJob is the longest job text that is read, in bytes.
const MaxJob = 1 << 20

// describeRequest asks what a party brings to a job.
type describeRequest struct {
	Job string `cbor:"1,keyasint"`
}

// description is what a party brings to a job, and what its data say of what the job leaves open.
type description struct {
	contract.Facts
	Settled jobs.Settled `cbor:",omitzero"`
}

// consentRequest asks for a party's signature.
type consentRequest struct {
	Contract string `cbor:"1,keyasint"`
}

// consentResponse is the signature, or nothing while a person has yet to decide, or how the job has ended.
type consentResponse struct {
	Signature []byte `cbor:"1,keyasint,omitempty"`
	Session   uint32 `cbor:"2,keyasint,omitempty"` // the last session of the job that was opened here
	Ending    []byte `cbor:"3,keyasint,omitempty"`
	Stored    uint32 `cbor:"4,keyasint,omitempty"` // over columns: the session whose part is kept here
}

// startResponse is nothing, or how the job has ended.
type startResponse struct {
	Ending []byte `cbor:"1,keyasint,omitempty"`
}

// startRequest asks a party to open a session.
type startRequest struct {
	Contract string `cbor:"1,keyasint"`
	Number   uint32 `cbor:"2,keyasint"`
	Closes   uint32 `cbor:"3,keyasint,omitempty"` // of a closing session: the session whose parts all keep
}

// handle answers the other members.
func (n *Node) handle(ctx context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
	if n.config.Extra != nil && !strings.HasPrefix(method, "job/") {
		return n.config.Extra(ctx, from, method, request)
	}
	if !n.answering.TryRLock() {
		return nil, &fault.Fault{Code: fault.CodeBusy}
	}
	defer n.answering.RUnlock()
	var response []byte
	leave, err := n.rates.admit(n.countsFor(from), callCost(method, len(request)))
	if err == nil {
		defer leave()
		err = n.ctx.Err()
	}
	if err == nil {
		response, err = n.serve(from, method, request)
	}
	if errors.Is(err, control.ErrMalformed) {
		err = faults.Errorf(fault.CodeRequest, "%s: %w", method, err)
	}
	if err != nil {
		return nil, n.inWords(err, n.memberName(from), method)
	}
	return response, nil
}

// serve answers a call about a job.
func (n *Node) serve(from keys.ID, method string, request []byte) ([]byte, error) {
	switch method {
	case methodDescribe:
		return control.Answer(request, func(r describeRequest) (description, error) {
			return working(n, from, func() (description, error) { return n.serveDescribe(from, r) })
		})
	case methodConsent:
		return control.Answer(request, func(r consentRequest) (consentResponse, error) { return n.serveConsent(from, r) })
	case methodStart:
		return control.Answer(request, func(r startRequest) (startResponse, error) { return n.serveStart(from, r) })
	case methodShards:
		return control.Answer(request, func(r shardsRequest) (shards.Response, error) { return n.serveShards(from, r) })
	case methodStanding:
		return control.Answer(request, func(r standingRequest) (standing, error) { return n.serveStanding(from, r) })
	case methodPart:
		return control.Answer(request, func(r standingRequest) (partResponse, error) { return n.servePart(from, r) })
	case methodSign:
		return control.Answer(request, func(r endingRequest) (signResponse, error) { return n.serveSign(from, r) })
	case methodEnd:
		return control.Answer(request, func(r endingRequest) (endingResponse, error) { return n.serveEnd(from, r) })
	}
	return nil, faults.Errorf(fault.CodeMethod, "this node has no method %q", method)
}

// call asks a party once. What it says of itself is an error that names it and carries its code.
func (n *Node) call(ctx context.Context, p contract.Party, method string, request, response any) error {
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

// mayPropose checks a job against the charter and its proposer.
func (n *Node) mayPropose(from keys.ID, job *contract.Job) error {
	charter := n.currentCharter()
	if job.Charter != charter.Digest().String() {
		return n.outside("", "job %q is for another charter than %q version %d", job.Name, charter.Name, charter.Version)
	}
	if m, ok := charter.Member(from); !ok || m.Name != job.Proposer {
		return faults.Errorf(fault.CodeJob, "job %q says it comes from %q, it came from %s", job.Name, job.Proposer,
			n.memberName(from))
	}
	if job.Index(n.name()) < 0 || job.Index(job.Proposer) < 0 {
		among := n.name() + ", who is asked,"
		if job.Proposer == n.name() {
			among = n.name() + ", who proposes it,"
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

// serveDescribe says what this node brings to a job.
func (n *Node) serveDescribe(from keys.ID, r describeRequest) (d description, err error) {
	if len(r.Job) > MaxJob {
		return d, faults.Errorf(fault.CodeRequest, "job text of %d bytes, at most %d are read", len(r.Job), MaxJob)
	}
	job, err := contract.ParseJob([]byte(r.Job))
	if err != nil {
		return d, faults.OrElse(fault.CodeJob, err)
	}
	if err := n.mayPropose(from, job); err != nil {
		return d, err
	}
	if err := n.disk.free(); err != nil {
		return d, err
	}
	if err := n.offered(from, job); err != nil {
		return d, err
	}
	if err := n.inputsFor(from, job); err != nil {
		return d, err
	}
	n.noteQuestion(from, job)
	kind, err := n.kindOf(job)
	if err != nil {
		return d, unknownModel(err)
	}
	if _, err := kind.Task(job); err != nil { // before anything of the data is looked at
		return d, unknownModel(err)
	}
	if d.Settled, err = kind.Settle(job); err != nil {
		return d, tableFault(err)
	}
	var t jobs.Task
	if _, err = kind.TakeIn(job, n.name(), d.Settled); err == nil {
		t, err = kind.Task(job)
	}
	if err != nil { // the proposer's own node refuses what has come of the job, and can say why
		d.Facts = contract.Facts{Name: n.name(), ID: n.config.Key.ID()}
		return d, nil
	}
	d.Facts, err = t.Facts()
	return d, tableFault(err)
}

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

// serveConsent signs a contract that is what it claims to be, if the policy or a person says so.
func (n *Node) serveConsent(from keys.ID, r consentRequest) (consentResponse, error) {
	s, err := n.known(from, r.Contract)
	if s == nil && err == nil {
		s, err = working(n, from, func() (*jobState, error) { return n.considered(from, r) })
	}
	if err == nil {
		err = n.concerns(s, from)
	}
	if err != nil {
		return consentResponse{}, err
	}
	if s.Record().Damaged { // the contract is verified anew
		return working(n, from, func() (consentResponse, error) { return n.decided(s) })
	}
	return n.decided(s)
}

// concerns refuses to speak of a job to who is no party of it.
func (n *Node) concerns(s *jobState, from keys.ID) error {
	if partyWith(s.Contract(), from) < 0 {
		return faults.Errorf(fault.CodeUnknown, "has no job with contract %s", s.Contract().Hash().Short())
	}
	return nil
}

// considered verifies a contract that is not known here, and keeps it as a proposal.
func (n *Node) considered(from keys.ID, r consentRequest) (*jobState, error) {
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
	n.noteQuestion(from, c.Job)
	data, err := n.verifyContract(c)
	if err != nil {
		return nil, err
	}
	n.consenting.Lock() // only now: a contract that takes long keeps nobody else's waiting
	defer n.consenting.Unlock()
	if s, ok := n.job(c.Hash()); ok { // asked twice at once
		return s, nil
	}
	if err := n.spaceFor(c.Job.Proposer); err != nil {
		return nil, err
	}
	s, err := n.openJob(c, job.Record{State: job.Proposed, Data: data})
	if err != nil {
		return nil, err
	}
	s.watched.sign(c.Signers())
	n.keep(s)
	if note := n.labelHere(c); note != "" {
		n.config.Log.Warn(note, "job", c.Job.Name)
	}
	n.notify(c.Hash(), jobs.Event{Kind: jobs.EventSummary, Text: n.summaryOf(c).text})
	return s, nil
}

// known returns the job whose contract a text is, nil when there is none. Where all parties have signed it, the
// contract is kept as the one in force; before that, whose signatures there are. Signatures are verified once: of
// hundreds on a long text that takes a while.
func (n *Node) known(from keys.ID, text string) (*jobState, error) {
	name, signers, err := keys.NameOf(contract.DomainContract, []byte(text))
	if err != nil {
		return nil, faults.OrElse(fault.CodeContract, err)
	}
	s, ok := n.job(name)
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
	return working(n, from, func() (*jobState, error) {
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
		return s, n.apply(s, job.Countersigned{Contract: f})
	})
}

// verifyContract checks that a contract's parties are those of the charter, that its facts, openings and operations are
// what this node computes itself, and returns the SHA-256 of the table that it is for.
func (n *Node) verifyContract(c *contract.Contract) (data keys.Hash, err error) {
	if err := n.underCharter(c); err != nil {
		return data, err
	}
	kind, err := n.kindOf(c.Job)
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
	if got := c.Parties[c.Job.Index(n.name())]; !got.Equal(own) {
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
func (n *Node) decided(s *jobState) (consentResponse, error) {
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
	if err := n.mayStartFor(s); err != nil { // before it signs
		return consentResponse{}, err
	}
	signature, err := n.signContract(s)
	return consentResponse{Signature: signature, Session: r.Session, Stored: r.Stored, Ending: endingOf(s)}, err
}

// signContract signs a job's contract in this member's name. It is the one place where that is done, and needs a record
// on the disk of who consented.
func (n *Node) signContract(s *jobState) ([]byte, error) {
	if r := s.Record(); r.Consent == nil || r.State == job.Proposed {
		return nil, faults.Errorf(fault.CodeUnsigned, "nobody has consented to job %q here", s.Contract().Job.Name)
	}
	if err := n.underCharter(s.Contract()); err != nil {
		return nil, err
	}
	if err := n.checkApprovals(s); err != nil {
		return nil, err
	}
	return n.config.Key.Sign(s.Contract().Domain, s.Contract().Body), nil
}

// consentedData is the digest of the table that a consent to a proposed job is for. Where the record of it was
// damaged, the whole contract is verified anew.
func (n *Node) consentedData(s *jobState, r job.Record) (keys.Hash, error) {
	if !r.Damaged {
		return r.Data, n.underCharter(s.Contract())
	}
	return n.verifyContract(s.Contract())
}

// serveStart opens a session of a contract in force.
func (n *Node) serveStart(from keys.ID, r startRequest) (startResponse, error) {
	s, err := n.known(from, r.Contract)
	if err != nil {
		return startResponse{}, err
	}
	if s == nil {
		return startResponse{}, faults.Errorf(fault.CodeUnsigned, "has not consented to a job with this contract")
	}
	job := s.Contract().Job
	if err := n.concerns(s, from); err != nil {
		return startResponse{}, err
	}
	if text := endingOf(s); text != nil {
		return startResponse{Ending: text}, nil
	}
	f, ok := s.InForce()
	if !ok {
		return startResponse{}, faults.Errorf(fault.CodeUnsigned, "the contract of job %q is not in force: not all "+
			"parties have signed it", job.Name)
	}
	if m, ok := n.currentCharter().Member(from); !ok || m.Name != job.Proposer {
		return startResponse{}, faults.Errorf(fault.CodeRequest, "job %q is started by its proposer %s, not by %s",
			job.Name, job.Proposer, n.memberName(from))
	}
	if err := n.underCharter(s.Contract()); err != nil {
		return startResponse{}, err
	}
	return startResponse{}, n.begin(s, f, r.Number, r.Closes)
}
