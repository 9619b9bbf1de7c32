package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/sealed"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// steps is a small scorecard, of which numbers open after the last of its steps and at the end. With one iteration less
// rounding decides whether it is at its optimum, and so whether points open.
func steps() fdskl.Params {
	p := scorecard()
	p.Bins, p.Iterations, p.Outer = 2, 4, 5
	return p
}

// TestOpeningsOfInterruptedJobsCountOnce interrupts a training and a prediction many times: whatever came again was the
// same, and the ledger has it once.
func TestOpeningsOfInterruptedJobsCountOnce(t *testing.T) {
	t.Parallel()
	f := newThrees(t, 100, -1, steps())
	sessions := 0
	for at := 9; ; at += 3 + at/8 {
		errs := f.learn(at%3, at, errKilled)
		if sessions++; errs[0] == nil && errs[1] == nil && errs[2] == nil && errs[3] == nil {
			break
		}
	}
	r := f.audited(f.input())
	wantSealed(t, r)
	wantOpened(t, r, map[string]int64{"p0 bound": 1, "p0 progress": 1, "p1 progress": 1, "p2 progress": 1, "p3 pace": 1,
		"p1 reach": 1, "p2 reach": 1, "p3 reach": 1})
	for party, kind := range map[int]string{0: evidence.OpeningProgress, 3: evidence.OpeningPace} {
		times := 0
		f.deviate(party, func(all []transcript.Record) []transcript.Record {
			for i := range all {
				if all[i].Type == received && all[i].Kind == kind {
					times++
				}
			}
			return all
		})
		if times < 2 {
			t.Errorf("%s came %d times to %s in %d sessions, want it again", kind, times, f.names[party], sessions)
		}
	}
	wantCheck(t, r.Checks, finding.CheckOpenings, finding.Passed, "12 openings of which all three held the words before any left")

	if errs := f.predict(); errs[0] != nil {
		t.Fatal(errs)
	}
	must(t, f.score(-1, 0, nil))
	r = f.audited(f.input())
	wantSealed(t, r)
	wantOpened(t, r, map[string]int64{"p3 scores": 100})
}

// wantOpened wants the ledger to have so many values.
func wantOpened(t *testing.T, r *finding.Report, want map[string]int64) {
	t.Helper()
	for _, l := range r.Ledger {
		if n, ok := want[l.Party+" "+l.Kind]; ok && l.Count != n {
			t.Errorf("the ledger has %d %s of %s, want %d", l.Count, l.Kind, l.Party, n)
		}
	}
}

// TestSecondRoundingsAreFound: the three put their disks back and open again, each in its own way, all that opened or
// the progress of steps alone.
func TestSecondRoundingsAreFound(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		kept  string
		kinds []string // that open again
	}{{"rows", []string{"bound"}}, {"bound", []string{evidence.OpeningProgress, evidence.OpeningPace}}} {
		f := newThrees(t, 100, -1, steps())
		if errs := f.learn(3, 1380, errKilled); errs[3] == nil {
			t.Fatal("nothing was interrupted")
		}
		for _, v := range f.vaults {
			for name := range v.States {
				kept := strings.Contains(name, c.kept) || name == joint.FilePrefix+"rows"
				if strings.HasPrefix(name, joint.FilePrefix) && !kept {
					delete(v.States, name)
				}
			}
		}
		must(t, f.learn(-1, 0, nil))
		in := f.input()
		in.Columns = nil
		r := f.audited(in)
		for _, kind := range c.kinds {
			wantCheck(t, r.Checks, finding.CheckOpenings, finding.Failed, "("+kind+") is opening 1 under the words of "+
				"session 2, and under those of session 1 it opened before: two roundings tell more than one")
		}
		if r.Verdict != finding.Unverifiable {
			t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
		}
	}
}

// TestRowsThatAreDrawnAgainAreFound: the three forget the coin of the rows that they keep out, with all sums, and draw
// another.
func TestRowsThatAreDrawnAgainAreFound(t *testing.T) {
	t.Parallel()
	p := few()
	p.Lambda = 0
	f := newThrees(t, 100, -1, p)
	if errs := f.learn(3, 60, errKilled); errs[3] == nil {
		t.Fatal("nothing was interrupted")
	}
	for _, v := range f.vaults {
		for name := range v.States {
			if strings.HasPrefix(name, joint.FilePrefix) {
				delete(v.States, name)
			}
		}
	}
	must(t, f.learn(-1, 0, nil))
	in := f.input()
	in.Columns = nil
	wantCheck(t, f.audited(in).Checks, finding.CheckOpenings, finding.Failed,
		"of session 2 is another than in an earlier session: the rows that are kept out are drawn once")
}

// TestOpeningsWithoutReadinessAreFound in the transcripts of those who go along, and so are those that nobody asked
// for.
func TestOpeningsWithoutReadinessAreFound(t *testing.T) {
	t.Parallel()
	f := newThrees(t, 100, -1, steps())
	must(t, f.learn(-1, 0, nil))
	ready := func(r *transcript.Record) bool { return r.Kind == sealed.Ready }
	for _, c := range []struct {
		change edit
		want   string
	}{
		{drop(operationOf(contract.KindAsk)), "and its receiver has not asked for that, or for something else"},
		{drop(ready), "begins in session 1 after 0 messages that the words are ready, want the same from each of the three"},
		{alter(ready, 0, func(r *transcript.Record) { r.Proof[0] ^= 1 }), "after 3 messages that the words are ready, want the same from each of the three"},
		{alter(ready, -1, func(r *transcript.Record) { r.Proof[0] ^= 1 }), "and the three were ready for something else"},
	} {
		in := f.input()
		in.Columns = nil
		in.Sources = []evidence.Source{source("forged", f.deviate(0, c.change))}
		checks := f.audited(in).Checks
		at := slices.IndexFunc(checks, func(k finding.Check) bool { return k.Name == finding.CheckOpenings })
		if at < 0 || checks[at].Verdict != finding.Failed || !strings.Contains(checks[at].Detail, c.want) {
			t.Errorf("checks are %+v, want %s", checks, c.want)
		}
	}
}
