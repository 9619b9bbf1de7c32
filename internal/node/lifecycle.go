package node

import (
	"context"
	"errors"
	"fmt"
)

// begin ends an older session of the job, if one is still on, and starts a new one.
func (n *Node) begin(s *jobState, number uint32) error {
	c, record := s.contract, s.snapshot()
	if record.State == StateRefused || record.State == StateFailed || record.State == StateProposed {
		return fmt.Errorf("job %q is %s: %s", c.Job.Name, record.State, record.Reason)
	}
	if number <= record.Session {
		return fmt.Errorf("job %q: session %d was opened before, a session is opened once", c.Job.Name, record.Session)
	}
	if err := s.update(func(r *statusRecord) { r.State, r.Reason, r.Session = StateRunning, "", number }); err != nil {
		return err
	}
	n.replaceSession(s, func(ctx context.Context) { n.follow(ctx, s, number) })
	return nil
}

// replaceSession ends the job's running session, waits for it and starts another.
func (n *Node) replaceSession(s *jobState, body func(ctx context.Context)) {
	h := s.contract.Hash()
	n.mu.Lock()
	defer n.mu.Unlock()
	old := n.sessions[h]
	ctx, cancel := context.WithCancel(n.ctx)
	active := &activeSession{cancel: cancel, done: make(chan struct{})}
	n.sessions[h] = active
	n.work.Go(func() {
		defer close(active.done)
		defer cancel()
		if old != nil {
			old.cancel()
			<-old.done
		}
		body(ctx)
	})
}

// follow runs a session at a party that does not coordinate the job.
func (n *Node) follow(ctx context.Context, s *jobState, number uint32) {
	h := s.contract.Hash()
	n.tell(h, Event{Kind: EventState, Text: fmt.Sprintf("session %d starts", number)})
	report, err := n.execute(ctx, s, number)
	if err == nil || report != nil && s.isOver() && !permanent(err) { // the end was said by a call when the link was gone
		n.finish(s, report)
		return
	}
	n.pauseOrFail(s, err)
}

// finish stores that a job is done.
func (n *Node) finish(s *jobState, report *Report) {
	if err := errors.Join(s.saveReport(report), s.set(StateDone, ""), s.clean()); err != nil {
		n.config.Log.Error("job is done but its state could not be stored", "error", err)
	}
	n.tell(s.contract.Hash(), Event{Kind: EventDone, Text: fmt.Sprintf("done in %.1f s", report.Seconds), Report: report})
}

// pauseOrFail stores why a session ended: a pause when another may do better, a failure when not.
func (n *Node) pauseOrFail(s *jobState, err error) {
	state, kind := StatePaused, EventState
	if permanent(err) {
		state, kind = StateFailed, EventError
	}
	if e := s.set(state, err.Error()); e != nil {
		n.config.Log.Error("job's state could not be stored", "error", e)
	}
	n.tell(s.contract.Hash(), Event{Kind: kind, Text: fmt.Sprintf("%s: %v", state, err)})
}
