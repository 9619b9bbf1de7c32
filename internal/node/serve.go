package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/internal/message"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
)

// The control methods about jobs. Requests and responses are CBOR.
const (
	methodDescribe     = "job/describe"     // job text -> facts
	methodFingerprints = "job/fingerprints" // job text, key -> keyed digests of row ids
	methodConsent      = "job/consent"      // contract text -> signature, or pending
	methodStart        = "job/start"        // contract text, session number -> nothing
)

// methodOver tells a client that a job over clients is done: contract -> nothing
const methodOver = "job/over"

// overRequest says which job is done.
type overRequest struct {
	Contract keys.Hash `cbor:"1,keyasint"`
}

// maxJob is the longest job text that is read, in bytes.
const maxJob = 1 << 20

// describeRequest asks what a party brings to a job.
type describeRequest struct {
	Job string `cbor:"1,keyasint"`
}

// consentRequest asks for a party's signature.
type consentRequest struct {
	Contract string `cbor:"1,keyasint"`
}

// consentResponse is the signature, or nothing while a person has yet to decide.
type consentResponse struct {
	Signature []byte `cbor:"1,keyasint,omitempty"`
	Session   uint32 `cbor:"2,keyasint,omitempty"` // the last session of the job that was opened here
}

// startRequest asks a party to open a session.
type startRequest struct {
	Contract string `cbor:"1,keyasint"`
	Number   uint32 `cbor:"2,keyasint"`
}

// handle answers the other members. An error goes back to the caller as its text.
func (n *Node) handle(ctx context.Context, from keys.ID, method string, request []byte) ([]byte, error) {
	switch method {
	case methodDescribe:
		return message.Answer(request, func(r describeRequest) (protocol.Facts, error) { return n.serveDescribe(from, r) })
	case methodFingerprints:
		return message.Answer(request, func(r fingerprintRequest) (fingerprintResponse, error) { return n.serveFingerprints(from, r) })
	case methodConsent:
		return message.Answer(request, func(r consentRequest) (consentResponse, error) { return n.serveConsent(from, r) })
	case methodStop:
		return message.Answer(request, func(r stopRequest) (struct{}, error) { return struct{}{}, n.serveStop(from, r) })
	case methodOver:
		return message.Answer(request, func(r overRequest) (struct{}, error) { return struct{}{}, n.serveOver(from, r) })
	case methodStart:
		return message.Answer(request, func(r startRequest) (struct{}, error) { return struct{}{}, n.serveStart(from, r) })
	}
	if n.config.Extra != nil && !strings.HasPrefix(method, "job/") {
		return n.config.Extra(ctx, from, method, request)
	}
	return nil, fmt.Errorf("this node has no method %q", method)
}

// proposal parses a job that another member proposes and checks that it may.
func (n *Node) proposal(from keys.ID, text string) (*protocol.Job, error) {
	if len(text) > maxJob {
		return nil, fmt.Errorf("job text of %d bytes, at most %d are read", len(text), maxJob)
	}
	job, err := protocol.ParseJob([]byte(text))
	if err != nil {
		return nil, err
	}
	return job, n.mayPropose(from, job)
}

// mayPropose checks a job against the charter and its proposer.
func (n *Node) mayPropose(from keys.ID, job *protocol.Job) error {
	charter := n.currentCharter()
	if job.Charter != charter.Digest().String() {
		return fmt.Errorf("job %q is for another charter than %q version %d", job.Name, charter.Name, charter.Version)
	}
	if m, ok := charter.Member(from); !ok || m.Name != job.Proposer {
		return fmt.Errorf("job %q says it comes from %q, it came from %s", job.Name, job.Proposer, n.memberName(from))
	}
	if job.Index(n.name()) < 0 || job.Index(job.Proposer) < 0 {
		return fmt.Errorf("job %q: its parties are %s; both %s and the proposer must be among them", job.Name, strings.Join(job.Parties, ", "), n.name())
	}
	_, err := job.Members(&charter.Charter)
	return err
}

// serveDescribe says what this node brings to a job.
func (n *Node) serveDescribe(from keys.ID, r describeRequest) (protocol.Facts, error) {
	job, err := n.proposal(from, r.Job)
	if err != nil {
		return protocol.Facts{}, err
	}
	t, err := n.newTask(job)
	if err != nil {
		return protocol.Facts{}, err
	}
	return t.facts()
}

// serveConsent signs a contract that is what it claims to be, if the policy or a person says so.
func (n *Node) serveConsent(from keys.ID, r consentRequest) (consentResponse, error) {
	s, err := n.known(r.Contract)
	if err != nil {
		return consentResponse{}, err
	}
	if s != nil {
		return n.decided(s)
	}
	c, err := protocol.ParseContract([]byte(r.Contract))
	if err != nil {
		return consentResponse{}, err
	}
	if err := n.mayPropose(from, c.Job); err != nil {
		return consentResponse{}, err
	}
	record, err := n.verifyContract(c)
	if err != nil {
		return consentResponse{}, err
	}
	if s, err = n.openJob(c, *record); err != nil {
		return consentResponse{}, err
	}
	n.keep(s)
	n.tell(c.Hash(), Event{Kind: EventSummary, Text: Summary(c, n.name())})
	return n.decided(s)
}

// known returns the job whose contract a text is, nil when there is none. Where all parties have signed it, the
// contract is kept as the one in force. Signatures are verified once: of hundreds on a long text that takes a while.
func (n *Node) known(text string) (*jobState, error) {
	name, signatures, err := keys.NameOf(protocol.DomainContract, []byte(text))
	if err != nil {
		return nil, err
	}
	s, ok := n.job(name)
	if !ok || s.isSealed() || signatures < len(s.contract.Parties) {
		return s, nil
	}
	c, err := protocol.ParseContract([]byte(text))
	if err != nil {
		return nil, err
	}
	if err := c.Complete(); err != nil {
		return nil, err
	}
	return s, s.seal(c)
}

// verifyContract checks that a contract's facts, openings and operations are what this node
// computes itself, and returns the record with the policy's verdict.
func (n *Node) verifyContract(c *protocol.Contract) (*statusRecord, error) {
	t, err := n.newTask(c.Job)
	if err != nil {
		return nil, err
	}
	own, err := t.facts()
	if err != nil {
		return nil, err
	}
	if got := c.Parties[c.Job.Index(n.name())]; got != own {
		return nil, fmt.Errorf("the contract of job %q misstates this party: it says %+v, right is %+v", c.Job.Name, got, own)
	}
	if err := n.fitting(c); err != nil {
		return nil, err
	}
	openings, operations, err := t.disclose(c.Parties)
	if err != nil {
		return nil, err
	}
	right, err := protocol.NewContract(c.Job, c.Parties, openings, operations)
	if err != nil {
		return nil, err
	}
	if right.Hash() != c.Hash() {
		return nil, fmt.Errorf("the contract of job %q lists other openings or operations than the job implies", c.Job.Name)
	}
	sum, err := n.dataSum(c.Job)
	if err != nil {
		return nil, err
	}
	record := &statusRecord{State: StateProposed, Data: sum}
	switch n.config.Policy.judge(c, n.name()) {
	case accept:
		record.State = StateAgreed
	case refuse:
		record.State, record.Reason = StateRefused, "the policy refuses it"
	}
	return record, nil
}

// fitting is fit for a contract that somebody else made.
func (n *Node) fitting(c *protocol.Contract) error {
	if len(c.Job.Servers) > 0 {
		return sameColumns(c.Parties)
	}
	return aligned(c.Parties)
}

// decided answers a request for consent by the job's state.
func (n *Node) decided(s *jobState) (consentResponse, error) {
	r := s.snapshot()
	switch r.State {
	case StateProposed:
		return consentResponse{}, nil
	case StateRefused:
		return consentResponse{}, fmt.Errorf("refuses job %q: %s", s.contract.Job.Name, r.Reason)
	case StateFailed:
		return consentResponse{}, fmt.Errorf("job %q failed: %s", s.contract.Job.Name, r.Reason)
	}
	return consentResponse{Signature: n.config.Key.Sign(s.contract.Domain, s.contract.Body), Session: r.Session}, nil
}

// Decide is a person's consent to a proposed job, or refusal of it.
func (n *Node) Decide(h keys.Hash, yes bool, reason string) error {
	s, ok := n.job(h)
	if !ok {
		return fmt.Errorf("this node has no job %s", h.Short())
	}
	if state := s.status(); state != StateProposed {
		return fmt.Errorf("job %q is %s, not waiting for consent", s.contract.Job.Name, state)
	}
	if yes {
		return s.set(StateAgreed, "")
	}
	return s.set(StateRefused, reason)
}

// serveStart opens a session of a contract in force.
func (n *Node) serveStart(from keys.ID, r startRequest) error {
	s, err := n.known(r.Contract)
	if err != nil {
		return err
	}
	if s == nil {
		return fmt.Errorf("has not consented to a job with this contract")
	}
	job := s.contract.Job
	if !s.isSealed() {
		return fmt.Errorf("the contract of job %q is not in force: not all parties have signed it", job.Name)
	}
	if m, ok := n.currentCharter().Member(from); !ok || m.Name != job.Proposer {
		return fmt.Errorf("job %q is started by its proposer %s, not by %s", job.Name, job.Proposer, n.memberName(from))
	}
	return n.begin(s, r.Number)
}
