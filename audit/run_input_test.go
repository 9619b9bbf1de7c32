package audit

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/protocol/contract"
)

func TestRunSaysWhatIsWrongWithItsInput(t *testing.T) {
	f := federationOf(t)
	short := newFederation(t, 50, 1, fdskl.Masked, contract.Tree, schedules()["fixed"])
	changed := func(change func(c *evidence.Columns)) func(in *evidence.Input) {
		return func(in *evidence.Input) {
			c := *in.Columns[1]
			in.Columns[1] = &c
			change(&c)
		}
	}
	for _, c := range []struct {
		want string
		edit func(in *evidence.Input)
	}{
		{"audit: no contract was given", func(in *evidence.Input) { in.Contract = nil }},
		{"audit: no transcript was given", func(in *evidence.Input) { in.Sources = nil }},
		{"audit: columns of 3 parties, the contract has 4", func(in *evidence.Input) { in.Columns = in.Columns[:3] }},
		{"audit: columns of p1: 50 rows, the contract has 60: this is not the table that was trained on", func(in *evidence.Input) { in.Columns[1] = short.columns[1] }},
		{"audit: columns of p1: there are no rows", changed(func(c *evidence.Columns) { c.Rows = nil })},
		{"audit: columns of p1: 2 names for 3 columns", changed(func(c *evidence.Columns) { c.Names = c.Names[:2] })},
		{"audit: columns of p1: 9 labels for 60 rows", changed(func(c *evidence.Columns) { c.Labels = make([]float64, 9) })},
		{"audit: columns of p1: the label of row 4 is +Inf, want a finite number, or NaN for none", changed(func(c *evidence.Columns) {
			c.Labels = make([]float64, 60)
			c.Labels[3] = math.Inf(1)
		})},
	} {
		in := f.input()
		c.edit(in)
		if _, err := Run(t.Context(), in); err == nil || err.Error() != c.want {
			t.Errorf("error %v, want %s", err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, f.input()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestColumnsOfAnotherPartyAreFound(t *testing.T) {
	for _, privacy := range []string{fdskl.Masked, fdskl.Published} {
		f := newFederation(t, 60, 1, privacy, contract.Tree, schedules()["fixed"])
		must(t, f.learn(-1, 0, nil))
		in := f.input()
		in.Columns[1], in.Columns[2] = in.Columns[2], in.Columns[1]
		r := f.audited(in)
		wantCheck(t, r.Checks, finding.CheckTables, finding.Failed, "do not add up to what p0 saw as active party")
		wantAttack(t, r, "difference", "p0", views.ViewActive, finding.Skipped, "a table is another party's, or not the one that was trained on")
		if privacy == fdskl.Masked && r.Verdict != finding.Unverifiable {
			t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
		}
		in.Columns[0], in.Columns[1], in.Columns[2] = in.Columns[2], in.Columns[0], in.Columns[1]
		wantCheck(t, f.audited(in).Checks, finding.CheckTables, finding.Failed,
			"do not add up to what p0 saw as active party")
	}
}

func TestOneTranscriptTwiceIsFound(t *testing.T) {
	f := federationOf(t)
	in := f.input()
	in.Sources = append(in.Sources, in.Sources[1])
	r := f.audited(in)
	wantCheck(t, r.Checks, finding.CheckCross, finding.Failed, "there are two transcripts of p1: ")
	n := 0
	for _, a := range r.Attacks {
		if a.Name == "uniformity" && a.Party == "p1" {
			n++
		}
	}
	if n != 1 || r.Verdict != finding.Unverifiable {
		t.Errorf("%d attacks on p1, verdict %s", n, r.Verdict)
	}
}
