package jobview

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
)

// List prints jobs as a table, in the order given; below a job stand who consented, why it stands as it does, and what
// comes next. now is the time by which ages are; dir is the node's folder, as it was typed, empty for the default one.
// Of hidden jobs the last line says how many there are.
func List(out io.Writer, all []node.JobInfo, hidden int, now time.Time, dir string) error {
	if len(all) == 0 && hidden == 0 {
		_, err := fmt.Fprintln(out, Typed("there are no jobs yet; hanse train proposes one", dir))
		return err
	}
	t := wording.NewTable(out, "")
	Heads(t)
	for _, j := range all {
		Row(t, &j, now)
		Below(t, &j, dir)
	}
	if len(all) > 0 {
		if err := t.Flush(); err != nil {
			return err
		}
	}
	if hidden > 0 {
		terminal.Sentence(out, "", "not listed: "+wording.Count(hidden, "proposal")+" that ended unanswered (--all lists "+
			"them)")
	}
	return nil
}

// Heads begins a table of jobs.
func Heads(t *wording.Table) { t.Row("contract", "age", "job", "task", "from", "state") }

// Row adds a job to a table of jobs.
func Row(t *wording.Table, j *node.JobInfo, now time.Time) {
	age := "?"
	if !j.Made.IsZero() {
		age = wording.Age(now.Sub(j.Made))
	}
	t.Row(j.Contract[:8], age, terminal.Printable(j.Name), j.Task, terminal.Printable(j.Proposer), j.Standing)
}

// Below says under a job how far it is, what an alignment found, who consented, what an audit
// concluded, why the job stands as it does, until
// when a proposal waits, and the command that comes next.
func Below(t *wording.Table, j *node.JobInfo, dir string) {
	say := func(s string) { t.Note(terminal.Printable(Typed(s, dir))) }
	if j.Progress != nil {
		say(j.Progress.String())
	}
	if j.Shards != nil {
		say(j.Shards.String())
	}
	if j.Aligned != nil {
		say(fmt.Sprintf("%s of table %s, for jobs until %s", wording.Count(j.Aligned.Common, "common row"),
			j.Aligned.Table, j.Until))
	}
	if j.Consent != nil {
		say("consented to by " + j.Consent.String())
	}
	if j.Audited != nil {
		say(j.Audited.String())
	}
	say(j.Reason)
	if j.Waiting != j.Reason {
		say(j.Waiting)
	}
	if j.State == job.Running { // else its reason says so
		say(node.Absences(j.Absent))
	}
	if j.State == job.Proposed {
		if len(j.Approved) > 0 {
			say("approved by " + strings.Join(j.Approved, ", "))
		}
		if j.Approvals > 0 {
			say(fmt.Sprintf("%d of %s must approve it", j.Approvals, strings.Join(j.Approvers, ", ")))
		}
		say("waits until " + j.Expires)
	}
	if j.Next != "" {
		t.Command("next:", terminal.Printable(j.Next+InFolder(dir)))
	}
}
