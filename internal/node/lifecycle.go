package node

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/vault"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// begin ends an older session of the job, if one is still on, and starts a new one: a closing one, where closes is the
// session whose parts all keep.
func (n *Node) begin(s *jobState, f contract.InForce, number, closes uint32) error {
	c := s.Contract()
	if err := n.mayStartFor(s); err != nil {
		return err
	}
	if err := n.apply(s, job.Opened{Number: number, Closes: closes, Now: n.config.Now()}); err != nil {
		return err
	}
	ctx, active, old := n.enterSession(n.ctx, s)
	n.work.Go(func() {
		defer n.leaveSession(s, active)
		if old != nil {
			n.endSession(ctx, s, old)
		}
		if s.Ending() != nil { // in the moment between
			return
		}
		n.notify(c.Hash(), jobs.Event{Kind: jobs.EventState, Text: fmt.Sprintf("session %d starts", number)})
		n.follow(ctx, s, f, number, closes)
	})
	return nil
}

// endSession ends an older session. One over clients is given time to end in good order, so that no row is lost to it:
// a server pauses, and its clients hear of it from the server.
func (n *Node) endSession(ctx context.Context, s *jobState, old *activeSession) {
	defer func() {
		old.cancel()
		<-old.done
	}()
	if !s.Contract().Job.OverClients() {
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
	h, takes := s.Contract().Hash(), n.memoryOf(s.Contract()).Takes
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
	h := s.Contract().Hash()
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
	return n.sessions[s.Contract().Hash()] != nil
}

// follow runs a session at a party that does not coordinate the job. What comes after a part that is stored, the
// signatures under the job's end, the coordinator asks for; if it dies before, this node does (see look).
func (n *Node) follow(ctx context.Context, s *jobState, f contract.InForce, number, closes uint32) {
	report, err := n.session(ctx, s, f, number, closes)
	ending := s.Awaited()
	switch {
	case ending != nil && (report != nil || s.Contract().Job.OverClients()): // told when the link was gone
		err = n.adopt(s, ending)
	case s.Ending() != nil || s.Record().Session != number: // another session has taken its place
		return
	case err == nil:
		err = n.apply(s, job.Shown{State: job.Running,
			Reason: "this party's part is stored; the end that all sign is awaited"})
	case faults.Permanent(err):
		err = n.giveUp(s, err)
	default:
		n.paused(s, err)
		return
	}
	if err != nil {
		n.config.Log.Error("a session's end could not be stored", "job", s.Contract().Job.Name, "error", err)
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
	if err == nil || s.IsOver() && s.Contract().Job.OverClients() {
		// From now on this party signs that it is done.
		var text []byte
		if text, err = s.reportText(report); err == nil {
			err = n.apply(s, job.Finished{Session: number, Report: text})
		}
	}
	return report, err
}

// keepPart makes the part of an earlier session that of a closing one, and returns its report. Where either is damaged
// nothing is stored: another session makes them anew.
func (n *Node) keepPart(s *jobState, from, to uint32) (*jobs.Report, error) {
	report, err := s.loadReport()
	if err == nil && report == nil {
		err = &vault.DamagedError{Path: s.vault.Path(job.ReportFile), Why: "it is not there"}
	}
	if err != nil {
		return nil, errors.Join(err, n.apply(s, job.Lost{}))
	}
	err = n.apply(s, job.Kept{From: from, To: to})
	if faults.IsDamage(err) {
		err = errors.Join(err, n.apply(s, job.Lost{Session: from, Why: err}))
	}
	if err != nil {
		return nil, err
	}
	report.Sessions = to
	return report, nil
}

// paused shows why a session ended, when another may do better.
func (n *Node) paused(s *jobState, err error) {
	text := err.Error()
	if faults.IsDamage(err) && !strings.Contains(text, "hanse cancel") {
		text += fmt.Sprintf("; put a copy of it back and the job goes on, or end the job with hanse cancel %s",
			s.Contract().Job.Name)
	}
	n.ail(s, err)
	n.apply(s, job.Shown{State: job.Paused, Reason: text}) // no error: what cannot be stored is in the log
	n.notify(s.Contract().Hash(), jobs.Event{Kind: jobs.EventState, Text: fmt.Sprintf("%s: %s", job.Paused, text)})
}

// giveUp ends a job that cannot come right, at all its parties. An error says that its end could not be stored.
func (n *Node) giveUp(s *jobState, reason error) error {
	if s.EndedError() != nil {
		return nil
	}
	n.config.Log.Error("a job failed", "job", s.Contract().Job.Name, "error", reason)
	word := contract.Ending{Outcome: contract.OutcomeFailed, Fault: n.toldOnce(s, reason)}
	return n.conclude(s, word, reason.Error())
}

// ail notes why a session ended: what the others are told who ask how the job stands, nothing where it is nobody's
// fault; and, of a fault of this node's own, that it comes to no other session for a while.
func (n *Node) ail(s *jobState, err error) {
	broken := job.Broken{Now: time.Now()}
	var f *faults.Error
	own := faults.IsOwn(err)
	if own || errors.As(err, &f) && f.Remote {
		broken.Why = n.toldOnce(s, err)
	}
	if own {
		broken.Own = &faults.Error{Code: broken.Why.Code, Err: err, Said: broken.Why}
	}
	n.apply(s, broken) // no error: it is in memory alone
}

// remark changes what is said of a job that stands still.
func (n *Node) remark(s *jobState, reason string) error {
	return n.apply(s, job.Remarked{Reason: reason})
}

// said is what all were told of the faults of a job, by the text of the error.
type said struct {
	mu sync.Mutex
	of map[string]*fault.Fault
}

// maxSaid is how many of a job's faults are remembered with what was told of them.
const maxSaid = 8

// toldOnce makes of an error of a job what all its parties are told of it. The same one, which every session meets
// until it is mended, keeps its reference.
func (n *Node) toldOnce(s *jobState, err error) *fault.Fault {
	text := err.Error()
	s.said.mu.Lock()
	defer s.said.mu.Unlock()
	if told := s.said.of[text]; told != nil {
		return told
	}
	if s.said.of == nil || len(s.said.of) >= maxSaid {
		s.said.of = make(map[string]*fault.Fault)
	}
	told := n.inWords(err, "every party", "job "+s.Contract().Job.Name)
	s.said.of[text] = told
	return told
}
