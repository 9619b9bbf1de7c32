package online

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"

	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/ofmsft"
)

// networksFolder is the folder of the server's networks.
const networksFolder = "networks"

// Selection is a trial of OFMS-FT: clients select among a server's networks, and fine-tune them.
type Selection struct {
	*Federation
	params   ofmsft.Params
	names    []string // of the networks
	networks []*nn.Network
	// errors of predictions, of the clients, [network][row], of the networks as they are at first
	losses map[string][][]float64
	seed   uint64
}

// newSelection makes a trial of a federation with one server and of networks. p holds the trial's own numbers, which
// those of Options.Tuning replace.
func newSelection(o Options, f *Federation, p ofmsft.Params, names []string, networks []*nn.Network) (*Selection,
	error) {
	t := &Selection{Federation: f, names: names, networks: networks, seed: o.Seed, losses: make(map[string][][]float64)}
	t.Table = networksFolder
	if err := t.setParams(o, p); err != nil {
		return nil, err
	}
	return t, t.measure()
}

// setParams makes what the job says. If nothing else is asked for, its bandwidth has room for all clients, so that each
// of them fine-tunes in every round and the sums are of as many as possible.
func (t *Selection) setParams(o Options, own ofmsft.Params) error {
	clients := len(t.AllClients())
	own.Server, own.Seed, own.Budget, own.Rounds, own.Update = t.Servers[0], fmt.Sprint(o.Seed), o.Budget, o.Rounds,
		ofmsft.UpdateEquation11
	own.Bandwidth = o.Budget * float64(clients)
	p, err := tuned(own, o.Tuning).WithNetworks(t.names, t.networks)
	if err != nil {
		return err
	}
	t.params = p.WithDefaults(clients)
	if t.Classes = t.params.Classes; t.Classes == 0 {
		t.Span = t.params.LabelHigh - t.params.LabelLow
	}
	return t.params.Validate(t.Parties())
}

// tuned returns p with those of its numbers replaced that are asked for.
func tuned(p, asked ofmsft.Params) ofmsft.Params {
	for _, n := range []struct {
		own   *float64
		asked float64
	}{{&p.Step, asked.Step}, {&p.MaxImportance, asked.MaxImportance}, {&p.Bandwidth, asked.Bandwidth},
		{&p.InputNorm, asked.InputNorm}} {
		if n.asked != 0 {
			*n.own = n.asked
		}
	}
	for _, n := range []struct {
		own   *int
		asked int
	}{{&p.Window, asked.Window}, {&p.WarmUp, asked.WarmUp}} {
		if n.asked != 0 {
			*n.own = n.asked
		}
	}
	if asked.LabelLow != 0 || asked.LabelHigh != 0 {
		p.LabelLow, p.LabelHigh = asked.LabelLow, asked.LabelHigh
	}
	return p
}

// measure computes the errors of all networks on all rows.
func (t *Selection) measure() error {
	p := t.params
	for _, name := range t.AllClients() {
		s := t.Streams[name]
		x := make([]float32, len(s.Labels)*p.Inputs)
		for i, row := range s.Inputs {
			if err := p.ScaleRow(x[i*p.Inputs:(i+1)*p.Inputs], i+1, row); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if _, err := p.ScaleLabel(i+1, s.Labels[i]); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		for _, n := range t.networks {
			t.losses[name] = append(t.losses[name], t.errorsOf(n, x, s.Labels))
		}
	}
	return nil
}

// errorsOf returns the errors of a network on scaled rows, x [rows][inputs].
func (t *Selection) errorsOf(n *nn.Network, x []float32, labels []float64) []float64 {
	outputs, errors := n.NewWorkspace().Predict(x, len(labels)), make([]float64, len(labels))
	width := n.Outputs()
	for i, y := range labels {
		errors[i] = t.ErrorOf(t.params.Prediction(outputs[i*width:(i+1)*width]), y)
	}
	return errors
}

// WriteNetworks writes every network as a safetensors file into a folder, which it makes: the table of the
// server's node.
func (t *Selection) WriteNetworks(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	for k, name := range t.names {
		if err := os.WriteFile(filepath.Join(dir, name+nn.FileSuffix), t.networks[k].Bytes(), 0o600); err != nil {
			return err
		}
	}
	return nil
}

// Rounds returns how many rounds the job has.
func (t *Selection) Rounds() int { return t.params.Rounds }

// Parameters returns what the job says to the algorithm beside who takes part and the networks, which the server's
// node describes.
func (t *Selection) Parameters() map[string]any {
	p := t.params
	return map[string]any{
		"label": p.Label, "seed": p.Seed, "budget": p.Budget, "bandwidth": p.Bandwidth, "rounds": p.Rounds, "rate": p.Rate,
		"step": p.Step, "window": p.Window, "max_importance": p.MaxImportance, "update": p.Update,
		"warm_up": p.WarmUp, "input_norm": p.InputNorm, "label_low": p.LabelLow, "label_high": p.LabelHigh,
	}
}

// PaperBytes returns what the paper counts for a client and a round, in bytes of single precision, on average over
// the draws of a client that trusts all networks alike: those that it stores, down and, when its group is drawn, up.
// How many groups
// there are is estimated by budgets, which what clients store comes close to.
func (t *Selection) PaperBytes() (down, up float64) {
	packings, err := t.params.Packings("")
	if err != nil {
		return 0, 0 // not after Validate
	}
	shares := slices.Repeat([]float64{1 / float64(len(t.networks))}, len(t.networks))
	for k, n := range t.networks {
		down += 4 * float64(n.Size()) * packings.Probability(k, shares)
	}
	groups := math.Ceil(t.params.Budget*float64(len(t.AllClients()))/t.params.Bandwidth - 1e-9)
	tuned := max(0, t.params.Rounds-t.params.WarmUp)
	return down, down / max(1, groups) * float64(tuned) / float64(t.params.Rounds)
}

// Networks returns how many networks the server has.
func (t *Selection) Networks() int { return len(t.networks) }

// LabelRange returns the range of labels that are numbers.
func (t *Selection) LabelRange() (low, high float64) { return t.params.LabelLow, t.params.LabelHigh }

// Budget returns the clients' budget in the job.
func (t *Selection) Budget() float64 { return t.params.Budget }

// Budgets returns the budgets to compare, ascending: the least that the networks allow, the job's, and one that has
// room for all of them.
func (t *Selection) Budgets() []float64 {
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
func (t *Selection) Together() (*Outcome, error) { return t.Tuned(t.params.Budget) }

// Tuned is Together with another budget.
func (t *Selection) Tuned(budget float64) (*Outcome, error) {
	return t.learn(t.at(budget), t.networks, t.AllClients())
}

// Untuned is Tuned without fine-tuning: every client selects among the networks as they are at first.
func (t *Selection) Untuned(budget float64) (*Outcome, error) {
	p := t.at(budget)
	p.Update = ofmsft.UpdateNone
	return t.learn(p, t.networks, t.AllClients())
}

// at returns the job with another budget, and its bandwidth in proportion, with room for a client.
func (t *Selection) at(budget float64) ofmsft.Params {
	p := t.params
	p.Budget, p.Bandwidth = budget, max(p.Bandwidth*budget/p.Budget, budget)
	return p
}

// Alone has every client keep those networks that it got once, drawn at random within its budget, and select among
// them by itself: the paper's Non-Fed-OMS, but that a client learns from the losses of all it has in place of that of
// the network drawn, which is no worse.
func (t *Selection) Alone() (*Outcome, error) {
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
func (t *Selection) kept(draw *rand.Rand) (ofmsft.Params, []*nn.Network) {
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
func (t *Selection) learn(p ofmsft.Params, networks []*nn.Network, names []string) (*Outcome, error) {
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
