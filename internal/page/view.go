package page

import (
	"cmp"
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/algorithms/registry"
	figurepage "github.com/hanse-project/hanse/internal/figures/page"
	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/jobs/summary"
	"github.com/hanse-project/hanse/internal/ledger"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// frame is what templates show: the node, and on a job's page the job.
type frame struct {
	Path, Events, Form, Person string
	*node.Status
	ToLookAt []node.Alert // those that stand nowhere else on the page
	Job      *jobView     // nil: the overview
	Failure  string       // what went wrong with a decision

	Waiting, Running, Past []jobView
	MembersHere            []memberView
	Here                   int
	Left                   outflow // all that left this machine in jobs since the node started
	Told                   toldView
}

// frame looks at the node; contract is that of the job to show, nil for the overview.
func (p *Page) frame(s *session, contract *string) *frame {
	status := p.watchers.look()
	f := &frame{Path: s.path(), Events: s.path() + "events", Form: s.form, Person: s.person, Status: status}
	var sent []node.EgressStatus
	for i := range status.Jobs {
		j := &status.Jobs[i]
		sent = append(sent, j.Sent...)
		if contract != nil && j.Contract != *contract {
			continue
		}
		v := viewOf(j, status.Time)
		switch {
		case contract != nil:
			f.Job, f.Events, v.Whole = &v, f.Events+"/"+*contract, unbroken(summary.Unfolded(v.Summary, j.Whole))
			var h keys.Hash
			if h.UnmarshalText([]byte(*contract)) != nil {
				continue
			}
			if c := p.config.Contract(h); c != nil {
				f.Job.addContract(c, p.config.Algorithms)
			}
			if v.State == job.Done {
				f.Job.addReport(p.config.Report(h))
			}
		case j.State == job.Proposed:
			f.Waiting = append(f.Waiting, v)
		case j.State.Final():
			f.Past = append(f.Past, v)
		default:
			f.Running = append(f.Running, v)
		}
	}
	f.Left = outflowOf(sent)
	if contract == nil {
		f.Told = toldOf(p.config.Ledger())
	}
	f.ToLookAt = slices.DeleteFunc(slices.Clone(status.Alerts), func(a node.Alert) bool {
		return a.Code == node.CodeProposal || a.Code == node.CodePaused
	})
	f.MembersHere = append(f.MembersHere, memberView{Name: status.Member, Self: true, State: "here", Word: "this node",
		Since: ago(status.Time, status.Started), Version: status.Version})
	for i := range status.Members {
		m := &status.Members[i]
		v := memberOf(m, status.Time)
		if !slices.ContainsFunc(f.ToLookAt, func(a node.Alert) bool { return a.About == m.Name }) {
			v.Trouble = cmp.Or(m.Trouble, m.Clock)
		}
		if v.State != "away" {
			f.Here++
		}
		f.MembersHere = append(f.MembersHere, v)
	}
	return f
}

// toldView is what the node's jobs have told, as hanse ledger shows it.
type toldView struct {
	Rows    []toldRow
	Meaning string // of the numbers
	Nothing string // what stands in place of no rows
	Failure string // why there is no ledger to show
}

// toldRow is what one member was told of one table.
type toldRow struct {
	Cells []toldCell // the first says of which table
	Note  string
}

// toldCell is a cell and what stands above it.
type toldCell struct {
	Column, Text string
	Number       bool // and not a name or a date
}

// toldOf puts the ledger's own words into rows.
func toldOf(l *node.Ledger, err error) toldView {
	if err != nil {
		return toldView{Failure: err.Error()}
	}
	v := toldView{Meaning: ledger.Meaning, Nothing: ledger.Nothing}
	heading := ledger.Heading()
	for i := range l.Lines {
		r := toldRow{Note: l.Lines[i].Note()}
		for k, text := range l.Lines[i].Cells(time.UTC) {
			r.Cells = append(r.Cells, toldCell{heading[k], text, k > 1 && k < len(heading)-1})
		}
		v.Rows = append(v.Rows, r)
	}
	return v
}

// memberView is a member on the page.
type memberView struct {
	Name, State, Word, Since, RTT, Address, Version string
	Self                                            bool
	Trouble                                         string // unless an alert says it
}

// memberOf says how a member stands.
func memberOf(m *node.MemberStatus, now time.Time) memberView {
	v := memberView{Name: m.Name, State: "away", Word: "away", Address: m.Address, Version: m.Version}
	if !m.Since.IsZero() {
		v.Since = ago(now, m.Since)
	}
	switch {
	case m.Connected && m.Trouble != "":
		v.State, v.Word = "limited", "limited"
	case m.Connected:
		v.State, v.Word = "here", "here"
	case !m.Kept:
		v.Word = "comes by itself"
	}
	if m.RTT > 0 {
		v.RTT = fmt.Sprintf("%.3g ms", float64(m.RTT)/float64(time.Millisecond))
	}
	return v
}

// jobView is a job on the page.
type jobView struct {
	node.JobStatus
	Short, Task    string
	Others         string // the parties beside this one
	Word           string // how it stands, as people say it
	Mine           bool   // this node proposed it
	Until          string // of a proposal
	MayApprove     string // of one that waits for several persons: who they are, and who of them has approved
	HaveApproved   string
	Trace          template.HTML
	Least, Highest string // of the trace
	Latest         string
	Left           outflow

	// of a job's page
	Whole    []textLine // the summary
	Facts    [][2]string
	Roles    []partyView
	Kinds    []jobs.Protected // what may leave, by how it is protected
	Lines    []lineView
	Learn    []learnView
	Warnings []string
	Purpose  []contract.PurposeField // what the job says that it is for; fields without a text are left out
	Outcome  *jobs.Report
	Figures  [][3]string // the report's figures: name, value, interval
	Drawn    []figurepage.Drawing
	Doubts   []string // what to read before the figures
	Judged   []string // what the figures say in words
	NoReport string
}

// tasks are the tasks as people say them.
var tasks = map[string]string{
	contract.TaskTrain: "training", contract.TaskPredict: "prediction", contract.TaskAlign: "alignment",
}

// viewOf says how a job stands.
func viewOf(j *node.JobStatus, now time.Time) jobView {
	v := jobView{JobStatus: *j, Short: j.Contract[:min(8, len(j.Contract))], Task: cmp.Or(tasks[j.Task], j.Task),
		Mine: j.Proposer == j.Self, Word: cmp.Or(j.Standing, string(j.State)), Left: outflowOf(j.Sent)}
	others := slices.DeleteFunc(slices.Clone(j.Parties), func(name string) bool { return name == j.Self })
	v.Others = wording.Several(others)
	if len(others) <= 4 {
		v.Others = wording.List(others, "and")
	}
	if j.State == job.Proposed {
		v.Word = "waits for you"
		v.MayApprove, v.HaveApproved = wording.List(j.Approvers, "and"), wording.List(j.Approved, "and")
		if at, err := time.Parse(time.RFC3339, j.Expires); err == nil {
			v.Until = when(at)
		}
	}
	var low, high float64
	if v.Trace, low, high = curve(j.Curve); v.Trace != "" {
		v.Least, v.Highest = fmt.Sprintf("%.4g", low), fmt.Sprintf("%.4g", high)
		v.Latest = fmt.Sprintf("%.4g", j.Curve[len(j.Curve)-1].Metric)
	}
	return v
}

// outflow is what left this machine, against what was agreed.
type outflow struct {
	Bytes, Agreed int64
	Classes       []outflowClass
	Rows          []outflowRow
}

// outflowClass is the part of one class.
type outflowClass struct {
	Name, Words   string
	Bytes, Agreed int64
}

// outflowRow is the part of one class for one party.
type outflowRow struct {
	Peer, Class   string
	Bytes, Agreed int64
}

// classes are the classes of messages, what is least protected first.
var classes = []contract.Class{contract.ClassPublished, contract.ClassOpening, contract.ClassMasked, contract.ClassHE,
	contract.ClassControl}

// outflowOf adds up what was sent.
func outflowOf(sent []node.EgressStatus) outflow {
	var o outflow
	for _, class := range classes {
		c := outflowClass{Name: class.String(), Words: (&jobs.Egress{Class: class.String()}).Protection()}
		for _, e := range sent {
			if e.Class != c.Name {
				continue
			}
			c.Bytes, c.Agreed = c.Bytes+e.Bytes, c.Agreed+e.Agreed
			o.Rows = append(o.Rows, outflowRow{e.Peer, e.Class, e.Bytes, e.Agreed})
		}
		if c.Agreed > 0 || c.Bytes > 0 {
			o.Classes = append(o.Classes, c)
		}
		o.Bytes, o.Agreed = o.Bytes+c.Bytes, o.Agreed+c.Agreed
	}
	return o
}

// partyView is a party of a contract.
type partyView struct{ Name, Role, Rows, Columns, Key, Consent string }

// lineView is a kind of message that a contract lets this party send.
type lineView struct {
	Message, To, Content, Protection string
	Agreed                           int64
	Bare                             bool // not protected from its receiver
}

// learnView is what parties learn by design.
type learnView struct {
	Who, Kind, Meaning string
	Count              int64
}

// addContract adds what a contract says.
func (v *jobView) addContract(c *contract.Contract, l registry.List) {
	sharers := l.Sharers(c)
	for i := range c.Parties {
		f := &c.Parties[i]
		row := partyView{Name: f.Name, Role: sharers.Role(f), Key: f.ID.Short()}
		if f.Rows > 0 {
			row.Rows, row.Columns = fmt.Sprint(f.Rows), fmt.Sprint(f.Columns)
		}
		switch {
		case slices.Contains(v.Consented, f.Name):
			row.Consent = "yes"
		case f.Name == v.Self:
			row.Consent = "you decide"
		default:
			row.Consent = "not yet"
		}
		v.Roles = append(v.Roles, row)
	}
	control := lineView{Message: "control", To: "all", Protection: (&jobs.Egress{
		Class: contract.ClassControl.String()}).Protection()}
	self := c.Job.Index(v.Self)
	own, errOwn := c.Egress(self)
	inShards, errShards := c.ShardEgress(self)
	if errOwn == nil && errShards == nil {
		both := [][]jobs.Egress{jobs.EgressOf(c, own), jobs.EgressOf(c, inShards)}
		v.Kinds = jobs.ByProtection(slices.Concat(both...))
		for i, lines := range both {
			for _, e := range jobs.Folded(lines) {
				if e.Protection() == control.Protection {
					control.Agreed += e.MaxBytes
					continue
				}
				if i > 0 {
					e.Kind += ", in shards"
				}
				v.Lines = append(v.Lines, lineView{e.Kind, e.To, e.Content(), e.Protection(), e.MaxBytes,
					e.Class == contract.ClassPublished.String()})
			}
		}
		v.Lines = append(v.Lines, control)
	}
	v.Warnings = summary.Warnings(c, l)
	v.Purpose = slices.DeleteFunc(c.Job.Purpose.Fields(), func(f contract.PurposeField) bool { return f.Text == "" })
	place := make(map[contract.Opening]int)
	who := make(map[int][]string)
	for _, o := range c.Openings {
		name := o.To
		o.To = ""
		at, ok := place[o]
		if !ok {
			at = len(v.Learn)
			place[o] = at
			v.Learn = append(v.Learn, learnView{Kind: o.Kind, Meaning: o.Meaning, Count: o.Count})
		}
		who[at] = append(who[at], name)
	}
	for at, names := range who {
		v.Learn[at].Who = wording.Several(names)
	}
}

// addReport adds what a job that is done gave this node.
func (v *jobView) addReport(r *jobs.Report, err error) {
	switch {
	case err != nil:
		v.NoReport = err.Error()
		return
	case r == nil:
		v.NoReport = "The job ended while this node was away: it has no report of its own."
		return
	}
	v.Outcome = r
	add := func(name, value string) { v.Facts = append(v.Facts, [2]string{name, value}) }
	add("rows", fmt.Sprint(r.Rows))
	seconds, sent, received := r.Forecast.Beside()
	add("time", duration(time.Duration(r.Seconds*float64(time.Second)))+seconds)
	add("sessions", fmt.Sprint(r.Sessions))
	add("sent", wording.Size(r.BytesOut)+sent)
	add("received", wording.Size(r.BytesIn)+received)
	if t := r.Trained; t != nil {
		add("iterations", fmt.Sprint(t.Iterations))
		if r.NotConverged != "" {
			add("optimum", r.NotConverged)
		}
		if t.TrainError != nil {
			add(r.TrainErrorName(), fmt.Sprintf("%.4g", *t.TrainError))
		}
	}
	if r.Lambda != 0 {
		add("lambda", fmt.Sprintf("%.4g", r.Lambda))
	}
	if o := r.Online; o != nil && o.MeanSquaredError != nil {
		add("mean squared error", fmt.Sprintf("%.4g", *o.MeanSquaredError))
	}
	if a := r.Aligned; a != nil {
		add("common rows", fmt.Sprint(a.Common))
	}
	if r.Missed != "" {
		add("missed", r.Missed)
	}
	if len(r.Away) > 0 {
		add("have yet to hear of it", strings.Join(r.Away, ", "))
	}
	if notice := r.First(); notice != "" {
		v.Doubts = append(v.Doubts, notice)
	}
	for _, u := range r.Unseen {
		v.Doubts = append(v.Doubts, u.String())
	}
	if g := r.Figures; g != nil {
		v.Judged = g.Sentences()
		for _, line := range g.Lines() {
			value, interval, _ := strings.Cut(strings.TrimSuffix(line[1], ")"), " (")
			v.Figures = append(v.Figures, [3]string{line[0], value, interval})
		}
		if g.Binary != nil {
			v.Drawn = figurepage.Drawings(g.Binary)
		}
	}
}

// ago says how long ago something was, in steps that do not flicker.
func ago(now, then time.Time) string {
	if d := now.Sub(then); d >= time.Minute {
		return wording.Age(d)
	}
	return "less than a minute"
}

// duration says how long something took, below a minute to a tenth of a second.
func duration(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%.1f s", d.Seconds())
	}
	return wording.Age(d)
}

// when writes a time as a person's clock has it, or a dash.
func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return wording.Time(t)
}
