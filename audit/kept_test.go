package audit

import (
	"errors"
	"os"
	"slices"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/protocol/contract"
	"github.com/hanse-project/hanse/secagg/cohort"
)

// keptIn is the folder of honest runs that several tests read; removed when all have ended.
var keptIn = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "audit-kept") })

// TestMain fails when a test leaves a goroutine behind.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		dir, err := keptIn()
		if err = errors.Join(err, os.RemoveAll(dir)); err != nil {
			panic(err)
		}
		os.Exit(code)
	}))
}

// keeper is a test that makes a run which outlives it. What it opened is closed when the run is made.
type keeper struct {
	testing.TB
	ends []func()
}

// TempDir implements testing.TB.
func (k *keeper) TempDir() string {
	k.Helper()
	dir, err := keptIn()
	if err == nil {
		dir, err = os.MkdirTemp(dir, "run")
	}
	mustDo(k, err)
	return dir
}

// Cleanup implements testing.TB.
func (k *keeper) Cleanup(end func()) { k.ends = append(k.ends, end) }

// kept is an honest run, made for the first test that asks for it. Tests read it and change copies of its transcripts.
type kept[T any] struct {
	make func(t testing.TB) T
	once sync.Once
	run  *T
}

// get returns the run.
func (k *kept[T]) get(t testing.TB) T {
	t.Helper()
	k.once.Do(func() {
		by := &keeper{TB: t}
		run := k.make(by)
		for _, end := range slices.Backward(by.ends) {
			end()
		}
		k.run = &run
	})
	if k.run == nil {
		t.Fatal("the run that this test reads was not made; another test says why")
	}
	return *k.run
}

// forTest returns a test network that others read too, as t's.
func (l *testNetwork) forTest(t testing.TB) *testNetwork {
	mine := *l
	mine.t = t
	return &mine
}

// The runs that several tests read.
var (
	keptSums      = kept[*testNetwork]{make: newSums}
	keptOthers    = kept[*testNetwork]{make: newSums} // of another job
	keptChain     = kept[*testNetwork]{make: newChain}
	keptEncrypted = kept[*testNetwork]{make: func(t testing.TB) *testNetwork { return newEncryptedSums(t, nil) }}
	keptDirects   = kept[*testNetwork]{make: func(t testing.TB) *testNetwork { return newDirects(t, false) }}
	keptLate      = kept[*testNetwork]{make: func(t testing.TB) *testNetwork {
		return newDirectsOf(t, false, (*testNetwork).lateParty)
	}}
	keptFederation = kept[*federation]{make: func(t testing.TB) *federation {
		f := newFederation(t, 60, 1, fdskl.Masked, contract.Tree, schedules()["fixed"])
		must(t, f.learn(-1, 0, nil))
		return f
	}}
	keptSealed = kept[*threes]{make: func(t testing.TB) *threes {
		f := newThrees(t, 100, -1, few())
		must(t, f.learn(-1, 0, nil))
		return f
	}}
	keptCohorts = kept[*cohorts]{make: func(t testing.TB) *cohorts {
		c := newCohorts(t, 5, 2, cohort.Masked, contract.Star)
		must(t, c.federate())
		return c
	}}
	keptChoosers = kept[*choosers]{make: func(t testing.TB) *choosers {
		c := newChoosers(t, 5, 2, "masked", storeAll)
		must(t, c.federate())
		return c
	}}
)

// sumsOf and the others below return runs that t may read.
func sumsOf(t testing.TB) *testNetwork      { return keptSums.get(t).forTest(t) }
func otherSumsOf(t testing.TB) *testNetwork { return keptOthers.get(t).forTest(t) }
func chainOf(t testing.TB) *testNetwork     { return keptChain.get(t).forTest(t) }
func encryptedOf(t testing.TB) *testNetwork { return keptEncrypted.get(t).forTest(t) }
func directsOf(t testing.TB) *testNetwork   { return keptDirects.get(t).forTest(t) }
func lateOf(t testing.TB) *testNetwork      { return keptLate.get(t).forTest(t) }

// forTest returns a training that others read too, as t's.
func (tr *training) forTest(t testing.TB) *training {
	mine := *tr
	mine.testNetwork = tr.testNetwork.forTest(t)
	return &mine
}

func federationOf(t testing.TB) *federation {
	mine := *keptFederation.get(t)
	mine.training = mine.training.forTest(t)
	return &mine
}

func sealedOf(t testing.TB) *threes { return keptSealed.get(t).forTest(t) }

// forTest returns a sealed training that others read too, as t's.
func (f *threes) forTest(t testing.TB) *threes {
	mine := *f
	mine.training = f.training.forTest(t)
	return &mine
}

func cohortsOf(t testing.TB) *cohorts { return keptCohorts.get(t).forTest(t) }

// forTest returns a federation that others read too, as t's.
func (c *cohorts) forTest(t testing.TB) *cohorts {
	mine := *c
	mine.testNetwork = c.testNetwork.forTest(t)
	return &mine
}

func choosersOf(t testing.TB) *choosers {
	mine := *keptChoosers.get(t)
	mine.cohorts = mine.cohorts.forTest(t)
	return &mine
}
