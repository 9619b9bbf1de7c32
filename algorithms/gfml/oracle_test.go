package gfml

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// oracle is the paper's Algorithm 1 with matrices, written from the parameters alone; of the plan it
// takes the draws only: whom a server chooses, and where selections start.
type oracle struct {
	plan *Plan
	p    Params
	w    [][]float64   // [server]
	wk   [][][]float64 // [server][client]
	sel  [][][]float64 // [server][client]: the diagonal of S_{p,k,n}
}

func newOracle(plan *Plan) *oracle {
	o := &oracle{plan: plan, p: plan.Params()}
	for s := range o.p.Servers {
		o.w = append(o.w, make([]float64, o.p.Features))
		o.wk, o.sel = append(o.wk, nil), append(o.sel, nil)
		for k := range o.p.Clients[o.p.Servers[s]] {
			o.wk[s] = append(o.wk[s], make([]float64, o.p.Features))
			diagonal := make([]float64, o.p.Features)
			for _, i := range plan.Selected(s, k, 0) {
				diagonal[i] = 1
			}
			o.sel[s] = append(o.sel[s], diagonal)
		}
	}
	return o
}

// circshift moves every element tau places on.
func circshift(v []float64, tau int) []float64 {
	out := make([]float64, len(v))
	for i := range v {
		out[(i+tau)%len(v)] = v[i]
	}
	return out
}

// step is one iteration; lost and down say who is gone.
func (o *oracle) step(n int, r Round) {
	d := o.p.Features
	prime := make([][]float64, len(o.w))
	for s := range o.w {
		chosen := o.plan.Chosen(s, n)
		gone := r.Down != nil && r.Down(s)
		var uploads [][]float64
		for k := range o.wk[s] {
			next := circshift(o.sel[s][k], o.p.Shift)
			w := slices.Clone(o.wk[s][k])
			if slices.Contains(chosen, k) && !gone {
				for i := range d {
					w[i] = o.sel[s][k][i]*o.w[s][i] + (1-o.sel[s][k][i])*o.wk[s][k][i]
				}
			}
			if z, y, ok := r.Sample(s, k); ok {
				epsilon := y
				for i := range d {
					epsilon -= w[i] * z[i]
				}
				for i := range d {
					w[i] += o.p.Step * z[i] * epsilon
				}
			}
			o.wk[s][k], o.sel[s][k] = w, next
			if slices.Contains(chosen, k) && !(r.Lost != nil && r.Lost(s, k)) {
				filled := make([]float64, d)
				for i := range d {
					filled[i] = next[i]*w[i] + (1-next[i])*o.w[s][i]
				}
				uploads = append(uploads, filled)
			}
		}
		if gone {
			continue
		}
		prime[s] = slices.Clone(o.w[s])
		for i := 0; i < d && len(uploads) > 0; i++ {
			sum := 0.0
			for _, u := range uploads {
				sum += u[i]
			}
			prime[s][i] = sum / float64(len(uploads))
		}
	}
	o.diffuse(prime)
}

// diffuse is steps 4 and 5 with averaging rules among the servers that are there.
func (o *oracle) diffuse(prime [][]float64) {
	psi := make([][]float64, len(o.w))
	for s := range o.w {
		if prime[s] == nil {
			continue
		}
		psi[s] = slices.Clone(prime[s])
		var others []int
		for r := range o.w {
			if r != s && prime[r] != nil && o.neighbours(s, r) && o.clusterOf(s) != o.clusterOf(r) {
				others = append(others, r)
			}
		}
		for _, r := range others {
			for i := range psi[s] {
				psi[s][i] += o.p.Eta / float64(len(others)) * (prime[r][i] - prime[s][i])
			}
		}
	}
	for s := range o.w {
		if psi[s] == nil {
			continue
		}
		own := []int{s}
		for r := range o.w {
			if r != s && psi[r] != nil && o.neighbours(s, r) && o.clusterOf(s) == o.clusterOf(r) {
				own = append(own, r)
			}
		}
		for i := range o.w[s] {
			o.w[s][i] = 0
			for _, r := range own {
				o.w[s][i] += psi[r][i] / float64(len(own))
			}
		}
	}
}

func (o *oracle) neighbours(s, r int) bool {
	return slices.ContainsFunc(o.p.Edges, func(e []string) bool {
		return slices.Contains(e, o.p.Servers[s]) && slices.Contains(e, o.p.Servers[r])
	})
}

func (o *oracle) clusterOf(s int) int {
	return slices.IndexFunc(o.p.Clusters, func(c []string) bool { return slices.Contains(c, o.p.Servers[s]) })
}

// compare holds a federation against the oracle.
func (o *oracle) compare(t testing.TB, n int, f *Federation) {
	t.Helper()
	for s := range o.w {
		wantNear(t, fmt.Sprintf("iteration %d: w of server %d", n, s), f.Servers[s].Model(), o.w[s], 1e-12)
		for k := range o.wk[s] {
			wantNear(t, fmt.Sprintf("iteration %d: w of client %d of server %d", n, k, s), f.Clients[s][k].Model(), o.wk[s][k],
				1e-12)
		}
	}
}

// TestAFederationIsAlgorithmOne: any selection, step, number of chosen clients, streams with gaps,
// clients that drop out and servers that are gone give the oracle's models after every iteration.
func TestAFederationIsAlgorithmOne(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		p := plan(t, func(p *Params) {
			p.Seed = rapid.StringN(0, 8, 16).Draw(rt, "seed")
			p.Selection = rapid.SampledFrom([]string{Coordinated, Uncoordinated}).Draw(rt, "selection")
			p.Entries = rapid.IntRange(1, p.Features).Draw(rt, "entries")
			p.Shift = rapid.SampledFrom([]int{1, 5, 7, p.Entries}).Draw(rt, "shift")
			p.Participants = rapid.IntRange(1, 5).Draw(rt, "participants")
			p.Eta = rapid.SampledFrom([]float64{0, 0.1, 1}).Draw(rt, "eta")
			p.Step = rapid.Float64Range(0.05, 1).Draw(rt, "step")
		})
		lost, down := rapid.Uint64().Draw(rt, "lost"), rapid.Uint64().Draw(rt, "down")
		if rapid.Bool().Draw(rt, "calm") {
			lost, down = 0, 0
		}
		st := newStreams(t, p, 30, 0.2, rapid.Uint64().Draw(rt, "streams"))
		f, o := federation(t, p, p.NewServer), newOracle(p)
		for n := range st.z {
			r := st.round(n)
			r.Lost = func(s, k int) bool { return lost>>((n+7*s+3*k)%64)&3 == 3 }
			r.Down = func(s int) bool { return down>>((3*n+s)%64)&3 == 3 }
			must(t, f.Step(n, r))
			o.step(n, r)
			o.compare(t, n, f)
		}
	})
}
