package ofmsft

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hanse-project/hanse/algorithms/ofmsft"
	"github.com/hanse-project/hanse/lab"
	"github.com/hanse-project/hanse/lab/ofmsftbaseline"
	"github.com/hanse-project/hanse/lab/papers/pofmkl"
)

// The algorithms, as the paper's tables name them.
const (
	ofmsFT        = "OFMS-FT"
	ofmsMAB       = "MAB"
	nonFedOMS     = "Non-Fed-OMS"
	rmsFT         = "RMS-FT"
	bFedOMFT      = "B-Fed-OMFT"
	fedOMD        = "Fed-OMD"
	tableOne      = 5.0   // the budget of the paper's Table 1
	updateOwn     = "own" // of the algorithms that fine-tune in a way of their own
	MaxImportance = 20    // the authors' bound of 1/q in a step
	WarmUp        = 50    // rounds before the first step
)

// setting is one algorithm to run.
type setting struct {
	algorithm, update string
	budget            float64
	step              float64 // 0: the paper's
	small             float64 // the share of clients that have smallBudget in its place
	perUpload         int     // rounds of a communication round; 0: the command's
}

// smallBudget is the smaller of the budgets that table 2 mixes.
const smallBudget = 3

// has reports whether client i, from 0, has the small budget. Those that do are spread over all clients, and so
// over both sites.
func (c setting) has(i int) bool {
	return int(float64(i+1)*c.small+1e-9) > int(float64(i)*c.small+1e-9)
}

// budgetText tells the budgets.
func (c setting) budgetText() string {
	if c.small == 0 {
		return fmt.Sprintf("%g", c.budget)
	}
	return fmt.Sprintf("%.0f %% %d, else %g", 100*c.small, smallBudget, c.budget)
}

// name tells a case from the others.
func (c setting) name() string {
	s := fmt.Sprintf("%s B=%s %s", c.algorithm, c.budgetText(), c.update)
	if c.step > 0 {
		s += fmt.Sprintf(" step %g", c.step)
	}
	if c.perUpload > 0 {
		s += fmt.Sprintf(" n=%d", c.perUpload)
	}
	return s
}

// settingsOf lists what to run: OFMS-FT with the given budgets and updates, and the baselines with those updates at
// one budget, 0 for none.
func settingsOf(budgets []float64, updates []string, baselines float64) []setting {
	var cases []setting
	for _, update := range updates {
		for _, b := range budgets {
			if update != updateOwn {
				cases = append(cases, setting{algorithm: ofmsFT, update: update, budget: b})
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
		{pofmkl.PerFedAvg, []string{updateOwn}},
	} {
		for _, update := range b.updates {
			if slices.Contains(updates, update) {
				cases = append(cases, setting{algorithm: b.algorithm, update: update, budget: baselines})
			}
		}
	}
	return cases
}

// onlyCases keeps the cases of the named algorithms; no names keep all.
func onlyCases(cases []setting, names []string) ([]setting, error) {
	if len(names) == 0 {
		return cases, nil
	}
	known := []string{ofmsFT, ofmsMAB, nonFedOMS, rmsFT, bFedOMFT, fedOMD, pofmkl.PerFedAvg}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("--only names %q, want some of %s", name, strings.Join(known, ", "))
		}
	}
	kept := slices.DeleteFunc(cases, func(c setting) bool { return !slices.Contains(names, c.algorithm) })
	if len(kept) == 0 {
		return nil, fmt.Errorf("--only %s leaves nothing to run with these updates and budgets", strings.Join(names,
			","))
	}
	return kept, nil
}

// mixedCases lists table 2: 60, 50 and 40 % of the clients with a budget of 3, all others with 5.
func mixedCases(ctx context.Context, run lab.Run, o Options) ([]setting, error) {
	for _, name := range []string{"budget", "baselines", "scan", "only", "bounds"} {
		if run.Given(name) {
			return nil, fmt.Errorf("--mixed has the cases of table 2, want it without --%s", name)
		}
	}
	updates := tunings()
	if u := o.Update; u == updateOwn {
		return nil, fmt.Errorf("--update %s is for baselines, and --mixed has none", updateOwn)
	} else if u != "" {
		updates = []string{u}
	}
	var cases []setting
	for _, update := range updates {
		for _, share := range []float64{0.6, 0.5, 0.4} {
			cases = append(cases, setting{algorithm: ofmsFT, update: update, budget: tableOne, small: share})
		}
	}
	return cases, nil
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

// ownSelector is OFMS-FT itself.
type ownSelector struct{ *ofmsft.Federation }

// Loss returns the summed losses of a client's predictions.
func (s ownSelector) Loss(client int) float64 { return s.Clients[client].Loss() }

// world returns what a case runs in: without fine-tuning the frozen world is the same.
func (l *bench) world(c setting) *world {
	if c.update == ofmsft.UpdateNone && !l.options.times {
		return l.frozen
	}
	return &l.set.Live
}

// params returns the job of a case in a world.
func (l *bench) params(c setting, w *world) (ofmsft.Params, error) {
	clients := len(l.set.Labels)
	p := ofmsft.Params{
		Label: "label", Budget: c.budget, Rounds: l.options.rounds, RoundsPerUpload: l.options.perUpload,
		Update: c.update, Step: c.step,
		MaxImportance: l.options.maxImportance, WarmUp: l.options.warmUp, Window: l.options.window,
		InputNorm: w.Norm, LabelLow: l.set.Low, LabelHigh: l.set.High,
	}
	budgets := 0.0
	for i := range clients {
		if c.has(i) {
			if p.Budgets == nil {
				p.Budgets = make(map[string]float64)
			}
			p.Budgets[strconv.Itoa(i+1)] = smallBudget
		}
		budgets += p.BudgetOf(strconv.Itoa(i + 1))
	}
	p.Bandwidth = max(l.options.bandwidth*budgets, c.budget)
	if c.perUpload > 0 {
		p.RoundsPerUpload = c.perUpload
	}
	if c.update == updateOwn {
		p.Update = ofmsft.UpdateEquation11 // any that tunes: the algorithm has its own
	}
	p, err := p.WithNetworks(l.set.Names, w.Networks)
	if err != nil {
		return p, err
	}
	for k, n := range l.set.Live.Networks {
		p.Models[k].Cost = float64(n.Size()) / float64(l.set.largest())
		p.Models[k].Bandwidth = p.Models[k].Cost
	}
	p = p.WithDefaults(clients)
	return p, p.ValidateNumbers()
}

// start makes a case's federation. All cases have the same seeds.
func (l *bench) start(c setting, seed int) (selector, error) {
	p, err := l.params(c, l.world(c))
	if err != nil {
		return nil, err
	}
	draws := sha256.Sum256(fmt.Appendf(nil, "%s seed %d", l.set.name, seed))
	networks, clients := l.world(c).Networks, len(l.set.Labels)
	switch c.algorithm {
	case ofmsMAB:
		return ofmsftbaseline.NewMAB(p, networks, clients, draws)
	case nonFedOMS:
		return ofmsftbaseline.NewFixed(p, networks, clients, draws)
	case rmsFT:
		return ofmsftbaseline.NewRandom(p, networks, clients, draws)
	case bFedOMFT:
		return ofmsftbaseline.NewBudgeted(p, networks, clients, draws)
	case fedOMD:
		return ofmsftbaseline.NewDescent(p, networks, clients, draws)
	case pofmkl.PerFedAvg:
		return ofmsftbaseline.NewPerFedAvg(p, networks, clients, draws)
	}
	f, err := ofmsft.NewFederation(p, networks, clients, draws)
	if err == nil && l.options.regret {
		err = f.CountRegrets(networks)
	}
	return ownSelector{f}, err
}
