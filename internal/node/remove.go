package node

import (
	"fmt"
	"time"

	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/keys"
)

// PlanRemoval says what Remove would do, or why it is refused.
func (n *views) PlanRemoval(h keys.Hash) (*Removal, error) {
	s, err := n.removable(h)
	if err != nil {
		return nil, err
	}
	return s.planRemoval()
}

// removable returns a job that may be removed: one that has ended, and that no open job needs.
func (n *views) removable(h keys.Hash) (*jobState, error) {
	s, ok := n.roster.job(h)
	if !ok {
		return nil, fmt.Errorf("this node has no job %s", h.Short())
	}
	name := s.Contract().Job.Name
	if err := s.Removable(); err != nil {
		return nil, err
	}
	if n.sessions.inSession(s) {
		return nil, fmt.Errorf("job %q is ending: its last session is still on; try again in a moment", name)
	}
	for _, open := range n.roster.openJobs() {
		if job := open.Contract().Job; job.Model == h.String() || job.Alignment == h.String() {
			return nil, fmt.Errorf("job %q is needed by job %q, which is %s: cancel that one, or wait for its end", name,
				job.Name, open.State())
		}
	}
	return s, nil
}

// Remove deletes what a job that has ended left at this node, but for what this member's promises to others rest on:
// see whatStays. It cannot be taken back. The other parties keep what is theirs.
func (n *views) Remove(h keys.Hash) (*Removal, error) {
	s, err := n.removable(h)
	if err != nil {
		return nil, err
	}
	r, err := s.planRemoval()
	if err != nil {
		return nil, err
	}
	n.config.Log.Info("a job is removed by its owner", "job", r.Job, "contract", h.Short())
	return r, n.keeper.apply(s, job.Removed{Now: n.config.Now().UTC().Round(0)})
}

// Removed lists the jobs of which the owner has removed what they left, the newest first.
func (n *views) Removed() []JobInfo {
	var all []JobInfo
	for _, s := range n.roster.allJobs() {
		if r := s.Record(); !r.Removed.IsZero() {
			info := infoOf(s.Contract(), s.Self())
			info.State, info.Consent, info.Sessions = r.State, r.Consent, r.Session
			info.Made, info.Ended, info.Standing = r.Made, r.Ended, string(r.State)+", removed"
			info.Reason, info.Audited = "removed on "+r.Removed.UTC().Format(time.DateOnly), n.audited(s)
			all = append(all, info)
		}
	}
	sortInfos(all)
	return all
}
