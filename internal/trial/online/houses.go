package online

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// A job over houses that says nothing else. The paper's steps, 0.001/sqrt(T), move nothing visible once they are
// divided by the number of clients.
const (
	houseRounds = 300
	houseBudget = 4
	houseRate   = 8
	houseStep   = 0.05
	houseWindow = 12 // two days
	houseCap    = 3  // of what a step counts for a network that is seldom stored
)

// networksFolder is the folder of the server's networks.
const networksFolder = "networks"

// Houses is a trial of OFMS-FT.
type Houses struct {
	*Federation
	params   ofmsft.Params
	networks []*nn.Network
	losses   map[string][][]float64 // of the clients, [network][row], of the networks as they are at first
	seed     uint64
}

// NewHouses makes a trial with one server, and trains its networks, one for each town. Options.Features means
// nothing to it.
func NewHouses(o Options) (*Houses, error) {
	var networks []*nn.Network
	for k, name := range towns() {
		n, err := townNetwork(o.Seed, k)
		if err != nil {
			return nil, fmt.Errorf("network of %s: %w", name, err)
		}
		networks = append(networks, n)
	}
	return newHouses(o, networks)
}

// newHouses makes a trial with given networks.
func newHouses(o Options, networks []*nn.Network) (*Houses, error) {
	if o.Rounds == 0 {
		o.Rounds = houseRounds
	}
	if o.Budget == 0 {
		o.Budget = houseBudget
	}
	t := &Houses{networks: networks, seed: o.Seed, losses: make(map[string][][]float64)}
	t.Federation = newFederation(o, "house", func(draw *rand.Rand, _ int) *Stream { return houseStream(draw, o.Rounds) })
	t.Table = networksFolder
	if err := t.setParams(o); err != nil {
		return nil, err
	}
	t.measure()
	return t, nil
}

// setParams makes what the job says. Its bandwidth has room for all clients, so that each of them fine-tunes in every
// round and the sums are of as many as possible.
func (t *Houses) setParams(o Options) error {
	p, err := ofmsft.Params{
		Server: t.Servers[0], Label: houseLabel, Seed: fmt.Sprint(o.Seed), Budget: o.Budget, Bandwidth: o.Budget * float64(o.Clients),
		Rounds: o.Rounds, Rate: houseRate, Step: houseStep, Window: houseWindow, MaxImportance: houseCap, Update: ofmsft.UpdateEquation11,
	}.WithNetworks(towns(), t.networks)
	if err != nil {
		return err
	}
	t.params = p.WithDefaults(o.Clients)
	return t.params.Validate(t.Parties())
}

// measure computes the losses of all networks on all rows.
func (t *Houses) measure() {
	for name, s := range t.Streams {
		var x []float32
		for _, row := range s.Inputs {
			for _, v := range row {
				x = append(x, float32(v))
			}
		}
		for _, n := range t.networks {
			losses := make([]float64, len(s.Labels))
			n.NewWorkspace().Losses(x, s.Labels, len(s.Labels), losses)
			t.losses[name] = append(t.losses[name], losses)
		}
	}
}

// WriteNetworks writes every network as a safetensors file into a folder, which it makes: the table of the
// server's node.
func (t *Houses) WriteNetworks(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for k, name := range towns() {
		if err := os.WriteFile(filepath.Join(dir, name+".safetensors"), t.networks[k].Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Rounds returns how many rounds the job has.
func (t *Houses) Rounds() int { return t.params.Rounds }

// Parameters returns what the job says to the algorithm beside who takes part and the networks, which the server's
// node describes.
func (t *Houses) Parameters() map[string]any {
	p := t.params
	return map[string]any{
		"label": p.Label, "seed": p.Seed, "budget": p.Budget, "bandwidth": p.Bandwidth, "rounds": p.Rounds, "rate": p.Rate,
		"step": p.Step, "window": p.Window, "max_importance": p.MaxImportance, "update": p.Update,
	}
}

// PaperBytes returns what the paper counts for a client and a round, in bytes of single precision, on average over
// the draws of a client that trusts all networks alike: those that it stores, down and up.
func (t *Houses) PaperBytes() (down, up float64) {
	packings, err := t.params.Packings("")
	if err != nil {
		return 0, 0 // not after Validate
	}
	shares := slices.Repeat([]float64{1 / float64(len(t.networks))}, len(t.networks))
	for k, n := range t.networks {
		down += 4 * float64(n.Size()) * packings.Probability(k, shares)
	}
	return down, down
}

// Networks returns how many networks the server has.
func (t *Houses) Networks() int { return len(t.networks) }

// Budget returns the clients' budget in the job.
func (t *Houses) Budget() float64 { return t.params.Budget }

// Budgets returns the budgets to compare, ascending: the least that the networks allow, the job's, and one that has room for
// all of them.
func (t *Houses) Budgets() []float64 {
	var costs []float64
	all := 0.0
	for _, m := range t.params.Models {
		costs, all = append(costs, m.Cost), all+m.Cost
	}
	slices.Sort(costs)
	budgets := []float64{costs[len(costs)-1] + costs[len(costs)-2], t.params.Budget, all}
	slices.Sort(budgets)
	return slices.Compact(budgets)
}

// Together runs the job in one process, in the open. Its draws are its own, so that it comes close to a job of the
// same streams but not to the same numbers; and it adds steps however few clients there are to add them.
func (t *Houses) Together() (*Outcome, error) { return t.Tuned(t.params.Budget) }

// Tuned is Together with another budget.
func (t *Houses) Tuned(budget float64) (*Outcome, error) {
	p := t.params
	p.Budget, p.Bandwidth = budget, budget*float64(len(t.AllClients()))
	return t.learn(p, t.networks, t.AllClients())
}

// Untuned is Tuned without fine-tuning: every client selects among the networks as they are at first.
func (t *Houses) Untuned(budget float64) (*Outcome, error) {
	p := t.params
	p.Budget, p.Bandwidth, p.Update = budget, budget*float64(len(t.AllClients())), ofmsft.UpdateNone
	return t.learn(p, t.networks, t.AllClients())
}

// Alone has every client keep those networks that it got once, drawn at random within its budget, and select among
// them by itself: the paper's Non-Fed-OMS, but that a client learns from the losses of all it has in place of that of the
// network drawn, which is no worse.
func (t *Houses) Alone() (*Outcome, error) {
	all := newOutcome()
	for i, name := range t.AllClients() {
		p, networks := t.kept(rand.New(rand.NewPCG(t.seed, 1<<33+uint64(i))))
		o, err := t.learn(p, networks, []string{name})
		if err != nil {
			return nil, err
		}
		all.Predictions[name] = o.Predictions[name]
	}
	return all, t.CountRegret(all)
}

// kept returns the job of a client alone and the networks that it keeps.
func (t *Houses) kept(draw *rand.Rand) (ofmsft.Params, []*nn.Network) {
	p, left := t.params, t.params.Budget
	p.Models, p.Bandwidth, p.Update = nil, p.Budget, ofmsft.UpdateNone
	var networks []*nn.Network
	for _, k := range draw.Perm(len(t.networks)) {
		if m := t.params.Models[k]; m.Cost <= left {
			p.Models, networks, left = append(p.Models, m), append(networks, t.networks[k]), left-m.Cost
		}
	}
	return p, networks
}

// learn runs a federation of the named clients.
func (t *Houses) learn(p ofmsft.Params, networks []*nn.Network, names []string) (*Outcome, error) {
	seed := sha256.Sum256(binary.BigEndian.AppendUint64([]byte(names[0]), t.seed))
	f, err := ofmsft.NewFederation(p, networks, len(names), seed)
	if err != nil {
		return nil, err
	}
	o, err := runRounds(t.Federation, p.Rounds, names, f.Round)
	if err != nil {
		return nil, err
	}
	return o, t.countRegret(o, names)
}
