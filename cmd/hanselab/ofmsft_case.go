package main

import (
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/algorithms/ofmsft/baseline"
)

// The algorithms, as the paper's tables name them.
const (
	ofmsFT     = "OFMS-FT"
	ofmsMAB    = "MAB"
	nonFedOMS  = "Non-Fed-OMS"
	rmsFT      = "RMS-FT"
	bFedOMFT   = "B-Fed-OMFT"
	fedOMD     = "Fed-OMD"
	tableOne   = 5.0   // the budget of the paper's Table 1
	updateOwn  = "own" // of the algorithms that fine-tune in a way of their own
	ofmsftCap  = 20    // the authors' bound of 1/q in a step
	ofmsftWarm = 50    // rounds before the first step
)

// ofmsftCase is one algorithm to run.
type ofmsftCase struct {
	algorithm, update string
	budget            float64
	step              float64 // 0: the paper's
}

// name tells a case from the others.
func (c ofmsftCase) name() string {
	s := fmt.Sprintf("%s B=%g %s", c.algorithm, c.budget, c.update)
	if c.step > 0 {
		s += fmt.Sprintf(" step %g", c.step)
	}
	return s
}

// ofmsftCases lists what to run: OFMS-FT with the given budgets and updates, and the baselines with those updates at one budget,
// 0 for none.
func ofmsftCases(budgets []float64, updates []string, baselines float64) []ofmsftCase {
	var cases []ofmsftCase
	for _, update := range updates {
		for _, b := range budgets {
			if update != updateOwn {
				cases = append(cases, ofmsftCase{algorithm: ofmsFT, update: update, budget: b})
			}
		}
	}
	if baselines == 0 {
		return cases
	}
	for _, b := range []struct {
		algorithm string
		updates   []string
	}{
		{ofmsMAB, []string{ofmsft.UpdateNone}},
		{nonFedOMS, []string{ofmsft.UpdateNone}},
		{rmsFT, tunings()},
		{bFedOMFT, tunings()},
		{fedOMD, []string{updateOwn}},
		{perFedAvg, []string{updateOwn}},
	} {
		for _, update := range b.updates {
			if slices.Contains(updates, update) {
				cases = append(cases, ofmsftCase{algorithm: b.algorithm, update: update, budget: baselines})
			}
		}
	}
	return cases
}

// tunings lists what can become of the networks.
func tunings() []string {
	return []string{ofmsft.UpdateEquation11, ofmsft.UpdateInPlace, ofmsft.UpdateNone}
}

// selector is a federation of clients that select networks online.
type selector interface {
	Round(rows [][]float64, labels, predictions []float64) error
	Loss(client int) float64 // summed over its predictions
}

// ofmsftSelector is OFMS-FT itself.
type ofmsftSelector struct{ *ofmsft.Federation }

// Loss returns the summed losses of a client's predictions.
func (s ofmsftSelector) Loss(client int) float64 { return s.Clients[client].Loss() }

// world returns what a case runs in: without fine-tuning the frozen world is the same.
func (l *ofmsftLab) world(c ofmsftCase) *ofmsftWorld {
	if c.update == ofmsft.UpdateNone {
		return l.frozen
	}
	return &l.set.live
}

// params returns the job of a case.
func (l *ofmsftLab) params(c ofmsftCase) (ofmsft.Params, error) {
	w, clients := l.world(c), len(l.set.labels)
	p := ofmsft.Params{
		Label: "label", Budget: c.budget, Rounds: l.options.rounds, RoundsPerUpload: l.options.perUpload, Update: c.update,
		Bandwidth: max(l.options.bandwidth*c.budget*float64(clients), c.budget), Step: c.step,
		MaxImportance: l.options.maxImportance, WarmUp: l.options.warmUp, Window: l.options.window,
		InputNorm: w.norm, LabelLow: l.set.low, LabelHigh: l.set.high,
	}
	if c.update == updateOwn {
		p.Update = ofmsft.UpdateEquation11 // any that tunes: the algorithm has its own
	}
	p, err := p.WithNetworks(l.set.names, w.networks)
	if err != nil {
		return p, err
	}
	for k, n := range l.set.live.networks {
		p.Models[k].Cost = float64(n.Size()) / float64(l.set.largest())
		p.Models[k].Bandwidth = p.Models[k].Cost
	}
	p = p.WithDefaults(clients)
	return p, p.ValidateNumbers()
}

// start makes a case's federation. All cases have the same seeds.
func (l *ofmsftLab) start(c ofmsftCase, seed int) (selector, error) {
	p, err := l.params(c)
	if err != nil {
		return nil, err
	}
	draws := sha256.Sum256(fmt.Appendf(nil, "%s seed %d", l.set.name, seed))
	networks, clients := l.world(c).networks, len(l.set.labels)
	switch c.algorithm {
	case ofmsMAB:
		return baseline.NewMAB(p, networks, clients, draws)
	case nonFedOMS:
		return baseline.NewFixed(p, networks, clients, draws)
	case rmsFT:
		return baseline.NewRandom(p, networks, clients, draws)
	case bFedOMFT:
		return baseline.NewBudgeted(p, networks, clients, draws)
	case fedOMD:
		return baseline.NewDescent(p, networks, clients, draws)
	case perFedAvg:
		return baseline.NewPerFedAvg(p, networks, clients, draws)
	}
	f, err := ofmsft.NewFederation(p, networks, clients, draws)
	if err == nil && c.update != ofmsft.UpdateNone && l.options.regret {
		err = f.CountRegrets(networks)
	}
	return ofmsftSelector{f}, err
}
