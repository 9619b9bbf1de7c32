package sealed

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
)

// drawnJob draws a job, mostly with words of 32 bits: any loss, labels, windows, blocks and parties. Some have rows
// that are all alike, or one class alone.
func drawnJob(t testing.TB, rng *rand.Rand) (f *fixture, what string, alike bool) {
	t.Helper()
	pick := func(list ...int) int { return list[rng.IntN(len(list))] }
	q, rows := pick(3, 3, 4, 5), 10+rng.IntN(50)
	p := fdskl.Params{Features: 2 * (1 + rng.IntN(5)), Iterations: 1 + rng.IntN(3), Ring: pick(32, 32, 32, 48, 64),
		Sigma: float64(pick(0, 1)), Seed: fmt.Sprint(rng.IntN(100))}
	switch rng.IntN(4) {
	case 0:
		p.Target = fdskl.Regression
		p.ScoreRange = pick(16, 32, 128)
	case 1:
		p.Classes = 3 + rng.IntN(3)
	case 2:
		p.Loss, p.Outer = "logistic", 1+rng.IntN(3)
	}
	if p.Loss != "" && p.Ring == ringCompact {
		p.Ring = ringDefault
	}
	if rng.IntN(2) == 0 {
		p.Lambda = fdskl.Lambda(math.Pow(10, -float64(rng.IntN(4))))
	}
	if rng.IntN(3) == 0 {
		p.Bound = boundPublic
	}
	var idle []int
	if q > 3 && rng.IntN(2) == 0 {
		p.Keeper, p.Helper = "p3", "p1"
	}
	if rng.IntN(3) == 0 {
		idle = append(idle, 2)
		if p.Helper == "p1" {
			p.Keeper, p.Helper = "p1", "p2"
		}
	}
	f = newFixture(t, q, rows, p, idle...)
	f.block, f.save, f.window = 1+rng.IntN(9), 1+rng.IntN(3), pick(0, 2, 3, 7, 16)
	what = fmt.Sprintf("%d parties, %d rows, blocks of %d, windows of %d, %+v", q, rows, f.block, f.window, f.params)
	switch rng.IntN(6) {
	case 0:
		what += ", one class"
		if f.params.Target == fdskl.Classification {
			f.labels.Values = slices.Repeat([]float64{f.labels.Values[0]}, rows)
		}
	case 1:
		what, alike = what+", rows alike", true
		for i := range f.parts {
			for k := range f.parts[i] {
				m := f.parts[i][k].Rows
				for j := range m.Values {
					m.Values[j] = m.Values[j%len(m.Dense)]
				}
			}
		}
	}
	return f, what, alike
}

// TestRandomJobsDoAsTheyDisclose: whatever a job is, its disclosure has each byte that a run sends on each link, and
// each value that opens to anybody; and its scores are those of the same steps in floating point.
func TestRandomJobsDoAsTheyDisclose(t *testing.T) {
	jobs := 60
	if drawn.All {
		jobs = 1000
	}
	refused := 0
	for seed := range jobs {
		f, what, alike := drawnJob(t, rand.New(rand.NewPCG(uint64(seed), 5)))
		d, err := f.disclose()
		if err != nil {
			refused++
			continue
		}
		testNetwork, learned := newFederation(t, f.names), newTally()
		f.opened = learned.add
		models := f.train(t, testNetwork)
		spentAll(t, testNetwork)
		if got, want := learned.String(), listed(d.Openings); got != want {
			t.Errorf("opened were\n\t%s\nwant\n\t%s", got, want)
		}
		scores := f.predict(t, testNetwork, models, seed%len(f.names))
		spentAll(t, testNetwork)
		list := f.newOracles(t, models[0].Sigma)
		for _, o := range list {
			o.lambda = models[0].Regulariser()
			o.fit(f, alike) // of a matrix of nothing the oracle has no reach
		}
		if off := rms(scores, together(list)); !(off < 0.1) {
			t.Errorf("scores are off by %.2g from the same steps in floating point", off)
		}
		if t.Failed() {
			t.Fatalf("job %d: %s", seed, what)
		}
	}
	if refused > jobs/4 {
		t.Errorf("%d jobs of %d are refused: the test says little", refused, jobs)
	}
}
