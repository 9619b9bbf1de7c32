package gfml

import (
	"fmt"

	"github.com/hanse-project/hanse/protocol/contract"

	"gonum.org/v1/gonum/floats"

	"github.com/hanse-project/hanse/algorithms/federated"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/algorithms/parameters"
	"github.com/hanse-project/hanse/algorithms/portable"
)

// Model is what a party ends with: a server its w_p, a client its own w_{p,k}. It implements federated.Model.
type Model struct {
	plan      *Plan
	iteration int
	w         []float64
	features  *Features
	z         []float64
}

// DecodeModel reads what a client of a server kept as federated.ModelSlot: Client.Save's bytes.
func (p *Plan) DecodeModel(server, client int, data []byte) (*Model, error) {
	if err := p.checkPlace(server, client); err != nil {
		return nil, err
	}
	return p.decodeModel(data, server, client)
}

// DecodeServerModel is DecodeModel of a server: Server.Save's bytes.
func (p *Plan) DecodeServerModel(server int, data []byte) (*Model, error) {
	if err := p.checkPlace(server, 0); err != nil {
		return nil, err
	}
	return p.decodeModel(data, server, serverItself)
}

// decodeModel reads the model in a state.
func (p *Plan) decodeModel(data []byte, server, client int) (*Model, error) {
	st, err := p.decodeState(data, server, client)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return &Model{
		plan: p, iteration: st.Iteration, w: st.Model, features: p.Features(), z: make([]float64, p.params.Features),
	}, nil
}

// Model implements federated.ClientPart: there is one once the client has taken part in an iteration of this session.
func (a *ClientPart) Model() ([]byte, error) {
	if !a.heard {
		return nil, nil
	}
	return a.client.Save(a.next)
}

// Model implements federated.ServerPart: the model that the newest iteration left.
func (s *ServerPart) Model() ([]byte, error) { return s.server.Save(s.service.Held) }

// Round implements federated.Model.
func (m *Model) Round() int { return m.iteration }

// Columns implements federated.Model.
func (m *Model) Columns() []string { return m.plan.params.Columns }

// Predict implements federated.Model: w^T z(x).
func (m *Model) Predict(row int, x []float64) (federated.Prediction, error) {
	if err := m.features.Map(m.z, x); err != nil {
		return federated.Prediction{}, fmt.Errorf("row %d: %w", row, err)
	}
	v := floats.Dot(m.w, m.z)
	if !parameters.IsFinite(v) {
		return federated.Prediction{}, fmt.Errorf("row %d: the prediction is %v: the model has diverged", row, v)
	}
	return federated.Number(v), nil
}

// Portable implements federated.Model.
func (m *Model) Portable() *portable.Model {
	p, whole := &m.plan.params, 1.0
	k := &portable.Kernels{
		Features: portable.Cos, Count: p.Features, Seed: p.Seed, Phases: m.features.phases, Theta: m.w,
		List: []portable.Kernel{{Kind: kernel.Gaussian.String(), Variance: p.Sigma * p.Sigma, Weight: &whole}},
	}
	for f := range p.Features {
		for c := range p.Columns {
			k.Frequencies = append(k.Frequencies, m.features.omega[c][f])
		}
	}
	return &portable.Model{
		Algorithm: contract.GFML, Round: m.iteration, Rounds: p.Iterations, Kernels: k,
		Inputs: portable.Inputs{Count: len(p.Columns), Columns: p.Columns, DivideBy: 1},
		Label:  portable.Label{Column: p.Label, Low: 0, High: 1},
	}
}
