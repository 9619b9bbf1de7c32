package online

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"

	"github.com/hanse-project/hanse/algorithms/pofmkl"
)

// Sizes of a job over parks that says nothing else.
const (
	parkRounds   = 300
	parkFeatures = 10
	parkChosen   = 10  // of the paper's 51 kernels
	parkStep     = 0.3 // larger than theory's, for rows as few as these
)

// Parks is a trial of POF-MKL.
type Parks struct {
	*Federation
	params pofmkl.Params
	seed   uint64
}

// NewParks makes a trial with one server.
func NewParks(o Options) (*Parks, error) {
	if o.Rounds == 0 {
		o.Rounds = parkRounds
	}
	if o.Features == 0 {
		o.Features = parkFeatures
	}
	p := pofmkl.Params{
		Label: parkLabel, Seed: fmt.Sprint(o.Seed), Features: o.Features, Rounds: o.Rounds, Chosen: parkChosen, Step: parkStep, WeightStep: parkStep,
		InputNorm: math.Sqrt(float64(len(parkColumns()))),
	}
	if o.Common { // a kernel rests for rounds and then moves by the importance's multiple of the step
		p.CommonBin = true
		p.Step = p.WithDefaults().StepBound(o.Clients) / 2
	}
	t := &Parks{seed: o.Seed}
	t.Federation = newParkStreams(o)
	p.Server = t.Servers[0]
	t.params = p.WithDefaults()
	return t, t.params.Validate(t.Parties())
}

// Rounds returns how many rounds the job has.
func (t *Parks) Rounds() int { return t.params.Rounds }

// Parameters returns what the job says to the algorithm beside who takes part.
func (t *Parks) Parameters() map[string]any {
	p := t.params
	parameters := map[string]any{
		"label": p.Label, "seed": p.Seed, "features": p.Features, "rounds": p.Rounds, "chosen": p.Chosen,
		"step": p.Step, "weight_step": p.WeightStep, "input_norm": p.InputNorm,
	}
	if p.CommonBin {
		parameters["common_bin"] = true
	}
	return parameters
}

// PaperBytes returns what the paper counts for a client and a round, in bytes: all parameters down, those
// of the chosen kernels up.
func (t *Parks) PaperBytes() (down, up float64) {
	return 8 * float64(t.params.Words()), 8 * 2 * float64(t.params.Chosen*t.params.Features)
}

// Together runs the job in one process, in the open. Its draws of kernels are its own, so that it comes
// close to a job of the same streams but not to the same numbers, unless the job's seed draws them for all.
func (t *Parks) Together() (*Outcome, error) { return t.learn(t.params, t.AllClients()) }

// Alone runs every client by itself. Nothing has to be sent, so that it learns all kernels from every row, by
// steps as large as bins of its own allow.
func (t *Parks) Alone() (*Outcome, error) {
	p, all := t.params, newOutcome()
	p.Chosen, p.CommonBin, p.Step = p.Kernels(), false, parkStep
	for _, name := range t.AllClients() {
		o, err := t.learn(p, []string{name})
		if err != nil {
			return nil, err
		}
		all.Predictions[name], all.Regret[name] = o.Predictions[name], o.Regret[name]
	}
	return all, nil
}

// learn runs a federation of the named clients.
func (t *Parks) learn(p pofmkl.Params, names []string) (*Outcome, error) {
	d, err := pofmkl.NewDictionary(p, numbered(len(parkColumns())))
	if err != nil {
		return nil, err
	}
	f, err := pofmkl.NewFederation(d, len(names), sha256.Sum256(binary.BigEndian.AppendUint64([]byte(names[0]), t.seed)))
	if err != nil {
		return nil, err
	}
	o, err := runRounds(t.Federation, p.Rounds, names, f.Round)
	if err != nil {
		return nil, err
	}
	for k, name := range names {
		o.Regret[name] = f.Regret(k)
	}
	return o, nil
}

// numbered names inputs as a job over clients does.
func numbered(n int) []string {
	var names []string
	for i := range n {
		names = append(names, fmt.Sprintf("x%d", i+1))
	}
	return names
}
