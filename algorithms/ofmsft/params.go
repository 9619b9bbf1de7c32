package ofmsft

import (
	"cmp"
	"math"
	"slices"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/parameters"
)

// Limits of a job's numbers.
const (
	maxRounds    = 1 << 24
	maxPerUpload = 1 << 12
	maxWindow    = 1 << 12

	maxWindowNumbers = 1 << 26 // inputs of all rows that a client keeps
)

// What becomes of the networks in a job.
const (
	// UpdateEquation11 has the server subtract the N-th part of the sum of steps.
	UpdateEquation11 = "equation-11"
	// UpdateNone leaves the networks as they are.
	UpdateNone = "none"
	// UpdateInPlace has the clients of a group fine-tune the server's networks one after another, each by its
	// whole step. It is how the published figures come about, and for one process only.
	UpdateInPlace = "in-place"
)

// Params is what a job says to this algorithm: its [parameters] table. Zero values stand for the
// defaults that WithDefaults fills in.
type Params struct {
	Server string `toml:"server"`         // the party that holds the networks; all others are clients
	Label  string `toml:"label"`          // the label's column at the clients
	Seed   string `toml:"seed,omitempty"` // any text; public

	Inputs    int                `toml:"inputs"`             // columns of a row
	Classes   int                `toml:"classes,omitzero"`   // that the networks tell apart; 0: they predict a number
	Models    []Model            `toml:"models"`             // the networks, in the order of all vectors
	Budget    float64            `toml:"budget"`             // B of every client, in units of the models' costs
	Budgets   map[string]float64 `toml:"budgets,omitempty"`  // B of some clients, by name
	Bandwidth float64            `toml:"bandwidth,omitzero"` // E, for a group's steps; default: half of all budgets
	// all networks go to all clients, so that choices stay their own
	Broadcast bool `toml:"broadcast,omitempty"`

	Rounds          int     `toml:"rounds,omitzero"`            // T, default 200
	RoundsPerUpload int     `toml:"rounds_per_upload,omitzero"` // n, rows of a communication round, default 1
	Rate            float64 `toml:"rate,omitzero"`              // eta_i of every client's weights, default 10/sqrt(T)
	Step            float64 `toml:"step,omitzero"`              // eta_f of the networks, default 0.001/sqrt(T)
	Update          string  `toml:"update,omitempty"`           // UpdateEquation11 (default) or UpdateNone
	MaxImportance   float64 `toml:"max_importance,omitzero"`    // caps 1/q_k in a step; default 0: no cap
	WarmUp          int     `toml:"warm_up,omitzero"`           // rounds before the first step, default 0
	Window          int     `toml:"window,omitzero"`            // newest samples of a step, default 1
	Clip            float64 `toml:"clip,omitzero"`              // the largest magnitude of an element of a step, default 1

	Rates map[string]float64 `toml:"rates,omitempty"` // eta_i of some clients, by name

	InputNorm float64 `toml:"input_norm,omitzero"` // inputs are divided by it, default 1
	LabelLow  float64 `toml:"label_low,omitzero"`  // the range of labels, which becomes 0 to 1; default 0 to 1;
	LabelHigh float64 `toml:"label_high,omitzero"` // unused by networks that tell classes apart
}

// WithDefaults returns p with every unset field at its default, for so many clients.
func (p Params) WithDefaults(clients int) Params {
	p.Models = withCosts(p.Models)
	p.Rounds = cmp.Or(p.Rounds, 200)
	p.RoundsPerUpload = cmp.Or(p.RoundsPerUpload, 1)
	p.Window = cmp.Or(p.Window, 1)
	p.Bandwidth = cmp.Or(p.Bandwidth, p.defaultBandwidth(clients))
	p.Rate = cmp.Or(p.Rate, 10/math.Sqrt(float64(p.Rounds)))
	p.Step = cmp.Or(p.Step, 1e-3/math.Sqrt(float64(p.Rounds)))
	p.Clip = cmp.Or(p.Clip, 1)
	p.InputNorm = cmp.Or(p.InputNorm, 1)
	p.Update = cmp.Or(p.Update, UpdateEquation11)
	if p.LabelLow == 0 && p.LabelHigh == 0 {
		p.LabelHigh = 1
	}
	return p
}

// defaultBandwidth returns half of all clients' budgets, as in the paper, and no less than the largest
// one: a group of one client fits whenever bandwidths are costs. In a broadcast a client needs the
// bandwidth of all networks, and what is halved is the total of that.
func (p Params) defaultBandwidth(clients int) float64 {
	if p.Broadcast {
		return bandwidths(p.Models) * max(float64(clients)/2, 1)
	}
	total, largest := float64(clients-len(p.Budgets))*p.Budget, p.Budget
	for _, name := range p.ownBudgets() {
		total += p.Budgets[name]
		largest = max(largest, p.Budgets[name])
	}
	return max(total/2, largest)
}

// ownBudgets returns the names of the clients with a budget of their own, sorted.
func (p Params) ownBudgets() []string {
	var names []string
	for name := range p.Budgets {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// BudgetOf returns the budget of a client.
func (p Params) BudgetOf(client string) float64 {
	return parameters.ValueOf(client, p.Budgets, p.Budget)
}

// RateOf returns eta_i of a client.
func (p Params) RateOf(client string) float64 {
	return parameters.ValueOf(client, p.Rates, p.Rate)
}

// need returns the bandwidth that a client asks for which stores some networks. In a broadcast it is
// that of all networks: it must not show the choice.
func (p Params) need(packings *Packings, stored []int) float64 {
	if p.Broadcast {
		return bandwidths(p.Models)
	}
	return packings.Need(stored)
}

// Packings returns the packings of a client.
func (p Params) Packings(client string) (*Packings, error) {
	return NewPackings(p.Models, p.BudgetOf(client))
}

// Words returns the parameters of all networks together: what a sum of steps of all of them has.
func (p Params) Words() int {
	n := 0
	for _, m := range p.Models {
		n += m.Size
	}
	return n
}

// windowRows returns how many of its newest rows a client keeps.
func (p Params) windowRows() int { return p.Window + p.RoundsPerUpload - 1 }

// Uploads returns how many communication rounds a job has: rounds by rounds_per_upload, rounded up.
func (p Params) Uploads() int {
	return federated.Uploads(p.Rounds, p.RoundsPerUpload)
}

// RoundsOf returns how many rows the u-th communication round has, u from 0: the last one may have fewer.
func (p Params) RoundsOf(u int) int {
	return federated.RoundsOf(u, p.Rounds, p.RoundsPerUpload)
}

// Tunes reports whether clients fine-tune in the u-th communication round, u from 0.
func (p Params) Tunes(u int) bool {
	return p.Update != UpdateNone && u*p.RoundsPerUpload >= p.WarmUp
}

// SumBound returns the largest magnitude that an element of one client's step has, for the encoding of a sum of
// steps: Clip, with room for what the sum is rounded.
func (p Params) SumBound() float64 { return p.Clip * (1 + 1e-9) }

// ParamsOf is ParseParams for a table that was read already.
func ParamsOf(table map[string]any, parties []string) (Params, error) {
	return parameters.Of(table, parties, ParseParams)
}

// ParseParams reads a job's [parameters] table, fills in the defaults and validates them. A number
// that is written down is meant: 0 does not ask for the default.
func ParseParams(text []byte, parties []string) (Params, error) {
	return parameters.Parse(text, parameters.Steps[Params]{
		Written: func(p Params, written func(...string) bool) error {
			// Checks the numbers that a job's text holds, before defaults take the place of
			// those it does not.
			if err := parameters.Check(p.sizes(), written); err != nil {
				return err
			}
			if err := parameters.Check(p.positives(), written); err != nil {
				return err
			}
			if err := parameters.LabelRangeWritten(p.LabelLow, p.LabelHigh, written); err != nil {
				return err
			}
			return validateWrittenModels(text)
		},
		Complete: func(p Params) Params { return p.WithDefaults(len(parties) - 1) },
		Validate: func(p Params) error { return p.Validate(parties) },
	})
}
