package sealed

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/protocol/contract"
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
		p.Target = joint.Regression
		p.ScoreRange = pick(16, 32, 128)
	case 1:
		p.Classes = 3 + rng.IntN(3)
	case 2:
		p.Loss, p.Outer = "logistic", pick(1, 2, 3, 6, 16)
		p.Iterations = leastIterations(p)
	}
	if p.Loss != "" && p.Ring == ringCompact {
		p.Ring = ringDefault
	}
	if rng.IntN(2) == 0 {
		p.Lambda = fdskl.Lambda(math.Pow(10, -float64(rng.IntN(4))))
	}
	if rng.IntN(3) == 0 && p.Loss == "" {
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
		if f.params.Target == joint.Classification {
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

// drawnCard draws a scorecard of a few rows. Some have as few rows of a class as may be, or none; rarer says how many.
func drawnCard(t testing.TB, rng *rand.Rand) (f *fixture, what string, rarer int) {
	t.Helper()
	pick := func(list ...int) int { return list[rng.IntN(len(list))] }
	to := func() string { return []string{"", fdskl.ToOwners, "p0", "p2"}[rng.IntN(4)] }
	q, rows := pick(3, 3, 4, 5), 10+rng.IntN(50)
	p := fdskl.Params{Loss: "logistic", Iterations: pick(40, 60), Outer: pick(1, 3, 5, 8, 12, 16),
		BinParams: fdskl.BinParams{Bins: 2 + rng.IntN(3), MinCell: 2 + rng.IntN(3), Points: to()}}
	if p.Outer > 1 {
		p.ZScores = to()
	}
	if rng.IntN(2) == 0 {
		p.Lambda = fdskl.Lambda(leastLambda(p, rows) * math.Pow(10, float64(rng.IntN(4))))
	}
	if rng.IntN(3) == 0 {
		p.Bound = boundPublic
	}
	var idle []int
	if q > 3 && rng.IntN(2) == 0 {
		p.Keeper, p.Helper = "p3", "p1"
	} else if rng.IntN(3) == 0 {
		idle = append(idle, 1)
	}
	f = newFixture(t, q, rows, p, idle...)
	f.block, f.window = 1+rng.IntN(9), pick(0, 2, 3, 7, 16)
	if few := rng.IntN(9); few < 2 { // none of one class, or as few as may be
		y := f.labels.Values[0]
		f.labels.Values = slices.Repeat([]float64{y}, rows)
		for _, j := range rng.Perm(rows)[:few*p.MinCell] {
			f.labels.Values[j] = -y
		}
	}
	for _, y := range f.labels.Values {
		if y > 0 {
			rarer++
		}
	}
	rarer = min(rarer, rows-rarer)
	return f, fmt.Sprintf("%d parties, %d rows, %d of the rarer class, blocks of %d, windows of %d, %+v", q, rows, rarer,
		f.block, f.window, f.params), rarer
}

// TestScorecardsOfOneClassAreRefused at the label holder, before anything of the rows leaves; so are those of a class
// of fewer rows than a bin has, or that is rarer than one row in 4,000.
func TestScorecardsOfOneClassAreRefused(t *testing.T) {
	f := newFixture(t, 3, 8001, binned(fdskl.Params{Loss: "logistic"}))
	for positives, want := range map[int]string{
		0: "the rarer class has 0 of 8001 rows, and the logistic loss wants min_cell = 2 at least in a sealed job: its " +
			"steps would tell of single rows",
		1: "the rarer class has 1 of 8001 rows, and the logistic loss wants min_cell = 2 at least in a sealed job: its " +
			"steps would tell of single rows",
		2: "the rarer class has 2 of 8001 rows, and the logistic loss wants one in 4000 at least in a sealed job: " +
			"take fewer rows of the other class",
	} {
		f.labels.Values = slices.Repeat([]float64{-1}, f.rows)
		for j := range positives {
			f.labels.Values[j] = 1
		}
		testNetwork := f.testNetwork(t)
		errs := testNetwork.run(func(ctx context.Context, i int, n joint.SealedNetwork) error {
			_, err := Train(ctx, f.party(i, n, 1))
			return err
		})
		if errs[0] == nil || errs[0].Error() != want {
			t.Errorf("error is %v\nwant %s", errs[0], want)
		}
	}
	if err := checkShare(f.params, append(slices.Repeat([]float64{1}, 7998), -1, -1)); err != nil {
		t.Errorf("one row in 4,000 is refused: %v", err)
	}
	labels := append(slices.Repeat([]float64{1}, 300), slices.Repeat([]float64{-1}, 19)...)
	p := fdskl.Params{Loss: "logistic", Iterations: 40, BinParams: fdskl.BinParams{Bins: 10, MinCell: 20}}
	if err := CheckLabels(p, labels); err == nil || !strings.Contains(err.Error(), "19 of 319 rows") {
		t.Errorf("a class of 19 rows where bins have 20: error is %v", err)
	}
	if err := CheckLabels(p, append(labels, -1)); err != nil {
		t.Errorf("a class of 20 rows is refused: %v", err)
	}
	p.BinParams = fdskl.BinParams{}
	if err := CheckLabels(p, labels); err == nil || !strings.Contains(err.Error(), "19 of 319 rows") {
		t.Errorf("a class of 19 rows in a kernel: error is %v", err)
	}
	if err := CheckLabels(p, append(labels, -1)); err != nil {
		t.Errorf("a class of 20 rows in a kernel is refused: %v", err)
	}
}

// TestRandomScorecardsDoAsTheyDisclose: whatever a scorecard is, as many numbers open as its disclosure has, but for
// those of steps that are not taken, and points and z-scores where the steps have not converged; and where they have,
// scores are those of the optimum.
func TestRandomScorecardsDoAsTheyDisclose(t *testing.T) {
	jobs := 40
	if drawn.All {
		jobs = 500
	}
	refused, converged, worst := 0, 0, 0.0
	for seed := range jobs {
		f, what, rarer := drawnCard(t, rand.New(rand.NewPCG(uint64(seed), 6)))
		d, err := f.disclose()
		if err != nil || rarer < f.params.MinCell { // which TestScorecardsOfOneClassAreRefused is about
			refused++
			continue
		}
		testNetwork, learned := newFederation(t, f.names), newTally()
		f.opened = learned.add
		models := f.train(t, testNetwork)
		steps, open := f.steps(learned), false
		for line := range learned.count {
			open = open || strings.HasPrefix(line, kindPoints+" ") || strings.HasPrefix(line, kindZScores+" ")
		}
		early := steps < int64(f.params.Outer)
		for i, o := range d.Openings {
			switch {
			case o.Kind == kindProgress || o.Kind == kindPace:
				d.Openings[i].Count = learned.count[kindProgress+" to p0"]
			case (o.Kind == kindPoints || o.Kind == kindZScores) && !open && !early:
				d.Openings[i].Count = 0
			}
		}
		d.Openings = slices.DeleteFunc(d.Openings, func(o contract.Opening) bool { return o.Count == 0 })
		if got, want := learned.String(), listed(d.Openings); got != want {
			t.Errorf("opened were\n\t%s\nwant\n\t%s", got, want)
		}
		if early && steps < 5 {
			t.Errorf("the steps end after %d", steps)
		}
		if !early && open {
			spentAll(t, testNetwork)
		}
		scores := f.predict(t, testNetwork, models, seed%len(f.names))
		spentAll(t, testNetwork)
		if early || open {
			converged++
			o := f.newOracle(t, 1)
			o.fit(f, true)
			off := rms(scores, o.scores())
			worst = max(worst, off)
			if !(off < 0.3) { // of a dozen rows an eighth of q is as much, and the sines' noise moves scores, too
				t.Errorf("scores are off by %.2g from the optimum's", off)
			}
		}
		if t.Failed() {
			t.Fatalf("job %d: %s", seed, what)
		}
	}
	if refused > jobs/4 || converged < jobs/4 {
		t.Errorf("%d jobs of %d are refused, and %d converge: the test says little", refused, jobs, converged)
	}
	t.Logf("%d of %d converge, and have scores off by at most %.3f", converged, jobs, worst)
}

// TestRandomJobsDoAsTheyDisclose: whatever a job is, its disclosure has each byte that a run sends on each link, and
// each value that opens to anybody, but those of steps that are not taken; and its scores are those of the same steps
// in floating point, or of the optimum.
func TestRandomJobsDoAsTheyDisclose(t *testing.T) {
	jobs := 60
	if drawn.All {
		jobs = 1000
	}
	refused, far := 0, 0
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
		steps := f.steps(learned)
		for i, o := range d.Openings {
			if o.Kind == kindProgress || o.Kind == kindPace {
				d.Openings[i].Count = learned.count[kindProgress+" to p0"]
			}
		}
		if steps == int64(f.params.Outer) { // none for the square loss
			spentAll(t, testNetwork)
		}
		if got, want := learned.String(), listed(d.Openings); got != want {
			t.Errorf("opened were\n\t%s\nwant\n\t%s", got, want)
		}
		scores := f.predict(t, testNetwork, models, seed%len(f.names))
		spentAll(t, testNetwork)
		y := f.labels.Values
		if f.params.Loss == kernel.Logistic.String() && (models[0].ToGo > 0 || slices.Min(y) == slices.Max(y)) {
			far++ // from an optimum, or there is none
			continue
		}
		list := f.newOracles(t, models[0].Sigma)
		for _, o := range list {
			o.lambda = models[0].Regulariser()
			o.fit(f, alike) // of a matrix of nothing the oracle has no reach
		}
		within := 0.1
		if steps > 0 { // of a dozen rows an eighth of q is as much, and the sines' noise moves scores, too
			within = 0.3
		}
		if off := rms(scores, together(list)); !(off < within) {
			t.Errorf("scores are off by %.2g from the same steps in floating point", off)
		}
		if t.Failed() {
			t.Fatalf("job %d: %s", seed, what)
		}
	}
	if refused > jobs/4 || far > jobs/4 {
		t.Errorf("%d jobs of %d are refused, and %d do not converge: the test says little", refused, jobs, far)
	}
}
