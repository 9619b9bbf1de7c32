package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/hanse-project/hanse/internal/durable"
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

// apply has an event happen to a job, and carries out what follows from it.
func (n *keeper) apply(s *jobState, e job.Event) error {
	effects, err := s.Apply(e)
	return cmp.Or(err, n.carryOut(s, effects))
}

// carryOut does what follows from an event. What fails is in the log. That files of a removed job are still there is an
// error, too: whoever removed it is to know.
func (n *keeper) carryOut(s *jobState, effects []job.Effect) (left error) {
	name := s.Contract().Job.Name
	for _, e := range effects {
		var err error
		switch e.Do {
		case job.Complain: // what is not in order yet comes into order when the node starts again
			n.config.Log.Error("not all of what came of a job could be stored; it stands all the same", "job", name,
				"error", e.Err)
		case job.Spread:
			n.spread(s)
		case job.Stop:
			n.sessions.stopSession(s)
		case job.Tidy:
			err = n.erase(s)
		case job.Announce:
			n.announce(s, e.Ending)
		case job.Forget:
			err = n.forgetOldest(s.Contract().Job.Proposer)
		case job.Clear:
			err = s.clearRemoved()
			left = err
		}
		if err != nil {
			n.config.Log.Error("the folder of a job that has ended could not be put in order", "job", name, "error", err)
		}
	}
	return left
}

// spread sends the ending that stands to the others.
func (n *keeper) spread(s *jobState) {
	if !s.spreading.CompareAndSwap(false, true) {
		return
	}
	n.life.work.Go(func() {
		defer s.spreading.Store(false)
		n.sendEnding(n.life.ctx, s)
	})
}

// erase erases what a job that has ended no longer needs.
func (n *keeper) erase(s *jobState) error {
	err := columns.Clean(s.vault)
	n.workers.endWorkers(s)
	n.accounts.strike(s)
	s.counted.forget()
	return err
}

// announce tells the owner how a job ended.
func (n *keeper) announce(s *jobState, e *contract.Ending) {
	c := s.Contract()
	if e.Outcome != contract.OutcomeDone {
		n.roster.notify(c.Hash(), jobs.Event{Kind: jobs.EventError, Text: job.EndingText(c, e, s.Self())})
		return
	}
	report, err := s.loadReport()
	if report == nil || err != nil { // it was kept with the ending: the disk is failing
		report = s.missed()
	}
	n.roster.notify(c.Hash(), jobs.Event{Kind: jobs.EventDone, Text: fmt.Sprintf("done in %.1f s", report.Seconds),
		Report: report})
}

// forgetOldest removes the oldest jobs of a proposer that ended before their first session, where they are too many.
func (n *keeper) forgetOldest(proposer string) error {
	n.forgetting.Lock()
	defer n.forgetting.Unlock()
	its := slices.DeleteFunc(n.roster.allJobs(), func(s *jobState) bool {
		return s.Contract().Job.Proposer != proposer || !n.forgettable(s) || n.endsSeries(s)
	})
	slices.SortFunc(its, func(a, b *jobState) int { return a.endedAt().Compare(b.endedAt()) })
	var errs []error
	for _, s := range its[:max(0, len(its)-maxEndedEach)] {
		h := s.Contract().Hash()
		folder := n.roster.jobFolder(h)
		old := folder + ".old" + durable.Suffix // a crash leaves the folder whole, or under a name that is swept up
		if err := os.Rename(folder, old); err != nil {
			errs = append(errs, err)
			continue
		}
		n.roster.drop(h)
		errs = append(errs, durable.SyncDir(filepath.Dir(folder)), s.vault.Close(), os.RemoveAll(old))
	}
	return errors.Join(errs...)
}

// forgettable reports whether a job is one of another member's that ended before its first session here, so that
// nothing of it counts for a bound, or could be audited. A job that is done elsewhere stays.
func (n *keeper) forgettable(s *jobState) bool {
	r, e := s.Record(), s.Ending()
	return e != nil && e.Outcome != contract.OutcomeDone && r.Session == 0 && !r.Damaged && !r.Renewed &&
		s.Contract().Job.Proposer != s.Self()
}

// Cancel ends a job by its owner's word, in any state before its end, here and at all parties: those who are away take
// it when they are back. A proposal of another member's is refused by it.
func (n *keeper) Cancel(h keys.Hash, reason string) error {
	s, ok := n.roster.job(h)
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

// CheckReason refuses what is no reason to end a job: nothing, or more than the other parties are told.
func CheckReason(reason string) error {
	switch n := len(reason); {
	case contract.PlainReason(reason) == "":
		return errors.New("the reason is empty, and the other parties are told why: give one")
	case n > contract.MaxReason:
		return fmt.Errorf("the reason has %d bytes, at most %d are told: say it shorter", n, contract.MaxReason)
	}
	return nil
}

// conclude ends a job by this party's word, in which the outcome and why stand: nothing but done stands against it. All
// are told. cause is the full text where this node's own fault ended the job, and else empty.
func (n *keeper) conclude(s *jobState, word contract.Ending, cause string) error {
	word.By, word.Reason = s.Self(), contract.PlainReason(word.Reason)
	e, err := contract.NewEnding(s.Contract(), word)
	if err != nil {
		return err
	}
	e.Sign(n.config.Key)
	if err := n.end(s, e, cause); err != nil {
		return err
	}
	n.life.work.Go(func() { n.sendEnding(n.life.ctx, s) })
	return nil
}

// abandoned is the end of a proposal that its proposer's node could not keep, and that nobody else knows of.
func abandoned() contract.Ending {
	return contract.Ending{Outcome: contract.OutcomeCancelled, Fault: &fault.Fault{Code: fault.CodeAbandoned}}
}

// adopt stores an ending, unless one stands that beats it, and ends the job here. It is final: no session starts any
// more.
func (n *keeper) adopt(s *jobState, e *contract.Ending) error { return n.end(s, e, "") }

// adoptText is adopt for an ending that came from another party.
func (n *keeper) adoptText(s *jobState, text []byte) error {
	e, err := contract.ParseEnding(s.Contract(), text)
	if err != nil {
		return err
	}
	return n.adopt(s, e)
}

// end is adopt, with the cause of conclude.
func (n *keeper) end(s *jobState, e *contract.Ending, cause string) error {
	if err := e.InForce(s.Contract()); err != nil { // before anybody hears of it
		return err
	}
	ended := job.Ended{Ending: e, Cause: cause, Adds: n.ownIDsAfter(s, e), Now: n.config.Now().UTC().Round(0)}
	if s.Ending() == nil {
		for _, text := range ended.Adds {
			n.roster.notify(s.Contract().Hash(), jobs.Event{Kind: jobs.EventWarning, Text: text})
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

// sendEnding tells every other party how a job ended, those who are there. Whoever is away asks when it is back.
func (n *keeper) sendEnding(ctx context.Context, s *jobState) (away []string) {
	request := endingRequest{Contract: s.Contract().Hash(), Ending: s.Ending().Text()}
	missed := make([]bool, len(s.Contract().Parties))
	n.asker.eachOther(s.Contract(), func(i int) {
		var r endingResponse
		calling, cancel := context.WithTimeout(ctx, askTime)
		defer cancel()
		err := n.asker.call(calling, s.Contract().Members()[i], methodEnd, request, &r)
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

// settle ends a job that every party has finished: each commits to its part, all sign one ending, all are told. It
// returns false without an error when a party has still to finish, so that another session is needed, and who says so
// of itself. Any party may settle, and several at once: equal endings have equal bytes.
func (n *keeper) settle(ctx context.Context, s *jobState) (done bool, behind string, err error) {
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
		if err := n.asker.atParty(ctx, s, p, methodPart, standingRequest{c.Hash()}, &r, func() (err error) {
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
		if err := n.asker.atParty(ctx, s, p, methodSign, request, &r, func() (err error) {
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

// storedPart returns the last session that ended well here, and the digest of this party's part. Where the part is
// damaged before all have signed for it, none is stored: another session makes it anew.
func (n *keeper) storedPart(s *jobState) (session uint32, digest keys.Hash, err error) {
	record := s.Record()
	if record.Finished == 0 || record.Consent == nil {
		return 0, digest, nil
	}
	digest, err = n.partDigest(s)
	if !faults.IsDamage(err) || s.Ending() != nil { // what all signed for stays where promote finds it
		return record.Finished, digest, err
	}
	return 0, keys.Hash{}, n.lose(s, record.Finished, err)
}

// lose sets aside what a session kept and is damaged, so that another session makes it anew. The owner hears of it,
// which is why the event itself does not do that: whoever listens may take long.
func (n *keeper) lose(s *jobState, session uint32, why error) error {
	if err := s.vault.SetAside(job.Draft(session), why); err != nil {
		return err
	}
	return n.apply(s, job.Lost{Session: session})
}

// signEnding signs an ending that says that a job is done. Over columns, this party's transcript of the session has the
// countersignatures of all others then, and is sealed as done: what is done can be audited. What it has signed of a
// session is on its disk first: it signs one ending of each, and none once the job has ended.
func (n *keeper) signEnding(s *jobState, e *contract.Ending) ([]byte, error) {
	signs := job.Signs{Ending: e, Of: s.Record().Finished}
	if signs.Of == e.Session { // of another session it signs nothing
		var err error
		if signs.Digest, err = n.partDigest(s); err != nil {
			return nil, err
		}
	}
	if err := n.apply(s, signs); err != nil {
		return nil, err
	}
	return n.config.Key.Sign(e.Domain, e.Body), nil
}

// checkPart compares what this party keeps of a finished job with what all signed when it ended. file is named where
// they differ.
func (n *keeper) checkPart(s *jobState, file string) error {
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

// partDomain separates digests of model parts from all others.
const partDomain = "hanse model part v1"

// partDigest commits this party to its model part, or, where the scores of a prediction opened to it, to those. The
// salt follows from the node's key: whoever sees the digest can test no guess by it.
func (n *keeper) partDigest(s *jobState) (keys.Hash, error) {
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
