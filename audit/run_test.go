package audit

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// schedules are small trainings of both kinds.
func schedules() map[string]fdskl.Params {
	return map[string]fdskl.Params{
		"fixed":             {Features: 80, Iterations: 10},
		"doubly stochastic": {Schedule: fdskl.DoublyStochastic, Iterations: 32, Batch: 64, BlockFeatures: 2},
	}
}

// parents lists the parties that add others' vectors in a sum to a root.
func parents(topology contract.Topology, root int) []int {
	plan, list := contract.PlanFor(topology, 4, root), []int{}
	for i, children := range plan.Children {
		if len(children) > 0 {
			list = append(list, i)
		}
	}
	return list
}

func TestMaskedRunsOpenTheAnglesToTheActivePartiesAlone(t *testing.T) {
	for name, p := range schedules() {
		for _, active := range []int{1, 2} {
			for _, topology := range []contract.Topology{contract.Tree, contract.Star, contract.Ring} {
				t.Run(fmt.Sprintf("%s, %d active, %s", name, active, topology), func(t *testing.T) {
					t.Parallel()
					f := newFederation(t, 120, active, fdskl.Masked, topology, p)
					must(t, f.learn(-1, 0, nil))
					r := f.audited(f.input())
					wantNoneOf(t, r)
					want := ExitClean
					if p.Schedule == fdskl.DoublyStochastic {
						want = ExitPartial // of too few rows for a regression are all features seen
					}
					if r.Verdict != finding.Disclosed || r.Exit != want {
						t.Errorf("verdict %s, exit code %d: %s", r.Verdict, r.Exit, r.Summary)
					}
					f.wantViews(r, active)
				})
			}
		}
	}
}

// wantViews wants an honest masked run's verdict on every party's views.
func (f *federation) wantViews(r *finding.Report, active int) {
	f.t.Helper()
	inner := make(map[int]bool)
	for root := range active {
		wantRebuilt(f.t, r, f.names[root], views.ViewActive, finding.Disclosed, 9, 1e-3)
		for _, i := range parents(f.topology, root) {
			inner[i] = true
		}
	}
	for i, name := range f.names {
		switch {
		case inner[i]:
			wantHidden(f.t, r, name)
		case attackOf(r, "difference", name, views.ViewParent) != nil:
			f.t.Errorf("%s has no children, and was attacked as a parent", name)
		}
		if i >= active && attackOf(r, "difference", name, views.ViewActive) != nil {
			f.t.Errorf("nothing opened to %s, and it was attacked as active", name)
		}
		wantAttack(f.t, r, "uniformity", name, "masked words", finding.Clean, "look like uniform noise")
		wantAttack(f.t, r, "mask reuse", name, "masked words", finding.Clean, "no mask was used twice")
		if i >= active {
			wantAttack(f.t, r, "label leakage", name, "passive party", finding.Clean, "")
		}
	}
	wantAttack(f.t, r, "membership", "every party", "alignment", finding.Clean, "")
}

func TestPublishedRunsLeakToParentsAndActiveParties(t *testing.T) {
	for name, p := range schedules() {
		for _, active := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s, %d active", name, active), func(t *testing.T) {
				t.Parallel()
				f := newFederation(t, 200, active, fdskl.Published, contract.Tree, p)
				must(t, f.learn(-1, 0, nil))
				r := f.audited(f.input())
				for _, c := range r.Checks {
					if c.Verdict == finding.Failed {
						t.Errorf("check %s of %s: %s", c.Name, c.Party, c.Detail)
					}
				}
				if r.Verdict != finding.Leak || !strings.Contains(r.Summary, "rebuilt 100.0 % of ") {
					t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
				}
				seen := 0
				for _, a := range r.Attacks {
					if a.Name == "difference" && a.View == views.ViewParent {
						seen++
						wantRebuilt(t, r, a.Party, views.ViewParent, finding.Leak, a.UnknownColumns, 1e-9)
					}
				}
				if seen == 0 {
					t.Error("no parent's view was attacked")
				}
				for i := range active {
					wantRebuilt(t, r, f.names[i], views.ViewActive, finding.Leak, 9, 1e-9)
				}
			})
		}
	}
}

func TestInterruptedRunsAreAttackedAsAWhole(t *testing.T) {
	for name, p := range schedules() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFederation(t, 100, 2, fdskl.Masked, contract.Tree, p)
			for _, l := range []struct{ who, at int }{{0, 6}, {2, 9}, {1, 12}} {
				f.learn(l.who, l.at, errKilled)
			}
			must(t, f.learn(-1, 0, nil))
			r := f.audited(f.input())
			wantNoneOf(t, r)
			f.wantViews(r, 2)
		})
	}
}

func TestWithoutColumnsTheAnglesAreDisclosedAndNotRebuilt(t *testing.T) {
	f := federationOf(t)
	in := f.input()
	in.Columns = nil
	r := f.audited(in)
	if wantNoneOf(t, r); r.Verdict != finding.Disclosed {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
	wantAttack(t, r, "difference", "p0", views.ViewActive, finding.Skipped, "not tried: the columns of p0 are needed")
	wantAttack(t, r, "uniformity", "p3", "masked words", finding.Clean, "")
	wantAttack(t, r, "label leakage", "p3", "passive party", finding.Skipped, "the labels are needed")
	in.Columns = make([]*evidence.Columns, 4)
	in.Columns[0] = f.columns[0]
	wantAttack(t, f.audited(in), "difference", "p0", views.ViewActive, finding.Skipped,
		"not tried: the columns of p1 are needed")
}

func TestWithDigestsOnlyNothingIsAttacked(t *testing.T) {
	f := newFederation(t, 60, 1, fdskl.Masked, contract.Tree, schedules()["fixed"])
	f.stores = nil
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	if wantNoneOf(t, r); r.Verdict != finding.Disclosed || r.Exit != ExitPartial || len(r.Attacks) != 5 {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
	for _, name := range f.names {
		wantAttack(t, r, "difference", name, "all views", finding.Skipped, "not tried, nor any other: payloads were not kept: run the job with record = \"full\"")
	}
}

func TestPayloadsLeftBehindAreNamed(t *testing.T) {
	f := federationOf(t)
	in := f.input()
	in.Sources[2].Payload = nil
	wantAttack(t, f.audited(in), "difference", "p2", "all views", finding.Skipped, "the payloads that the transcript says were kept are not beside it")
}

func TestWhatALimitCutsOffIsNamed(t *testing.T) {
	p := fdskl.Params{Features: 48, Iterations: 10, Loss: "square"}
	f := newFederation(t, 200, 1, fdskl.Masked, contract.Star, p)
	for i := range f.stores {
		var err error
		if f.stores[i], err = transcript.OpenStore(f.dir+f.names[i], 36_000); err != nil {
			t.Fatal(err)
		}
	}
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	wantNoneOf(t, r)
	wantAttack(t, r, "difference", "p0", "angles", finding.Skipped, "not tried on all that was seen: ")
	wantAttack(t, r, "uniformity", "p0", "masked words", finding.Clean, "")
	if !strings.Contains(strings.Join(r.NotLookedAt, " "),
		"were not kept, because the node's limit was reached") || r.Exit != ExitPartial {
		t.Errorf("exit code %d, not looked at: %q", r.Exit, r.NotLookedAt)
	}
}

// TestAnAttackWhoseControlFailsWasNotTried: of two angles a row not even unmasked ones would rebuild nine columns.
func TestAnAttackWhoseControlFailsWasNotTried(t *testing.T) {
	f := newFederation(t, 120, 1, fdskl.Masked, contract.Tree, fdskl.Params{Features: 4, Iterations: 10})
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	a := attackOf(r, "difference", "p0", views.ViewActive)
	if a == nil || a.Verdict != finding.Skipped || !strings.Contains(a.Detail,
		"proves nothing: not even without masks would 2 equations") {
		t.Errorf("attack %+v", a)
	}
	if !strings.Contains(strings.Join(r.NotLookedAt, " "), "proves nothing") || r.Exit != ExitPartial {
		t.Errorf("exit code %d, not looked at: %q", r.Exit, r.NotLookedAt)
	}
}

// A prediction has angles too, but not those of a training.
func TestOtherTasksAreAuditedWithoutAttacksOnAngles(t *testing.T) {
	f := federationOf(t)
	in := f.input()
	changed, job := *f.contract, *f.contract.Job
	job.Task = contract.TaskPredict
	changed.Job = &job
	in.Contract = &changed
	r := f.audited(in)
	if a := attackOf(r, "difference", "p0", views.ViewActive); a != nil {
		t.Errorf("attacked: %s", shown(a))
	}
	wantAttack(t, r, "difference", "p0", "angles", finding.Skipped, "the angles of a prediction are told apart by a part of its model, and none was given")
	wantAttack(t, r, "uniformity", "p1", "masked words", finding.Clean, "")
}

func TestSameInputSameReport(t *testing.T) {
	for _, privacy := range []string{fdskl.Masked, fdskl.Published} {
		f := newFederation(t, 200, 1, privacy, contract.Tree, schedules()["doubly stochastic"])
		must(t, f.learn(-1, 0, nil))
		in, again := f.input(), f.input()
		again.Workers = 2
		a, b := f.audited(in), f.audited(again)
		a.Seconds, b.Seconds = 0, 0
		if !reflect.DeepEqual(a, b) {
			t.Errorf("%s: the reports differ", privacy)
		}
	}
}

// TestACutTranscriptDoesNotEmptyTheLedger: an owner that cuts its transcript before what opened to it keeps the verdict
// of what the contract lets it learn.
func TestACutTranscriptDoesNotEmptyTheLedger(t *testing.T) {
	f := newFederation(t, 120, 1, fdskl.Masked, contract.Tree, fdskl.Params{Features: 64, Iterations: 20})
	must(t, f.learn(-1, 0, nil))
	whole := f.audited(f.input())
	in := f.input()
	in.Sources = []evidence.Source{source("cut",
		f.deviate(0, func(all []transcript.Record) []transcript.Record { return all[:12] }))}
	cut := f.audited(in)
	verdict := func(r *finding.Report) finding.Verdict {
		for _, l := range r.Ledger {
			if l.Party == "p0" && l.Kind == evidence.OpeningAngles {
				return l.Verdict
			}
		}
		return ""
	}
	if w, c := verdict(whole), verdict(cut); w != finding.Disclosed || c != finding.Disclosed ||
		cut.Verdict == finding.Clean || cut.Verdict == finding.Partial {
		t.Errorf("angles of p0 are %q, and %q where its transcript is cut; the verdict is %s", w, c, cut.Verdict)
	}
}
