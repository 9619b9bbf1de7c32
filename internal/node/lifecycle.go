package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// begin ends an older session of the job, if one is still on, and starts a new one: a closing one, where closes is the
// session whose parts all keep.
func (n *Node) begin(s *jobState, f contract.InForce, number, closes uint32) error {
	c := s.contract
	if stored := s.snapshot().Stored; closes > 0 && (closes != stored || c.Job.OverClients()) {
		return faults.Errorf(fault.CodeUnsigned, "job %q is to close on the parts of session %d, this party keeps that of "+
			"session %d",
			c.Job.Name, closes, stored)
	}
	if err := n.mayStartFor(s); err != nil {
		return err
	}
	if err := s.openSession(number, n.config.Now()); err != nil {
		return err
	}
	ctx, active, old := n.enterSession(n.ctx, s)
	n.work.Go(func() {
		defer n.leaveSession(s, active)
		if old != nil {
			n.endSession(ctx, s, old)
		}
		if s.ended() != nil { // in the moment between
			return
		}
		n.notify(c.Hash(), jobs.Event{Kind: jobs.EventState, Text: fmt.Sprintf("session %d starts", number)})
		n.follow(ctx, s, f, number, closes)
	})
	return nil
}

// openSession records that a session is opened, which happens once for each number, before anything is sent in it.
func (s *jobState) openSession(number uint32, now time.Time) error {
	name := s.contract.Job.Name
	return s.tryUpdate(func(r *statusRecord) error {
		switch {
		case r.State.Final():
			return faults.Errorf(fault.CodeEnded, "job %q is %s", name, r.State)
		case r.Consent == nil || r.State == StateProposed:
			return faults.Errorf(fault.CodeUnsigned, "nobody has consented to job %q here", name)
		case !r.Consent.plausible(number, now):
			return faults.Errorf(fault.CodeDeviation, "job %q: session %d is asked for, the last one was %d", name, number,
				r.Session)
		case number <= r.Session:
			return faults.Errorf(fault.CodeLink, "job %q: session %d was opened before, a session is opened once", name,
				r.Session)
		}
		r.State, r.Reason, r.Session = StateRunning, "", number
		s.why = nil
		return nil
	})
}

// endSession ends an older session. One over clients is given time to end in good order, so that no row is lost to it:
// a server pauses, and its clients hear of it from the server.
func (n *Node) endSession(ctx context.Context, s *jobState, old *activeSession) {
	defer func() {
		old.cancel()
		<-old.done
	}()
	if !s.contract.Job.OverClients() {
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

// enterSession notes that a session is on, in place of an older one. leaveSession must follow.
func (n *Node) enterSession(parent context.Context, s *jobState) (ctx context.Context, active, old *activeSession) {
	h, takes := s.contract.Hash(), n.memoryOf(s.contract).Takes
	n.mu.Lock()
	defer n.mu.Unlock()
	old = n.sessions[h]
	ctx, cancel := context.WithCancel(parent)
	active = &activeSession{cancel: cancel, done: make(chan struct{}), memory: takes}
	n.sessions[h] = active
	return ctx, active, old
}

// leaveSession notes that a session has ended.
func (n *Node) leaveSession(s *jobState, active *activeSession) {
	h := s.contract.Hash()
	n.mu.Lock()
	active.cancel()
	close(active.done)
	if n.sessions[h] == active {
		delete(n.sessions, h)
	}
	n.mu.Unlock()
	n.removeParts(s)
}

// inSession reports whether a session of the job is on here.
func (n *Node) inSession(s *jobState) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.sessions[s.contract.Hash()] != nil
}

// follow runs a session at a party that does not coordinate the job. What comes after a part that is stored, the
// signatures under the job's end, the coordinator asks for; if it dies before, this node does (see look).
func (n *Node) follow(ctx context.Context, s *jobState, f contract.InForce, number, closes uint32) {
	report, err := n.session(ctx, s, f, number, closes)
	ending := s.awaited()
	switch {
	case ending != nil && (report != nil || s.contract.Job.OverClients()): // told when the link was gone
		err = n.adopt(s, ending)
	case s.ended() != nil || s.snapshot().Session != number: // another session has taken its place
		return
	case err == nil:
		err = s.show(StateRunning, "this party's part is stored; the end that all sign is awaited")
	case faults.Permanent(err):
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
func (n *Node) session(ctx context.Context, s *jobState, f contract.InForce, number,
	closes uint32) (*jobs.Report, error) {
	report, err := n.execute(ctx, s, f, number, closes)
	if report == nil || err != nil && faults.Permanent(err) {
		return nil, err
	}
	// of clients the end was told by a call when the link was gone
	if err == nil || s.isOver() && s.contract.Job.OverClients() {
		// From now on this party signs that it is done.
		if err = s.saveReport(report); err == nil {
			err = s.update(func(r *statusRecord) { r.Finished, r.Deaths = number, deaths{} })
		}
	}
	return report, err
}

// keepPart makes the part of an earlier session that of a closing one, and returns its report. Where either is damaged
// nothing is stored: another session makes them anew.
func (s *jobState) keepPart(from, to uint32) (*jobs.Report, error) {
	report, err := s.loadReport()
	if err == nil && report == nil {
		err = &vault.DamagedError{Path: s.vault.Path(reportFile), Why: "it is not there"}
	}
	if err == nil && s.contract.Job.Task != contract.TaskPredict {
		var data []byte
		draft := jobs.ModelDraft(from)
		if data, err = s.vault.Load(draft); err == nil && data == nil {
			err = &vault.DamagedError{Path: s.vault.Path(draft), Why: "it is not there"}
		}
		if err == nil {
			err = s.vault.Save(jobs.ModelDraft(to), data)
		} else if faults.IsDamage(err) {
			err = errors.Join(err, s.vault.SetAside(draft, err))
		}
	}
	if err != nil {
		return nil, errors.Join(err, s.update(func(r *statusRecord) { r.Stored = 0 }))
	}
	report.Sessions = to
	return report, nil
}

// awaited returns the ending that waited for the session's end.
func (s *jobState) awaited() *contract.Ending {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending
}

// paused shows why a session ended, when another may do better.
func (n *Node) paused(s *jobState, err error) {
	text := err.Error()
	if faults.IsDamage(err) && !strings.Contains(text, "hanse cancel") {
		text += fmt.Sprintf("; put a copy of it back and the job goes on, or end the job with hanse cancel %s",
			s.contract.Job.Name)
	}
	n.ail(s, err)
	if e := s.show(StatePaused, text); e != nil {
		n.config.Log.Error("a job's state could not be stored; it is shown all the same", "job", s.contract.Job.Name,
			"error", e)
	}
	n.notify(s.contract.Hash(), jobs.Event{Kind: jobs.EventState, Text: fmt.Sprintf("%s: %s", StatePaused, text)})
}

// giveUp ends a job that cannot come right, at all its parties. An error says that its end could not be stored.
func (n *Node) giveUp(s *jobState, reason error) error {
	if s.endedError() != nil {
		return nil
	}
	n.config.Log.Error("a job failed", "job", s.contract.Job.Name, "error", reason)
	told := n.toldOnce(s, reason)
	s.mu.Lock()
	s.cause = reason.Error()
	s.mu.Unlock()
	return n.conclude(s, contract.Ending{Outcome: contract.OutcomeFailed, Fault: told})
}

// How long a party with a fault of its own does not come to another session: a while, and longer each time.
const (
	ailLeast = 2 * time.Second
	ailMost  = 30 * time.Second
)

// ail notes why a session ended: what the others are told who ask how the job stands, nothing where it is nobody's
// fault; and, of a fault of this node's own, for how long it comes to no other session.
func (n *Node) ail(s *jobState, err error) {
	var f *faults.Error
	own := faults.IsOwn(err)
	var told *fault.Fault
	if own || errors.As(err, &f) && f.Remote {
		told = n.toldOnce(s, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.why, s.ailment = told, nil
	if own {
		s.ailFor = min(max(2*s.ailFor, ailLeast), ailMost)
		s.ailment, s.ailed = &faults.Error{Code: told.Code, Err: err, Said: told}, time.Now()
	}
}

// toldOnce makes of an error of a job what all its parties are told of it. The same one, which every session meets
// until it is mended, keeps its reference.
func (n *Node) toldOnce(s *jobState, err error) *fault.Fault {
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
		s.told = make(map[string]*fault.Fault)
	}
	s.told[text] = told
	return told
}

// maxTold is how many of a job's faults are remembered with what was told of them.
const maxTold = 8

// whyPaused returns what the others are told of why the job stands still, nil where it is nobody's fault.
func (s *jobState) whyPaused() *fault.Fault {
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
