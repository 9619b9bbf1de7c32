package gfml

import (
	"slices"
	"testing"
)

// TestAllEntriesAreOGFML: M = D, written or left out, coordinated or not, is the paper's O-GFML
// (equations 4 to 6) to the bit. A client's own model plays no part when it is chosen.
func TestAllEntriesAreOGFML(t *testing.T) {
	for _, entries := range []int{0, 12} {
		for _, selection := range []string{Coordinated, Uncoordinated} {
			p := plan(t, func(p *Params) { p.Entries, p.Selection = entries, selection })
			st := newStreams(t, p, 60, 0, 5)
			f, whole := federation(t, p, p.NewServer), federation(t, p, p.NewServer)
			for n := range st.z {
				for s := range whole.Servers {
					for k := range whole.Clients[s] {
						clear(whole.Clients[s][k].w) // forgets what it learnt alone
					}
				}
				must(t, f.Step(n, st.round(n)))
				must(t, whole.Step(n, st.round(n)))
				for s := range f.Servers {
					wantNear(t, "O-GFML", f.Servers[s].Model(), whole.Servers[s].Model(), 0)
				}
			}
			first := plan(t, func(p *Params) { p.Entries = 12 })
			g := federation(t, first, first.NewServer)
			st.run(t, g)
			for s := range f.Servers {
				wantNear(t, "M = D", f.Servers[s].Model(), g.Servers[s].Model(), 0)
			}
		}
	}
}

// onlineFed is one server of Online-Fed (Gogineni, Werner, Huang, Kuh 2021) in a straight line.
func onlineFed(p *Plan, s int, st *streams) []float64 {
	w := make([]float64, p.Params().Features)
	for n := range st.z {
		mean := make([]float64, len(w))
		chosen := p.Chosen(s, n)
		for _, k := range chosen {
			z := st.z[n][s][k]
			epsilon := st.y[n][s][k]
			for i := range w {
				epsilon -= w[i] * z[i]
			}
			for i := range w {
				mean[i] += w[i] + p.Params().Step*z[i]*epsilon
			}
		}
		for i := range w {
			w[i] = mean[i] / float64(len(chosen))
		}
	}
	return w
}

// TestAloneIsOnlineFed: without inter-cluster weight and with a cluster for each server, the graph
// does nothing, to the bit; and the baseline is Online-Fed.
func TestAloneIsOnlineFed(t *testing.T) {
	p := plan(t, func(p *Params) {
		p.Eta, p.Clusters = 0, [][]string{{"a"}, {"b"}, {"c"}, {"d"}, {"e"}}
	})
	st := newStreams(t, p, 80, 0, 6)
	f, base := federation(t, p, p.NewServer), federation(t, p, p.NewOnlineFed)
	st.run(t, f)
	st.run(t, base)
	for s := range f.Servers {
		wantNear(t, "the graph", f.Servers[s].Model(), base.Servers[s].Model(), 0)
		wantNear(t, "Online-Fed", base.Servers[s].Model(), onlineFed(p, s, st), 1e-12)
	}
}

// TestOneClusterIsPlainDiffusion: with Q = 1 a server averages what its neighbours and it have learnt,
// whatever eta is: adapt, then combine.
func TestOneClusterIsPlainDiffusion(t *testing.T) {
	whole := func(eta float64) *Plan {
		return plan(t, func(p *Params) { p.Eta, p.Clusters = eta, [][]string{{"a", "b", "c", "d", "e"}} })
	}
	p := whole(0.3)
	st := newStreams(t, p, 80, 0, 7)
	f, other := federation(t, p, p.NewServer), federation(t, whole(0), whole(0).NewServer)
	st.run(t, f)
	st.run(t, other)
	near := [][]int{{0, 1, 4}, {1, 0, 2, 4}, {2, 1, 3}, {3, 2, 4}, {4, 0, 1, 3}}
	w := diffusion(p, near, st)
	for s := range f.Servers {
		wantNear(t, "diffusion", f.Servers[s].Model(), w[s], 1e-12)
		wantNear(t, "eta = 0", f.Servers[s].Model(), other.Servers[s].Model(), 0)
	}
}

// diffusion is adapt-then-combine with the mean of clients' steps, in a straight line.
func diffusion(p *Plan, near [][]int, st *streams) [][]float64 {
	w := make([][]float64, len(near))
	for s := range w {
		w[s] = make([]float64, p.Params().Features)
	}
	for n := range st.z {
		adapted := make([][]float64, len(w))
		for s := range w {
			adapted[s] = slices.Clone(w[s])
			chosen := p.Chosen(s, n)
			for _, k := range chosen {
				z, epsilon := st.z[n][s][k], st.y[n][s][k]
				for i := range z {
					epsilon -= w[s][i] * z[i]
				}
				for i := range z {
					adapted[s][i] += p.Params().Step * z[i] * epsilon / float64(len(chosen))
				}
			}
		}
		for s := range w {
			clear(w[s])
			for _, r := range near[s] {
				for i := range w[s] {
					w[s][i] += adapted[r][i] / float64(len(near[s]))
				}
			}
		}
	}
	return w
}
