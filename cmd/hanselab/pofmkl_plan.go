package main

import (
	"crypto/sha256"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/algorithms/pofmkl/baseline"
)

// The algorithms, as the paper's tables name them.
const (
	perFedAvg = "PerFedAvg"
	ofskl     = "OFSKL"
	ofmklAvg  = "OFMKL-Avg"
	vmKOFL    = "vM-KOFL"
	emKOFL    = "eM-KOFL"
	pofMKL    = "POF-MKL"
)

// ofsklBandwidth is that of OFSKL's only kernel.
const ofsklBandwidth = 10

// pofmklPlan is a row of the report, to be measured with so many draws.
type pofmklPlan struct {
	row   pofmklRow
	draws int
}

// pofmklPublished is what a row of the paper's tables says of one set, in units of 1e-3, and what
// the specification says that comes out, for Algorithm 2 and with the weights carried over. A
// deviation that the latter lacks is Algorithm 2's.
type pofmklPublished struct {
	algorithm        string
	chosen, features int
	paper, regret    pofmklFigure
	spec, carried    pofmklFigure
	seconds          float64 // of a client over all its rows, on an Intel Core i7-10510U
}

// publishedNaval holds the figures of the naval set.
func publishedNaval() []pofmklPublished {
	return []pofmklPublished{
		{perFedAvg, 0, 0, pofmklFigure{118.60, 0}, pofmklFigure{}, pofmklFigure{}, pofmklFigure{}, 44.59},
		{ofskl, 1, 100, pofmklFigure{77.77, 1.04}, pofmklFigure{}, pofmklFigure{77.7, 2.2}, pofmklFigure{}, 0.07},
		{ofmklAvg, 51, 9, pofmklFigure{33.25, 1.46}, pofmklFigure{16.95, 0.39}, pofmklFigure{32.8, 0.9}, pofmklFigure{}, 1.51},
		{vmKOFL, 51, 9, pofmklFigure{26.42, 1.16}, pofmklFigure{13.40, 0.39}, pofmklFigure{26.3, 0.6}, pofmklFigure{}, 2.01},
		{emKOFL, 1, 100, pofmklFigure{28.64, 1.32}, pofmklFigure{14.92, 0.65}, pofmklFigure{}, pofmklFigure{}, 2.27},
		{pofMKL, 1, 100, pofmklFigure{16.16, 0.72}, pofmklFigure{8.33, 0.39}, pofmklFigure{24.74, 0.55}, pofmklFigure{16.37, 0.55}, 1.22},
		{pofMKL, 25, 20, pofmklFigure{16.82, 0.74}, pofmklFigure{8.67, 0.39}, pofmklFigure{25.61, 0.71}, pofmklFigure{16.73, 0.71}, 0.69},
		{pofMKL, 51, 9, pofmklFigure{16.65, 0.74}, pofmklFigure{8.55, 0.39}, pofmklFigure{26.45, 0.78}, pofmklFigure{16.91, 0.78}, 0.82},
	}
}

// publishedAir holds the figures of the air set.
func publishedAir() []pofmklPublished {
	return []pofmklPublished{
		{perFedAvg, 0, 0, pofmklFigure{13.68, 0}, pofmklFigure{}, pofmklFigure{}, pofmklFigure{}, 37.4},
		{ofskl, 1, 100, pofmklFigure{13.65, 0.61}, pofmklFigure{}, pofmklFigure{13.63, 0.03}, pofmklFigure{}, 0.08},
		{ofmklAvg, 51, 9, pofmklFigure{10.63, 0.47}, pofmklFigure{3.05, 2.83}, pofmklFigure{10.66, 0.08}, pofmklFigure{}, 0.91},
		{vmKOFL, 51, 9, pofmklFigure{10.58, 0.47}, pofmklFigure{3.02, 2.79}, pofmklFigure{10.60, 0.09}, pofmklFigure{}, 1.37},
		{emKOFL, 1, 100, pofmklFigure{21.94, 1.16}, pofmklFigure{8.53, 2.51}, pofmklFigure{}, pofmklFigure{}, 1.45},
		{pofMKL, 1, 100, pofmklFigure{9.27, 0.41}, pofmklFigure{2.95, 2.08}, pofmklFigure{10.44, 0.03}, pofmklFigure{9.23, 0.03}, 1.25},
		{pofMKL, 25, 20, pofmklFigure{9.34, 0.42}, pofmklFigure{2.98, 2.12}, pofmklFigure{10.47, 0.06}, pofmklFigure{9.29, 0.06}, 0.63},
		{pofMKL, 51, 9, pofmklFigure{9.38, 0.42}, pofmklFigure{3.01, 2.15}, pofmklFigure{10.55, 0.07}, pofmklFigure{9.38, 0.07}, 0.81},
	}
}

// pofmklPlans lists the rows of the tables, POF-MKL's once more with carried weights.
func pofmklPlans(set string, draws int) []pofmklPlan {
	published := publishedAir()
	if set == "naval" {
		published = publishedNaval()
	}
	var plans, carried []pofmklPlan
	for _, p := range published {
		plans = append(plans, p.plan(draws, false))
		if p.algorithm == pofMKL {
			carried = append(carried, p.plan(draws, true))
		}
	}
	return append(plans, carried...)
}

// plan makes a row to be measured.
func (p pofmklPublished) plan(draws int, carried bool) pofmklPlan {
	row := pofmklRow{Algorithm: p.algorithm, Chosen: p.chosen, Features: p.features, Carried: carried, Paper: &p.paper,
		PaperSeconds: p.seconds}
	if p.algorithm == pofMKL {
		row.Words, row.OpenWords = 2*51*p.features, 2*p.chosen*p.features
		row.Explore = 1
	}
	if p.regret.Value > 0 {
		row.PaperRegret = &p.regret
	}
	expected := p.spec
	if carried {
		expected = p.carried
	}
	if expected.Value > 0 {
		row.Spec = &expected
	}
	return pofmklPlan{row, draws}
}

// explorePlans lists the study of the exploration rate.
func explorePlans(draws int) []pofmklPlan {
	var plans []pofmklPlan
	for _, size := range [][2]int{{1, 100}, {25, 20}} {
		for _, xi := range []float64{0.05, 0.1, 0.25, 0.5, 0.75, 1} {
			row := pofmklRow{Algorithm: pofMKL, Chosen: size[0], Features: size[1], Explore: xi}
			if draws > 0 {
				plans = append(plans, pofmklPlan{row, draws})
			}
		}
	}
	return plans
}

// name tells a row from the others.
func (r *pofmklRow) name() string {
	s := r.Algorithm
	if r.Features > 0 {
		s += fmt.Sprintf(" M=%d D=%d", r.Chosen, r.Features)
	}
	if r.Explore > 0 && r.Explore < 1 {
		s += fmt.Sprintf(" xi=%g", r.Explore)
	}
	if r.Carried {
		s += ", weights carried over"
	}
	return s
}

// start makes a plan's learner for one draw of the features. Rows of the same D have the same features.
func (p pofmklPlan) start(set *pofmklSet, rounds, draw int) (learner, error) {
	seed := sha256.Sum256(fmt.Appendf(nil, "%s draw %d", set.name, draw+1))
	params := pofmkl.Params{
		Label: "target", Seed: fmt.Sprintf("%s %d", set.name, draw+1), Rounds: rounds,
		Features: p.row.Features, Chosen: p.row.Chosen, Explore: p.row.Explore,
	}
	clients := len(set.rows)
	if p.row.Algorithm == perFedAvg {
		return baseline.NewPerFedAvg(params.WithDefaults(), set.columns, clients, seed)
	}
	if p.row.Algorithm == ofskl {
		params.Bandwidths = []float64{ofsklBandwidth}
	}
	d, err := pofmkl.NewDictionary(params.WithDefaults(), set.columns)
	if err != nil {
		return nil, err
	}
	switch p.row.Algorithm {
	case ofskl, ofmklAvg:
		return baseline.NewAverage(d, clients)
	case vmKOFL:
		return baseline.NewGlobal(d, clients)
	case emKOFL:
		return baseline.NewDrawn(d, clients, seed)
	}
	return pofmkl.NewFederation(d, clients, seed)
}
