package gfml

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/hanse-project/hanse/algorithms/gfml"
)

// every is how many iterations lie between two points of a curve.
const every = 10

// setting is one curve of the paper's Figure 2.
type setting struct {
	name      string
	selection string
	entries   int
}

// settings lists the curves; O-GFML comes first.
func settings() []setting {
	list := []setting{{"O-GFML", gfml.Coordinated, 0}}
	for _, selection := range []string{gfml.Coordinated, gfml.Uncoordinated} {
		for _, m := range []int{40, 4, 1} {
			list = append(list, setting{fmt.Sprintf("%s M = %d", selection, m), selection, m})
		}
	}
	return list
}

// sectionIV returns the job of the paper's section IV, its parties and the cluster of each server.
func sectionIV(c setting, run uint64, iterations int) (p gfml.Params, parties []string, clusters []int) {
	p = gfml.DefaultParams()
	p.Selection, p.Entries, p.Iterations, p.Seed = c.selection, c.entries, iterations, fmt.Sprintf("run %d", run)
	p.Columns, p.Label, p.Clients = []string{"x1", "x2", "x3", "x4"}, "y", make(map[string][]string)
	name := func(s int) string { return fmt.Sprintf("s%d", s) }
	for q, members := range [][]int{{1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10}} {
		p.Clusters = append(p.Clusters, nil)
		for i, s := range members {
			for _, r := range members[:i] {
				p.Edges = append(p.Edges, []string{name(r), name(s)})
			}
			p.Servers, p.Clusters[q], clusters = append(p.Servers, name(s)), append(p.Clusters[q],
				name(s)), append(clusters, q)
			for k := range serverClients {
				p.Clients[name(s)] = append(p.Clients[name(s)], fmt.Sprintf("s%d-c%d", s, k+1))
			}
		}
	}
	for _, bridge := range [][2]int{{3, 4}, {2, 5}, {7, 8}, {6, 9}, {1, 10}} {
		p.Edges = append(p.Edges, []string{name(bridge[0]), name(bridge[1])})
	}
	parties = append(parties, p.Servers...)
	for _, s := range p.Servers {
		parties = append(parties, p.Clients[s]...)
	}
	return p, parties, clusters
}

// simulation runs the simulation.
type simulation struct {
	runs, iterations int
	mu               sync.Mutex // held to write to log
	log              io.Writer
}

// measure makes all runs, several at a time, and returns the test errors: [run][case][point].
func (l *simulation) measure(ctx context.Context) ([][][]float64, error) {
	results := make([][][]float64, l.runs)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range results {
		group.Go(func() (err error) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			results[i], err = l.run(ctx, uint64(i+1))
			return err
		})
	}
	return results, group.Wait()
}

// run makes one run: all cases learn from the same streams, with the same features and choices.
func (l *simulation) run(ctx context.Context, run uint64) ([][]float64, error) {
	start, cases := time.Now(), settings()
	federations, clusters, err := l.federations(cases, run)
	if err != nil {
		return nil, err
	}
	plan := federations[0].Plan
	features := plan.Features()
	world, err := newWorld(run, clusters, features, plan.Params().Features)
	if err != nil {
		return nil, err
	}
	curves := make([][]float64, len(cases))
	for n := range l.iterations {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if err := world.next(features); err != nil {
			return nil, err
		}
		for i, f := range federations {
			if err := f.Step(n, world.round()); err != nil {
				return nil, fmt.Errorf("run %d, %s: %w", run, cases[i].name, err)
			}
			if (n+1)%every == 0 {
				curves[i] = append(curves[i], world.testError(f))
			}
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.log, "run %d: %.1f s\n", run, time.Since(start).Seconds())
	return curves, nil
}

// federations starts the federation of every case.
func (l *simulation) federations(cases []setting, run uint64) (list []*gfml.Federation, clusters []int, err error) {
	for _, c := range cases {
		params, parties, of := sectionIV(c, run, l.iterations)
		plan, err := gfml.NewPlan(params, parties)
		if err != nil {
			return nil, nil, err
		}
		f, err := gfml.NewFederation(plan, plan.NewServer)
		if err != nil {
			return nil, nil, err
		}
		list, clusters = append(list, f), of
	}
	return list, clusters, nil
}

// testError returns the mean squared error of all servers' models on their test rows (equation 21).
func (w *world) testError(f *gfml.Federation) float64 {
	var models [][]float64
	for _, s := range f.Servers {
		models = append(models, s.Model())
	}
	return w.errorOf(models)
}

// meanSquaredError judges one model.
func (t testRows) meanSquaredError(w []float64) float64 {
	residual := append([]float64(nil), t.y...)
	z := blas64.General{Rows: len(t.y), Cols: len(w), Stride: len(w), Data: t.z}
	r := blas64.Vector{N: len(residual), Inc: 1, Data: residual}
	blas64.Gemv(blas.NoTrans, -1, z, blas64.Vector{N: len(w), Inc: 1, Data: w}, 1, r)
	return blas64.Dot(r, r) / float64(len(residual))
}
