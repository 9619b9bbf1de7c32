package job

import (
	"fmt"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// Approved is approvals of a proposed job that are not enough yet: all of them.
type Approved struct{ Approvals []string }

func (e Approved) decide(s *standing) (move, error) {
	if err := s.proposed(); err != nil {
		return move{}, err
	}
	s.record.Pending = &Pending{e.Approvals}
	return move{}, nil
}

// proposed refuses a consent to a job that does not wait for one.
func (s *standing) proposed() error {
	if s.record.State != Proposed || s.ending != nil {
		return fmt.Errorf("job %q is %s, not waiting for consent", s.contract.Job.Name, s.record.State)
	}
	return nil
}

// Consented is somebody's consent to a proposed job; Data is the SHA-256 of the table that it is for.
type Consented struct {
	By   *Consent
	Data keys.Hash
}

func (e Consented) decide(s *standing) (move, error) {
	if err := s.proposed(); err != nil {
		return move{}, err
	}
	r := &s.record
	r.Renewed = r.Renewed || r.Damaged
	r.State, r.Reason, r.Damaged, r.Data, r.Consent, r.Pending = Agreed, "", false, e.Data, e.By, nil
	return move{}, nil
}

// Countersigned is the contract with the signatures of all parties.
type Countersigned struct{ Contract contract.InForce }

func (e Countersigned) decide(s *standing) (move, error) {
	if !s.brief { // else it has ended, and stays on the disk
		s.inForce = e.Contract
	}
	text := e.Contract.Contract().Text()
	return move{first: []write{save(ContractFile, text), save(ContractCopy, text)}}, nil
}

// Opened is a session, before anything is sent in it: each number once. Closes is 0 but of a closing session, where it
// is the session whose parts all keep.
type Opened struct {
	Number, Closes uint32
	Now            time.Time
}

func (e Opened) decide(s *standing) (move, error) {
	name, r := s.contract.Job.Name, &s.record
	switch {
	case s.ending != nil || r.State.Final():
		return move{}, faults.Errorf(fault.CodeEnded, "job %q is %s", name, r.State)
	case e.Closes > 0 && (e.Closes != r.Stored || s.contract.Job.OverClients()):
		return move{}, faults.Errorf(fault.CodeUnsigned, "job %q is to close on the parts of session %d, this party keeps "+
			"that of session %d", name, e.Closes, r.Stored)
	case r.Consent == nil || r.State == Proposed:
		return move{}, faults.Errorf(fault.CodeUnsigned, "nobody has consented to job %q here", name)
	case !r.Consent.plausible(e.Number, e.Now):
		return move{}, faults.Errorf(fault.CodeDeviation, "job %q: session %d is asked for, the last one was %d", name,
			e.Number, r.Session)
	case e.Number <= r.Session:
		return move{}, faults.Errorf(fault.CodeLink, "job %q: session %d was opened before, a session is opened once", name,
			r.Session)
	}
	r.State, r.Reason, r.Session = Running, "", e.Number
	s.trouble.why = nil
	return move{}, nil
}

// Stored is this party's part of a session over columns, which it keeps from now on, and its report. Part is nil where
// the party keeps a file of its own in place of one.
type Stored struct {
	Session      uint32
	Part, Report []byte
}

func (e Stored) decide(s *standing) (move, error) {
	if err := s.opened(e.Session); err != nil {
		return move{}, err
	}
	s.record.Stored = e.Session
	m := move{}
	if e.Part != nil {
		m.first = append(m.first, save(Draft(e.Session), e.Part))
	}
	m.first = append(m.first, save(ReportFile, e.Report))
	return m, nil
}

// opened refuses what comes of a session that was not opened here.
func (s *standing) opened(session uint32) error {
	if session == 0 || session > s.record.Session {
		return fmt.Errorf("job %q: nothing comes of session %d, the last one is %d", s.contract.Job.Name, session,
			s.record.Session)
	}
	return nil
}

// Kept is that a closing session keeps the part of an earlier one.
type Kept struct{ From, To uint32 }

func (e Kept) decide(s *standing) (move, error) {
	if err := s.opened(e.To); err != nil || s.contract.Job.Task == contract.TaskPredict {
		return move{}, err
	}
	return move{first: []write{s.copyOf(Draft(e.From), Draft(e.To))}}, nil
}

// Lost is that what a session kept is damaged, and was set aside: another session makes it anew. Session is 0 where the
// part is not.
type Lost struct{ Session uint32 }

func (e Lost) decide(s *standing) (move, error) {
	if e.Session == s.record.Finished {
		s.record.Finished = 0
	}
	// What a prediction opened is one file for all sessions: no closing one can keep it where it is lost.
	if e.Session == 0 || e.Session == s.record.Stored || s.contract.Job.Task == contract.TaskPredict {
		s.record.Stored = 0
	}
	return move{}, nil
}

// Finished is the good end of a session at this party: from now on it signs that the job is done.
type Finished struct {
	Session uint32
	Report  []byte
}

func (e Finished) decide(s *standing) (move, error) {
	if err := s.opened(e.Session); err != nil {
		return move{}, err
	}
	s.record.Finished, s.record.Deaths = e.Session, Deaths{}
	return move{first: []write{save(ReportFile, e.Report)}}, nil
}

// Recorded is how long the transcript is when a session has ended, in bytes. It only grows.
type Recorded struct{ Bytes int64 }

func (e Recorded) decide(s *standing) (move, error) {
	s.record.Recorded = e.Bytes
	return move{}, nil
}

// Known is of how many rows the receiver of a sealed prediction had the scores.
type Known struct{ Rows int64 }

func (e Known) decide(s *standing) (move, error) {
	s.record.Known = e.Rows
	return move{}, nil
}

// Shown moves a job that has not ended to a state that commits to nothing: a node that cannot write it shows it all the
// same, and after a restart stands in the state before.
type Shown struct {
	State  State
	Reason string
}

func (e Shown) decide(s *standing) (move, error) {
	if !s.record.State.Final() {
		s.record.State, s.record.Reason = e.State, e.Reason
	}
	return move{late: true}, nil
}

// Remarked is what is said of a job that stands still.
type Remarked struct{ Reason string }

func (e Remarked) decide(s *standing) (move, error) {
	if s.record.State != Running && !s.record.State.Final() {
		s.record.Reason = e.Reason
	}
	return move{}, nil
}

// How long a party with a fault of its own does not come to another session: a while, and longer each time.
const (
	ailLeast = 2 * time.Second
	ailMost  = 30 * time.Second
)

// Broken is why a session ended, or could not begin.
type Broken struct {
	Why *fault.Fault // as all may know it; nil: it is nobody's fault
	Own error        // a fault of this node's own; nil: it is none
	Now time.Time
}

func (e Broken) decide(s *standing) (move, error) {
	t := &s.trouble
	t.why, t.own = e.Why, e.Own
	if e.Own != nil {
		t.since, t.lasts = e.Now, min(max(2*t.lasts, ailLeast), ailMost)
	}
	return move{}, nil
}

// Died is that the node was ended in the middle of a session. Mark is of the checkpoints that it left.
type Died struct{ Mark keys.Hash }

func (e Died) decide(s *standing) (move, error) {
	r := &s.record
	if !s.inSession() {
		return move{}, nil
	}
	if e.Mark != r.Deaths.Mark {
		r.Deaths.InARow = 0
	}
	r.Deaths.InARow, r.Deaths.InAll, r.Deaths.Last, r.Deaths.Mark = r.Deaths.InARow+1, r.Deaths.InAll+1, r.Session, e.Mark
	if r.Deaths.Hold() {
		r.State, r.Reason = Paused, s.heldReason()
	}
	return move{}, nil
}

// inSession reports whether a record on the disk says that a session is on, which ends of every other kind than a
// node's death do not leave, and that none has been counted for it. A part that is stored is past what takes memory.
func (s *standing) inSession() bool {
	r := &s.record
	return r.State == Running && s.ending == nil && r.Session > 0 && r.Session != r.Stored && r.Session != r.Finished &&
		r.Session != r.Deaths.Last
}

// Resumed is the word of the owner that a job goes on which this node holds back: since it died in the job's sessions
// or, with Short, since the job takes more memory than the node has.
type Resumed struct{ Short bool }

func (e Resumed) decide(s *standing) (move, error) {
	name, r := s.contract.Job.Name, &s.record
	switch {
	case s.ending != nil:
		return move{}, fmt.Errorf("job %q is %s already: nothing is left to resume", name, s.ending.Outcome)
	case r.State == Proposed:
		return move{}, fmt.Errorf("job %q is %s: hanse approve %[1]s consents to it", name, Proposed)
	case !r.Deaths.Hold() && !e.Short:
		return move{}, fmt.Errorf("this node does not hold job %q back: it goes on by itself; hanse status %[1]s says what "+
			"it waits for", name)
	}
	r.Deaths, r.Anyway = Deaths{Last: r.Deaths.Last}, r.Anyway || e.Short
	if r.State == Paused || r.State == Agreed {
		r.Reason = ""
	}
	s.trouble = trouble{}
	return move{}, nil
}

// Signs is this party's signature under an ending that says that the job is done. What it signs of a session is on its
// disk first: it signs one ending of each, and none once the job has ended. Digest is of what it keeps of session Of,
// the last that had ended well when it looked.
type Signs struct {
	Ending *contract.Ending
	Of     uint32
	Digest keys.Hash
}

func (e Signs) decide(s *standing) (move, error) {
	r := &s.record
	switch {
	case e.Ending.Outcome != contract.OutcomeDone:
		return move{}, faults.Errorf(fault.CodeRequest, "an ending that is %s is signed by whoever ends the job",
			e.Ending.Outcome)
	case s.ending != nil || r.State.Final():
		return move{}, faults.Errorf(fault.CodeEnded, "job %q is %s", s.contract.Job.Name, r.State)
	case r.Consent == nil || r.Finished == 0 || r.Finished != e.Ending.Session || r.Finished != e.Of:
		return move{}, faults.Errorf(fault.CodeUnsigned, "the end is of session %d, the last that ended well here is %d",
			e.Ending.Session, r.Finished)
	case e.Ending.Part(s.config.Self) != e.Digest:
		return move{}, faults.Errorf(fault.CodeUnsigned, "the end names another part of this party's than the one it keeps")
	case r.SignedSession == e.Ending.Session && r.Signed != e.Ending.Hash():
		return move{}, faults.Errorf(fault.CodeUnsigned, "this party has signed another end of session %d", e.Ending.Session)
	}
	r.SignedSession, r.Signed = e.Ending.Session, e.Ending.Hash()
	return move{}, nil
}

// Awaits is an ending of a job that is done at all others while a session is still on here.
type Awaits struct{ Ending *contract.Ending }

func (e Awaits) decide(s *standing) (move, error) {
	if s.ending == nil {
		s.awaited = e.Ending
	}
	return move{}, nil
}

// Ended is an ending in force. Nothing becomes of one that the ending which stands beats.
type Ended struct {
	Ending *contract.Ending
	Report []byte   // to be kept, where there is none; nil: there is one
	Cause  string   // the full text of this node's own fault that ended the job
	Adds   []string // what this node's owner reads besides of why
	Now    time.Time
}

func (e Ended) decide(s *standing) (move, error) {
	if err := e.Ending.InForce(s.contract); err != nil {
		return move{}, err
	}
	before, done := s.ending, e.Ending.Outcome == contract.OutcomeDone
	if before != nil {
		// No party makes others store one end after another: what differs only in what the same party says of why, or, in a
		// job over clients, in the session that its proposer alone names. And the proposer of a job over clients, who alone
		// signs that it is done, says nothing of one that this party's owner ended before it had a session here.
		over := s.contract.Job.OverClients()
		alike := before.Outcome == e.Ending.Outcome && (done && over || !done && before.By == e.Ending.By)
		r := &s.record
		neverBegan := done && over && before.By == s.config.Self && r.Session == 0 && !r.Damaged && !r.Renewed
		if !e.Ending.Beats(before) || alike || neverBegan {
			return move{}, nil
		}
	}
	s.ending = e.Ending
	s.record.State, s.record.Ended = State(e.Ending.Outcome), e.Now
	s.record.Reason = withAdded(Reason(s.contract, e.Ending, s.config.Self, e.Cause), e.Adds)
	m := move{late: true, later: []write{promote(*s)}} // the ending is on the disk, and is read before the record
	if e.Report != nil {
		m.first = append(m.first, save(ReportFile, e.Report))
	}
	m.first = append(m.first, save(EndingFile, e.Ending.Text()))
	if before != nil {
		m.effects = append(m.effects, Effect{Do: Spread})
	}
	if !done {
		m.effects = append(m.effects, Effect{Do: Stop})
	}
	m.effects = append(m.effects, Effect{Do: Tidy})
	if done || before == nil || before.Outcome != e.Ending.Outcome { // else another party says the same
		m.effects = append(m.effects, Effect{Do: Announce, Ending: e.Ending})
	}
	if !done {
		m.effects = append(m.effects, Effect{Do: Forget})
	}
	return m, nil
}

// Removed is the word of the owner that what the job left goes. A crash in between is made good when the node starts.
type Removed struct{ Now time.Time }

func (e Removed) decide(s *standing) (move, error) {
	if err := s.removable(); err != nil {
		return move{}, err
	}
	s.record.Removed = e.Now
	return move{effects: []Effect{{Do: Clear}}}, nil
}

// Shed is that nothing works any more on a job that has ended: what is large of it goes from memory, and stays on the
// disk.
type Shed struct{}

func (Shed) decide(s *standing) (move, error) {
	if s.ending == nil || s.brief {
		return move{}, nil
	}
	c, err := s.contract.Brief()
	if err != nil {
		return move{}, err
	}
	s.contract, s.brief, s.inForce = c, true, contract.InForce{}
	return move{}, nil
}
