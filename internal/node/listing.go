package node

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/hanse-project/hanse/internal/forecast"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/shards"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/protocol/contract"
)

// JobInfo is a job as the owner sees it.
type JobInfo struct {
	Contract  string       `json:"contract"`
	Name      string       `json:"name"`
	Algorithm string       `json:"algorithm"`
	Task      string       `json:"task"`
	Proposer  string       `json:"proposer"`
	Parties   []string     `json:"parties"`
	Servers   []string     `json:"servers,omitempty"` // of a job over clients
	Self      string       `json:"self"`              // this node's name
	Privacy   string       `json:"privacy"`
	Topology  string       `json:"topology"`
	Table     string       `json:"table,omitempty"`     // the name of its data
	Rows      string       `json:"rows,omitempty"`      // the name of the alignment that its rows are from
	Alignment string       `json:"alignment,omitempty"` // that alignment's contract
	State     job.State    `json:"state"`
	Reason    string       `json:"reason,omitempty"`
	Expires   string       `json:"expires,omitempty"` // of a proposal
	Consent   *job.Consent `json:"consent,omitempty"` // who agreed to it in this member's name, and when
	Sessions  uint32       `json:"sessions"`
	Summary   string       `json:"summary"`
	Whole     string       `json:"whole"` // what stands below it: every message, what it takes, what is kept
	// Lead is the summary's first sentence, what others learn of this node's rows, and Exposure is how much that is.
	Lead     string           `json:"lead"`
	Exposure summary.Exposure `json:"exposure"`
	Notes    []string         `json:"notes,omitempty"`     // the sentences after it
	OwnTable []string         `json:"own_table,omitempty"` // what the job makes of this node's own table
	// LacksConsent says that the job waits for the consent of a party; Consented are those whose signature this node has
	// seen. A party that has consented itself hears no more of it until all have.
	LacksConsent bool     `json:"lacks_consent,omitempty"`
	Consented    []string `json:"consented,omitempty"`
	// of a proposal that waits for approvals: who has approved, how many must, and who may
	Approved  []string `json:"approved,omitempty"`
	Approvals int      `json:"approvals,omitempty"`
	Approvers []string `json:"approvers,omitempty"`
	SelfID    string   `json:"self_id"` // this node's key
	// Of an alignment that is done: what it found, and the day after which no job may use it.
	Aligned *jobs.Aligned `json:"aligned,omitempty"`
	Until   string        `json:"until,omitempty"`

	// Forecast is what was expected when the job came; nil: nobody knew.
	Forecast *forecast.Forecast `json:"forecast,omitempty"`

	Held bool `json:"held,omitempty"` // this node holds it back until hanse resume
	// StartBy is when the job ends by itself unless a session of it begins; zero: it waits for none.
	StartBy time.Time `json:"start_by,omitzero"`

	Made     time.Time `json:"made,omitzero"`  // when it came to this node
	Ended    time.Time `json:"ended,omitzero"` // when its end was stored here
	Standing string    `json:"standing"`       // the state in words: who is waited for, before what others call agreed
	Progress *Progress `json:"progress,omitempty"`
	// Shards is how a job in shards stands here, until it has ended; nil: it has none.
	Shards *shards.Progress `json:"shards,omitempty"`

	Awaits  []string `json:"awaits,omitempty"`  // the members that are waited for now
	Waiting string   `json:"waiting,omitempty"` // for what, and for how long
	Next    string   `json:"next,omitempty"`    // the command that comes next here, without --dir
	// Absent are the parties of a job over clients that do not come, and why, at its servers.
	Absent  []Absence `json:"absent,omitempty"`
	Audited *Audited  `json:"audited,omitempty"` // what its owner's latest audit concluded
	// Unanswered says that it ended before all had consented, by nobody's refusal but the proposer's own.
	Unanswered bool `json:"unanswered,omitempty"`
}

// AlignsNow reports whether the job is an alignment of a table that jobs may still use.
func (j *JobInfo) AlignsNow(table string, now time.Time) bool {
	return j.Aligned != nil && j.Aligned.Table == table && j.Until > now.UTC().Format(time.DateOnly)
}

// infoOf says of a job what its contract says of it.
func infoOf(c *contract.Contract, self string) JobInfo {
	j := c.Job
	return JobInfo{
		Contract: c.Hash().String(), Name: j.Name, Algorithm: j.Algorithm, Task: j.Task,
		Proposer: j.Proposer, Parties: j.Parties,
		Servers: j.Servers, Self: self, Privacy: j.Privacy, Topology: j.Topology, Table: j.Table, Rows: j.Rows,
		Alignment: j.Alignment, Expires: j.Expires,
	}
}

// sortInfos orders jobs by time, the newest first.
func sortInfos(all []JobInfo) {
	slices.SortFunc(all, func(a, b JobInfo) int {
		return cmp.Or(b.Made.Compare(a.Made), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Contract, b.Contract))
	})
}

// NewestDone is the job that a name means which several have: the one that was done last; said is a sentence that says
// so. It is nil where the name is not several jobs', or none of them is done.
func NewestDone(all []JobInfo, name string) (newest *JobInfo, said string) {
	named := 0
	for i := range all {
		j := &all[i]
		if j.Name != name {
			continue
		}
		if named++; j.State == job.Done && (newest == nil || newest.Ended.Before(j.Ended)) {
			newest = j
		}
	}
	if newest == nil || named < 2 {
		return nil, ""
	}
	return newest, fmt.Sprintf("%d jobs are called %q: this is about %.8s, the one that was done last", named, name,
		newest.Contract)
}

// Jobs lists the node's jobs by time, the newest first, but for those that were removed.
func (n *views) Jobs() []JobInfo {
	all := n.roster.allJobs()
	infos := make([]JobInfo, 0, len(all))
	named := make(map[string]int)
	for _, s := range all {
		r, info := s.Record(), infoOf(s.Contract(), s.Self())
		if !r.Removed.IsZero() {
			continue
		}
		info.State, info.Reason, info.Consent, info.Sessions = r.State, r.Reason, r.Consent, r.Session
		info.Made, info.Ended, info.Forecast = r.Made, r.Ended, s.forecast
		info.Held = n.sessions.heldBack(s)
		info.Unanswered = s.unanswered(r, info.Proposer == info.Self)
		if _, agreed := s.InForce(); agreed || info.Proposer != info.Self { // else it ends at Expires
			info.StartBy = s.StartBy()
		}
		said := n.digests.summaryFor(s)
		info.Summary, info.Whole, info.Lead, info.Exposure = said.text, said.whole, said.lead.Text, said.lead.Exposure
		info.Notes, info.OwnTable = said.notes, said.own
		info.SelfID = n.config.Key.ID().String()
		if info.LacksConsent = n.digests.lacksConsent(s); info.LacksConsent {
			info.Consented = n.digests.signedBy(s)
		}
		if p := n.config.Policy; r.State == job.Proposed && p.ApprovalsWanted() > 0 {
			info.Approved, info.Approvals = n.consents.approvedBy(s), p.ApprovalsWanted()
			for _, a := range p.Approvers {
				info.Approvers = append(info.Approvers, a.Name)
			}
		}
		if r.State == job.Done && info.Task == contract.TaskAlign {
			if report, err := s.loadReport(); err == nil && report != nil && report.Aligned != nil {
				info.Aligned = report.Aligned
				info.Until = r.Ended.AddDate(0, 0, report.Aligned.KeepDays).UTC().Format(time.DateOnly)
			}
		}
		s.describe(&info)
		n.workers.describeShards(s, &info)
		info.Audited = n.audited(s)
		infos = append(infos, info)
		named[info.Name]++
	}
	for i := range infos {
		name := infos[i].Name
		if named[name] > 1 {
			name = infos[i].Contract[:8]
		}
		infos[i].Next = nextCommand(&infos[i], name, n.tables.Has(scoredTable))
	}
	infos = append(infos, n.roster.unreadJobs()...)
	sortInfos(infos)
	return infos
}

// unanswered reports whether the job ended before all had consented, by nobody's refusal but the proposer's own.
func (s *jobState) unanswered(r job.Record, ours bool) bool {
	if _, agreed := s.InForce(); agreed || r.Session > 0 {
		return false
	}
	return r.State == job.Expired || r.State == job.Cancelled || ours && r.State == job.Refused && r.Consent == nil
}

// describe says how the job stands: how far it has come, and for whom it waits.
func (s *jobState) describe(info *JobInfo) {
	info.Standing = string(info.State)
	if info.State.Final() || info.State == job.Proposed {
		return
	}
	unsigned, ours := s.watched.heard(info), info.Proposer == info.Self
	_, agreed := s.InForce()
	switch {
	case !agreed && ours:
		info.Awaits = unsigned
		if info.State == job.Agreed && len(info.Awaits) == 0 { // it has not asked all yet
			info.Awaits = slices.DeleteFunc(slices.Clone(info.Parties), func(p string) bool { return p == info.Self })
		}
		if info.State == job.Agreed && info.Waiting == "" {
			info.Waiting = "consent is asked for: a person there runs hanse approve " + info.Name
		}
	case info.State == job.Agreed && !ours:
		info.Waiting = "this node has consented; " + info.Proposer + " starts it once all have"
	}
	if !info.StartBy.IsZero() && info.Waiting != "" {
		info.Waiting += "; it ends by itself on " + wording.Time(info.StartBy) +
			" unless a session begins"
	}
	switch {
	case info.State == job.Agreed && ours && len(info.Awaits) > 0:
		info.Standing = "waiting for " + wording.Several(info.Awaits)
	case info.Progress != nil && info.Progress.Total > 0:
		info.Standing = fmt.Sprintf("%s %d %%", info.State, info.Progress.Percent)
	}
}

// scoredTable is the table that hanse predict scores where nobody says another.
const scoredTable = "test"

// nextCommand is what a person at this node types next about a job, empty where there is nothing to do; scores says
// whether the node has the table that is scored.
func nextCommand(j *JobInfo, name string, scores bool) string {
	switch {
	case j.Held:
		return "hanse resume " + name
	case j.State == job.Proposed && j.Approvals > 0:
		return "hanse approve " + name + " --as NAME"
	case j.State == job.Proposed:
		return "hanse approve " + name
	case j.State == job.Agreed, j.State == job.Running:
		return "hanse result " + name + " --wait"
	case j.State != job.Done: // a pause says itself what mends it
		return ""
	case j.Task == contract.TaskTrain && len(j.Servers) == 0 && j.Rows == "" && scores: // else its result says it
		return "hanse predict --model " + name + " --table test"
	case j.Task == contract.TaskTrain && len(j.Servers) > 0:
		return "hanse model show " + name
	}
	return "hanse result " + name
}
