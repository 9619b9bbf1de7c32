package audit

import (
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/keys"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// few is a small sealed training.
func few() fdskl.Params { return fdskl.Params{Features: 32, Iterations: 2, Sigma: 1} }

func TestUnlistedOpeningsOfSealedJobsFail(t *testing.T) {
	t.Parallel()
	f := sealedOf(t)
	in := f.input()
	in.Columns = nil
	in.Sources = []evidence.Source{source("forged",
		f.deviate(0, alter(of(opened, "angles", 0), 0, func(r *transcript.Record) { r.Class = contract.ClassOpening })))}
	r := f.audited(in)
	wantCheck(t, r.Checks, finding.CheckOperations, finding.Failed, "(angles): it opened, and the contract lists no opening of it to this party")
	if r.Verdict != finding.Unverifiable {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
	for _, c := range []struct {
		who  int
		kind string
	}{{0, "angles"}, {0, "gram in"}, {1, "labels"}, {2, "features"}, {1, "bound"}} {
		in := f.input()
		in.Columns = nil
		in.Sources = []evidence.Source{source("forged", f.deviate(c.who, openedOf(c.kind, c.who)))}
		found := false
		for _, k := range f.audited(in).Checks {
			found = found || k.Name == finding.CheckOperations && k.Verdict == finding.Failed &&
				(strings.Contains(k.Detail, "opened") || strings.Contains(k.Detail, "lists no opening"))
		}
		if !found {
			t.Errorf("an opening of %q at %s was not found", c.kind, f.names[c.who])
		}
	}
}

// openedOf opens what came with the first record of a kind.
func openedOf(kind string, self int) edit {
	return func(all []transcript.Record) []transcript.Record {
		at := slices.IndexFunc(all, func(r transcript.Record) bool { return r.Kind == kind && r.Type.Frame() })
		if at < 0 {
			return all
		}
		r := all[at]
		r.Type, r.Peer, r.Class, r.Proof, r.Kept, r.Sequence = opened, self, contract.ClassOpening, [64]byte{}, false, 0
		return slices.Insert(all, at+1, r)
	}
}

func TestTotalsUnderTheirPadAreOnTheRecord(t *testing.T) {
	t.Parallel()
	f := newThrees(t, 300, -1, few())
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	wantSealed(t, r)
	wantAttack(t, r, "difference", "p0", views.ViewPadded, finding.Clean, "the error is that of a guess")
	for _, l := range r.Ledger {
		if l.Kind == "angles" {
			t.Errorf("the ledger has %+v", l)
		}
	}
}

func TestAffiliatedHoldersOfSharesAreNamed(t *testing.T) {
	t.Parallel()
	f := sealedOf(t)
	for _, c := range []struct {
		pair []string
		want finding.Verdict
		part string
	}{
		{[]string{"p0", "p3"}, finding.Passed, "no two of label holder, keeper and helper are affiliated"},
		{[]string{"p0", "p2"}, finding.Failed, "p0 and p2, label holder and helper of the job, are affiliated in the charter"},
		{[]string{"p2", "p1"}, finding.Failed, "p1 and p2, keeper and helper of the job, are affiliated in the charter"},
	} {
		in := f.input()
		in.Charter = &keys.SignedCharter{Charter: keys.Charter{Name: "test", Affiliations: [][]string{c.pair}},
			Document: f.contract.Document}
		r := f.audited(in)
		wantCheck(t, r.Checks, finding.CheckAffiliations, c.want, c.part)
	}
}

func TestHelperWithoutDataIsNoFinding(t *testing.T) {
	t.Parallel()
	f := newThrees(t, 400, 2, few())
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	wantSealed(t, r)
	wantAttack(t, r, "membership", "every party", "alignment", finding.Clean, "compared their 400 row ids")
	wantAttack(t, r, "difference", "p0", views.ViewPadded, finding.Clean, "nothing was rebuilt of p1 and p3")
}

func TestLargeInterruptedSealedRunsAreAttackedAsAWhole(t *testing.T) {
	large(t)
	for _, loss := range []string{"square", "logistic"} {
		p := few()
		p.Loss = loss
		if loss != "square" {
			p.Outer = 24
		}
		f := newThrees(t, 300, -1, p)
		for _, l := range []struct{ who, at int }{{0, 9}, {1, 20}, {2, 30}} {
			f.learn(l.who, l.at, errKilled)
		}
		must(t, f.learn(-1, 0, nil))
		r := f.audited(f.input())
		wantNoneOf(t, r)
		wantAttack(t, r, "difference", "p0", views.ViewPadded, finding.Clean, "the error is that of a guess")
		if a := attackOf(r, "difference", "p0", "angles"); a != nil {
			t.Errorf("%s: %s", loss, a.Detail)
		}
	}
}

func TestPredictionsAreCountedInBits(t *testing.T) {
	t.Parallel()
	f := newThrees(t, 200, -1, few())
	must(t, f.learn(-1, 0, nil))
	must(t, f.predict())
	r := f.audited(f.input())
	wantSealed(t, r)
	at := slices.IndexFunc(r.Ledger, func(l finding.Learned) bool { return l.Kind == "scores" })
	if at < 0 {
		t.Fatalf("no scores in %+v", r.Ledger)
	}
	l := r.Ledger[at]
	if l.Models != 1 || l.BitsPerRow != 10 || l.Bits != 200*10 || l.UnknownColumns != 9 || l.Entropy == nil ||
		*l.Entropy < 60 || *l.Entropy > 70 || l.Verdict != finding.Clean {
		t.Errorf("ledger has %+v with entropy %v", l, l.Entropy)
	}
	if more := strings.Join(r.Unchecked, " "); !strings.Contains(more, "an audit counts those of one job") ||
		!strings.Contains(more, "no transcript shows it") {
		t.Errorf("unchecked: %s", more)
	}
}

// TestOpeningsOfTheSquareLossAreTwoNumbers beside those that check the steps.
func TestOpeningsOfTheSquareLossAreTwoNumbers(t *testing.T) {
	t.Parallel()
	f := sealedOf(t)
	bits := make(map[string]int64)
	for _, l := range f.audited(f.input()).Ledger {
		bits[l.Party+" "+l.Kind] = l.Bits
	}
	for name, want := range map[string]int64{
		"p0 bound": 5, "p1 reach": 5, "p2 reach": 5, "p3 reach": 5, "p0 scores": 0, "p0 check": 40 * 20,
		"p2 check": 40 * 20, "p3 check": 0,
	} {
		if bits[name] != want {
			t.Errorf("%s: %d bits, want %d", name, bits[name], want)
		}
	}
}

// TestATrainingThatOpenedScoresIsNotClean: what an earlier version's training told of its rows is not overlooked.
func TestATrainingThatOpenedScoresIsNotClean(t *testing.T) {
	t.Parallel()
	f := sealedOf(t)
	in := f.input()
	a := &auditor{account: &account{in: *in, report: &finding.Report{Job: describe(in)}}}
	l := finding.Learned{Party: "p0", Kind: "scores", Declared: 300, Count: 300, Verdict: finding.Clean}
	a.bits(&l, 0)
	if l.Verdict != finding.Disclosed || !strings.Contains(l.Meaning, "trainings of this version open none") {
		t.Errorf("scores of a training are %+v, want them disclosed", l)
	}
}
