package ofmsft

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"testing"
)

// TestRegretsAreEquations1And3 writes both down beside a run, with the oracle's weights and networks, and finds the
// first below Theorem 1's and 3's bound.
func TestRegretsAreEquations1And3(t *testing.T) {
	const clients = 4
	for _, perUpload := range []int{1, 3} {
		p, networks := small(t, 6, 0, clients, func(p *Params) {
			p.RoundsPerUpload, p.Budgets = perUpload, map[string]float64{"2": 4}
		})
		seed := [32]byte{9}
		f, err := NewFederation(p, networks, clients, seed)
		mustDo(t, err)
		mustDo(t, f.CountRegrets(networks))
		o, rng := newOracle(p, networks, clients, seed), rand.New(rand.NewPCG(8, 8))
		expected, tuned, before := make([]float64, clients), matrix(clients, len(networks)), matrix(clients, len(networks))
		for r := range p.Rounds {
			rows, labels := drawRows(rng, clients, 0)
			if r%perUpload == 0 {
				o.begin()
				for i, z := range o.z {
					copy(before[i], z)
				}
			}
			for i := range rows {
				x, total := make([]float32, len(rows[i])), 0.0
				for c, v := range rows[i] {
					x[c] = float32(v)
				}
				for _, z := range before[i] {
					total += z
				}
				for k, n := range o.networks {
					loss := make([]float64, 1)
					n.NewWorkspace().Losses(x, labels[i:i+1], 1, loss)
					expected[i] += before[i][k] / total * loss[0]
					tuned[i][k] += loss[0]
				}
			}
			mustDo(t, f.Round(rows, labels, make([]float64, clients)))
			o.learn(rows, labels)
			if n := r%perUpload + 1; n == perUpload || r == p.Rounds-1 {
				o.finish(n)
			}
		}
		for i := range clients {
			least := math.Inf(1)
			for _, sum := range tuned[i] {
				least = math.Min(least, sum)
			}
			near(t, fmt.Sprintf("client %d: regret", i+1), f.ExpectedRegret(i), expected[i]-least, 1e-6)
			packings, err := p.Packings(strconv.Itoa(i + 1))
			mustDo(t, err)
			if bound := p.RegretBound(packings, p.Rounds); f.ExpectedRegret(i) > bound {
				t.Errorf("client %d: regret %v is above the bound %v", i+1, f.ExpectedRegret(i), bound)
			}
		}
		for k := range networks {
			sum := 0.0
			for i := range clients {
				sum += tuned[i][k]
			}
			near(t, fmt.Sprintf("model %d: loss", k+1), f.TunedLoss(k), sum/clients, 1e-6)
		}
	}
}

// TestBoundsAreTheTheorems computes both line by line, with clusters packed by Algorithm 2.
func TestBoundsAreTheTheorems(t *testing.T) {
	const clients, alpha, radius, gradient = 3, 2, 7.5, 1.25
	for _, n := range []int{1, 4} {
		p, _ := small(t, 7, 0, clients, func(p *Params) { p.RoundsPerUpload, p.Budgets = n, map[string]float64{"3": 3.2} })
		var cost []float64
		for _, m := range p.Models {
			cost = append(cost, m.Cost)
		}
		T, mus, all := 50, 0.0, []*Packings{}
		for i := range clients {
			mu, budget := 0, p.BudgetOf(strconv.Itoa(i+1))
			for j := range cost {
				mu = max(mu, len(pack(cost, j, budget*(1+1e-9)-cost[j])))
			}
			packings, err := p.Packings(strconv.Itoa(i + 1))
			mustDo(t, err)
			want := math.Log(7)/p.Rate + p.Rate*float64(mu*n*T)
			near(t, "Theorem 3, client", p.RegretBound(packings, T), want, 1e-12)
			mus, all = mus+float64(mu), append(all, packings)
		}
		want := radius / (2 * p.Step)
		want += 1. / clients * mus * alpha * p.Step * gradient * gradient * float64(n*T)
		near(t, "Theorem 3, server", p.TuningBound(all, alpha, radius, gradient, T), want, 1e-12)
	}
}
