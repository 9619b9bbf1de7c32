package sealed

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/testnet/drawn"
	"github.com/hanse-project/hanse/secagg/rss"
)

// tuner is one of the three that keeps to the protocol and proposes jobs. It knows the whole table but for one thing of
// one row, which is one of two, and chooses lambda so that a limit of q lies between what q is in the two cases.
type tuner struct {
	role  rss.Role
	cases func(rng *rand.Rand, rows int) [2]*pooled
	rows  int
}

// tuned is a job that the tuner proposes.
type tuned struct {
	cases [2]*fixture
	q     [2]float64 // of the first step
}

// The most and the least that q is multiplied by before it is compared, and the limit that the tuner takes.
const (
	mostBlur, leastBlur = 2, .5
	tunedLimit          = 16
)

// propose draws a table and tunes lambda for a factor that q is multiplied by.
func (a *tuner) propose(t *testing.T, rng *rand.Rand, factor float64) *tuned {
	t.Helper()
	p := fdskl.Params{Loss: "logistic", Outer: 1, BinParams: fdskl.BinParams{Bins: 5, MinCell: 20}}
	job := &tuned{}
	var q [2]func(lambda float64) float64
	for i, table := range a.cases(rng, a.rows) {
		job.cases[i] = table.fixture(t, p)
		q[i] = firstDistance(job.cases[i].newOracle(t, 1))
	}
	least, most := math.Log(1e-7), math.Log(10.)
	for range 40 {
		middle := (least + most) / 2
		if lambda := math.Exp(middle); math.Sqrt(q[0](lambda)*q[1](lambda))*factor > tunedLimit {
			least = middle
		} else {
			most = middle
		}
	}
	for i, f := range job.cases {
		f.params.Lambda = fdskl.Lambda(math.Exp(least))
		job.q[i] = q[i](math.Exp(least))
	}
	return job
}

// firstDistance returns q of the first step as a function of lambda, by its closed form: q = N g^T H^-1 g, where g is
// the gradient of the mean log loss and H its second derivative, where all rows have the share as their probability.
func firstDistance(o *oracle) func(lambda float64) float64 {
	rows, d := o.z.Dims()
	share := (1 + mean(o.y)) / 2
	g, gram := mat.NewVecDense(d, nil), mat.NewSymDense(d, nil)
	g.MulVec(o.z.T(), mat.NewVecDense(rows, o.y))
	g.ScaleVec(1/float64(2*rows), g)
	gram.SymOuterK(share*(1-share)/float64(rows), o.z.T())
	return func(lambda float64) float64 {
		h := mat.NewSymDense(d, nil)
		h.CopySym(gram)
		for i := range d {
			h.SetSym(i, i, h.At(i, i)+lambda*float64(o.scales.weight)/2)
		}
		var chol mat.Cholesky
		chol.Factorize(h)
		var step mat.VecDense
		if err := chol.SolveVecTo(&step, g); err != nil {
			panic(err)
		}
		return float64(rows) * mat.Dot(g, &step)
	}
}

// train trains on one of the cases, with the pads of blank left out. It returns whether q passed the limit, and what
// the tuner knows of u: all but the pad that it lacks.
func (a *tuner) train(t *testing.T, f *fixture, seed string, blank rss.Use) (passed bool, known float64) {
	t.Helper()
	pads := newTape(seed)
	pads.blank = blank
	pads.rewind()
	must(t, newLab(f.names, pads.source).run(t, func(ctx context.Context, i int, n joint.SealedNetwork) error {
		m, err := Train(ctx, f.party(i, n, 1))
		if i == int(a.role) && err == nil {
			passed = m.ToGo > toGo(1)
		}
		return err
	}))
	known = leastBlur
	for name, r := range pads.reels {
		if name.use == useBlur && name.unknown != a.role && blank != useBlur {
			known += math.Ldexp(float64(uint16(r.words[0]>>blurBits)), -blurBits-1) // the second of its two words
		}
	}
	return passed, known
}

// passing is how probable it is in each case that q passes the limit, for what the tuner knows of u.
func (j *tuned) passing(known float64) (p [2]float64) {
	for i, q := range j.q {
		p[i] = min(1, max(0, 2*(known+1./2-tunedLimit/q)))
	}
	return p
}

// odds is the logarithm of how much more probable what opened is in case 1.
func (j *tuned) odds(passed bool, known float64) float64 {
	p := j.passing(known)
	if !passed {
		p = [2]float64{1 - p[0], 1 - p[1]}
	}
	if p[0] == p[1] {
		return 0
	}
	return math.Log(p[1] / p[0])
}

// right is how often the tuner takes the true case after so many jobs of the same table, on the mean of draws of u.
func (j *tuned) right(rng *rand.Rand, jobs int) float64 {
	const draws = 400
	hits := 0.
	for range draws {
		truth, odds := rng.IntN(2), 0.
		for range jobs {
			known := leastBlur + (rng.Float64()+rng.Float64())/2
			odds += j.odds(rng.Float64() < j.passing(known)[truth], known)
		}
		hits += hit(odds, truth)
	}
	return hits / draws
}

// hit is 1 where odds are for the truth, 0 where they are against it, and 1/2 where they are even.
func hit(odds float64, truth int) float64 {
	switch {
	case odds == 0:
		return 1. / 2
	case (odds > 0) == (truth == 1):
		return 1
	}
	return 0
}

// cellsOf draws six columns of five values, each of which has as many rows as the others.
func cellsOf(rng *rand.Rand, rows int) *pooled {
	s := &pooled{labels: slices.Repeat([]float64{-1}, rows)}
	for c := range 6 {
		values := make([]float64, rows)
		for j := range values {
			values[j] = float64(5 * j / rows)
		}
		rng.Shuffle(rows, func(i, j int) { values[i], values[j] = values[j], values[i] })
		s.columns = append(s.columns, kernel.Column{Name: fmt.Sprint("c", c), Values: values})
	}
	return s
}

// unknownLabel are the cases of a tuner that lacks a row's label. Those that it has depend on two columns.
func unknownLabel(of float64) func(rng *rand.Rand, rows int) [2]*pooled {
	return func(rng *rand.Rand, rows int) (cases [2]*pooled) {
		s := cellsOf(rng, rows)
		order := rng.Perm(rows)
		signal := func(j int) float64 { return s.columns[0].Values[j] + s.columns[1].Values[j] }
		slices.SortStableFunc(order, func(a, b int) int { return int(signal(b) - signal(a)) })
		for _, j := range order[:int(of*float64(rows))+1] {
			s.labels[j] = 1
		}
		at := rng.IntN(rows)
		for i := range cases {
			cases[i] = &pooled{columns: s.columns, labels: slices.Clone(s.labels)}
			cases[i].labels[at] = float64(2*i - 1)
		}
		return cases
	}
}

// unknownCell are those of a tuner that makes up the labels: the event has 20 rows, 19 of which have a cell in common,
// as it knows. Of one more it does not know whether it has that cell.
func unknownCell(rng *rand.Rand, rows int) (cases [2]*pooled) {
	s := cellsOf(rng, rows)
	const column = 1 // another party's
	at, known := -1, 0
	for _, j := range rng.Perm(rows) {
		switch same := s.columns[column].Values[j] == 0; {
		case same && known < 19:
			s.labels[j], known = 1, known+1
		case same && at < 0:
			s.labels[j], at = 1, j
		}
	}
	for i := range cases {
		cases[i] = &pooled{columns: slices.Clone(s.columns), labels: s.labels}
		values := slices.Clone(s.columns[column].Values)
		values[at] = float64(3 * i)
		cases[i].columns[column].Values = values
	}
	return cases
}

// TestATunedLambdaReadsLittle: of the whole table all but one thing is known, and lambda is tuned to that one. A job
// then tells it at most so much more often than chance, with the u that opened it and on the mean of all u. It is more
// after more jobs of the same table. The control multiplies by no secret, and tells it in nearly every job.
func TestATunedLambdaReadsLittle(t *testing.T) {
	const jobs = 30
	for _, c := range []struct {
		name string
		tuner
		long bool
		most float64 // of a job
	}{
		{"a label of 200", tuner{rss.Keeper, unknownLabel(.5), 200}, false, .55},
		{"a label of 1,000", tuner{rss.Helper, unknownLabel(.5), 1000}, true, .52},
		{"a label, 21 of 1,000", tuner{rss.Keeper, unknownLabel(.021), 1000}, true, .6},
		{"a cell of 20 of 200", tuner{rss.LabelHolder, unknownCell, 200}, false, .6},
		{"a cell of 20 of 1,000", tuner{rss.LabelHolder, unknownCell, 1000}, true, .6},
	} {
		if c.long && !drawn.All {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(1, 9))
			var hits, control, differs float64
			var right [3]float64 // after 1, 10 and 100 jobs
			for k := range jobs {
				truth := rng.IntN(2)
				job := c.propose(t, rng, (mostBlur+leastBlur)/2)
				hits += hit(job.odds(c.train(t, job.cases[truth], fmt.Sprint("tuner ", k), 0)), truth)
				differs += math.Abs(job.q[1]/job.q[0]-1) / jobs
				for i := range right {
					right[i] += job.right(rng, int(math.Pow10(i))) / jobs
				}
				job = c.propose(t, rng, leastBlur)
				passed, _ := c.train(t, job.cases[truth], fmt.Sprint("control ", k), useBlur)
				if (passed == (truth == 1)) == (job.q[1] > job.q[0]) {
					control++
				}
			}
			t.Logf("of %d jobs %v tell it, and %v without the secret; on the mean of all u %.3f, after 10 jobs %.2f, after 100 "+
				"%.2f; q differs by %.3f", jobs, hits, control, right[0], right[1], right[2], differs)
			if noise := 4 * math.Sqrt(right[0]*(1-right[0])*jobs); math.Abs(hits-right[0]*jobs) > noise {
				t.Errorf("%v of %d jobs tell it, want %.1f within %.1f", hits, jobs, right[0]*jobs, noise)
			}
			if right[0] > c.most+.01 {
				t.Errorf("a job tells it with probability %.3f, want %.2f at most", right[0], c.most)
			}
			if control < .8*jobs {
				t.Errorf("without the secret %v of %d jobs tell it, want nearly all: the test says little", control, jobs)
			}
		})
	}
}

// TestATunedLambdaMovesNoEndOfKernels: with the least lambda a kernel of a small table ends at the first step that it
// can end at, in both cases.
func TestATunedLambdaMovesNoEndOfKernels(t *testing.T) {
	for name, cases := range map[string]func(rng *rand.Rand, rows int) [2]*pooled{
		"a label, 21 of them of the event": unknownLabel(.1), "a cell of an event of 20": unknownCell} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rows, tables := 200, 1
			if drawn.All {
				rows, tables = 1000, 4
			}
			rng := rand.New(rand.NewPCG(3, 9))
			for range tables {
				for _, table := range cases(rng, rows) {
					p := fdskl.Params{Loss: "logistic", Features: 64, Sigma: 1, Ring: ringSmall}
					p.Lambda = fdskl.Lambda(leastLambda(p, rows))
					f, learned := table.fixture(t, p), newTally()
					f.opened = learned.add
					f.train(t, newFederation(t, f.names))
					if steps := f.steps(learned); steps != 24 {
						t.Errorf("a training takes %d steps, want 24", steps)
					}
				}
			}
		})
	}
}
