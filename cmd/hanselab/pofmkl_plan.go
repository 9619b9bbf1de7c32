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
}

// publishedNaval holds the figures of the naval set.
func publishedNaval() []pofmklPublished {
	return []pofmklPublished{
		{perFedAvg, 0, 0, pofmklFigure{118.60, 0}, pofmklFigure{}, pofmklFigure{}, pofmklFigure{}},
		{ofskl, 1, 100, pofmklFigure{77.77, 1.04}, pofmklFigure{}, pofmklFigure{77.7, 2.2}, pofmklFigure{}},
		{ofmklAvg, 51, 9, pofmklFigure{33.25, 1.46}, pofmklFigure{16.95, 0.39}, pofmklFigure{32.8, 0.9}, pofmklFigure{}},
		{vmKOFL, 51, 9, pofmklFigure{26.42, 1.16}, pofmklFigure{13.40, 0.39}, pofmklFigure{26.3, 0.6}, pofmklFigure{}},
		{emKOFL, 1, 100, pofmklFigure{28.64, 1.32}, pofmklFigure{14.92, 0.65}, pofmklFigure{}, pofmklFigure{}},
		{pofMKL, 1, 100, pofmklFigure{16.16, 0.72}, pofmklFigure{8.33, 0.39}, pofmklFigure{24.74, 0.55}, pofmklFigure{16.37, 0.55}},
		{pofMKL, 25, 20, pofmklFigure{16.82, 0.74}, pofmklFigure{8.67, 0.39}, pofmklFigure{25.61, 0.71}, pofmklFigure{16.73, 0.71}},
		{pofMKL, 51, 9, pofmklFigure{16.65, 0.74}, pofmklFigure{8.55, 0.39}, pofmklFigure{26.45, 0.78}, pofmklFigure{16.91, 0.78}},
	}
}

// publishedAir holds the figures of the air set.
func publishedAir() []pofmklPublished {
	return []pofmklPublished{
		{perFedAvg, 0, 0, pofmklFigure{13.68, 0}, pofmklFigure{}, pofmklFigure{}, pofmklFigure{}},
		{ofskl, 1, 100, pofmklFigure{13.65, 0.61}, pofmklFigure{}, pofmklFigure{13.63, 0.03}, pofmklFigure{}},
		{ofmklAvg, 51, 9, pofmklFigure{10.63, 0.47}, pofmklFigure{3.05, 2.83}, pofmklFigure{10.66, 0.08}, pofmklFigure{}},
		{vmKOFL, 51, 9, pofmklFigure{10.58, 0.47}, pofmklFigure{3.02, 2.79}, pofmklFigure{10.60, 0.09}, pofmklFigure{}},
		{emKOFL, 1, 100, pofmklFigure{21.94, 1.16}, pofmklFigure{8.53, 2.51}, pofmklFigure{}, pofmklFigure{}},
		{pofMKL, 1, 100, pofmklFigure{9.27, 0.41}, pofmklFigure{2.95, 2.08}, pofmklFigure{10.44, 0.03}, pofmklFigure{9.23, 0.03}},
		{pofMKL, 25, 20, pofmklFigure{9.34, 0.42}, pofmklFigure{2.98, 2.12}, pofmklFigure{10.47, 0.06}, pofmklFigure{9.29, 0.06}},
		{pofMKL, 51, 9, pofmklFigure{9.38, 0.42}, pofmklFigure{3.01, 2.15}, pofmklFigure{10.55, 0.07}, pofmklFigure{9.38, 0.07}},
	}
}

// publishedSeconds holds Table 1's run times of a set, in the order of its rows: a client's over all its rows, on an
// Intel Core i7-10510U.
func publishedSeconds(set string) []float64 {
	return map[string][]float64{
		"naval": {44.59, 0.07, 1.51, 2.01, 2.27, 1.22, 0.69, 0.82},
		"uji":   {41.67, 0.06, 1.73, 2.22, 10.13, 9.02, 2.29, 1.07},
		"air":   {37.40, 0.08, 0.91, 1.37, 1.45, 1.25, 0.63, 0.81},
		"wec":   {33.56, 0.06, 0.47, 0.67, 1.70, 1.10, 0.52, 0.65},
	}[set]
}

// pofmklPlans lists the rows of the tables, POF-MKL's once more with carried weights.
func pofmklPlans(set string, draws int) []pofmklPlan {
	published := publishedAir()
	switch set {
	case "naval":
		published = publishedNaval()
	case "uji":
		published = publishedUJI()
	case "wec":
		published = publishedWEC()
	}
	var plans, carried []pofmklPlan
	for _, p := range published {
		plans = append(plans, p.plan(draws, false))
		if p.algorithm == pofMKL {
			carried = append(carried, p.plan(draws, true))
		}
	}
	for i, seconds := range publishedSeconds(set) {
		plans[i].row.PaperSeconds = seconds
	}
	return append(plans, carried...)
}

// plan makes a row to be measured.
func (p pofmklPublished) plan(draws int, carried bool) pofmklPlan {
	row := pofmklRow{Algorithm: p.algorithm, Chosen: p.chosen, Features: p.features, Carried: carried, Paper: &p.paper}
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

// ofBound is what part of the largest step that is said to be stable the study of common bins tries, beside the
// defaults.
const ofBound = 0.9

// commonPlans lists the study of common bins: for each size Algorithm 2 and the common bin with their default steps,
// and then with nearly the largest that each bears.
func commonPlans(draws, rounds, clients int) []pofmklPlan {
	if draws == 0 {
		return nil
	}
	var plans []pofmklPlan
	for _, size := range [][2]int{{1, 100}, {5, 20}, {10, 20}, {25, 20}} {
		for _, large := range []bool{false, true} {
			for _, common := range []bool{false, true} {
				p := pofmkl.Params{Chosen: size[0], Features: size[1], Rounds: rounds, CommonBin: common}.WithDefaults()
				row := pofmklRow{
					Algorithm: pofMKL, Chosen: p.Chosen, Features: p.Features, Explore: 1,
					Common: common, Step: p.Step, Words: p.UploadWords(),
				}
				if large {
					row.Step = ofBound * p.StepBound(clients)
				}
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
	if r.Step > 0 {
		s += fmt.Sprintf(" step=%.3g", r.Step)
	}
	if r.Common {
		s += ", common bin"
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
		CommonBin: p.row.Common, Step: p.row.Step,
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
