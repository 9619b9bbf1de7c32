package audit

import (
	"encoding/binary"
	"regexp"
	"strconv"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/evidence"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/audit/views"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// planted runs a federation with such masks and audits it.
func planted(t *testing.T, topology contract.Topology, active int, p fdskl.Params, m masks) *finding.Report {
	t.Helper()
	f := newFederation(t, 200, active, fdskl.Masked, topology, p)
	f.sabotage = m
	must(t, f.learn(-1, 0, nil))
	r := f.audited(f.input())
	for _, c := range r.Checks {
		if c.Verdict == finding.Failed {
			t.Errorf("check %s of %s: %s", c.Name, c.Party, c.Detail)
		}
	}
	return r
}

// wantLeak wants the verdict leak, by that attack on the party's masked words.
func wantLeak(t *testing.T, r *finding.Report, name, party, part string) *finding.Attack {
	t.Helper()
	if r.Verdict != finding.Leak {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
	return wantAttack(t, r, name, party, "masked words", finding.Leak, part)
}

// many is a training of many small sums.
func many(iterations int) fdskl.Params {
	return fdskl.Params{Schedule: fdskl.DoublyStochastic, Iterations: iterations, Batch: 80, BlockFeatures: 1, Sigma: 1}
}

func TestFreshMasksOfATestAreClean(t *testing.T) {
	t.Parallel()
	for _, p := range []fdskl.Params{schedules()["fixed"], many(40)} {
		wantNoneOf(t, planted(t, contract.Star, 1, p, fresh))
	}
}

func TestUnmaskedChunkIsFoundByUniformity(t *testing.T) {
	t.Parallel()
	r := planted(t, contract.Star, 1, schedules()["fixed"], bare)
	wantLeak(t, r, "uniformity", "p0", "the words of angles, received from p1, that should be masked are not uniform")
	wantLeak(t, r, "uniformity", "p1", "some of them are not masked, or masks repeat")
	wantAttack(t, r, "uniformity", "p2", "masked words", finding.Clean, "")
}

func TestUnmaskedVectorIsRebuilt(t *testing.T) {
	t.Parallel()
	r := planted(t, contract.Star, 1, schedules()["fixed"], naked)
	wantLeak(t, r, "uniformity", "p0", "are not masked")
	wantAttack(t, r, "difference", "p0", views.ViewParent, finding.Leak, "of p1")
}

func TestMasksOfTwoSumsAreFoundByReuse(t *testing.T) {
	t.Parallel()
	r := planted(t, contract.Star, 1, many(200), reused)
	for _, party := range []string{"p0", "p1"} {
		wantLeak(t, r, "mask reuse", party, "mask reused: payloads (session 1, operation ")
	}
}

func TestMasksOfSixteenBitsAreFoundByReuse(t *testing.T) {
	t.Parallel()
	f := newFederation(t, 100, 2, fdskl.Masked, contract.Star, many(600))
	f.sabotage = narrow
	must(t, f.learn(-1, 0, nil))
	in := f.input()
	in.Sources, in.Columns = in.Sources[:1], nil
	r := f.audited(in)
	a := wantLeak(t, r, "mask reuse", "p0", "cancel their masks")
	found := regexp.MustCompile(`as if masks had about (\d+) bits`).FindStringSubmatch(a.Detail)
	if found == nil {
		t.Fatal(a.Detail)
	}
	if bits, err := strconv.Atoi(found[1]); err != nil || bits < 14 || bits > 18 {
		t.Errorf("%s bits, want about 16", found[1])
	}
}

func TestMasksThatComeAgainInAPayloadAreFoundByReuse(t *testing.T) {
	t.Parallel()
	r := planted(t, contract.Star, 1, schedules()["fixed"], periodic)
	wantLeak(t, r, "mask reuse", "p0", "repeats its masks after ")
	if !regexp.MustCompile(`after (75|300|600|900) words`).MatchString(attackOf(r, "mask reuse", "p0",
		"masked words").Detail) {
		t.Error("another lag than the period's")
	}
}

func TestGroupOfOneIsFoundByContributors(t *testing.T) {
	t.Parallel()
	f := newFederation(t, 100, 1, fdskl.Masked, contract.Tree, schedules()["fixed"])
	must(t, f.learn(-1, 0, nil))
	in := f.input()
	children := contract.PlanFor(contract.Tree, 4, 0).Children[0]
	in.Sources = []evidence.Source{source("forged", f.deviate(0, drop(of(received, "angles", children[len(children)-1]))))}
	in.Sources[0].Payload = f.stores[0].Get
	r := f.audited(in)
	wantCheck(t, r.Checks, finding.CheckContributors, finding.Leak, "of 4 parties in it, at least 3 are wanted")
	if r.Verdict != finding.Leak {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
}

func TestOneTreeForBothSumsIsFoundByTrees(t *testing.T) {
	t.Parallel()
	for _, same := range []bool{false, true} {
		f := newFederation(t, 100, 1, fdskl.Published, contract.Tree, schedules()["fixed"])
		f.sameTree, f.unbudgeted = same, true
		must(t, f.learn(-1, 0, nil))
		r := f.audited(f.input())
		if same {
			wantCheck(t, r.Checks, finding.CheckTrees, finding.Leak, "T1 = T2: operation ")
			continue
		}
		wantCheck(t, r.Checks, finding.CheckTrees, finding.Passed, "totally different")
	}
}

// slow lets every sum take the longer, the more of its rows are of the class +1.
func (f *federation) slow(all []transcript.Record) []transcript.Record {
	var late int64
	var operation uint64
	var rows []uint32
	for i := range all {
		r := &all[i]
		first := r.Operation != operation
		operation = r.Operation
		if r.Kind == "batch" && first && r.Type.Payload() {
			payload, err := f.stores[3].Get(r.Sum())
			if err != nil {
				f.t.Fatal(err)
			}
			for _, j := range rows {
				late += int64(1e8 * (1 + f.labels.Values[j]))
			}
			rows = rows[:0]
			for ; len(payload) >= 4; payload = payload[4:] {
				rows = append(rows, binary.LittleEndian.Uint32(payload))
			}
		}
		r.Time += late
	}
	return all
}

func TestLabelsInTheTimingAreFoundByLabelLeakage(t *testing.T) {
	t.Parallel()
	f := newFederation(t, 200, 1, fdskl.Masked, contract.Star,
		fdskl.Params{Schedule: fdskl.DoublyStochastic, Iterations: 300, Batch: 4, BlockFeatures: 4, Sigma: 1})
	must(t, f.learn(-1, 0, nil))
	in := f.input()
	in.Sources = in.Sources[3:]
	wantAttack(t, f.audited(in), "label leakage", "p3", "passive party", finding.Clean, "correlation 0.")
	in.Sources = []evidence.Source{source("forged", f.deviate(3, f.slow))}
	in.Sources[0].Payload = f.stores[3].Get
	r := f.audited(in)
	wantAttack(t, r, "label leakage", "p3", "passive party", finding.Leak, "the time that the row's sums took goes with the labels: correlation 0.")
	if r.Verdict != finding.Leak {
		t.Errorf("verdict %s: %s", r.Verdict, r.Summary)
	}
}
