package pofmkl

import (
	"crypto/sha256"
	"fmt"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/pofmklbaseline"
)

// The algorithms, as the paper's tables name them.
const (
	PerFedAvg = "PerFedAvg"
	ofskl     = "OFSKL"
	ofmklAvg  = "OFMKL-Avg"
	vmKOFL    = "vM-KOFL"
	emKOFL    = "eM-KOFL"
	pofMKL    = "POF-MKL"
)

// ofsklBandwidth is that of OFSKL's only kernel.
const ofsklBandwidth = 10

// plan is a row of the report, to be measured with so many draws.
type plan struct {
	Row   Row
	draws int
}

// tableRow is what a row of the paper's tables says of one set, in units of 1e-3, and what
// the specification says that comes out, for Algorithm 2 and with the weights carried over. A
// deviation that the latter lacks is Algorithm 2's.
type tableRow struct {
	algorithm        string
	chosen, features int
	paper, regret    lab.Published
	spec, carried    lab.Published
}

// publishedNaval holds the figures of the naval set.
func publishedNaval() []tableRow {
	cited := lab.Cited
	return []tableRow{
		{PerFedAvg, 0, 0, cited(118.60, 0), lab.Published{}, lab.Published{}, lab.Published{}},
		{ofskl, 1, 100, cited(77.77, 1.04), lab.Published{}, cited(77.7, 2.2), lab.Published{}},
		{ofmklAvg, 51, 9, cited(33.25, 1.46), cited(16.95, 0.39), cited(32.8, 0.9), lab.Published{}},
		{vmKOFL, 51, 9, cited(26.42, 1.16), cited(13.40, 0.39), cited(26.3, 0.6), lab.Published{}},
		{emKOFL, 1, 100, cited(28.64, 1.32), cited(14.92, 0.65), lab.Published{}, lab.Published{}},
		{pofMKL, 1, 100, cited(16.16, 0.72), cited(8.33, 0.39), cited(24.74, 0.55), cited(16.37, 0.55)},
		{pofMKL, 25, 20, cited(16.82, 0.74), cited(8.67, 0.39), cited(25.61, 0.71), cited(16.73, 0.71)},
		{pofMKL, 51, 9, cited(16.65, 0.74), cited(8.55, 0.39), cited(26.45, 0.78), cited(16.91, 0.78)},
	}
}

// publishedAir holds the figures of the air set.
func publishedAir() []tableRow {
	cited := lab.Cited
	return []tableRow{
		{PerFedAvg, 0, 0, cited(13.68, 0), lab.Published{}, lab.Published{}, lab.Published{}},
		{ofskl, 1, 100, cited(13.65, 0.61), lab.Published{}, cited(13.63, 0.03), lab.Published{}},
		{ofmklAvg, 51, 9, cited(10.63, 0.47), cited(3.05, 2.83), cited(10.66, 0.08), lab.Published{}},
		{vmKOFL, 51, 9, cited(10.58, 0.47), cited(3.02, 2.79), cited(10.60, 0.09), lab.Published{}},
		{emKOFL, 1, 100, cited(21.94, 1.16), cited(8.53, 2.51), lab.Published{}, lab.Published{}},
		{pofMKL, 1, 100, cited(9.27, 0.41), cited(2.95, 2.08), cited(10.44, 0.03), cited(9.23, 0.03)},
		{pofMKL, 25, 20, cited(9.34, 0.42), cited(2.98, 2.12), cited(10.47, 0.06), cited(9.29, 0.06)},
		{pofMKL, 51, 9, cited(9.38, 0.42), cited(3.01, 2.15), cited(10.55, 0.07), cited(9.38, 0.07)},
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

// plansOf lists the rows of the tables, POF-MKL's once more with carried weights.
func plansOf(set string, draws int) []plan {
	published := publishedAir()
	switch set {
	case "naval":
		published = publishedNaval()
	case "uji":
		published = publishedUJI()
	case "wec":
		published = publishedWEC()
	}
	var plans, carried []plan
	for _, p := range published {
		plans = append(plans, p.plan(draws, false))
		if p.algorithm == pofMKL {
			carried = append(carried, p.plan(draws, true))
		}
	}
	for i, seconds := range publishedSeconds(set) {
		plans[i].Row.PaperSeconds = seconds
	}
	return append(plans, carried...)
}

// plan makes a row to be measured.
func (p tableRow) plan(draws int, carried bool) plan {
	row := Row{Algorithm: p.algorithm, Chosen: p.chosen, Features: p.features, Carried: carried, Paper: &p.paper}
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
	return plan{row, draws}
}

// explorePlans lists the study of the exploration rate.
func explorePlans(draws int) []plan {
	var plans []plan
	for _, size := range [][2]int{{1, 100}, {25, 20}} {
		for _, xi := range []float64{0.05, 0.1, 0.25, 0.5, 0.75, 1} {
			row := Row{Algorithm: pofMKL, Chosen: size[0], Features: size[1], Explore: xi}
			if draws > 0 {
				plans = append(plans, plan{row, draws})
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
func commonPlans(draws, rounds, clients int) []plan {
	if draws == 0 {
		return nil
	}
	var plans []plan
	for _, size := range [][2]int{{1, 100}, {5, 20}, {10, 20}, {25, 20}} {
		for _, large := range []bool{false, true} {
			for _, common := range []bool{false, true} {
				p := pofmkl.Params{Chosen: size[0], Features: size[1], Rounds: rounds,
					CommonBin: common}.WithDefaults()
				row := Row{
					Algorithm: pofMKL, Chosen: p.Chosen, Features: p.Features, Explore: 1,
					Common: common, Step: p.Step, Words: p.UploadWords(),
				}
				if large {
					row.Step = ofBound * p.StepBound(clients)
				}
				plans = append(plans, plan{row, draws})
			}
		}
	}
	return plans
}

// Name tells a row from the others.
func (r *Row) Name() string {
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
func (p plan) start(set *Set, rounds, draw int) (learner, error) {
	seed := sha256.Sum256(fmt.Appendf(nil, "%s draw %d", set.name, draw+1))
	params := pofmkl.Params{
		Label: "target", Seed: fmt.Sprintf("%s %d", set.name, draw+1), Rounds: rounds,
		Features: p.Row.Features, Chosen: p.Row.Chosen, Explore: p.Row.Explore,
		CommonBin: p.Row.Common, Step: p.Row.Step,
	}
	clients := len(set.Rows)
	if p.Row.Algorithm == PerFedAvg {
		return pofmklbaseline.NewPerFedAvg(params.WithDefaults(), set.columns, clients, seed)
	}
	if p.Row.Algorithm == ofskl {
		params.Bandwidths = []float64{ofsklBandwidth}
	}
	d, err := pofmkl.NewDictionary(params.WithDefaults(), set.columns)
	if err != nil {
		return nil, err
	}
	switch p.Row.Algorithm {
	case ofskl, ofmklAvg:
		return pofmklbaseline.NewAverage(d, clients)
	case vmKOFL:
		return pofmklbaseline.NewGlobal(d, clients)
	case emKOFL:
		return pofmklbaseline.NewDrawn(d, clients, seed)
	}
	return pofmkl.NewFederation(d, clients, seed)
}
