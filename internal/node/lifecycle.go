package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol"
)

// begin ends an older session of the job, if one is still on, and starts a new one: a closing one, where closes is the
// session whose parts all keep.
func (n *Node) begin(s *jobState, number, closes uint32) error {
	c := s.contract
	if stored := s.snapshot().Stored; closes > 0 && (closes != stored || len(c.Job.Servers) > 0) {
		return faultf(codeUnsigned, "job %q is to close on the parts of session %d, this party keeps that of session %d",
			c.Job.Name, closes, stored)
	}
	if err := s.openSession(number, n.config.Now()); err != nil {
		return err
	}
	n.replaceSession(s, func(ctx context.Context) {
		if s.ended() != nil { // in the moment between
			return
		}
		n.tell(c.Hash(), Event{Kind: EventState, Text: fmt.Sprintf("session %d starts", number)})
		n.follow(ctx, s, number, closes)
	})
	return nil
}

// openSession records that a session is opened, which happens once for each number, before anything is sent in it.
func (s *jobState) openSession(number uint32, now time.Time) error {
	name := s.contract.Job.Name
	return s.tryUpdate(func(r *statusRecord) error {
		switch {
		case r.State.Final():
			return faultf(codeEnded, "job %q is %s", name, r.State)
		case r.Consent == nil || r.State == StateProposed:
			return faultf(codeUnsigned, "nobody has consented to job %q here", name)
		case !r.Consent.plausible(number, now):
			return faultf(codeDeviation, "job %q: session %d is asked for, the last one was %d", name, number, r.Session)
		case number <= r.Session:
			return faultf(codeLink, "job %q: session %d was opened before, a session is opened once", name, r.Session)
		}
		r.State, r.Reason, r.Session = StateRunning, "", number
		s.why = nil
		return nil
	})
}

// replaceSession ends the job's running session, waits for it and starts another.
func (n *Node) replaceSession(s *jobState, body func(ctx context.Context)) {
	ctx, active, old := n.enterSession(n.ctx, s)
	n.work.Go(func() {
		defer n.leaveSession(s, active)
		if old != nil {
			n.endSession(ctx, s, old)
		}
		body(ctx)
	})
}

// endSession ends an older session. One over clients is given time to end in good order, so that no row is lost to it:
// a server pauses, and its clients hear of it from the server.
func (n *Node) endSession(ctx context.Context, s *jobState, old *activeSession) {
	defer func() {
		old.cancel()
		<-old.done
	}()
	if len(s.contract.Job.Servers) == 0 {
		return
	}
	n.mu.Lock()
	pausing := old.pause
	n.mu.Unlock()
	if pausing != nil {
		pausing()
	}
	patience := time.NewTimer(pauseTime)
	defer patience.Stop()
	select {
	case <-old.done:
	case <-patience.C:
	case <-ctx.Done():
	}
}

// pausable notes how the job's session, a server's, is ended in good order.
func (n *Node) pausable(s *jobState, pausing func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if active := n.sessions[s.contract.Hash()]; active != nil {
		active.pause = pausing
	}
}

// enterSession notes that a session is on, in place of an older one. leaveSession must follow.
func (n *Node) enterSession(parent context.Context, s *jobState) (ctx context.Context, active, old *activeSession) {
	h := s.contract.Hash()
	n.mu.Lock()
	defer n.mu.Unlock()
	old = n.sessions[h]
	ctx, cancel := context.WithCancel(parent)
	active = &activeSession{cancel: cancel, done: make(chan struct{})}
	n.sessions[h] = active
	return ctx, active, old
}

// leaveSession notes that a session has ended.
func (n *Node) leaveSession(s *jobState, active *activeSession) {
	h := s.contract.Hash()
	n.mu.Lock()
	defer n.mu.Unlock()
	active.cancel()
	close(active.done)
	if n.sessions[h] == active {
		delete(n.sessions, h)
	}
}

// inSession reports whether a session of the job is on here.
func (n *Node) inSession(s *jobState) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sessions[s.contract.Hash()] != nil
}

// cancelSession ends the job's session, if one is on.
func (n *Node) cancelSession(s *jobState) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if active := n.sessions[s.contract.Hash()]; active != nil {
		active.cancel()
	}
}

// follow runs a session at a party that does not coordinate the job. What comes after a part that is stored, the
// signatures under the job's end, the coordinator asks for; if it dies before, this node does (see look).
func (n *Node) follow(ctx context.Context, s *jobState, number, closes uint32) {
	report, err := n.session(ctx, s, number, closes)
	ending := s.awaited()
	switch {
	case ending != nil && (report != nil || len(s.contract.Job.Servers) > 0): // told when the link was gone
		err = n.adopt(s, ending)
	case s.ended() != nil || s.snapshot().Session != number: // another session has taken its place
		return
	case err == nil:
		err = s.show(StateRunning, "this party's part is stored; the end that all sign is awaited")
	case permanent(err):
		err = n.giveUp(s, err)
	default:
		n.paused(s, err)
		return
	}
	if err != nil {
		n.config.Log.Error("a session's end could not be stored", "job", s.contract.Job.Name, "error", err)
	}
}

// session runs one session. A report says that this party's part of the job is stored and, of a job over columns, that
// all have countersigned the session, and its transcript is sealed; over clients, whatever became of its last words.
func (n *Node) session(ctx context.Context, s *jobState, number, closes uint32) (*Report, error) {
	report, err := n.execute(ctx, s, number, closes)
	if report == nil || err != nil && permanent(err) {
		return nil, err
	}
	if err == nil || s.isOver() && len(s.contract.Job.Servers) > 0 { // of clients the end was told by a call when the link was gone
		err = s.sessionFinished(number, report)
	}
	return report, err
}

// partStored records that this party has stored its part of the job in a session, with its report. It does not sign yet
// that it is done.
func (s *jobState) partStored(number uint32, report *Report) error {
	if err := s.saveReport(report); err != nil {
		return err
	}
	return s.update(func(r *statusRecord) { r.Stored = number })
}

// sessionFinished records that a session has ended well here: from now on this party signs that it is done.
func (s *jobState) sessionFinished(number uint32, report *Report) error {
	if err := s.saveReport(report); err != nil {
		return err
	}
	return s.update(func(r *statusRecord) { r.Finished = number })
}

// keepPart makes the part of an earlier session that of a closing one, and returns its report. Where either is damaged
// nothing is stored: another session makes them anew.
func (s *jobState) keepPart(from, to uint32) (*Report, error) {
	report, err := s.loadReport()
	if err == nil && report == nil {
		err = &vault.DamagedError{Path: s.vault.Path(reportFile), Why: "it is not there"}
	}
	if err == nil && s.contract.Job.Task != protocol.TaskPredict {
		err = s.copyModel(from, to)
	}
	if err != nil {
		return nil, errors.Join(err, s.update(func(r *statusRecord) { r.Stored = 0 }))
	}
	report.Sessions = to
	return report, nil
}

// awaited returns the ending that waited for the session's end.
func (s *jobState) awaited() *protocol.Ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending
}

// paused shows why a session ended, when another may do better.
func (n *Node) paused(s *jobState, err error) {
	text := err.Error()
	if isDamage(err) && !strings.Contains(text, "hanse cancel") {
		text += fmt.Sprintf("; put a copy of it back and the job goes on, or end the job with hanse cancel %s", s.contract.Job.Name)
	}
	n.ail(s, err)
	if e := s.show(StatePaused, text); e != nil {
		n.config.Log.Error("a job's state could not be stored; it is shown all the same", "job", s.contract.Job.Name, "error", e)
	}
	n.tell(s.contract.Hash(), Event{Kind: EventState, Text: fmt.Sprintf("%s: %s", StatePaused, text)})
}

// giveUp ends a job that cannot come right, at all its parties, and returns why.
func (n *Node) giveUp(s *jobState, reason error) error {
	if ended := s.endedError(); ended != nil {
		return ended
	}
	n.config.Log.Error("a job failed", "job", s.contract.Job.Name, "error", reason)
	told := n.toldOnce(s, reason)
	s.mu.Lock()
	s.cause = reason.Error()
	s.mu.Unlock()
	return errors.Join(reason, n.conclude(s, protocol.Ending{Outcome: protocol.OutcomeFailed, Fault: told}))
}

// How long a party with a fault of its own does not come to another session: a while, and longer each time.
const (
	ailLeast = 2 * time.Second
	ailMost  = 30 * time.Second
)

// ail notes why a session ended: what the others are told who ask how the job stands, nothing where it is nobody's
// fault; and, of a fault of this node's own, for how long it comes to no other session.
func (n *Node) ail(s *jobState, err error) {
	var f *faultError
	own := isOwn(err)
	var told *protocol.Fault
	if own || errors.As(err, &f) && f.remote {
		told = n.toldOnce(s, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why, s.ailment = told, nil
	if own {
		s.ailFor = min(max(2*s.ailFor, ailLeast), ailMost)
		s.ailment, s.ailed = &faultError{code: told.Code, err: err, said: told}, time.Now()
	}
}

// toldOnce makes of an error of a job what all its parties are told of it. The same one, which every session meets until
// it is mended, keeps its reference.
func (n *Node) toldOnce(s *jobState, err error) *protocol.Fault {
	text := err.Error()
	s.mu.Lock()
	told := s.told[text]
	s.mu.Unlock()
	if told != nil {
		return told
	}
	told = n.inWords(err, "every party", "job "+s.contract.Job.Name)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.told == nil || len(s.told) >= maxTold {
		s.told = make(map[string]*protocol.Fault)
	}
	s.told[text] = told
	return told
}

// maxTold is how many of a job's faults are remembered with what was told of them.
const maxTold = 8

// whyPaused returns what the others are told of why the job stands still, nil where it is nobody's fault.
func (s *jobState) whyPaused() *protocol.Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.why
}

// ailing returns a fault of this node's own that is too young for another session to try.
func (s *jobState) ailing() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ailment == nil || time.Since(s.ailed) > s.ailFor {
		return nil
	}
	return s.ailment
}
