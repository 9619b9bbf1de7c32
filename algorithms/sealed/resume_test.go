package sealed

import (
	"fmt"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/secagg/rss"
)

// resumable is a job that is killed; within is what the scores of two of its runs may differ by. That comes of the
// features: a cosine has an error of 2^-11 from each of its rounded factors, other ones in each run, and for losses but
// the square of the opened scores' rounding to 2^-4.
type resumable struct {
	*fixture
	within float64
}

// TestSumsOfManyFeaturesAreKeptLessOften, in proportion to what a block is of them.
func TestSumsOfManyFeaturesAreKeptLessOften(t *testing.T) {
	for features, want := range map[int]int{1: 8, 512: 8, 1024: 16, 4096: 256} {
		if got := blocksToSave(features, blockRows(features)); got != want {
			t.Errorf("sums of %d features are kept every %d blocks of %d rows, want %d", features, got, blockRows(features), want)
		}
	}
}

// resumables are the jobs that are killed.
func resumables(t testing.TB) map[string]resumable {
	t.Helper()
	square := newFixture(t, 4, 21, fdskl.Params{Features: 4, Iterations: 4, Sigma: 1, Lambda: 1e-2})
	logistic := newFixture(t, 3, 21, fdskl.Params{Features: 4, Iterations: 3, Sigma: 1, Lambda: 1e-2, Loss: "logistic",
		Outer: 5})
	card := newFixture(t, 4, 21, fdskl.Params{Iterations: 3, Lambda: 1e-2, Loss: "logistic", Outer: 2,
		BinParams: fdskl.BinParams{Bins: 2, MinCell: 2, Points: fdskl.ToOwners, ZScores: fdskl.ToOwners}})
	bins := newFixture(t, 4, 21, fdskl.Params{Iterations: 4, Lambda: 1e-2,
		BinParams: fdskl.BinParams{Bins: 2, MinCell: 2, ZScores: "p3"}})
	auto := newFixture(t, 3, 21, fdskl.Params{Features: 6, Iterations: 2, Sigma: 2})
	classes := newFixture(t, 3, 21, fdskl.Params{Features: 4, Iterations: 2, Sigma: 1, Classes: 3})
	small := newFixture(t, 4, 21, fdskl.Params{Features: 4, Iterations: 2, Sigma: 1, Lambda: 1e-2, Ring: 32})
	smaller := newFixture(t, 3, 21, fdskl.Params{Features: 6, Iterations: 2, Sigma: 2, Ring: 32})
	smallest := newFixture(t, 3, 21, fdskl.Params{Features: 4, Iterations: 2, Sigma: 1, Lambda: 1e-2, Ring: 32,
		Loss: "logistic", Outer: 2})
	small.block, small.save, small.window = 4, 1, 8
	smaller.block, smaller.save, smaller.window = 4, 1, 8
	smallest.block, smallest.window = 4, 8
	classes.block, classes.save = 8, 1
	square.block, square.save = 8, 1
	bins.block, bins.save = 8, 1
	auto.block, auto.save = 8, 1
	logistic.block, card.block = 8, 8
	for _, f := range []*fixture{auto, classes, smaller, card} {
		f.coin = "one, so that all trainings keep the same rows out"
	}
	return map[string]resumable{"square": {square, 5e-3}, "logistic": {logistic, 5e-2}, "scorecard": {card, 5e-2},
		"bins": {bins, 5e-3}, "auto": {auto, 5e-3}, "classes": {classes, 5e-3}, "small": {small, 3e-2},
		"small, auto": {smaller, 3e-2}, "small, logistic": {smallest, 8e-2}}
}

// TestKilledTrainingsEndAlike kills each party at its frames and its writes, two of them in turn, starts again on what
// is left until it is done, and compares the scores with those of a training that nobody disturbed. Whatever is
// sent for an opening is the same in all sessions.
func TestKilledTrainingsEndAlike(t *testing.T) {
	for name, f := range resumables(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testNetwork := f.testNetwork(t)
			models, frames, err := f.live(t, testNetwork, life{party: nobody})
			must(t, err)
			alike, worst := map[float64][]float64{f.savedReach(t): f.clear(t, models)}, 0.0
			var writes []int
			for _, v := range f.vaults {
				writes = append(writes, v.writes)
			}
			try := func(lives ...life) {
				got := f.killed(t, testNetwork, lives...)
				worst = max(worst, rms(got, f.undisturbed(t, testNetwork, alike)))
			}
			every := 11
			if drawn.All {
				every = 1
			}
			for i := range frames {
				next := (i + 1) % len(frames)
				for at := 1 + i; at <= frames[i]; at += every {
					try(life{party: i, frame: at}, life{party: next, frame: 1 + at/2})
				}
				for at := 1; at <= writes[i]; at++ {
					if drawn.Today(t, at, 3) {
						try(life{party: i, write: at})
					}
				}
			}
			if !(worst <= f.within) {
				t.Errorf("scores differ by %.2g, want at most %.2g", worst, f.within)
			}
			t.Logf("%v frames, %v writes; scores differ by at most %.2g", frames, writes, worst)
		})
	}
}

// savedReach is the bound of the spectrum in a job's checkpoint.
func (f *fixture) savedReach(t testing.TB) float64 {
	t.Helper()
	s, err := newParts(&setting{Party: f.party(0, nil, 0)}).checkpoints.load(stageSystem.file(0))
	if err != nil || s == nil {
		t.Fatalf("no checkpoint of the system: %v", err)
	}
	return s.Reach
}

// undisturbed returns the scores of a training that nobody disturbs and whose bound of the spectrum, which has chance
// in it, is the last training's. alike are those that are known, by their bounds.
func (f *fixture) undisturbed(t testing.TB, testNetwork *federation, alike map[float64][]float64) []float64 {
	t.Helper()
	reach := f.savedReach(t)
	for i := 0; alike[reach] == nil; i++ {
		f.forget()
		testNetwork.wrap = nil
		models, _, err := f.live(t, testNetwork, life{party: nobody})
		if err != nil || i == 1<<blindBits {
			t.Fatalf("no training that nobody disturbs has the bound %v: %v", reach, err)
		}
		alike[f.savedReach(t)] = f.clear(t, models)
	}
	return alike[reach]
}

// testNetwork is a federation that holds the job's parties to its contract.
func (f *fixture) testNetwork(t testing.TB) *federation {
	t.Helper()
	testNetwork := newFederation(t, f.names)
	d, err := f.disclose()
	must(t, err)
	testNetwork.declare(t, d)
	return testNetwork
}

// killed trains with the given deaths, one a session, and then to the end; it returns the scores.
func (f *fixture) killed(t *testing.T, testNetwork *federation, lives ...life) []float64 {
	t.Helper()
	f.forget()
	w := newWitness()
	testNetwork.wrap = w.wrap
	for _, l := range append(lives, life{party: nobody}) {
		models, _, err := f.live(t, testNetwork, l)
		if err == nil {
			w.want(t, fmt.Sprintf("%+v", lives), f.trainingOpenings())
			f.solved(t, models)
			return f.clear(t, models)
		}
		if err != errKilled || l.party == nobody {
			t.Fatalf("%+v: %v", lives, err)
		}
	}
	return nil
}

// TestAStepThatIsDoneIsNotDoneAgain kills the helper at its last frame: the next session sums no angles.
func TestAStepThatIsDoneIsNotDoneAgain(t *testing.T) {
	f := resumables(t)["square"]
	testNetwork := f.testNetwork(t)
	_, frames, err := f.live(t, testNetwork, life{party: nobody})
	must(t, err)
	f.forget()
	if _, _, err := f.live(t, testNetwork, life{party: 2, frame: frames[2] - 3}); err != errKilled {
		t.Fatal(err)
	}
	if _, _, err := f.live(t, testNetwork, life{party: nobody}); err != nil {
		t.Fatal(err)
	}
	for i, b := range testNetwork.budgets {
		for _, e := range b.Lines() {
			if again := e.Kind == kindAngles || e.Kind == kindFactors || e.Kind == kindReshare ||
				e.Kind == kindGram+rss.SuffixIn; again && e.Bytes > 0 {
				t.Errorf("%s sent %d bytes of %s again", f.names[i], e.Bytes, e.Kind)
			}
		}
	}
}

// TestCheckpointsOfTwoSessionsDoNotMix gives each of the three the checkpoints of another training of the same job:
// they have the same numbers, and nothing in common.
func TestCheckpointsOfTwoSessionsDoNotMix(t *testing.T) {
	for name, f := range resumables(t) {
		t.Run(name, func(t *testing.T) {
			testNetwork := f.testNetwork(t)
			models, _, err := f.live(t, testNetwork, life{party: nobody})
			must(t, err)
			alike := map[float64][]float64{f.savedReach(t): f.clear(t, models)}
			var mixed []*vaultInMemory
			for i := range f.names {
				f.forget()
				if _, _, err := f.live(t, testNetwork, life{party: nobody}); err != nil {
					t.Fatal(err)
				}
				f.vaults[i].forget(joint.FilePrefix+"opening-", joint.FilePrefix+"left-")
				mixed = append(mixed, f.vaults[i])
			}
			copy(f.vaults, mixed)
			if models, _, err = f.live(t, testNetwork, life{party: nobody}); err != nil {
				t.Fatal(err)
			}
			if d := rms(f.clear(t, models), f.undisturbed(t, testNetwork, alike)); !(d <= f.within) {
				t.Errorf("scores differ by %.2g, want at most %.2g", d, f.within)
			}
		})
	}
}

// TestStepsOfAnotherSystemAreLeft gives the three the steps of one training beside the system of another: they go on
// from the system.
func TestStepsOfAnotherSystemAreLeft(t *testing.T) {
	f := resumables(t)["square"]
	testNetwork := f.testNetwork(t)
	var old []*vaultInMemory
	for range 2 {
		old = slices.Clone(f.vaults)
		f.forget()
		if _, _, err := f.live(t, testNetwork, life{party: nobody}); err != nil {
			t.Fatal(err)
		}
	}
	for i, v := range f.vaults {
		for place := range slots {
			v.files[stageSteps.file(place)] = old[i].files[stageSteps.file(place)]
		}
	}
	models, _, err := f.live(t, testNetwork, life{party: nobody})
	must(t, err)
	f.solved(t, models)
}

// TestScoresDependNeitherOnBlocksNorOnRoles: of any blocks, and with keeper and helper the other way
// round, the same scores come.
func TestScoresDependNeitherOnBlocksNorOnRoles(t *testing.T) {
	for name, f := range resumables(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			alike := make(map[[2]float64][]float64) // by the bound of the spectrum and the lambda, which have chance in them
			for _, roles := range [][2]string{{"p1", "p2"}, {"p2", "p1"}} {
				for _, rows := range []int{1, 7, f.rows, f.rows + 5} {
					f.params.Keeper, f.params.Helper, f.block = roles[0], roles[1], rows
					f.forget()
					models, _, err := f.live(t, f.testNetwork(t), life{party: nobody})
					must(t, err)
					got, chance := f.clear(t, models), [2]float64{f.savedReach(t), models[0].Lambda}
					if alike[chance] == nil {
						alike[chance] = got
					}
					if d := rms(got, alike[chance]); !(d <= f.within) {
						t.Errorf("keeper %s, blocks of %d: scores differ by %.2g, want at most %.2g", roles[0], rows, d, f.within)
					}
				}
			}
		})
	}
}
