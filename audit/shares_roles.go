package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol"
	"github.com/hanse-project/hanse/secagg/rss"
)

// trio are the three parties of a sealed job that hold shares, by index: label holder, keeper and helper.
type trio [rss.Roles]int

// trioOf finds the three of a sealed job: by its parameters, or those of the model that a prediction scores with; where
// the auditor has no part of that, by its messages. It returns false for jobs that have no such three.
func trioOf(in *Input) (trio, bool) {
	job := in.Contract.Job
	if job.Privacy != fdskl.Sealed {
		return trio{}, false
	}
	var p fdskl.Params
	var err error
	switch {
	case job.Task != protocol.TaskPredict:
		p, err = fdskl.ParamsOf(job.Parameters, job.Parties)
	case in.Model != nil:
		p = in.Model.Params
	default:
		return trioByMessages(in.Contract)
	}
	if err != nil || len(p.Active) == 0 {
		return trio{}, false
	}
	t := trio{job.Index(p.Active[0]), job.Index(p.Keeper), job.Index(p.Helper)}
	return t, !slices.Contains(t[:], -1)
}

// trioByMessages reads the three of a prediction from its contract: who the angles go to, and the ends of the last
// message of the first truncation.
func trioByMessages(c *protocol.Contract) (trio, bool) {
	t := trio{-1, -1, -1}
	for i := range c.Operations {
		o := &c.Operations[i]
		switch {
		case o.Kind == sealed.Angles && o.Collective == protocol.CollectiveSum:
			t[rss.LabelHolder] = c.Job.Index(o.Root)
		case t[rss.Keeper] < 0 && o.Collective == protocol.CollectiveDirect && strings.HasSuffix(o.Kind, rss.SuffixOut):
			t[rss.Helper], t[rss.Keeper] = c.Job.Index(o.Root), c.Job.Index(o.To)
		}
	}
	return t, !slices.Contains(t[:], -1)
}

// share names the role of a party among the three; empty outside.
func (t trio) share(party int) string {
	if r := slices.Index(t[:], party); r >= 0 {
		return rss.Role(r).String()
	}
	return ""
}

// checkAffiliations is the name of the check that no two of the three are affiliated.
const checkAffiliations = "affiliations"

// affiliations checks that the charter declares no two of a sealed job's three affiliated.
func affiliations(in *Input, charter *keys.SignedCharter) (Check, bool) {
	c := in.Contract
	three, ok := trioOf(in)
	if !ok {
		return Check{}, false
	}
	check := Check{Name: checkAffiliations, Verdict: Passed,
		Detail: "no two of label holder, keeper and helper are affiliated in the charter; that they do not collude all the same is trusted"}
	for r := range three {
		for s := range r {
			a, b := c.Parties[three[s]].Name, c.Parties[three[r]].Name
			if charter.Affiliated(a, b) {
				check.Verdict = Failed
				check.Detail = fmt.Sprintf("%s and %s, %s and %s of the job, are affiliated in the charter: together they can rebuild every column, the labels and the model", a, b, rss.Role(s), rss.Role(r))
			}
		}
	}
	return check, true
}

// jobRows is how many rows a job is about: those of any party that brings some.
func jobRows(c *protocol.Contract) int {
	rows := 0
	for i := range c.Parties {
		rows = max(rows, c.Parties[i].Rows)
	}
	return rows
}

// withoutData reports whether a party brings no rows to its job, as the helper of a sealed one may.
func withoutData(p *protocol.Facts) bool { return p.Role == "helper" && p.Rows == 0 }
