package audit

import (
	"fmt"

	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/internal/wording"
	"github.com/hanse-project/hanse/keys"
)

// consented lists the tables given, and checks that each is the one that its party's own record of consent names. A
// table of other people, or with its cells at other ids, makes every attack on its columns find nothing.
func (a *auditor) consented() {
	confirmed := 0
	var others []string
	given := func(party int, sum keys.Hash, sure bool) {
		name := a.in.Contract.Parties[party].Name
		a.report.Tables = append(a.report.Tables, finding.Table{Party: name, SHA256: hexOf(sum), Confirmed: sure})
		if sure {
			confirmed++
			return
		}
		others = append(others, name)
	}
	for i, c := range a.in.Columns {
		if c != nil {
			given(i, c.Table, c.Confirmed)
		}
	}
	for i, s := range a.in.Streams {
		if s != nil {
			given(i, s.Table, s.Confirmed)
		}
	}
	for i, s := range a.in.IDs {
		if s != nil {
			given(i, s.Table, s.Confirmed)
		}
	}
	check := finding.Check{Name: finding.CheckConsented, Verdict: finding.Passed}
	switch {
	case len(a.report.Tables) == 0:
		return
	case len(others) > 0:
		check.Verdict = finding.Skipped
		check.Detail = fmt.Sprintf("nobody confirmed that these are the tables of the job: %s; attacks that were tried "+
			"with others find nothing. It takes the folders of these parties' nodes, with their records of consent",
			several(others))
	default:
		check.Detail = fmt.Sprintf("the SHA-256 of %s given is the one that its party's own record of consent names",
			wording.Count(confirmed, "table"))
	}
	a.report.Checks = append(a.report.Checks, check)
}

// approvals checks what parties' records of consent have of approvals.
func (a *auditor) approvals() {
	for _, p := range a.in.Approvals {
		check := finding.Check{Name: finding.CheckApprovals, Party: a.in.Contract.Parties[p.Party].Name,
			Verdict: finding.Passed}
		switch {
		case p.Fault != "":
			check.Verdict, check.Detail = finding.Failed, "its record of consent has approvals that do not hold: "+p.Fault
		case !p.Bound:
			check.Verdict = finding.Skipped
			check.Detail = "its transcript was begun under another record of consent than the one beside it, which has " +
				wording.Count(len(p.By), "approval")
		default:
			check.Detail = fmt.Sprintf("%s signed this contract, with different keys: %s; its transcript was begun under that "+
				"consent", wording.Count(len(p.By), "person"), several(p.By))
		}
		a.report.Checks = append(a.report.Checks, check)
	}
}

// hexOf writes a digest in hexadecimal, nothing when there is none.
func hexOf(h keys.Hash) string {
	if h.IsZero() {
		return ""
	}
	return h.String()
}
