package node

import (
	"context"
	"fmt"
	"strings"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/protocol/contract"
)

// begin ends an older session of the job, if one is still on, and starts a new one: a closing one, where closes is the
// session whose parts all keep.
func (n *runner) begin(s *jobState, f contract.InForce, number, closes uint32) error {
	c := s.Contract()
	if err := n.keeper.mayStartFor(s); err != nil {
		return err
	}
	if err := n.keeper.apply(s, job.Opened{Number: number, Closes: closes, Now: n.config.Now()}); err != nil {
		return err
	}
	ctx, active, old := n.sessions.enterSession(n.life.ctx, s)
	n.life.work.Go(func() {
		defer n.workers.removeParts(s)
		defer n.sessions.leaveSession(s, active)
		if old != nil {
			n.sessions.endSession(ctx, s, old)
		}
		if s.Ending() != nil { // in the moment between
			return
		}
		n.roster.notify(c.Hash(), jobs.Event{Kind: jobs.EventState, Text: fmt.Sprintf("session %d starts", number)})
		n.follow(ctx, s, f, number, closes)
	})
	return nil
}

// follow runs a session at a party that does not coordinate the job. What comes after a part that is stored, the
// signatures under the job's end, the coordinator asks for; if it dies before, this node does (see look).
func (n *runner) follow(ctx context.Context, s *jobState, f contract.InForce, number, closes uint32) {
	report, err := n.session(ctx, s, f, number, closes)
	ending := s.Awaited()
	switch {
	case ending != nil && (report != nil || s.Contract().Job.OverClients() || s.EndedError() != nil):
		// told when the link was gone, or when another end had not come yet, which this one beats
		err = n.keeper.adopt(s, ending)
	case s.Ending() != nil || s.Record().Session != number: // another session has taken its place
		return
	case err == nil:
		err = n.keeper.apply(s, job.Shown{State: job.Running,
			Reason: "this party's part is stored; the end that all sign is awaited"})
	case faults.Permanent(err):
		err = n.keeper.giveUp(s, err)
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
func (n *runner) session(ctx context.Context, s *jobState, f contract.InForce, number,
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
			err = n.keeper.apply(s, job.Finished{Session: number, Report: text})
		}
	}
	return report, err
}

// paused shows why a session ended, when another may do better.
func (n *runner) paused(s *jobState, err error) {
	text := err.Error()
	if faults.IsDamage(err) && !strings.Contains(text, "hanse cancel") {
		text += fmt.Sprintf("; put a copy of it back and the job goes on, or end the job with hanse cancel %s",
			s.Contract().Job.Name)
	}
	n.keeper.ail(s, err)
	n.keeper.apply(s, job.Shown{State: job.Paused, Reason: text}) // no error: what cannot be stored is in the log
	n.roster.notify(s.Contract().Hash(), jobs.Event{Kind: jobs.EventState, Text: fmt.Sprintf("%s: %s", job.Paused, text)})
}
