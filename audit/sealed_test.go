package audit

import (
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/secagg/rss"
)

// blocks are features of which a block has 2,048 rows, and blocksRows so many that there are two blocks.
func blocks() fdskl.Params { return fdskl.Params{Features: 256, Iterations: 4, Sigma: 1} }

const blocksRows = 3000

// large begins a test with millions of recorded words, on which the race detector would spend a quarter of an hour:
// make test runs it without.
func large(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("too many words for the race detector; make test runs it without")
	}
	t.Parallel()
}

// The uses of the pads of a block; see package sealed.
const (
	padFirst    = rss.FirstFree + 11
	padSecond   = rss.FirstFree + 12
	padTwo      = rss.FirstFree + 13
	padOne      = rss.FirstFree + 14
	padRotation = rss.FirstFree + 77
)

// without leaves out pads of some uses.
func without(uses ...rss.Use) func(rss.Source) rss.Source {
	return func(s rss.Source) rss.Source {
		return &otherPads{s, func(_ rss.Role, _ uint64, use rss.Use) rss.Pad {
			for _, u := range uses {
				if u == use {
					return zeros{}
				}
			}
			return nil
		}}
	}
}

func TestLargeHonestSealedJobsAreClean(t *testing.T) {
	large(t)
	f := newThrees(t, blocksRows, -1, blocks())
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	wantSealed(t, r)
	for _, v := range []struct{ party, name, view string }{
		{"p0", "difference", views.ViewPadded}, {"p0", "difference", views.ViewParent},
		{"p1", "difference", views.ViewFactors}, {"p2", "difference", views.ViewFactors},
	} {
		a := wantAttack(t, r, v.name, v.party, v.view, finding.Clean, "the error is that of a guess")
		if a.ControlShare == nil || *a.ControlShare != 1 {
			t.Errorf("%s as %s: %s", v.party, v.view, shown(a))
		}
	}
	for _, party := range []string{"p1", "p2"} {
		for _, view := range []string{views.ViewFeatures, views.ViewBoth} {
			wantAttack(t, r, "known rows", party, view, finding.Clean, ", with the features themselves ")
		}
	}
	wantAttack(t, r, "label leakage", "p1", "passive party", finding.Clean, "")
	for _, want := range []string{"Any two of p0, p1 and p2 together could rebuild everything, which no transcript shows."} {
		if !strings.Contains(r.Summary, want) {
			t.Errorf("summary is %s", r.Summary)
		}
	}
}

func wantSealed(t *testing.T, r *finding.Report) {
	t.Helper()
	wantNoneOf(t, r)
	if r.Verdict != finding.Clean {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
}

func TestLargeForgottenRotationIsRebuilt(t *testing.T) {
	large(t)
	f := newThrees(t, blocksRows, -1, blocks())
	f.pads = without(padRotation)
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	wantRebuilt(t, r, "p0", views.ViewPadded, finding.Leak, 9, 1e-3)
	wantAttack(t, r, "known rows", "p0", views.ViewPadded, finding.Leak, "")
	if r.Verdict != finding.Leak {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
	for _, c := range r.Checks {
		if c.Verdict == finding.Failed {
			t.Errorf("check %s of %s: %s", c.Name, c.Party, c.Detail)
		}
	}
}

func TestLargeSealedPredictionsAreClean(t *testing.T) {
	large(t)
	p := blocks()
	p.Features = 64
	f := newThrees(t, 600, 2, p)
	must(t, f.learn(-1, 0, nil))
	wantSealed(t, f.audited(f.input()))
	must(t, f.predict())
	in := f.input()
	r := f.audited(in)
	wantSealed(t, r)
	wantAttack(t, r, "difference", "p0", views.ViewPadded, finding.Clean, "the error is that of a guess")
	wantAttack(t, r, "known rows", "p2", views.ViewFeatures, finding.Clean, ", with the features themselves ")
	for i, want := range []string{"label holder", "keeper", "helper", ""} {
		if got := r.Job.Parties[i].Share; got != want {
			t.Errorf("%s is the %q, want the %q", f.names[i], got, want)
		}
	}
	in.Model = nil
	for i, p := range f.audited(in).Job.Parties {
		if p.Share != r.Job.Parties[i].Share {
			t.Errorf("without a model %s is the %q, want the %q", f.names[i], p.Share, r.Job.Parties[i].Share)
		}
	}
}

// planted audits a training with other pads than it should have.
func (f *threes) planted(pads func(rss.Source) rss.Source) *finding.Report {
	f.t.Helper()
	f.pads = pads
	must(f.t, f.learn(-1, 0, nil))
	in := f.input()
	in.Rows = 500
	r := f.audited(in)
	for _, c := range r.Checks {
		if c.Verdict == finding.Failed {
			f.t.Errorf("check %s of %s: %s", c.Name, c.Party, c.Detail)
		}
	}
	if r.Verdict != finding.Leak {
		f.t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
	return r
}

func TestLargePadOfTwoMessagesIsFoundByReuse(t *testing.T) {
	large(t)
	f := newThrees(t, blocksRows+blocksRows, -1, blocks())
	r := f.planted(func(s rss.Source) rss.Source {
		return &otherPads{s, func(unknown rss.Role, _ uint64, use rss.Use) rss.Pad {
			if use == padFirst || use == padSecond {
				return fixed{byte(unknown), byte(use)}
			}
			return nil
		}}
	})
	wantAttack(t, r, "mask reuse", "p2", "masked words", finding.Leak, "mask reused: payloads (session 1, operation ")
	wantAttack(t, r, "mask reuse", "p0", "masked words", finding.Leak, "mask reused: payloads (session 1, operation ")
}

func TestLargeMessagesWithoutTheirPadAreFound(t *testing.T) {
	large(t)
	for _, ring := range []int{64, 48} {
		job := func() *threes {
			return newThrees(t, 700, -1, fdskl.Params{Features: 128, Iterations: 2, Sigma: 1, Ring: ring})
		}
		r := job().planted(without(padOne))
		wantAttack(t, r, "uniformity", "p1", "masked words", finding.Leak, "the words of features, received from p2, that should be masked are not uniform")
		r = job().planted(without(padOne, padTwo))
		wantAttack(t, r, "known rows", "p1", views.ViewBoth, finding.Leak, "predicts the others by plain regression")
		r = job().planted(without(padFirst, padSecond, padRotation))
		wantAttack(t, r, "difference", "p2", views.ViewFactors, finding.Leak, "p2, as factors, rebuilt ")
	}
}
