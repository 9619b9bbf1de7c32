package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// A table that is no file is read when the node starts and when its owner, a consent or a session wants it. Questions
// of other members are answered from what was read: they run nothing.

// question is what another member asks about, and who.
type question struct {
	asker keys.ID
	table string
}

// noteQuestion tells the log who asks about a table that is no file: at the first time, the tenth, the hundredth and so
// on.
func (n *Node) noteQuestion(from keys.ID, job *contract.Job) {
	if !n.tables.FromSource(job.Table) {
		return
	}
	of := question{from, job.Table}
	n.mu.Lock()
	n.asked[of]++
	asked := n.asked[of]
	n.mu.Unlock()
	times := asked
	for ; times > 1 && times%10 == 0; times /= 10 {
	}
	if times > 1 {
		return
	}
	n.config.Log.Info("a member asks about a table, whose source is not run for that", "member", n.memberName(from),
		"table", job.Table, "job", job.Name, "times", asked)
}

// refreshFor has the table of a job of the owner's read, if that is no file.
func (n *Node) refreshFor(ctx context.Context, job *contract.Job, why string) error {
	if job.OverClients() {
		return nil
	}
	return n.refreshOwn(ctx, job.Table, why)
}

// refreshOwn has a table read, if it is no file.
func (n *Node) refreshOwn(ctx context.Context, table, why string) error {
	if !n.tables.FromSource(table) {
		return nil
	}
	_, _, err := n.tables.Refresh(ctx, table, why)
	return err
}

// byCommand says for the log that the owner's command has a table read.
func byCommand(command, person string) string {
	if person == "" {
		return command
	}
	return fmt.Sprintf("%s of user %s", command, person)
}

// heldAgainst has the table of a proposed job read, which is no file, and holds what the contract says of it against
// that.
func (n *Node) heldAgainst(s *jobState, data keys.Hash, why string) error {
	job := s.Contract().Job
	sum, path, err := n.tables.Refresh(n.ctx, job.Table, why)
	if err != nil {
		return faults.OrElse(fault.CodeData, err)
	}
	return changedSince(job, path, data, sum)
}

// changedSince refuses to consent to a job whose table has changed since it was described.
func changedSince(job *contract.Job, path string, described, sum keys.Hash) error {
	if described == sum {
		return nil
	}
	return faults.Errorf(fault.CodeData, "%s changed since job %q was proposed: its digest was %s and is %s; put the old "+
		"table back, run hanse table refresh %s and the job goes on, or end it with hanse cancel %[2]s and have it "+
		"proposed anew", path, job.Name, described.Short(), sum.Short(), job.Table)
}

// heldForPerson is heldAgainst before a person's consent, or approval.
func (n *Node) heldForPerson(s *jobState, d Decision) error {
	j, r := s.Contract().Job, s.Record()
	if r.State != job.Proposed || j.OverClients() || !n.tables.FromSource(j.Table) {
		return nil
	}
	why := byCommand(fmt.Sprintf("the consent to job %q of %s", j.Name, j.Proposer), d.Person)
	if r.Damaged { // what the contract says of the table is found out anew, of what it is now
		return n.refreshOwn(n.ctx, j.Table, why)
	}
	return n.heldAgainst(s, r.Data, why)
}

// decision is how far this node has come in deciding on a proposed job. Node.judging is held for it.
type decision struct {
	judged    string // why the policy leaves it to a person
	launching bool   // a command waits for approvals and will coordinate it
	// How the job, which a rule of the policy accepts, was held against its table.
	running, good bool
	times         int   // that the table had been read when it was found wrong
	err           error // what was wrong
}

// heldForRule reports whether a proposed job may be consented to by a rule: its table was read after it was proposed,
// and is as the contract says. The source is run for that once, by this node and not within the proposer's call: until
// then there is no answer. Where the table is another, or cannot be read, the job waits for another reading that
// somebody else asks for, however often its proposer asks. Node.judging is held.
func (n *Node) heldForRule(s *jobState, data keys.Hash, by string) (bool, error) {
	j, h := s.Contract().Job, &s.decision
	switch {
	case h.good || data.IsZero() || j.OverClients() || !n.tables.FromSource(j.Table):
		return true, nil
	case h.running:
		return false, nil
	case h.err != nil:
		times := n.tables.Times(j.Table)
		if times == h.times {
			return false, h.err
		}
		sum, path, err := n.tables.Now(j.Table)
		if err == nil {
			err = changedSince(j, path, data, sum)
		}
		if err != nil {
			n.heldWrong(s, err, times)
			return false, h.err
		}
		h.good = true
		return true, nil
	}
	h.running = true
	n.work.Go(func() {
		err := n.heldAgainst(s, data, fmt.Sprintf("the consent to job %q of %s by %s", j.Name, j.Proposer, by))
		times := n.tables.Times(j.Table)
		n.judging.Lock()
		h.running, h.good = false, err == nil
		if err != nil {
			n.heldWrong(s, err, times)
		}
		n.judging.Unlock()
		if err == nil && s.State() == job.Proposed {
			err = n.applyPolicy(s, data)
		}
		if err != nil && n.ctx.Err() == nil {
			n.notify(s.Contract().Hash(), jobs.Event{Kind: jobs.EventWarning, Text: "not consented to yet: " + err.Error()})
		}
	})
	return false, nil
}

// heldWrong notes why a job cannot be consented to by a rule: who asks again hears the same, under one reference.
// Node.judging is held.
func (n *Node) heldWrong(s *jobState, err error, times int) {
	told := n.toldOnce(s, err)
	s.decision.err, s.decision.times = &faults.Error{Code: told.Code, Err: err, Said: told}, times
}

// sourceGap is the least time between two sessions of a job for which the source of its table is run: shorter than
// members wait for one another, and long beside how fast a proposer could start sessions.
const sourceGap = openTime / 2

// sourced is when the source of a job's table was run last for a session, or will be.
type sourced struct {
	mu sync.Mutex
	at time.Time
}

// wait returns how long a session has to wait until the source may be run for it, and counts it as run then.
func (s *sourced) wait(now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	wait := max(0, min(sourceGap, s.at.Add(sourceGap).Sub(now)))
	s.at = now.Add(wait)
	return wait
}

// TableReading is how a table of the node's was read.
type TableReading struct {
	Table  string `json:"table"`
	Source string `json:"source"` // as messages call it
	Digest string `json:"digest"` // of its content
	First  bool   `json:"first"`  // it had not been read before
	// whether the digest is another than before
	Changed bool `json:"changed"`
}

// RefreshTable has a table that is no file read as it is now, for its owner; person may be empty.
func (n *Node) RefreshTable(ctx context.Context, name, person string) (*TableReading, error) {
	if n.tables.Has(name) && !n.tables.FromSource(name) {
		return nil, fmt.Errorf("table %q is a file, which is looked at whenever it is used: there is nothing to refresh",
			name)
	}
	before, _, unread := n.tables.Now(name)
	sum, path, err := n.tables.Refresh(ctx, name, byCommand("hanse table refresh", person))
	if err != nil {
		return nil, err
	}
	return &TableReading{Table: name, Source: path, Digest: sum.String(), First: unread != nil,
		Changed: unread == nil && before != sum}, nil
}

// RefreshTable has the node read a table of its as it is now.
func (c *Client) RefreshTable(ctx context.Context, name string) (*TableReading, error) {
	body, err := c.do(ctx, http.MethodPost, "/table/refresh?"+url.Values{"name": {name}}.Encode(), nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var r TableReading
	return &r, json.NewDecoder(body).Decode(&r)
}
