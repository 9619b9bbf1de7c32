package fdskl

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"slices"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/internal/vertical"
	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
)

// Lab says how large the experiments are.
type Lab struct {
	Iterations int   // T of FDSKL's own schedule and of DSG
	Batch      int   // B rows an iteration
	Block      int   // r features an iteration; T r of them in the end
	Rows       int   // at most so many of a set
	Memory     int64 // bytes that PP-SVMV's kernel matrix may take
	Trees      int   // of the boosted trees

	Only []string       // methods of Figures 3 and 6; none: all
	SVM  bool           // LIBSVM is installed
	CPU  func() float64 // processor seconds of this process
	Log  io.Writer      // progress
	Work string         // folder for files
}

// svmCost is C of the support vector machines.
const svmCost = 10

// ownLoss is the loss of FDSKL's own schedule and of DSG: its slope is bounded, as Theorem 4 wants it.
const ownLoss = kernel.SmoothHinge

// Point is a training of some length: processor seconds of all parties' work, and the error on the test rows.
type Point struct {
	Size       int     `json:"size"` // iterations, features or rows, whichever grows
	CPUSeconds float64 `json:"cpu_seconds"`
	Error      float64 `json:"test_error"`
}

// timed returns the processor seconds that work takes.
func (l *Lab) timed(work func() error) (float64, error) {
	start := l.CPU()
	err := work()
	return l.CPU() - start, err
}

// pooled trains by this program, all parties' columns in one process.
func (l *Lab) pooled(ctx context.Context, r *rows, p fdskl.Params) (at Point, err error) {
	dir, err := os.MkdirTemp(l.Work, "train-")
	if err != nil {
		return Point{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	pooled := vertical.NewPooled(p, r.data.Train, r.owners)
	at.Size = p.Features
	if at.CPUSeconds, err = l.timed(func() error { _, err := pooled.Train(ctx, dir, 1); return err }); err != nil {
		return Point{}, err
	}
	scores, err := pooled.Score(ctx, r.data.Test, 1)
	at.Error = rivals.Errors(scores, r.split.TestLabels)
	return at, err
}

// fixed trains by this program's own schedule with D features.
func (l *Lab) fixed(ctx context.Context, r *rows, features int, seed uint64) (Point, error) {
	p := trainingParams(r.set, r.data.Label, seed)
	p.Features, p.Sigma = features, r.sigma
	return l.pooled(ctx, r, p)
}

// own trains by FDSKL's own schedule with a constant step.
func (l *Lab) own(ctx context.Context, r *rows, iterations int, s Steps, seed uint64) (Point, error) {
	at, err := l.pooled(ctx, r, l.ownParams(r, iterations, s, seed))
	at.Size = iterations
	return at, err
}

// ownParams are the parameters of FDSKL's own schedule.
func (l *Lab) ownParams(r *rows, iterations int, s Steps, seed uint64) fdskl.Params {
	return fdskl.Params{
		Label: r.data.Label, Schedule: fdskl.DoublyStochastic, Loss: ownLoss.String(), Sigma: s.Width * r.sigma,
		Lambda: fdskl.Lambda(r.set.Lambda), Scale: r.set.Scale, Constant: "drop", Seed: fmt.Sprint(seed),
		Iterations: iterations, Batch: l.Batch, BlockFeatures: l.Block, Step: s.Constant,
	}.WithDefaults()
}

// dsg begins a run of DSG on rows with a kernel of the given width.
func (l *Lab) dsg(
	r *rows, train *rivals.Rows, labels []float64, step func(int) float64, sigma float64, seed uint64,
) *descent {
	rng := rand.New(rand.NewPCG(seed, 0x647367)) // "dsg"
	d := &descent{lab: l, DSG: rivals.DSG{
		Loss: ownLoss, Lambda: r.set.Lambda, Step: step, Block: l.Block,
		Pick: func(int) []int {
			batch := make([]int, l.Batch)
			for b := range batch {
				batch[b] = rng.IntN(train.Len())
			}
			return batch
		},
		Draw: drawGaussian(rng, sigma),
	}}
	d.Start(train, labels)
	return d
}

// drawGaussian draws the features of a Gaussian kernel.
func drawGaussian(rng *rand.Rand, sigma float64) func(first, n int, omega [][]float64) []float64 {
	return func(_, n int, omega [][]float64) []float64 {
		phases := make([]float64, n)
		for i := range phases {
			phases[i] = 2 * math.Pi * rng.Float64()
		}
		for c := range omega {
			for range n {
				omega[c] = append(omega[c], rng.NormFloat64()/sigma)
			}
		}
		return phases
	}
}

// descent is a run of DSG with its time so far.
type descent struct {
	rivals.DSG
	lab     *Lab
	done    int
	seconds float64
}

// to goes on to so many iterations.
func (d *descent) to(ctx context.Context, iterations int) error {
	seconds, err := d.lab.timed(func() error {
		for ; d.done < iterations; d.done++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			d.Iterate(d.done)
		}
		return nil
	})
	d.seconds += seconds
	return err
}

// Steps are what was chosen for FDSKL's own schedule and for DSG on held-back training rows of a set.
type Steps struct {
	Width    float64 `json:"width"` // of the kernel, in units of the set's
	Constant float64 `json:"constant"`
	Gamma    float64 `json:"gamma"` // gamma/(1 + t/turn)
	Turn     float64 `json:"turn"`
}

// Tune chooses steps and width of a set by the error on a fifth of the first split's training rows, at half the
// iterations: features that come one by one may want a wider kernel than those that are solved for together. DSG with
// a constant step stands for FDSKL, which it equals; the width is for both steps.
func (l *Lab) Tune(ctx context.Context, set sets.Benchmark) (Steps, error) {
	const seed = 1
	r, err := readRows(set, l.Rows, seed)
	if err != nil {
		return Steps{}, err
	}
	order := rand.New(rand.NewPCG(seed, 0x74756e65)).Perm(r.train.Len()) // "tune"
	fifth := len(order) / 5
	pick := func(places []int) (*rivals.Rows, []float64) {
		labels := make([]float64, len(places))
		for i, j := range places {
			labels[i] = r.split.TrainLabels[j]
		}
		return r.train.Select(places), labels
	}
	held, heldLabels := pick(order[:fifth])
	train, labels := pick(order[fifth:])
	try := func(step func(int) float64, width float64) (float64, error) {
		d := l.dsg(r, train, labels, step, width*r.sigma, seed)
		err := d.to(ctx, max(1, l.Iterations/2))
		return rivals.Errors(d.Scores(held), heldLabels), err
	}
	s, best := Steps{Turn: float64(l.Iterations) / 16}, math.Inf(1)
	for _, width := range []float64{1, 2} {
		for _, gamma := range []float64{1, 3, 10} {
			e, err := try(rivals.Constant(gamma), width)
			if err != nil {
				return s, err
			}
			if e < best {
				s.Constant, s.Width, best = gamma, width, e
			}
		}
	}
	best = math.Inf(1)
	for _, gamma := range []float64{3, 10, 30} {
		e, err := try(rivals.Diminishing(gamma, s.Turn), s.Width)
		if err != nil {
			return s, err
		}
		if e < best {
			s.Gamma, best = gamma, e
		}
	}
	l.say("%s: width %v, steps %.3g and %.3g/(1 + t/%.3g)", set.Name, s.Width, s.Constant, s.Gamma, s.Turn)
	return s, nil
}

// asked reports whether a method is to be trained in Figures 3 and 6.
func (l *Lab) asked(method string) bool { return len(l.Only) == 0 || slices.Contains(l.Only, method) }

// say tells the person at the terminal how far the experiments are.
func (l *Lab) say(format string, args ...any) { fmt.Fprintf(l.Log, format+"\n", args...) }
