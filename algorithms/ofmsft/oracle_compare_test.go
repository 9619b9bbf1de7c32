package ofmsft

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// TestRoundsEqualTheOracle runs federations beside the oracle with the same draws.
func TestRoundsEqualTheOracle(t *testing.T) {
	for _, c := range []struct {
		name            string
		models, classes int
		edit            func(*Params)
	}{
		{"equation 11", 7, 0, nil},
		{"equal costs", 6, 0, func(p *Params) {
			for k := range p.Models {
				p.Models[k].Cost, p.Models[k].Bandwidth = 1, 1
			}
			p.Budget = 3
		}},
		{"no fine-tuning", 7, 0, func(p *Params) { p.Update = UpdateNone }},
		{"in place", 7, 0, func(p *Params) { p.Update = UpdateInPlace }},
		{"little bandwidth", 7, 0, func(p *Params) { p.Bandwidth = 2.2 }},
		{"rounds of three rows", 7, 0, func(p *Params) { p.RoundsPerUpload, p.Rounds = 3, 50 }},
		{"rounds of three rows, in place", 5, 0, func(p *Params) {
			p.RoundsPerUpload, p.Rounds, p.Update, p.Window = 3, 50,
				UpdateInPlace, 4
		}},
		{"a window", 7, 0, func(p *Params) { p.Window, p.WarmUp = 5, 5 }},
		{"capped", 7, 0, func(p *Params) { p.MaxImportance = 3 }},
		{"clipped", 7, 0, func(p *Params) { p.Clip = 0.01 }},
		{"steep weights", 7, 0, func(p *Params) { p.Rate = 2 }},
		{"budgets of their own", 7, 0, func(p *Params) { p.Budgets = map[string]float64{"2": 4, "4": 3.1} }},
		{"rates of their own", 7, 0, func(p *Params) { p.Rates = map[string]float64{"1": 2, "5": 0.01} }},
		{"other bandwidths", 7, 0, func(p *Params) { p.Models[2].Bandwidth, p.Bandwidth = 3, 9 }},
		{"broadcast", 7, 0, func(p *Params) { p.Broadcast = true }},
		{"units", 5, 0, func(p *Params) { p.InputNorm, p.LabelLow, p.LabelHigh = 4, -1, 3 }},
		{"classes", 6, 3, nil},
		{"two models", 2, 0, nil},
	} {
		t.Run(c.name, func(t *testing.T) { compareWithOracle(t, c.models, c.classes, c.edit) })
	}
}

// compareWithOracle runs all rounds of five clients.
func compareWithOracle(t *testing.T, models, classes int, edit func(*Params)) {
	const clients, tolerance = 5, 1e-12
	p, networks := small(t, models, classes, clients, edit)
	seed := [32]byte{7}
	f, err := NewFederation(p, networks, clients, seed)
	mustDo(t, err)
	o := newOracle(p, networks, clients, seed)
	rng, got := rand.New(rand.NewPCG(1, 2)), make([]float64, clients)
	for r := range p.Rounds {
		rows, labels := drawRows(rng, clients, classes)
		if r%p.RoundsPerUpload == 0 {
			o.begin()
		}
		mustDo(t, f.Round(rows, labels, got))
		for i, want := range o.learn(rows, labels) {
			near(t, fmt.Sprintf("round %d, client %d: prediction", r+1, i+1), got[i], want, tolerance)
		}
		if n := r%p.RoundsPerUpload + 1; n == p.RoundsPerUpload || r == p.Rounds-1 {
			o.finish(n)
		}
		compareThetas(t, r, f, o, tolerance)
		if t.Failed() {
			return
		}
	}
	for i, c := range f.Clients {
		total := 0.0
		for _, z := range o.z[i] {
			total += z
		}
		for k, s := range c.Shares() {
			near(t, fmt.Sprintf("client %d, model %d: share", i+1, k+1), s, o.z[i][k]/total, tolerance)
		}
	}
}

// compareThetas compares the servers' networks.
func compareThetas(t *testing.T, r int, f *Federation, o *oracle, tolerance float64) {
	t.Helper()
	for k := range o.networks {
		for j, v := range f.Server.Network(k).Parameters() {
			got := float64(v)
			if f.Server.tuned[k].theta != nil {
				got = f.Server.tuned[k].theta[j]
			}
			near(t, fmt.Sprintf("round %d, model %d: parameter %d", r+1, k+1, j+1), got, o.theta[k][j], tolerance)
		}
	}
}

// near compares two numbers, by the larger of 1 and their size.
func near(t *testing.T, what string, got, want, tolerance float64) {
	t.Helper()
	if !(math.Abs(got-want) <= tolerance*math.Max(1, math.Abs(want))) {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}
