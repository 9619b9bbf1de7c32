package node

import (
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/hanse-project/hanse/internal/control"
	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// answers answers the other members.
type answers struct {
	config     *Config
	life       *life
	disk       *folder
	rates      *rates
	shards     *shards.Service
	member     *member
	algorithms *algorithms
	roster     *roster
	sessions   *sessions
	keeper     *keeper
	consents   *consents
	runner     *runner
	answering  sync.RWMutex // held for reading by whoever answers a call
}

// MaxJob is the longest job text that is read, in bytes.
const MaxJob = 1 << 20

// handle answers the other members.
func (n *answers) handle(ctx context.Context, from keys.ID, method string, request []byte) ([]byte, *fault.Fault) {
	if n.config.Extra != nil && !strings.HasPrefix(method, "job/") {
		return n.config.Extra(ctx, from, method, request)
	}
	if !n.answering.TryRLock() {
		return nil, &fault.Fault{Code: fault.CodeBusy}
	}
	defer n.answering.RUnlock()
	var response []byte
	leave, err := n.rates.admit(n.member.countsFor(from), callCost(method, len(request)))
	if err == nil {
		defer leave()
		err = n.life.ctx.Err()
	}
	if err == nil {
		response, err = n.serve(from, method, request)
	}
	if errors.Is(err, control.ErrMalformed) {
		err = faults.Errorf(fault.CodeRequest, "%s: %w", method, err)
	}
	if err != nil {
		return nil, n.member.inWords(err, n.member.memberName(from), method)
	}
	return response, nil
}

// serve answers a call about a job.
func (n *answers) serve(from keys.ID, method string, request []byte) ([]byte, error) {
	switch method {
	case methodDescribe:
		return control.Answer(request, func(r describeRequest) (description, error) {
			return working(n.rates, n.member.countsFor(from), func() (description, error) { return n.serveDescribe(from, r) })
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

// serveDescribe says what this node brings to a job.
func (n *answers) serveDescribe(from keys.ID, r describeRequest) (d description, err error) {
	if len(r.Job) > MaxJob {
		return d, faults.Errorf(fault.CodeRequest, "job text of %d bytes, at most %d are read", len(r.Job), MaxJob)
	}
	job, err := contract.ParseJob([]byte(r.Job))
	if err != nil {
		return d, faults.OrElse(fault.CodeJob, err)
	}
	if err := n.consents.mayPropose(from, job); err != nil {
		return d, err
	}
	if err := n.disk.free(); err != nil {
		return d, err
	}
	if err := n.consents.offered(from, job); err != nil {
		return d, err
	}
	if err := n.consents.inputsFor(from, job); err != nil {
		return d, err
	}
	n.algorithms.noteQuestion(from, job)
	kind, err := n.algorithms.kindOf(job)
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
	if _, err = kind.TakeIn(job, n.member.name(), d.Settled); err == nil {
		t, err = kind.Task(job)
	}
	if err != nil { // the proposer's own node refuses what has come of the job, and can say why
		d.Facts = contract.Facts{Name: n.member.name(), ID: n.config.Key.ID()}
		return d, nil
	}
	d.Facts, err = t.Facts()
	return d, tableFault(err)
}

// serveConsent signs a contract that is what it claims to be, if the policy or a person says so.
func (n *answers) serveConsent(from keys.ID, r consentRequest) (consentResponse, error) {
	s, err := n.consents.known(from, r.Contract)
	if s == nil && err == nil {
		s, err = working(n.rates, n.member.countsFor(from), func() (*jobState, error) {
			return n.consents.considered(from, r)
		})
	}
	if err == nil {
		err = n.roster.concerns(s, from)
	}
	if err != nil {
		return consentResponse{}, err
	}
	if s.Record().Damaged { // the contract is verified anew
		return working(n.rates, n.member.countsFor(from), func() (consentResponse, error) { return n.consents.decided(s) })
	}
	return n.consents.decided(s)
}

// serveStart opens a session of a contract in force.
func (n *answers) serveStart(from keys.ID, r startRequest) (startResponse, error) {
	s, err := n.consents.known(from, r.Contract)
	if err != nil {
		return startResponse{}, err
	}
	if s == nil {
		return startResponse{}, faults.Errorf(fault.CodeUnsigned, "has not consented to a job with this contract")
	}
	job := s.Contract().Job
	if err := n.roster.concerns(s, from); err != nil {
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
	if m, ok := n.member.currentCharter().Member(from); !ok || m.Name != job.Proposer {
		return startResponse{}, faults.Errorf(fault.CodeRequest, "job %q is started by its proposer %s, not by %s",
			job.Name, job.Proposer, n.member.memberName(from))
	}
	if err := n.algorithms.underCharter(s.Contract()); err != nil {
		return startResponse{}, err
	}
	return startResponse{}, n.runner.begin(s, f, r.Number, r.Closes)
}

// serveStanding says how a job stands here.
func (n *answers) serveStanding(from keys.ID, r standingRequest) (standing, error) {
	s, err := n.roster.jobOf(from, r.Contract)
	if err != nil {
		return standing{}, err
	}
	on := n.sessions.inSession(s) // before the record: a session that ends in between is finished, not left
	record := s.Record()
	answer := standing{State: string(record.State), Session: record.Session, Ending: endingOf(s),
		Finished: record.Finished, On: on}
	if why := s.Why(); why != nil {
		answer.Why = why.Encode()
	}
	return answer, nil
}

// servePart commits this party to what it keeps of the session that it has finished.
func (n *answers) servePart(from keys.ID, r standingRequest) (partResponse, error) {
	s, err := n.roster.jobOf(from, r.Contract)
	if err != nil {
		return partResponse{}, err
	}
	if text := endingOf(s); text != nil {
		return partResponse{Ending: text}, nil
	}
	session, digest, err := n.keeper.storedPart(s)
	return partResponse{Session: session, Digest: digest}, err
}

// serveSign signs that a job is done, if the session has ended well here and this party's part is as the ending says.
func (n *answers) serveSign(from keys.ID, r endingRequest) (signResponse, error) {
	s, err := n.roster.jobOf(from, r.Contract)
	if err != nil {
		return signResponse{}, err
	}
	if s.Contract().Job.OverClients() {
		return signResponse{}, faults.Errorf(fault.CodeRequest, "that job %q is done is signed by its proposer alone, "+
			"unasked", s.Contract().Job.Name)
	}
	e, err := contract.ParseEnding(s.Contract(), r.Ending)
	if err != nil {
		return signResponse{}, err
	}
	signature, err := n.keeper.signEnding(s, e)
	if text := endingOf(s); err != nil && text != nil { // also one of this moment: several parties settle at once
		return signResponse{Ending: text}, nil
	}
	return signResponse{Signature: signature}, err
}

// serveEnd takes an ending from another party, and says which stands here.
func (n *answers) serveEnd(from keys.ID, r endingRequest) (endingResponse, error) {
	s, err := n.roster.jobOf(from, r.Contract)
	if err != nil {
		return endingResponse{}, err
	}
	e, err := contract.ParseEnding(s.Contract(), r.Ending)
	if err != nil {
		return endingResponse{}, err
	}
	if e.Outcome == contract.OutcomeDone && n.sessions.inSession(s) && e.InForce(s.Contract()) == nil {
		if err := n.keeper.apply(s, job.Awaits{Ending: e}); err != nil { // for when this party's session ends
			return endingResponse{}, err
		}
		// Whoever hears that all are told may go on with what the job has made: it is here then.
		ctx, cancel := context.WithTimeout(n.life.ctx, leaveTime)
		defer cancel()
		select {
		case <-s.Final(): // by this end, or by one that it beats
		case <-ctx.Done():
			return endingResponse{Ending: r.Ending}, nil
		}
	}
	if err := n.keeper.adopt(s, e); err != nil {
		return endingResponse{}, err
	}
	return endingResponse{Ending: endingOf(s)}, nil
}

// leaveTime bounds how long an answer waits for this party to leave its session.
const leaveTime = askTime / 2

// serveShards answers the proposer's node about the shards of a job whose session is under way.
func (n *answers) serveShards(from keys.ID, r shardsRequest) (a shards.Response, err error) {
	s, ok := n.roster.job(r.Contract)
	if !ok {
		return a, faults.Errorf(fault.CodeUnknown, "has no job with contract %s", r.Contract.Short())
	}
	if err := n.roster.concerns(s, from); err != nil {
		return a, err
	}
	if m, ok := n.member.currentCharter().Member(from); !ok || m.Name != s.Contract().Job.Proposer {
		return a, faults.Errorf(fault.CodeRequest, "the shards of job %q are begun by its proposer %s, not by %s",
			s.Contract().Job.Name, s.Contract().Job.Proposer, n.member.memberName(from))
	}
	if at := s.Record().Session; !n.sessions.inSession(s) || at != r.Session {
		return a, faults.Errorf(fault.CodeBusy, "session %d of job %q is not under way here; the last was %d", r.Session,
			s.Contract().Job.Name, at)
	}
	a, err = n.shards.Answer(r.Contract, r.Request)
	return a, faults.OrElse(fault.CodeBusy, err)
}
