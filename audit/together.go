package audit

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/consent"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// together adds up what this job and the others that the auditor has tell of the same rows: those to which a party
// is committed by the same row_set. Rows that only overlap are known to the party's own ledger alone. Several models of
// the same rows tell more of a row than one, which no contract of a single job announces.
func (a *auditor) together() {
	all := a.jobs()
	if len(all) < 2 {
		return
	}
	for i := range a.in.Contract.Parties {
		p := &a.in.Contract.Parties[i]
		if p.RowSet == "" || p.Columns == 0 {
			continue
		}
		for _, to := range a.in.Contract.Parties {
			if to.ID == p.ID {
				continue
			}
			if check, ok := togetherOf(all, p, to.ID, to.Name); ok {
				a.report.Checks = append(a.report.Checks, check)
			}
		}
	}
}

// jobs lists this job and the others, each once.
func (a *auditor) jobs() []*contract.Contract {
	all := []*contract.Contract{a.in.Contract}
	for _, c := range a.in.Others {
		if !slices.ContainsFunc(all, func(o *contract.Contract) bool { return o.Hash() == c.Hash() }) {
			all = append(all, c)
		}
	}
	return all
}

// togetherOf adds up what jobs tell one member of the rows that a party is committed to. ok is false where one model
// alone tells of them.
func togetherOf(all []*contract.Contract, p *contract.Facts, to keys.ID, name string) (check finding.Check, ok bool) {
	type job struct {
		name string
		bits int64
	}
	models := make(map[string][]job)
	var bits int64
	for _, c := range all {
		at := slices.IndexFunc(c.Parties, func(f contract.Facts) bool { return f.ID == p.ID && f.RowSet == p.RowSet })
		receiver := slices.IndexFunc(c.Parties, func(f contract.Facts) bool { return f.ID == to })
		if at < 0 || receiver < 0 {
			continue
		}
		var own int64
		for k := range c.Openings {
			if o := &c.Openings[k]; o.To == c.Parties[receiver].Name {
				weighed, _ := consent.Weigh(c, o)
				own += weighed
			}
		}
		model := c.Hash().String()
		if c.Job.Task == contract.TaskPredict {
			model = c.Job.Model
			if slices.ContainsFunc(models[model], func(j job) bool { return j.bits == own }) && c.Job.TimesPerRow() == 1 {
				continue // a row is scored once with a model
			}
		}
		if own > 0 {
			models[model] = append(models[model], job{c.Job.Name, own})
			bits += own
		}
	}
	if len(models) < 2 {
		return check, false
	}
	var names []string
	for _, jobs := range models {
		for _, j := range jobs {
			names = append(names, j.name)
		}
	}
	slices.Sort(names)
	return finding.Check{Name: finding.CheckTogether, Party: p.Name, Verdict: finding.Disclosed, Detail: fmt.Sprintf(
		"of the same %d rows of %s %s was told %d bits a row by %s, in jobs %s: more than one contract says", p.Rows, p.Name,
		name, bits, wording.Count(len(models), "model"), strings.Join(names, ", "))}, true
}
