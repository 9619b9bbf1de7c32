// Package jobview is what people see of a node's jobs: their list, one whole, the report of one that is done, and
// what a policy makes of one.
package jobview

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/wording"

	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/terminal"
)

// Proposed finds the one job that a person decides on, by its name or the first digits of its contract; shown is the
// first digits of the contract that the person saw, empty before that.
func Proposed(jobs []node.JobInfo, which, shown string) (*node.JobInfo, error) {
	var named, fitting []*node.JobInfo
	for i := range jobs {
		j := &jobs[i]
		if !node.Means(which, j.Name, j.Contract) {
			continue
		}
		named = append(named, j)
		if j.State == job.Proposed && strings.HasPrefix(j.Contract, shown) {
			fitting = append(fitting, j)
		}
	}
	switch {
	case len(named) == 0:
		return nil, fmt.Errorf("this node has no job %q; hanse jobs lists them%s", which,
			wording.DidYouMean(which, Names(jobs)))
	case len(fitting) == 1:
		return fitting[0], nil
	case len(fitting) > 1:
		return nil, ambiguous(which, "jobs that wait", fitting)
	}
	for _, j := range named {
		if j.State == job.Proposed {
			return nil, fmt.Errorf("the job %q that waits here has contract %.8s, not %.8s: "+
				"look at it with hanse jobs --show %s, then type the digits that stand there",
				which, j.Contract, shown, which)
		}
	}
	return nil, notWaiting(named)
}

// notWaiting says of the newest of some jobs of a name, none of which waits for consent, how it stands: a person may
// have typed the name before the proposal has come.
func notWaiting(named []*node.JobInfo) error {
	j := slices.MaxFunc(named, func(a, b *node.JobInfo) int { return a.Made.Compare(b.Made) })
	if !j.State.Final() {
		return fmt.Errorf("job %q, contract %.8s, is %s, not waiting for consent: hanse status %[1]s says how it "+
			"stands", j.Name, j.Contract, j.State)
	}
	how := string(j.State)
	if !j.Ended.IsZero() {
		how += ", " + wording.Time(j.Ended)
	}
	return fmt.Errorf("job %q, contract %.8s, has ended (%s), and no newer proposal of that name has come yet: wait "+
		"until hanse jobs lists one as proposed", j.Name, j.Contract, how)
}

// Names lists what jobs are called.
func Names(jobs []node.JobInfo) []string {
	var names []string
	for _, j := range jobs {
		names = append(names, j.Name)
	}
	return names
}

// ambiguous refuses a name that several have, and tells them apart.
func ambiguous(which, what string, all []*node.JobInfo) error {
	var each []string
	for _, j := range all {
		each = append(each, fmt.Sprintf("%.8s (%s)", j.Contract, j.State))
	}
	return fmt.Errorf("there are %d %s %q: give the first digits of the contract in its place, %s", len(all), what, which,
		wording.List(each, "or"))
}

// Training finds the one training with a name, or whose contract's hash begins so, among those of the node in the
// folder dir. Of several of a name it is the one that was done last, and said says so.
func Training(jobs []node.JobInfo, running bool, which, dir string) (wanted *node.JobInfo, said string, err error) {
	if wanted, said = node.NewestDone(jobs, which); wanted != nil {
		return wanted, said, nil
	}
	var names []string
	var found, done []*node.JobInfo
	for i := range jobs {
		j := &jobs[i]
		names = append(names, fmt.Sprintf("%s (%.8s, %s)", j.Name, j.Contract, j.State))
		if !node.Means(which, j.Name, j.Contract) {
			continue
		}
		found = append(found, j)
		if j.State == job.Done {
			done = append(done, j)
		}
	}
	if len(done) > 0 {
		found = done
	}
	switch {
	case len(found) == 1:
		return found[0], "", nil
	case len(found) > 1:
		return nil, "", ambiguous(which, "trainings", found)
	case running:
		return nil, "", fmt.Errorf("the node in %s has no training %q; hanse jobs lists them%s", dir, which,
			wording.DidYouMean(which, Names(jobs)))
	}
	return nil, "", fmt.Errorf("the node in %s has no training %q; it has %s", dir, which,
		cmp.Or(strings.Join(names, ", "), "none"))
}

// Report prints what a node says of a finished job, and what comes next. What left the machine is added up by
// protection, unless the whole of it is wanted.
func Report(out io.Writer, r *jobs.Report, whole bool, steps *Steps) error {
	if notice := r.First(); notice != "" {
		terminal.Sentence(out, "", notice)
	}
	fmt.Fprintf(out, "contract  %s\n", r.Contract) // too long for a column beside the others
	w := wording.NewTable(out, "")
	switch a := r.Aligned; {
	case a != nil:
		fmt.Fprintf(w, "rows here\t%d\n", r.Rows)
		fmt.Fprintf(w, "common to all\t%d\n", a.Common)
		for i, key := range a.Keys {
			fmt.Fprintf(w, "  by %s\t%d\n", key, a.ByKey[i])
		}
	case r.Online == nil:
		fmt.Fprintf(w, "rows\t%d\n", r.Rows)
	}
	seconds, sent, received := r.Forecast.Beside()
	fmt.Fprintf(w, "seconds\t%.2f%s\n", r.Seconds, seconds)
	fmt.Fprintf(w, "rounds\t%d\n", Rounds(r))
	switch o := r.Online; {
	case o == nil:
	case o.MeanSquaredError == nil: // a server
		fmt.Fprintf(w, "clients\t%d in the last total\n", o.Clients)
	default:
		fmt.Fprintf(w, "mean squared error\t%.4f, of the predictions made on the way\n", *o.MeanSquaredError)
		if o.Regret != nil {
			fmt.Fprintf(w, "regret\t%.2f\n", *o.Regret)
		}
	}
	fmt.Fprintf(w, "sent\t%s%s\n", wording.Size(r.BytesOut), sent)
	fmt.Fprintf(w, "received\t%s%s\n", wording.Size(r.BytesIn), received)
	if r.Trained != nil && r.Trained.TrainError != nil {
		fmt.Fprintf(w, "%s\t%.4f\n", r.TrainErrorName(), *r.Trained.TrainError)
	}
	if r.Lambda != 0 {
		fmt.Fprintf(w, "lambda\t%g, chosen by rows kept out of a first solution\n", r.Lambda)
	}
	for _, o := range r.Openings {
		if r.Aligned != nil {
			break // what an alignment opens stands above
		}
		fmt.Fprintf(w, "%s learned\t%d %s\n", o.Party, o.Count, o.Kind)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if r.NotConverged != "" {
		terminal.Sentence(out, "", r.NotConverged)
	}
	for _, u := range r.Unseen {
		terminal.Sentence(out, "", u.String())
	}
	if r.Positive != nil {
		terminal.Sentence(out, "", "event: "+r.Positive.String())
	}
	if r.Figures != nil {
		fmt.Fprintln(out)
		below := *r.Figures
		below.Notice = "" // it stands above
		if err := below.Write(out); err != nil {
			return err
		}
	} else if r.Trained != nil && r.Trained.TrainError == nil {
		terminal.Sentence(out, "", "a training like this has no figures, since it shows nobody the scores of its rows. A "+
			"prediction of rows whose labels this node has does, and they cost nothing beside its scores: of a sealed model up "+
			"to 10 bits a row, listed in that job's contract")
	}
	fmt.Fprintf(out, "\nwhat left %s's machine in the last session, against the contract\n", r.Party)
	if whole {
		jobs.WriteEgress(out, r.Egress, true)
	} else {
		jobs.WriteProtected(out, r.Egress, true)
	}
	fmt.Fprintln(out)
	steps.write(out, r, whole)
	return nil
}

// Rounds is how many rounds a job had.
func Rounds(r *jobs.Report) uint64 {
	if r.Online != nil {
		return uint64(r.Online.Rounds)
	}
	return r.Rounds
}

// Explain prints what a policy makes of a job.
func Explain(out io.Writer, e *node.Explanation) {
	terminal.Sentence(out, "", fmt.Sprintf("job %q, contract %.8s, is %s", e.Job, e.Contract, e.State))
	if e.Policy == "" {
		terminal.Sentence(out, "", "this node has no policy: every job waits for hanse approve")
	} else {
		terminal.Sentence(out, "", fmt.Sprintf("policy %s, SHA-256 %.8s, asked as of %s", e.File, e.Policy,
			wording.Time(e.AsOf)))
	}
	if e.Consent != nil {
		terminal.Sentence(out, "", "consented to by "+e.Consent.String())
		if e.Consent.Policy != "" && e.Consent.Policy != e.Policy {
			terminal.Sentence(out, "", fmt.Sprintf("the policy was another file then, SHA-256 %.8s: below is what today's "+
				"makes of "+
				"the job", e.Consent.Policy))
		}
	}
	for _, r := range e.Judgement.Reasons {
		switch {
		case r.Rule == e.Judgement.Rule:
			terminal.Sentence(out, "", fmt.Sprintf("%s fits and decides: %s", r.Rule, e.Judgement.Verdict))
		case r.Fits:
			terminal.Sentence(out, "", r.Rule+" fits too")
		default:
			terminal.Sentence(out, "", fmt.Sprintf("%s does not fit: %s", r.Rule, r.Key))
			terminal.Sentence(out, "    ", "the job has "+r.Job)
			terminal.Sentence(out, "    ", "the rule wants "+r.Want)
		}
	}
	if e.Judgement.Verdict == consent.Ask {
		terminal.Sentence(out, "", "no rule decides: a person does, by hanse approve")
	}
}
