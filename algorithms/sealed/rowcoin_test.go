package sealed

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/keys"
)

// TestTheRowsAreDrawnOnce: a label holder that wants other rows kept out leaves the session once it knows which they
// are, and changes its own state: it gets the same rows, or the job ends for good.
func TestTheRowsAreDrawnOnce(t *testing.T) {
	const another = "it commits to another part of the coin than in an earlier session"
	for name, c := range map[string]flipper{
		"starts again": {},
		"forgets the others": {change: func(v *vaultInMemory) {
			v.files[rowsFile] = v.files[rowsFile][:partSize]
		}},
		"forgets its part": {files: []string{rowsFile}, refuse: another},
		"forgets all":      {files: []string{joint.FilePrefix}, refuse: another},
		"tells another part": {says: func(part []byte) []byte { part[0] ^= 1; return part },
			refuse: "another part of the coin than the one that it committed to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.flip(t, kindRowCoin, fdskl.Params{Features: 4, Iterations: 3, Sigma: 1})
		})
	}
}

// TestSumsWhoseRowCoinIsGoneStop: where sums of rows are kept and the coin that drew the rows is not, at any of the
// three or at all of them, no other rows are drawn.
func TestSumsWhoseRowCoinIsGoneStop(t *testing.T) {
	for _, who := range [][]int{{0}, {2}, {0, 1, 2}} {
		f := newFixture(t, 3, 80, fdskl.Params{Features: 8, Iterations: 12, Sigma: 1})
		testNetwork := f.testNetwork(t)
		if _, _, err := f.live(t, testNetwork, life{party: 2, write: 5}); !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		for _, i := range who {
			if f.vaults[i].files[stageSums.file(0)] == nil && f.vaults[i].files[stageSums.file(1)] == nil {
				t.Fatalf("p%d keeps no sums: the test says little", i)
			}
			f.vaults[i].forget(rowsFile)
		}
		if _, _, err := f.live(t, testNetwork, life{party: nobody}); err == nil ||
			!strings.Contains(err.Error(), "the coin that drew their rows is gone: propose the job anew") {
			t.Errorf("p%d without the coin: %v", who, err)
		}
	}
}

// TestADamagedRowCoinStops its node, and no other rows are drawn.
func TestADamagedRowCoinStops(t *testing.T) {
	f := newFixture(t, 3, 20, fdskl.Params{Features: 4, Iterations: 3, Sigma: 1})
	f.vaults[1].files[rowsFile] = make([]byte, partSize+1)
	errs := f.testNetwork(t).run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
		_, err := Train(ctx, f.party(i, n, 1))
		return err
	})
	if errs[1] == nil || !strings.Contains(errs[1].Error(), "sealed-rows has 33 bytes, want 32 or 128") {
		t.Errorf("the error is %v", errs[1])
	}
}

// TestAProposerCannotChooseTheRows: a chooser wants one row of somebody else's kept out. Of rows that follow from a
// job's seed it tries seeds until it is; of rows that follow from a coin it cannot: with any seed they are drawn in the
// job, and the row is out in a fifth of all jobs.
func TestAProposerCannotChooseTheRows(t *testing.T) {
	const row, jobs = 7, 200
	chosen, out := 0, 0
	for job := range jobs {
		f := newFixture(t, 3, 20, fdskl.Params{Features: 2, Iterations: 1, Sigma: 1})
		for try := 0; ; try++ {
			f.params.Seed = string(rune('a'+job%26)) + string(rune('a'+try))
			if rows, err := f.params.HeldOut(f.rows); err != nil {
				t.Fatal(err)
			} else if rows[row] {
				chosen++
				break
			}
		}
		pads := newTape("rows")
		pads.rewind()
		must(t, newLab(f.names, pads.source).run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
			tr, err := newTrainer(f.party(i, n, 1))
			if err != nil {
				return err
			}
			_, err = tr.checker.tossRows(ctx, false)
			return err
		}))
		if f.keptOut(t)[row] {
			out++
		}
	}
	if chosen != jobs {
		t.Errorf("of rows that follow from the seed the chooser has its own in %d of %d jobs: the test says little", chosen,
			jobs)
	}
	share := 1.0 / fdskl.HeldOutShare
	if off := 5 * math.Sqrt(share*(1-share)*jobs); math.Abs(float64(out)-share*jobs) > off {
		t.Errorf("the row is kept out in %d of %d jobs, want %v within %.0f", out, jobs, share*jobs, off)
	}
}

// TestTheRowsOfACoin: one of every five, of which the last have those beside that are left, and of any run of rows no
// more than a contract counts with.
func TestTheRowsOfACoin(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.IntRange(fdskl.LeastHeldOut, 400).Draw(t, "rows")
		coin := keys.HashOf("test", []byte(rapid.String().Draw(t, "coin")))
		out := heldOutOf(rows, 0, rows, coin)
		sum := 0
		for j, is := range out {
			if is {
				sum++
			}
			whole := j%fdskl.HeldOutShare == fdskl.HeldOutShare-1 && j+fdskl.HeldOutShare < rows
			if whole && sum != (j+1)/fdskl.HeldOutShare {
				t.Fatalf("of %d rows %d are kept out", j+1, sum)
			}
		}
		if sum != rows/fdskl.HeldOutShare {
			t.Fatalf("of %d rows %d are kept out", rows, sum)
		}
		tr := newParts(&setting{candidates: fdskl.Candidates()})
		lo := rapid.IntRange(0, rows-1).Draw(t, "first")
		hi := rapid.IntRange(lo+1, rows).Draw(t, "last")
		if some := heldOutOf(rows, lo, hi, coin); !slices.Equal(some, out[lo:hi]) {
			t.Fatalf("rows %d to %d are %v, of all rows %v", lo, hi, some, out[lo:hi])
		}
		var of [2]int
		for _, is := range out[lo:hi] {
			if is {
				of[1]++
			} else {
				of[0]++
			}
		}
		for part, n := range of {
			if most := tr.checker.parted(part, hi-lo); n > most || most > n+5 {
				t.Fatalf("of rows %d to %d part %d has %d, and is counted with %d", lo, hi, part, n, most)
			}
		}
	})
}
