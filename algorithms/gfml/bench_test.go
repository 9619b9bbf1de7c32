package gfml

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// BenchmarkIteration is one iteration of ten servers with 50 clients each and 200 features, new rows
// for all clients included: a thousand of them must take at most 20 s.
func BenchmarkIteration(b *testing.B) {
	for _, c := range []struct {
		selection string
		entries   int
	}{{Coordinated, 200}, {Coordinated, 40}, {Uncoordinated, 40}, {Uncoordinated, 1}} {
		b.Run(fmt.Sprintf("%s/%d", c.selection, c.entries), func(b *testing.B) {
			p := benchPlan(b, c.selection, c.entries)
			f, features := federation(b, p, p.NewServer), p.Features()
			draw, x, z := rand.New(rand.NewPCG(1, 1)), make([]float64, 4), make([]float64, 200)
			round := Round{Sample: func(s, k int) ([]float64, float64, bool) {
				for i := range x {
					x[i] = draw.NormFloat64()
				}
				must(b, features.Map(z, x))
				return z, x[0] * x[1], true
			}}
			for n := 0; b.Loop(); n++ {
				must(b, f.Step(n, round))
			}
		})
	}
}

// benchPlan is a ring of ten servers in one cluster.
func benchPlan(b *testing.B, selection string, entries int) *Plan {
	b.Helper()
	p := DefaultParams()
	for s := range 10 {
		p.Servers = append(p.Servers, fmt.Sprintf("s%d-", s))
		p.Edges = append(p.Edges, []string{fmt.Sprintf("s%d-", s), fmt.Sprintf("s%d-", (s+1)%10)})
	}
	p.Clusters = [][]string{p.Servers}
	p.Columns, p.Label = []string{"x1", "x2", "x3", "x4"}, "y"
	p.Selection, p.Entries, p.Iterations = selection, entries, maxIterations
	p, parties := withClients(p, 50)
	plan, err := NewPlan(p, parties)
	must(b, err)
	return plan
}
