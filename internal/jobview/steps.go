package jobview

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/hanse-project/hanse/internal/jobs"
	"github.com/hanse-project/hanse/internal/node"
	"github.com/hanse-project/hanse/internal/node/job"
	"github.com/hanse-project/hanse/internal/terminal"
	"github.com/hanse-project/hanse/internal/wording"
)

// scoredTable is the table that hanse predict scores where nobody says another.
const scoredTable = "test"

// trainedTable is the table of a job file that does not name one.
const trainedTable = "train"

// Steps is what a person at a node does next with a job that is done, in commands that run as they are printed.
type Steps struct {
	Jobs []node.JobInfo    // the node's
	Dir  string            // its folder
	Has  func(string) bool // whether it has a table of that name
	Now  time.Time
}

// write prints the steps after a job's report.
func (s *Steps) write(out io.Writer, r *jobs.Report, whole bool) {
	next := func(what string, lines ...string) { // each on a line of its own, to be copied whole
		fmt.Fprintf(out, "%s\n    %s\n", what, strings.Join(lines, "\n    "))
	}
	short := r.Contract[:8]
	if !whole {
		next("see each message with", s.command("result %s --whole", short))
	}
	next("audit it with", s.command("audit %s", short))
	if r.Online != nil {
		next("see its model with", s.command("model show %s", short))
	}
	i := slices.IndexFunc(s.Jobs, func(j node.JobInfo) bool { return j.Contract == r.Contract })
	if i < 0 {
		return
	}
	job := &s.Jobs[i]
	if a := r.Aligned; a != nil {
		s.aligned(out, job, a, next)
	}
	if r.Trained != nil {
		s.score(out, job, next)
		next("see the model with", s.command("model show %s", short))
	}
}

// aligned prints what the rows of an alignment are for: to train on, unless they are of the table that is scored, and
// to be scored, where there is a model for that.
func (s *Steps) aligned(out io.Writer, job *node.JobInfo, a *jobs.Aligned, next func(string, ...string)) {
	model, days := s.modelFor(job), wording.Count(a.KeepDays, "day")
	if a.Table != scoredTable {
		lines := []string{fmt.Sprintf("rows = %q", a.Name)}
		if a.Table != trainedTable {
			lines = append([]string{fmt.Sprintf("table = %q", a.Table)}, lines...)
		}
		next("train on these rows, for "+days+", by this in a job file", lines...)
	}
	switch {
	case model != nil && s.Has(a.Table):
		next("score them with", s.predict(model, a.Table, a.Name))
	case a.Table == scoredTable:
		terminal.Sentence(out, "", "these rows can be scored for "+days+", once their parties have trained a model: "+
			s.command("predict --rows %s", a.Name))
	}
}

// score prints how new rows are scored with a training's model, by a party with rows.
func (s *Steps) score(out io.Writer, job *node.JobInfo, next func(what string, lines ...string)) {
	const what = "score new rows with"
	rows := ""
	var align []string
	if job.Rows != "" {
		aligned, of := s.alignments(job)
		switch {
		case aligned != nil:
			rows = aligned.Name
		case of != nil:
			rows = "rows-" + job.Contract[:8]
			keys := ""
			if len(of.Aligned.Keys) > 0 {
				keys = " --keys " + strings.Join(of.Aligned.Keys, ",")
			}
			align = []string{s.command("align --for predict --name %s --parties %s%s", rows, strings.Join(of.Parties, ","),
				keys)}
		}
	}
	switch {
	case !s.Has(job.Table):
		return // a helper without data, to whom no score opens
	case !s.Has(scoredTable):
		terminal.Sentence(out, "", "to score new rows each party's node is started with a table of them, hanse node --data "+
			scoredTable+"=FILE")
	case job.Rows != "" && rows == "":
		terminal.Sentence(out, "", "new rows are scored once "+s.command("align --for predict")+" has found those that all "+
			"have")
	default:
		next(what, append(align, s.predict(job, scoredTable, rows))...)
	}
}

// predict is the command that scores rows of a table with a model.
func (s *Steps) predict(model *node.JobInfo, table, rows string) string {
	if rows != "" {
		rows = " --rows " + rows
	}
	return s.command("predict --model %.8s --table %s%s", model.Contract, table, rows)
}

// command is a command at the node.
func (s *Steps) command(format string, args ...any) string {
	return "hanse " + fmt.Sprintf(format, args...) + " --dir " + wording.Quoted(s.Dir)
}

// modelFor returns the newest model in parts all of whose parties took part in an alignment; nil: there is none.
func (s *Steps) modelFor(alignment *node.JobInfo) (newest *node.JobInfo) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Task == "train" && len(j.Servers) == 0 && j.State == job.Done &&
			within(j.Parties, alignment.Parties) && (newest == nil || newest.Ended.Before(j.Ended)) {
			newest = j
		}
	}
	return newest
}

// alignments returns the newest alignment of rows that a training's model can score, nil where there is none, and the
// one that the training took its rows from, nil where that is not there any more.
func (s *Steps) alignments(training *node.JobInfo) (scored, trained *node.JobInfo) {
	for i := range s.Jobs {
		j := &s.Jobs[i]
		if j.Aligned == nil {
			continue
		}
		if j.Contract == training.Alignment {
			trained = j
		}
		if j.AlignsNow(scoredTable, s.Now) && within(training.Parties, j.Parties) &&
			(scored == nil || scored.Ended.Before(j.Ended)) {
			scored = j
		}
	}
	return scored, trained
}

// within reports whether all of some names are among others.
func within(some, others []string) bool {
	return !slices.ContainsFunc(some, func(name string) bool { return !slices.Contains(others, name) })
}
