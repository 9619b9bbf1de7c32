package audit

import (
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/audit/finding"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/protocol/transcript"
)

// In a run in which the phases go along the tree of the angles, everybody who can see it says so: all
// but a party that does the same along both trees.
func TestPhasesAlongTheTreeOfTheAnglesAreALeak(t *testing.T) {
	for name, p := range trainings() {
		t.Run(name, func(t *testing.T) {
			tr := newTraining(t, 4, 1, fdskl.Published, contract.Tree, p)
			tr.sameTree, tr.unbudgeted = true, true
			must(t, tr.train(-1, 0, nil))
			all, cross := tr.examined(tr.sources()...)
			wantPassed(t, cross)
			for i, e := range all {
				wantCheck(t, e.Checks, finding.CheckTrees, finding.Leak, "T1 = T2: operation ")
				for _, c := range e.Checks {
					if c.Verdict == finding.Failed && c.Name != finding.CheckEgress {
						t.Errorf("p%d: %+v", i, c)
					}
				}
			}
		})
	}
}

func TestPhasesWithoutAnglesAreFound(t *testing.T) {
	tr := newTraining(t, 4, 1, fdskl.Published, contract.Tree, trainings()["fixed"])
	must(t, tr.train(-1, 0, nil))
	all, _ := tr.examined(source("forged", tr.deviate(0, drop(operationOf("published-angles")))))
	wantCheck(t, all[0].Checks, finding.CheckOperations, finding.Failed, "goes along the second tree, but no sum of the same size along the first comes before it")
}

// Every protocol.CountersignEvery operations the parties sign each other's links.
func TestRoundThatIsLeftOutIsFound(t *testing.T) {
	long := trainings()["doubly stochastic"]
	long.Iterations = contract.CountersignEvery/4 + 40 // each has a batch, two sums of angles and one of scores, at most
	tr := newTraining(t, 4, 2, fdskl.Masked, contract.Tree, long)
	must(t, tr.train(-1, 0, nil))
	first := roundAfter(contract.CountersignEvery)
	n := 0
	for _, r := range tr.records(0) {
		if first(&r) {
			n++
		}
	}
	if n != 15 {
		t.Fatalf("a round of %d records after %d operations, want 15", n, contract.CountersignEvery)
	}
	all, _ := tr.examined(source("forged", tr.deviate(0, drop(first))))
	wantCheck(t, all[0].Checks, finding.CheckCountersignatures, finding.Failed, "begins in session 1 without the countersignatures that are due after operation 1024")
	late := insert(first, func(all []transcript.Record, at int) []transcript.Record {
		r := all[at]
		r.Kind = "batch"
		return []transcript.Record{r}
	})
	all, _ = tr.examined(source("forged", tr.deviate(0, late)))
	wantCheck(t, all[0].Checks, finding.CheckOperations, finding.Failed, "")
}
