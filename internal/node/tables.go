package node

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/hanse-project/hanse/internal/faults"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/fault"
)

// A table that is no file is read when the node starts and when its owner, a consent or a session wants it. Questions
// of other members are answered from what was read: they run nothing.

// heldAgainst has the table of a proposed job read, which is no file, and holds what the contract says of it against
// that.
func (n *consents) heldAgainst(s *jobState, data keys.Hash, why string) error {
	job := s.Contract().Job
	sum, path, err := n.tables.Refresh(n.life.ctx, job.Table, why)
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
func (n *consents) heldForPerson(s *jobState, d Decision) error {
	j, r := s.Contract().Job, s.Record()
	if r.State != job.Proposed || j.OverClients() || !n.tables.FromSource(j.Table) {
		return nil
	}
	why := byCommand(fmt.Sprintf("the consent to job %q of %s", j.Name, j.Proposer), d.Person)
	if r.Damaged { // what the contract says of the table is found out anew, of what it is now
		return n.algorithms.refreshOwn(n.life.ctx, j.Table, why)
	}
	return n.heldAgainst(s, r.Data, why)
}

// sourceGap is the least time between two sessions of a job for which the source of its table is run: shorter than
// members wait for one another, and long beside how fast a proposer could start sessions.
const sourceGap = openTime / 2

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
