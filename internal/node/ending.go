package node

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/clients"
	"github.com/hanse-project/hanse/internal/jobs/columns"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// The control methods about a job's end.
const (
	methodStanding = "job/standing" // contract -> how the job stands: its end, or its last session
	methodPart     = "job/part"     // contract -> digest of what this party keeps of the session it has finished
	methodSign     = "job/sign"     // contract, unsigned ending -> signature
	methodEnd      = "job/end"      // contract, ending in force -> the ending that stands here
)

// partDomain separates digests of model parts from all others.
const partDomain = "hanse model part v1"

// standingRequest names a job by its contract.
type standingRequest struct {
	Contract keys.Hash `cbor:"1,keyasint"`
}

// standing is how a job stands at a party.
type standing struct {
	State    string `cbor:"1,keyasint"`
	Session  uint32 `cbor:"2,keyasint"`
	Ending   []byte `cbor:"3,keyasint,omitempty"` // text of the ending in force, if there is one
	Finished uint32 `cbor:"4,keyasint,omitempty"` // the last session that ended well there
	On       bool   `cbor:"5,keyasint,omitempty"` // a session is on there
	Why      []byte `cbor:"6,keyasint,omitempty"` // the fault that keeps it from going on, if there is one
}

// partResponse commits a party to what it keeps of a session; zero while it has finished none.
type partResponse struct {
	Session uint32    `cbor:"1,keyasint"`
	Digest  keys.Hash `cbor:"2,keyasint"`
	Ending  []byte    `cbor:"3,keyasint,omitempty"`
}

// endingRequest carries an ending, or what is to be signed of one.
type endingRequest struct {
	Contract keys.Hash `cbor:"1,keyasint"`
	Ending   []byte    `cbor:"2,keyasint"`
}

// signResponse is a signature on an ending, or the one that stands already.
type signResponse struct {
	Signature []byte `cbor:"1,keyasint,omitempty"`
	Ending    []byte `cbor:"2,keyasint,omitempty"`
}

// endingResponse is the ending that stands at a party after it was told of one.
type endingResponse struct {
	Ending []byte `cbor:"1,keyasint"`
}

// partDigest commits this party to its model part, or, where the scores of a prediction opened to it, to those. The
// salt follows from the node's key: whoever sees the digest can test no guess by it.
func (n *Node) partDigest(s *jobState) (keys.Hash, error) {
	var data []byte
	var err error
	if job := s.Contract().Job; job.Task == contract.TaskPredict {
		if job.OpenTo != s.Self() || job.Requests > 0 {
			return keys.Hash{}, nil
		}
		if data, err = os.ReadFile(s.vault.Path(jobs.ScoresFile)); errors.Is(err, fs.ErrNotExist) {
			err = &vault.DamagedError{Path: s.vault.Path(jobs.ScoresFile), Why: "it was written there and is gone"}
		}
	} else if !job.OverClients() {
		var name string
		if data, name, err = s.Part(); err == nil && data == nil {
			err = &vault.DamagedError{Path: s.vault.Path(name), Why: "it is not there"}
		}
	} else if data, err = s.vault.Load(clients.ServerFile); data == nil && err == nil {
		return keys.Hash{}, nil // a client
	}
	if err != nil {
		return keys.Hash{}, err
	}
	h := s.Contract().Hash()
	salt := keys.HashOf("hanse part salt v1", n.config.Key.Sign("hanse part salt v1", h[:]))
	return keys.HashOf(partDomain, salt[:], h[:], data), nil
}

// checkPart compares what this party keeps of a finished job with what all signed when it ended. file is named where
// they differ.
func (n *Node) checkPart(s *jobState, file string) error {
	ending := s.Ending()
	if ending == nil || ending.Outcome != contract.OutcomeDone {
		return faults.Errorf(fault.CodeUnsigned, "job %q is not done at this node yet: hanse result %s --wait waits for it",
			s.Contract().Job.Name, s.Contract().Job.Name)
	}
	digest, err := n.partDigest(s)
	if err != nil {
		return err
	}
	if digest != ending.Part(s.Self()) {
		return &vault.DamagedError{Path: s.vault.Path(file), Why: "it is not the one that all parties signed for when the " +
			"job was done; put a copy of that back, or run the job anew"}
	}
	return nil
}

// conclude ends a job by this party's word, in which the outcome and why stand: nothing but done stands against it. All
// are told. cause is the full text where this node's own fault ended the job, and else empty.
func (n *Node) conclude(s *jobState, word contract.Ending, cause string) error {
	word.By, word.Reason = s.Self(), contract.PlainReason(word.Reason)
	e, err := contract.NewEnding(s.Contract(), word)
	if err != nil {
		return err
	}
	e.Sign(n.config.Key)
	if err := n.end(s, e, cause); err != nil {
		return err
	}
	n.work.Go(func() { n.sendEnding(n.ctx, s) })
	return nil
}

// abandoned is the end of a proposal that its proposer's node could not keep, and that nobody else knows of.
func abandoned() contract.Ending {
	return contract.Ending{Outcome: contract.OutcomeCancelled, Fault: &fault.Fault{Code: fault.CodeAbandoned}}
}

// adopt stores an ending, unless one stands that beats it, and ends the job here. It is final: no session starts any
// more.
func (n *Node) adopt(s *jobState, e *contract.Ending) error { return n.end(s, e, "") }

// end is adopt, with the cause of conclude.
func (n *Node) end(s *jobState, e *contract.Ending, cause string) error {
	if err := e.InForce(s.Contract()); err != nil { // before anybody hears of it
		return err
	}
	ended := job.Ended{Ending: e, Cause: cause, Adds: n.ownIDsAfter(s, e), Now: n.config.Now().UTC().Round(0)}
	if s.Ending() == nil {
		for _, text := range ended.Adds {
			n.notify(s.Contract().Hash(), jobs.Event{Kind: jobs.EventWarning, Text: text})
		}
	}
	if report, err := s.loadReport(); e.Outcome == contract.OutcomeDone && (report == nil || err != nil) {
		if ended.Report, err = s.reportText(s.missed()); err != nil {
			return err
		}
	}
	return n.apply(s, ended)
}

// missed is the report of a party that was away when the job ended, and has no part of it, or not the last.
func (s *jobState) missed() *jobs.Report {
	c := s.Contract()
	r := &jobs.Report{
		Job: c.Job.Name, Contract: c.Hash().String(), Party: s.Self(), Sessions: s.Record().Session, Rows: c.Rows(),
		Missed: "the job ended while this node was away",
	}
	if c.Job.OverClients() {
		r.Online = &jobs.Online{Rounds: clients.Predicted(s.vault)}
	}
	return r
}

// spread sends the ending that stands to the others.
func (n *Node) spread(s *jobState) {
	if !s.spreading.CompareAndSwap(false, true) {
		return
	}
	n.work.Go(func() {
		defer s.spreading.Store(false)
		n.sendEnding(n.ctx, s)
	})
}

// stopSession stops the session that is on.
func (n *Node) stopSession(s *jobState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if active := n.sessions[s.Contract().Hash()]; active != nil {
		active.cancel()
	}
}

// erase erases what a job that has ended no longer needs.
func (n *Node) erase(s *jobState) error {
	err := columns.Clean(s.vault)
	n.endWorkers(s)
	n.strike(s)
	s.counted.forget()
	return err
}

// announce tells the owner how a job ended.
func (n *Node) announce(s *jobState, e *contract.Ending) {
	c := s.Contract()
	if e.Outcome != contract.OutcomeDone {
		n.notify(c.Hash(), jobs.Event{Kind: jobs.EventError, Text: job.EndingText(c, e, s.Self())})
		return
	}
	report, err := s.loadReport()
	if report == nil || err != nil { // it was kept with the ending: the disk is failing
		report = s.missed()
	}
	n.notify(c.Hash(), jobs.Event{Kind: jobs.EventDone, Text: fmt.Sprintf("done in %.1f s", report.Seconds),
		Report: report})
}

// adoptText is adopt for an ending that came from another party.
func (n *Node) adoptText(s *jobState, text []byte) error {
	e, err := contract.ParseEnding(s.Contract(), text)
	if err != nil {
		return err
	}
	return n.adopt(s, e)
}

// sendEnding tells every other party how a job ended, those who are there. Whoever is away asks when it is back.
func (n *Node) sendEnding(ctx context.Context, s *jobState) (away []string) {
	request := endingRequest{Contract: s.Contract().Hash(), Ending: s.Ending().Text()}
	missed := make([]bool, len(s.Contract().Parties))
	n.eachOther(s.Contract(), func(i int) {
		var r endingResponse
		calling, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		err := n.call(calling, s.Contract().Members()[i], methodEnd, request, &r)
		if err == nil {
			err = n.adoptText(s, r.Ending)
		}
		var unknown *faults.Error
		if missed[i] = err != nil && !(errors.As(err, &unknown) && unknown.Code == fault.CodeUnknown); missed[i] {
			n.config.Log.Debug("a party could not be told how a job ended", "party", s.Contract().Parties[i].Name, "error", err)
		}
	})
	for i, m := range missed {
		if m {
			away = append(away, s.Contract().Parties[i].Name)
		}
	}
	return away
}

// Cancel ends a job by its owner's word, in any state before its end, here and at all parties: those who are away take
// it when they are back. A proposal of another member's is refused by it.
func (n *Node) Cancel(h keys.Hash, reason string) error {
	s, ok := n.job(h)
	if !ok {
		return fmt.Errorf("this node has no job %s", h.Short())
	}
	if e := s.Ending(); e != nil {
		return fmt.Errorf("job %q is %s already: nothing is left to cancel", s.Contract().Job.Name, e.Outcome)
	}
	if e := s.Awaited(); e != nil {
		return errors.Join(fmt.Errorf("job %q is done already at all its parties: nothing is left to cancel",
			s.Contract().Job.Name), n.adopt(s, e))
	}
	if state := s.State(); state.Final() {
		return fmt.Errorf("job %q is %s already: nothing is left to cancel", s.Contract().Job.Name, state)
	}
	if err := CheckReason(reason); err != nil {
		return err
	}
	outcome := contract.OutcomeCancelled
	if s.State() == job.Proposed && s.Contract().Job.Proposer != s.Self() {
		outcome = contract.OutcomeRefused
	}
	return n.conclude(s, contract.Ending{Outcome: outcome, Reason: reason}, "")
}

// jobOf finds the job that a party asks about. Who is no party of it learns no more than who asks for one that is not
// there.
func (n *Node) jobOf(from keys.ID, h keys.Hash) (*jobState, error) {
	s, ok := n.job(h)
	if !ok {
		return nil, faults.Errorf(fault.CodeUnknown, "has no job with contract %s", h.Short())
	}
	return s, n.concerns(s, from)
}

// endingOf returns the text of a job's ending, nil when it has none.
func endingOf(s *jobState) []byte {
	if e := s.Ending(); e != nil {
		return e.Text()
	}
	return nil
}

// serveStanding says how a job stands here.
func (n *Node) serveStanding(from keys.ID, r standingRequest) (standing, error) {
	s, err := n.jobOf(from, r.Contract)
	if err != nil {
		return standing{}, err
	}
	on := n.inSession(s) // before the record: a session that ends in between is finished, not left
	record := s.Record()
	answer := standing{State: string(record.State), Session: record.Session, Ending: endingOf(s),
		Finished: record.Finished, On: on}
	if why := s.Why(); why != nil {
		answer.Why = why.Encode()
	}
	return answer, nil
}

// servePart commits this party to what it keeps of the session that it has finished.
func (n *Node) servePart(from keys.ID, r standingRequest) (partResponse, error) {
	s, err := n.jobOf(from, r.Contract)
	if err != nil {
		return partResponse{}, err
	}
	if text := endingOf(s); text != nil {
		return partResponse{Ending: text}, nil
	}
	session, digest, err := n.storedPart(s)
	return partResponse{Session: session, Digest: digest}, err
}

// storedPart returns the last session that ended well here, and the digest of this party's part. Where the part is
// damaged before all have signed for it, none is stored: another session makes it anew.
func (n *Node) storedPart(s *jobState) (session uint32, digest keys.Hash, err error) {
	record := s.Record()
	if record.Finished == 0 || record.Consent == nil {
		return 0, digest, nil
	}
	digest, err = n.partDigest(s)
	if !faults.IsDamage(err) || s.Ending() != nil { // what all signed for stays where promote finds it
		return record.Finished, digest, err
	}
	return 0, keys.Hash{}, n.apply(s, job.Lost{Session: record.Finished, Why: err})
}

// serveSign signs that a job is done, if the session has ended well here and this party's part is as the ending says.
func (n *Node) serveSign(from keys.ID, r endingRequest) (signResponse, error) {
	s, err := n.jobOf(from, r.Contract)
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
	signature, err := n.signEnding(s, e)
	if text := endingOf(s); err != nil && text != nil { // also one of this moment: several parties settle at once
		return signResponse{Ending: text}, nil
	}
	return signResponse{Signature: signature}, err
}

// signEnding signs an ending that says that a job is done. Over columns, this party's transcript of the session has the
// countersignatures of all others then, and is sealed as done: what is done can be audited. What it has signed of a
// session is on its disk first: it signs one ending of each, and none once the job has ended.
func (n *Node) signEnding(s *jobState, e *contract.Ending) ([]byte, error) {
	var digest keys.Hash
	if s.Record().Finished == e.Session { // of another session it signs nothing
		var err error
		if digest, err = n.partDigest(s); err != nil {
			return nil, err
		}
	}
	if err := n.apply(s, job.Signs{Ending: e, Digest: digest}); err != nil {
		return nil, err
	}
	return n.config.Key.Sign(e.Domain, e.Body), nil
}

// serveEnd takes an ending from another party, and says which stands here.
func (n *Node) serveEnd(from keys.ID, r endingRequest) (endingResponse, error) {
	s, err := n.jobOf(from, r.Contract)
	if err != nil {
		return endingResponse{}, err
	}
	e, err := contract.ParseEnding(s.Contract(), r.Ending)
	if err != nil {
		return endingResponse{}, err
	}
	if e.Outcome == contract.OutcomeDone && n.inSession(s) && e.InForce(s.Contract()) == nil {
		if err := n.apply(s, job.Awaits{Ending: e}); err != nil { // for when this party's session ends
			return endingResponse{}, err
		}
		// Whoever hears that all are told may go on with what the job has made: it is here then.
		ctx, cancel := context.WithTimeout(n.ctx, leaveTime)
		defer cancel()
		select {
		case <-s.Final():
		case <-ctx.Done():
		}
		return endingResponse{Ending: r.Ending}, nil
	}
	if err := n.adopt(s, e); err != nil {
		return endingResponse{}, err
	}
	return endingResponse{Ending: endingOf(s)}, nil
}

// leaveTime bounds how long an answer waits for this party to leave its session.
const leaveTime = askTime / 2

// settle ends a job that every party has finished: each commits to its part, all sign one ending, all are told. It
// returns false without an error when a party has still to finish, so that another session is needed, and who says so
// of itself. Any party may settle, and several at once: equal endings have equal bytes.
func (n *Node) settle(ctx context.Context, s *jobState) (done bool, behind string, err error) {
	if s.Ending() != nil {
		return true, "", nil
	}
	c := s.Contract()
	session, _, err := n.storedPart(s)
	if err != nil || session == 0 {
		return false, "", err
	}
	e := contract.Ending{Outcome: contract.OutcomeDone, Session: session}
	for _, p := range c.Enders() {
		var r partResponse
		if err := n.atParty(ctx, s, p, methodPart, standingRequest{c.Hash()}, &r, func() (err error) {
			r.Session = e.Session
			r.Digest, err = n.partDigest(s)
			return err
		}); err != nil {
			return false, "", err
		}
		if r.Ending != nil {
			return true, "", n.adoptText(s, r.Ending)
		}
		if r.Session != e.Session {
			return false, p.Name, nil
		}
		e.Parts = append(e.Parts, contract.PartDigest{Party: p.Name, Digest: r.Digest})
	}
	ending, err := contract.NewEnding(c, e)
	if err != nil {
		return false, "", err
	}
	request := endingRequest{Contract: c.Hash(), Ending: ending.Text()}
	for _, p := range c.Enders() {
		var r signResponse
		if err := n.atParty(ctx, s, p, methodSign, request, &r, func() (err error) {
			r.Signature, err = n.signEnding(s, ending)
			return err
		}); err != nil {
			return false, "", err
		}
		if r.Ending != nil {
			return true, "", n.adoptText(s, r.Ending)
		}
		if err := ending.AddSignature(p.ID, r.Signature); err != nil {
			return false, "", faults.Errorf(fault.CodeDeviation, "%s: %v", p.Name, err)
		}
	}
	return true, "", n.adopt(s, ending)
}

// atParty asks a party once, or does what it would do when it is this one.
func (n *Node) atParty(ctx context.Context, s *jobState, p contract.Party, method string, request, response any,
	own func() error) error {
	if p.ID == n.config.Key.ID() {
		return own()
	}
	calling, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return n.call(calling, p, method, request, response)
}

// How often a node looks after jobs that stand still, and how long it leaves one at most between two questions.
const (
	tendEvery = time.Second
	askAgain  = 15 * time.Second
)

// tend looks after the disk, and the jobs that nobody else drives: proposals that expire, and jobs whose coordinator
// died or which ended while this node was away. It runs until ctx ends.
func (n *Node) tend(ctx context.Context, every time.Duration) {
	var looking sync.WaitGroup
	defer looking.Wait()
	slots := make(chan struct{}, atOnce)
	var disk rounds
	for wait := time.Duration(0); pause(ctx, wait) == nil; wait = every {
		disk.keep(n)
		n.tables.Tend(ctx, looking.Go)
		n.shed()
		for _, s := range n.openJobs() {
			if !s.looks.begin() {
				continue
			}
			slots <- struct{}{}
			looking.Go(func() {
				defer func() { s.looks.done(); <-slots }()
				if err := n.look(ctx, s, every); err != nil && ctx.Err() == nil {
					n.config.Log.Debug("a job stands still", "job", s.Contract().Job.Name, "error", err)
				}
			})
		}
	}
}

// looks is when a node looks after a job that stands still.
type looks struct {
	mu    sync.Mutex
	on    bool          // it is looking
	asked time.Time     // when it last asked how the job stands elsewhere
	gap   time.Duration // until it asks again
}

// begin reports whether nobody looks after the job yet; then done must follow.
func (l *looks) begin() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	was := l.on
	l.on = true
	return !was
}

func (l *looks) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.on = false
}

// due reports whether the others are to be asked: the longer a job has stood still, the more rarely.
func (l *looks) due(every time.Duration) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if time.Since(l.asked) < l.gap {
		return false
	}
	l.asked, l.gap = time.Now(), min(max(2*l.gap, every), askAgain)
	return true
}

// hurry has the node ask at its next turn, however lately it has.
func (l *looks) hurry() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.gap = 0
}

// openJobs lists the jobs that have not ended.
func (n *Node) openJobs() []*jobState {
	n.mu.Lock()
	all := slices.Collect(maps.Values(n.jobs))
	n.mu.Unlock()
	return slices.DeleteFunc(all, func(s *jobState) bool { return s.Ending() != nil })
}

// look ends a job that has expired or does not stand under the charter any more, or asks the other parties how it
// stands when no session is on.
func (n *Node) look(ctx context.Context, s *jobState, every time.Duration) error {
	record, j := s.Record(), s.Contract().Job
	if !n.isOurs(s.Contract()) {
		return n.remark(s, "it was agreed to under another key of this member's, which this node does not have: nothing "+
			"more comes of it here")
	}
	if s.abandoned.Load() && record.Consent == nil {
		return n.conclude(s, abandoned(), "")
	}
	// Its own proposal that not all have signed has an end, and another's that nobody here has consented to; where
	// somebody has, only the proposer knows whether all have.
	_, agreed := s.InForce()
	mayExpire := !record.State.Final() && !record.Damaged && !agreed &&
		(j.Proposer == s.Self() || record.Consent == nil)
	if mayExpire && n.expired(s) {
		return n.conclude(s, contract.Ending{Outcome: contract.OutcomeExpired}, "")
	}
	if ended, err := n.expireUnbegun(ctx, s); ended || err != nil {
		return err
	}
	if n.inSession(s) {
		return nil
	}
	if err := n.underCharter(s.Contract()); err != nil { // also where its proposer is no member any longer
		return n.giveUp(s, err)
	}
	if j.Proposer == s.Self() && !record.State.Final() {
		return nil
	}
	if !s.looks.due(every) {
		return nil
	}
	if record.Finished > 0 && !j.OverClients() {
		if done, _, err := n.settle(ctx, s); done || err == nil {
			return err
		}
	}
	if self := j.Index(s.Self()); j.Serves(self) && record.State == job.Paused {
		if missing := n.tooFew(s, n.whoIsThere(ctx, s, self).parties, self); missing != "" {
			if err := n.remark(s, missing); err != nil {
				return err
			}
		}
	}
	// Asks the proposer how a job stands, and, if it is away, the others, and takes the ending of any that has one.
	c := s.Contract()
	parties := n.othersOf(c)
	slices.SortStableFunc(parties, func(a, b contract.Party) int { return rank(c, a) - rank(c, b) })
	var last error
	for i, p := range parties {
		if rank(c, p) == clientsLast && (c.Job.Proposer != n.nameIn(c) || i >= clientsAsked) {
			break
		}
		var r standing
		if last = n.atParty(ctx, s, p, methodStanding, standingRequest{c.Hash()}, &r, nil); last != nil {
			if faults.WithCode(fault.CodeUnknown)(last) && p.Name == c.Job.Proposer {
				return n.remark(s, fmt.Sprintf("%s, who proposed it, has no such job any more; end it with hanse cancel %s",
					p.Name, c.Job.Name))
			}
			continue
		}
		if r.Ending != nil {
			return n.adoptText(s, r.Ending)
		}
		if r.Why != nil && s.State() == job.Paused {
			return n.remark(s, fmt.Sprintf("%s says: %s; it goes on when that is mended, or end it with hanse cancel %s",
				p.Name, fault.DecodeFault(r.Why), c.Job.Name))
		}
	}
	return last
}

// clockComparer is a transport that knows how far another member's clock is ahead of this node's.
type clockComparer interface {
	ClockDifference(member keys.ID) (ahead time.Duration, known bool)
}

// meetingTime is how long a node that has just started waits for its links before it trusts its own clock alone.
const meetingTime = time.Minute

// expired reports whether the time of a proposal is over, by this node's clock and by that of its proposer, who set the
// time: a node whose clock is wrong ends nobody's proposals while it can know.
func (n *Node) expired(s *jobState) bool {
	at, now := s.Contract().Job.Expiry(), n.config.Now()
	if at.IsZero() || !now.After(at) {
		return false
	}
	clocks, ok := n.config.Transport.(clockComparer)
	if !ok || s.Contract().Job.Proposer == s.Self() {
		return true
	}
	i := s.Contract().Job.Index(s.Contract().Job.Proposer)
	ahead, known := clocks.ClockDifference(s.Contract().Parties[i].ID)
	if !known {
		return time.Since(n.started) > meetingTime
	}
	return now.Add(ahead).After(at)
}

// clientsAsked is how many parties the proposer of a job over clients asks for an end that was damaged on its disk.
const clientsAsked = 8

// clientsLast is the rank of those who are not asked how a job stands: hundreds of clients.
const clientsLast = 2

// rank orders the parties by how well they know how a job stands.
func rank(c *contract.Contract, p contract.Party) int {
	i := c.Job.Index(p.Name)
	switch {
	case p.Name == c.Job.Proposer:
		return 0
	case c.Job.OverClients() && !c.Job.Serves(i):
		return clientsLast
	}
	return 1
}
