package fdskl

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/fdskl"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/kernel/lbfgs"
	"github.com/hanse-project/hanse/lab/rivals"
	"github.com/hanse-project/hanse/lab/sets"
)

// BoundRun is Theorem 4's bound beside runs of Algorithm 1 with one row and one feature an iteration.
type BoundRun struct {
	Lambda float64      `json:"lambda"`
	Gamma  float64      `json:"step"`
	Cap    float64      `json:"step_cap"` // for scores right to within 1
	Start  float64      `json:"start"`    // |f*|^2 in the kernel's space
	Zero   float64      `json:"zero"`     // what f = 0 is off by: mean |f*(x)|^2
	Points []BoundPoint `json:"points"`
}

// BoundPoint is a moment of a run.
type BoundPoint struct {
	Iterations int     `json:"iterations"`
	Measured   float64 `json:"measured"` // mean of |f_t(x) - f*(x)|^2 over runs and rows
	Bound      float64 `json:"bound"`
}

// Bounds is the runs on one set.
type Bounds struct {
	Set  string     `json:"set"`
	Rows int        `json:"rows"`
	Runs int        `json:"runs"`
	All  []BoundRun `json:"settings"`
}

// Theorem4 measures E|f_t(x) - f*(x)|^2 of the logistic loss on a few rows of a set and computes what the theorem
// bounds it by. f* is the minimum of the regularised loss over the kernel's whole function space, found exactly.
func (l *Lab) Theorem4(ctx context.Context, s sets.Benchmark, count, runs, iterations int) (*Bounds, error) {
	r, err := readRows(s, l.Rows, 1)
	if err != nil {
		return nil, err
	}
	few, err := r.head(min(count, r.train.Len()), 1)
	if err != nil {
		return nil, err
	}
	b := &Bounds{Set: s.Name, Rows: few.train.Len(), Runs: runs}
	for _, setting := range []struct {
		lambda, gamma float64
		longer        int // small steps need more of them
	}{{1, 0.0001, 8}, {0.1, 0.01, 1}, {0.01, 0.1, 1}} {
		run, err := few.besideBound(ctx, setting.lambda, setting.gamma, runs, setting.longer*iterations)
		if err != nil {
			return nil, fmt.Errorf("theorem 4 at lambda %v: %w", setting.lambda, err)
		}
		b.All = append(b.All, *run)
		last := run.Points[len(run.Points)-1]
		l.say("theorem 4, lambda %v, step %v: %.3g after %d iterations, bound %.3g; f = 0 is off by %.3g", run.Lambda,
			run.Gamma, last.Measured, last.Iterations, last.Bound, run.Zero)
	}
	return b, nil
}

// besideBound makes the runs of one setting.
func (r *rows) besideBound(ctx context.Context, lambda, gamma float64, runs, iterations int) (*BoundRun, error) {
	labels := r.split.TrainLabels
	best, norm, err := minimum(ctx, r.train, labels, r.sigma, lambda)
	if err != nil {
		return nil, err
	}
	theorem := fdskl.Params{Loss: kernel.Logistic.String(), Lambda: fdskl.Lambda(lambda), Step: gamma}.Theorem()
	zero := floats.Dot(best, best) / float64(len(best))
	run := &BoundRun{Lambda: lambda, Gamma: gamma, Cap: theorem.Cap(1), Start: norm, Zero: zero}
	moments := halves(iterations, 10)
	for _, t := range moments {
		run.Points = append(run.Points, BoundPoint{Iterations: t, Bound: theorem.Bound(t, norm)})
	}
	for k := range runs {
		rng := rand.New(rand.NewPCG(uint64(k), 0x626f756e64)) // "bound"
		d := rivals.DSG{Loss: kernel.Logistic, Lambda: lambda, Step: rivals.Constant(gamma), Block: 1,
			Pick: func(int) []int { return []int{rng.IntN(len(labels))} },
			Draw: drawGaussian(rng, r.sigma),
		}
		d.Start(r.train, labels)
		at := 0
		for i, t := range moments {
			for ; at < t; at++ {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				d.Iterate(at)
			}
			off := d.Scores(r.train)
			floats.Sub(off, best)
			run.Points[i].Measured += floats.Dot(off, off) / float64(len(off)*runs)
		}
	}
	return run, nil
}

// minimum finds f* of the logistic loss: f = sum_j beta_j K(x_j, .) is in the span of the rows. It returns f* at the
// rows and |f*|^2.
func minimum(
	ctx context.Context, train *rivals.Rows, labels []float64, sigma, lambda float64,
) (best []float64, norm float64, err error) {
	inTheOpen := func(_ context.Context, addends [][]float64) ([]float64, error) { return addends[0], nil }
	k, err := rivals.PPSVMV(ctx, []*rivals.Rows{train}, sigma, math.MaxInt64, inTheOpen)
	if err != nil {
		return nil, 0, err
	}
	n := len(labels)
	apply := func(beta []float64) []float64 {
		f := make([]float64, n)
		for i := range f {
			for j, v := range k.Row(i) {
				f[i] += float64(v) * beta[j]
			}
		}
		return f
	}
	objective := lbfgs.Func(func(beta, gradient []float64) float64 {
		f := apply(beta)
		value := lambda / 2 * floats.Dot(beta, f)
		slope := make([]float64, n)
		for i, y := range labels {
			value += kernel.Logistic.Value(f[i], y) / float64(n)
			slope[i] = kernel.Logistic.Derivative(f[i], y)/float64(n) + lambda*beta[i]
		}
		copy(gradient, apply(slope))
		return value
	})
	settings := lbfgs.Settings{Iterations: 1000, Gradient: 1e-8, Decrease: 1e-14}
	state, _, err := lbfgs.Minimise(ctx, objective, make([]float64, n), nil, settings, nil)
	if err != nil {
		return nil, 0, err
	}
	best = apply(state.Alpha)
	return best, floats.Dot(state.Alpha, best), nil
}
