package pofmkl

import (
	"fmt"
	"math"

	"github.com/hanse-project/hanse/protocol/contract"

	"github.com/hanse-project/hanse/algorithms/checkpoint"
	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/algorithms/portable"
	"github.com/hanse-project/hanse/keys"
)

// modelDomain separates checksums of models from all others.
const modelDomain = "hanse pofmkl model v1"

// modelState is what a party keeps of its model.
//
// Evolution: as for clientState.
type modelState struct {
	Version int       `cbor:"1,keyasint"`
	Job     keys.Hash `cbor:"2,keyasint"` // the dictionary's fingerprint
	Round   int       `cbor:"3,keyasint"` // the uploads that theta has seen; at a client, with the one under way
	Columns [][]byte  `cbor:"4,keyasint,omitempty"`
	Theta   []float64 `cbor:"5,keyasint"`
	Weights []float64 `cbor:"6,keyasint,omitempty"` // logarithms; none at a server
}

// Model is what a party ends with: the server its theta; a client the theta that it heard last and its own weights, as
// they are after the rows that it learned with it. It implements federated.Model.
type Model struct {
	dictionary *Dictionary
	round      int
	columns    []string
	theta      []float64 // [N][2D]
	shares     []float64 // [N]; nil at a server
	features   *Features
	scores     []float64
}

// DecodeModel reads what a party of the job kept as federated.ModelSlot; server says whose it must be.
func DecodeModel(d *Dictionary, server bool, data []byte) (*Model, error) {
	s := new(modelState)
	if err := unseal(modelDomain, data, s); err != nil {
		return nil, err
	}
	if err := checkOrigin(s.Version, s.Job, d.fingerprint); err != nil {
		return nil, err
	}
	if err := checkpoint.CheckVector("theta", s.Theta, d.params.Words()); err != nil {
		return nil, err
	}
	if s.Round < 0 || s.Round > d.params.Uploads() {
		return nil, fmt.Errorf("state: the model is of round %d, want 0 to %d", s.Round, d.params.Uploads())
	}
	m := &Model{
		dictionary: d, round: s.Round, theta: s.Theta, features: d.NewFeatures(), scores: make([]float64, d.params.Kernels()),
	}
	if server {
		if len(s.Columns) > 0 || len(s.Weights) > 0 {
			return nil, fmt.Errorf("state: a server's model has a client's weights or columns, want none")
		}
		return m, nil
	}
	if err := checkpoint.CheckVector("weights", s.Weights, d.params.Kernels()); err != nil {
		return nil, err
	}
	for _, c := range s.Columns {
		m.columns = append(m.columns, string(c))
	}
	if err := checkColumns(m.columns); err != nil || len(m.columns) != len(d.columns) {
		return nil, fmt.Errorf("state: %d names of columns, want %d different ones", len(m.columns), len(d.columns))
	}
	m.shares = make([]float64, len(s.Weights))
	federated.Hedge(m.shares, s.Weights)
	return m, nil
}

// encodeModel returns a model's bytes; columns and weights, logarithms, are a client's.
func encodeModel(d *Dictionary, round int, theta []float64, columns []string, weights []float64) ([]byte, error) {
	s := modelState{Version: stateVersion, Job: d.fingerprint, Round: round, Theta: theta, Weights: weights}
	for _, c := range columns {
		s.Columns = append(s.Columns, []byte(c))
	}
	return checkpoint.Seal(modelDomain, &s)
}

// Model implements federated.ClientPart: the theta that the client heard last, if it has heard one in this session, and
// its weights.
func (a *ClientPart) Model() ([]byte, error) {
	if a.round < 0 {
		return nil, nil
	}
	return encodeModel(a.Dictionary, a.round+1, a.theta, a.Columns, a.client.weights.log)
}

// Model implements federated.ServerPart: theta as the last round left it.
func (s *ServerPart) Model() ([]byte, error) {
	return encodeModel(s.Dictionary, s.service.Held, s.server.theta, nil, nil)
}

// Round implements federated.Model.
func (m *Model) Round() int { return m.round }

// Columns implements federated.Model.
func (m *Model) Columns() []string { return m.columns }

// Predict implements federated.Model: equation 6.
func (m *Model) Predict(row int, x []float64) (federated.Prediction, error) {
	if m.shares == nil {
		return federated.Prediction{}, fmt.Errorf("row %d: a server has no weights to predict with", row)
	}
	if err := m.features.Set(row, x); err != nil {
		return federated.Prediction{}, err
	}
	m.features.Scores(m.scores, m.theta)
	v := blend(m.shares, m.scores)
	if !parameters.IsFinite(v) {
		return federated.Prediction{}, fmt.Errorf("row %d: the prediction is %v: theta has diverged", row, v)
	}
	return federated.Number(m.dictionary.params.unscale(v)), nil
}

// Portable implements federated.Model.
func (m *Model) Portable() *portable.Model {
	d, p := m.dictionary, &m.dictionary.params
	k := &portable.Kernels{Features: portable.SinCos, Count: p.Features, Seed: p.Seed, Theta: m.theta}
	for i, b := range p.Bandwidths {
		one := portable.Kernel{Kind: kernel.Gaussian.String(), Variance: b}
		if m.shares != nil {
			one.Weight = &m.shares[i]
		}
		k.List = append(k.List, one)
	}
	for f := range p.Kernels() * p.Features {
		for _, v := range d.frequencies[f*d.width:][:len(d.columns)] {
			k.Frequencies = append(k.Frequencies, v*(2*math.Pi/arcs))
		}
	}
	return &portable.Model{
		Algorithm: contract.POFMKL, Round: m.round, Rounds: p.Uploads(), Kernels: k,
		Inputs: portable.Inputs{Count: len(d.columns), Columns: m.columns, DivideBy: p.InputNorm},
		Label:  portable.Label{Column: p.Label, Low: p.LabelLow, High: p.LabelHigh},
	}
}
