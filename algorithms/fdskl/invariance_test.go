package fdskl

import (
	"context"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/protocol/contract"
)

// jobs are one job for each way to train, at their smallest.
func jobs() map[string]Params {
	return map[string]Params{
		"fixed, square": {Loss: "square", Features: 30, Lambda: 1e-4, Seed: "s", Iterations: 15},
		"fixed, logistic": {Loss: "logistic", Features: 30, Lambda: 1e-3, Seed: "s", Iterations: 15,
			Kernel: "matern52"},
		"fixed, smooth hinge": {Loss: "smooth-hinge", Features: 30, Lambda: 1e-3, Seed: "s", Iterations: 15,
			Sigma: 1, Kernel: "laplace"},
		"fixed, regression":           {Target: joint.Regression, Features: 30, Lambda: 1e-3, Seed: "s", Iterations: 15},
		"doubly stochastic, logistic": {Schedule: DoublyStochastic, Iterations: 12, Batch: 8, BlockFeatures: 4, Seed: "s"},
		"doubly stochastic, hinge": {Schedule: DoublyStochastic, Loss: "smooth-hinge", Iterations: 12, Batch: 8,
			BlockFeatures: 4, Seed: "s"},
		"doubly stochastic, square": {Schedule: DoublyStochastic, Target: joint.Regression, Iterations: 12, Batch: 8,
			BlockFeatures: 4, Step: 0.3, Seed: "s"},
		"doubly stochastic, few rows": {Schedule: DoublyStochastic, Iterations: 7, Batch: 1000, BlockFeatures: 3,
			Step: 0.3, Seed: "s"},
		"doubly stochastic, few turns": {Schedule: DoublyStochastic, Iterations: 2, Batch: 5, BlockFeatures: 3, Seed: "s"},
	}
}

// TestSameModelHoweverArranged trains with the parties in other orders, along other topologies and
// with other numbers of workers: every party ends in the same model part, bit for bit.
func TestSameModelHoweverArranged(t *testing.T) {
	for name, p := range jobs() {
		for _, active := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s, %d active", name, active), func(t *testing.T) {
				t.Parallel()
				f := newFixture(t, 5, 60, active, p)
				want := f.train(t)
				for n, order := range [][]int{{4, 3, 2, 1, 0}, {2, 0, 4, 1, 3}} {
					g := f.permuted(order)
					g.workers = 1 + 4*n
					links := g.federation(t)
					links.topology = []contract.Topology{contract.Ring, contract.Star}[n]
					compareParts(t, want, g.trainIn(t, links))
				}
			})
		}
	}
}

// compareParts compares two trainings' model parts, which may be in different orders.
func compareParts(t *testing.T, want, got []*Model) {
	t.Helper()
	for i, w := range want {
		g := *got[slices.Index(got[0].Names, w.Names[i])]
		g.Names = w.Names
		if a, b := bytesOf(t, w), bytesOf(t, &g); a != b {
			t.Errorf("%s has another model part:\n%+v\n%+v", w.Names[i], w, &g)
		}
	}
}

// bytesOf encodes a model part.
func bytesOf(t testing.TB, m *Model) string {
	t.Helper()
	data, err := m.Encode()
	mustDo(t, err)
	return string(data)
}

// TestPooledIsTheSameModel trains all parts at one party, in the clear: with the same phases the
// coefficients are those of the federation, bit for bit, since turns add exactly.
func TestPooledIsTheSameModel(t *testing.T) {
	for name, p := range jobs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, 4, 60, 1, p)
			joint := f.train(t)[0]
			pooled, err := Train(t.Context(), f.pooled())
			mustDo(t, err)
			if !slices.Equal(joint.Alpha, pooled.Alpha) || joint.Intercept != pooled.Intercept || joint.Sigma != pooled.Sigma ||
				joint.Objective != pooled.Objective || joint.Iterations != pooled.Iterations || joint.Mean != pooled.Mean ||
				joint.Scale != pooled.Scale {
				t.Errorf("the federation has sigma %v, intercept %v, alpha %v...\npooled they are %v, %v, %v...",
					joint.Sigma, joint.Intercept, joint.Alpha[:3], pooled.Sigma, pooled.Intercept, pooled.Alpha[:3])
			}
		})
	}
}

// TestMedianHeuristic computes the width from the rows themselves.
func TestMedianHeuristic(t *testing.T) {
	f := newFixture(t, 3, 50, 1, Params{Features: 8, Loss: "square", Seed: "w"})
	m := f.train(t)
	var distances []float64
	for _, p := range samplePairs(f.params.Seed, f.rows) {
		if p[0] == p[1] || max(p[0], p[1]) >= f.rows {
			t.Fatalf("pair %v of %d rows", p, f.rows)
		}
		sum := 0.0
		for _, part := range f.parts {
			x := dense(part.Rows)
			for c, v := range x[p[0]] {
				sum += (v - x[p[1]][c]) * (v - x[p[1]][c])
			}
		}
		distances = append(distances, math.Sqrt(sum))
	}
	slices.Sort(distances)
	for _, part := range m {
		if d := math.Abs(part.Sigma - distances[len(distances)/2]); d > 1e-5 || part.Sigma != m[0].Sigma {
			t.Errorf("sigma is %v, want %v", part.Sigma, distances[len(distances)/2])
		}
	}
}

// TestMedianOfEqualRows has no distance to take a median of.
func TestMedianOfEqualRows(t *testing.T) {
	flags := make([]float64, 400)
	flags[0] = 1
	part := newPart(t, "p", []kernel.Column{{Name: "rare", Values: flags}})
	f := &fixture{params: Params{Active: []string{"p"}, Label: "y", Loss: "square", Features: 2,
		Seed: "s"}.WithDefaults(), rows: 400, workers: 1}
	f.parts = []Part{part}
	f.labels = []*joint.Labels{testLabels(f.params, append([]float64{-1}, make([]float64, 399)...))}
	m, err := Train(context.Background(), f.pooled())
	if err != nil || m.Sigma != 1 {
		t.Errorf("sigma is %v, error %v", m.Sigma, err)
	}
}
