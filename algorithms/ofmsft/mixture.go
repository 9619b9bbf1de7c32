package ofmsft

import (
	"fmt"
	"slices"

	"github.com/hanse-project/hanse/protocol/contract"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/nn"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/algorithms/portable"
	"github.com/hanse-project/hanse/keys"
)

// mixtureDomain separates checksums of models from all others.
const mixtureDomain = "hanse ofmsft mixture v1"

// mixtureState is what a party keeps of its model.
//
// Evolution: as for clientState.
type mixtureState struct {
	Version  int           `cbor:"1,keyasint"`
	Job      keys.Hash     `cbor:"2,keyasint"` // the parameters' fingerprint
	Round    int           `cbor:"3,keyasint"` // communication rounds that it has seen
	Columns  [][]byte      `cbor:"4,keyasint,omitempty"`
	Weights  []float64     `cbor:"5,keyasint,omitempty"` // logarithms; none at a server
	Networks []heldNetwork `cbor:"6,keyasint"`
}

// heldNetwork is one of the networks that a party has.
type heldNetwork struct {
	Index int    `cbor:"1,keyasint"` // in Params.Models
	File  []byte `cbor:"2,keyasint"` // Network.Bytes
}

// Mixture is what a party ends with: the server all networks as they are tuned; a client its weights over all of them,
// and those that it stored in the last round in which it learned, as they were then. It implements federated.Model.
type Mixture struct {
	params  Params
	round   int
	columns []string
	shares  []float64 // [K]; nil at a server
	held    []int     // indexes of the networks that are there, ascending
	mixture []float64 // [held]: their weights among themselves; nil at a server
	runners []*Runner // [held]
	x       []float32
	outputs []float64
}

// DecodeMixture reads what a party of the job kept as federated.ModelSlot; server says whose it must be.
func DecodeMixture(p Params, server bool, data []byte) (*Mixture, error) {
	s := new(mixtureState)
	if err := unseal(mixtureDomain, data, s); err != nil {
		return nil, err
	}
	if err := checkOrigin(s.Version, s.Job, p); err != nil {
		return nil, err
	}
	if s.Round < 0 || s.Round > p.Uploads() {
		return nil, fmt.Errorf("state: the model is of round %d, want 0 to %d", s.Round, p.Uploads())
	}
	m := &Mixture{params: p, round: s.Round, x: make([]float32, p.Inputs), outputs: make([]float64, p.Task().Outputs)}
	list := s.Networks
	for _, h := range list {
		if h.Index < 0 || h.Index >= len(m.params.Models) || len(m.held) > 0 && h.Index <= m.held[len(m.held)-1] {
			return nil, fmt.Errorf("state: network %d is not one of %d, or out of order", h.Index+1, len(m.params.Models))
		}
		n, err := nn.Parse(h.File)
		if err == nil {
			err = m.params.checkShape(h.Index, n)
		}
		if err != nil {
			return nil, fmt.Errorf("state: model %q: %w", m.params.Models[h.Index].Name, err)
		}
		m.held, m.runners = append(m.held, h.Index), append(m.runners, NewRunner(n))
	}
	if server {
		if len(s.Columns) > 0 || len(s.Weights) > 0 || len(m.held) != len(p.Models) {
			return nil, fmt.Errorf("state: a server's model has %d weights, %d columns and %d networks, want none, none and %d",
				len(s.Weights), len(s.Columns), len(m.held), len(p.Models))
		}
		return m, nil
	}
	if err := checkpoint.CheckVector("weights", s.Weights, len(p.Models)); err != nil {
		return nil, err
	}
	if len(s.Columns) != 0 && len(s.Columns) != p.Inputs || len(m.held) == 0 {
		return nil, fmt.Errorf("state: %d names of columns and %d networks, want %d and at least 1",
			len(s.Columns), len(m.held), p.Inputs)
	}
	for _, c := range s.Columns {
		m.columns = append(m.columns, string(c))
	}
	m.shares, m.mixture = make([]float64, len(s.Weights)), make([]float64, len(m.held))
	federated.Hedge(m.shares, s.Weights)
	for at, k := range m.held {
		m.mixture[at] = s.Weights[k]
	}
	federated.Hedge(m.mixture, m.mixture)
	return m, nil
}

// encodeMixture returns a model's bytes with the networks of the indexes held, in that order; columns and weights,
// logarithms, are a client's.
func encodeMixture(
	p Params, round int, columns []string, weights []float64, held []int, network func(k int) *nn.Network,
) ([]byte, error) {
	job, err := p.Fingerprint()
	if err != nil {
		return nil, err
	}
	f := mixtureState{Version: stateVersion, Job: job, Round: round, Weights: weights}
	for _, c := range columns {
		f.Columns = append(f.Columns, []byte(c))
	}
	for _, k := range held {
		f.Networks = append(f.Networks, heldNetwork{k, network(k).Bytes()})
	}
	return checkpoint.Seal(mixtureDomain, &f)
}

// Model implements federated.ClientPart: the client's weights, and the networks that it stores, if it has learned with
// them.
func (a *ClientPart) Model() ([]byte, error) {
	q := a.question
	if q == nil || !q.learned {
		return nil, nil
	}
	return encodeMixture(a.Params, q.round+1, a.Columns, a.client.weights.log, q.selection.Stored,
		func(k int) *nn.Network { return a.held[q.hashes[k]].network })
}

// Model implements federated.ServerPart: all networks, as they are now.
func (s *ServerPart) Model() ([]byte, error) {
	all := make([]int, len(s.Params.Models))
	for k := range all {
		all[k] = k
	}
	return encodeMixture(s.Params, s.service.Held, nil, nil, all, s.server.Network)
}

// Round implements federated.Model.
func (m *Mixture) Round() int { return m.round }

// Columns implements federated.Model.
func (m *Mixture) Columns() []string { return m.columns }

// Predict implements federated.Model. In the job a client predicts with one network, drawn by its weights; here it
// takes the mean of the outputs of those that it holds, by these weights. Both losses are convex: the mixture's is at
// most what such draws among the networks held would lose on average, and the same row gives the same answer.
func (m *Mixture) Predict(row int, x []float64) (federated.Prediction, error) {
	if m.mixture == nil {
		return federated.Prediction{}, fmt.Errorf("row %d: a server has no weights to predict with", row)
	}
	if err := m.params.ScaleRow(m.x, row, x); err != nil {
		return federated.Prediction{}, err
	}
	clear(m.outputs)
	for at, r := range m.runners {
		for c, v := range r.Outputs(m.x) {
			m.outputs[c] += m.mixture[at] * float64(v)
		}
	}
	for _, v := range m.outputs {
		if !parameters.IsFinite(v) {
			return federated.Prediction{}, fmt.Errorf("row %d: an output is %v: a network has diverged", row, v)
		}
	}
	if p := &m.params; p.Classes == 0 {
		return federated.Number(p.LabelLow + m.outputs[0]*(p.LabelHigh-p.LabelLow)), nil
	}
	most := slices.Max(m.outputs)
	return federated.Prediction{Value: float64(slices.Index(m.outputs, most)), Probability: most}, nil
}

// Portable implements federated.Model.
func (m *Mixture) Portable() *portable.Model {
	p := &m.params
	out := &portable.Model{
		Algorithm: contract.OFMSFT, Round: m.round, Rounds: p.Uploads(),
		Inputs: portable.Inputs{Count: p.Inputs, Columns: m.columns, DivideBy: p.InputNorm},
		Label:  portable.Label{Column: p.Label, Low: p.LabelLow, High: p.LabelHigh, Classes: p.Classes},
	}
	for k := range p.Models {
		n := portable.Network{Name: p.Models[k].Name}
		if m.shares != nil {
			n.Share = &m.shares[k]
		}
		out.Networks = append(out.Networks, n)
	}
	for at, k := range m.held {
		n := &out.Networks[k]
		n.Content = m.runners[at].network.Bytes()
		if m.mixture != nil {
			n.Weight = &m.mixture[at]
		}
	}
	return out
}
