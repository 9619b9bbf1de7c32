package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
)

// TestShufflersTablesAreNotClean: a shuffler hands the auditor the tables of a sealed job in another order, so that no
// attack on them can find anything. Nobody has confirmed these tables, and the audit is not clean; with the tables that
// the parties' records of consent name it is.
func TestShufflersTablesAreNotClean(t *testing.T) {
	p := blocks()
	p.Features = 64
	f := newThrees(t, 600, -1, p)
	must(t, f.learn(-1, 0, nil))
	in := f.input()
	r := f.audited(in)
	if r.Verdict != finding.Clean || r.Exit != ExitClean {
		t.Errorf("the job's own tables: %s, exit code %d: %q", r.Verdict, r.Exit, r.NotLookedAt)
	}
	wantCheck(t, r.Checks, finding.CheckConsented, finding.Passed, "the SHA-256 of 4 tables given is the one that")

	in = f.input()
	for i, c := range f.columns[1:] {
		shuffled := *f.columns[1+(i+1)%(len(f.columns)-1)]
		shuffled.Table, shuffled.Confirmed, shuffled.Labels = keys.Hash{1, byte(i)}, false, c.Labels
		in.Columns[i+1] = &shuffled
	}
	r = f.audited(in)
	if r.Verdict != finding.Partial || r.Exit != ExitPartial {
		t.Errorf("the shuffler's tables: %s, exit code %d: %s", r.Verdict, r.Exit, r.Summary)
	}
	const want = "nobody confirmed that these are the tables of the job: p1, p2 and p3;"
	wantCheck(t, r.Checks, finding.CheckConsented, finding.Skipped, want)
	if !slices.ContainsFunc(r.NotLookedAt, func(s string) bool { return strings.Contains(s, want) }) {
		t.Errorf("not looked at: %q", r.NotLookedAt)
	}
	hash := keys.Hash{1}.String()
	if len(r.Tables) != 4 || !r.Tables[0].Confirmed || r.Tables[1] != (finding.Table{Party: "p1", SHA256: hash}) {
		t.Errorf("the report names the tables %+v", r.Tables)
	}
}

// TestRowsLeftOutAreSaid: whoever tells the attacks to work on few rows gets no clean audit of a job.
func TestRowsLeftOutAreSaid(t *testing.T) {
	f := newFederation(t, 120, 1, fdskl.Masked, contract.Star, schedules()["fixed"])
	must(t, f.learn(-1, 0, nil))
	for rows, want := range map[int]bool{0: false, 1: true, 119: true, 120: false, 5000: false} {
		in := f.input()
		in.Rows = rows
		r := f.audited(in)
		check := slices.IndexFunc(r.Checks, func(c finding.Check) bool { return c.Name == finding.CheckRows })
		if said := check >= 0; said != want || said && (r.Exit != ExitPartial || r.Checks[check].Verdict != finding.Skipped) {
			t.Errorf("%d of 120 rows: said %v, exit code %d, want it said %v", rows, said, r.Exit, want)
		}
	}
}
