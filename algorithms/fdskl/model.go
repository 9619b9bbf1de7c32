package fdskl

import (
	"bytes"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// modelVersion is the version of a model part's encoding.
const modelVersion = 1

// maxModel is the largest model part that is read, in bytes.
const maxModel = 1 << 30

// Run is a run of consecutive features.
type Run struct {
	First int `cbor:"1,keyasint"`
	Count int `cbor:"2,keyasint"`
}

// Model is one party's part of a trained model. No party's part predicts alone, and none holds
// anything of another's data: passive parts have phases and a normaliser, active parts also the
// coefficients of their own features.
//
// Evolution: fields are added with new numbers, omitempty, and a zero value that keeps the old meaning,
// so that older parts keep their bytes; a changed meaning is a new version. Numbers are never used
// twice.
type Model struct {
	Version    int                `cbor:"1,keyasint"`
	Contract   keys.Hash          `cbor:"2,keyasint"` // that trained it
	Owner      keys.ID            `cbor:"3,keyasint"` // the party
	Names      []string           `cbor:"4,keyasint"` // all parties, in the job's order
	Params     Params             `cbor:"5,keyasint"`
	Privacy    string             `cbor:"6,keyasint"`
	Sigma      float64            `cbor:"7,keyasint"` // the kernel width that was agreed
	Phase      PhaseSeed          `cbor:"8,keyasint"` // secret
	Normaliser *kernel.Normaliser `cbor:"9,keyasint"`
	Columns    []string           `cbor:"10,keyasint"` // the table's feature columns, in order
	Held       []Run              `cbor:"11,keyasint,omitempty"`
	Alpha      []float64          `cbor:"12,keyasint,omitempty"` // of sqrt(2) cos, for the features in Held
	Intercept  float64            `cbor:"13,keyasint"`           // at the leader, 0 elsewhere
	Mean       float64            `cbor:"14,keyasint"`           // regression: score * Scale + Mean
	Scale      float64            `cbor:"15,keyasint"`
	Classes    [2]string          `cbor:"16,keyasint"`
	Objective  float64            `cbor:"17,keyasint"` // at the leader
	TrainError float64            `cbor:"18,keyasint"` // at the leader: share of wrong labels, or RMSE
	Iterations int                `cbor:"19,keyasint"`
	Fills      map[string]float64 `cbor:"20,keyasint,omitempty"` // what empty cells of the training table were given
	Shares     *Shares            `cbor:"21,keyasint,omitempty"` // sealed: at the three that hold shares
}

// Shares is what one of three parties holds of a sealed model: two of the three components of the
// coefficients of cos, modulo 2^64, and of the offset behind them.
type Shares struct {
	X []uint64 `cbor:"1,keyasint"`
	Y []uint64 `cbor:"2,keyasint"`
}

// Encode returns the model part's bytes: deterministic CBOR (RFC 8949, section 4.2.1).
func (m *Model) Encode() ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	return mode.Marshal(m)
}

// DecodeModel reads a model part and checks that it is whole, finite and in the one encoding that
// Encode gives.
func DecodeModel(data []byte) (*Model, error) {
	if len(data) > maxModel {
		return nil, fmt.Errorf("model part of %d bytes, at most %d are read", len(data), maxModel)
	}
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxArrayElements: 1 << 27, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
	if err != nil {
		return nil, err
	}
	m := new(Model)
	if err := mode.Unmarshal(data, m); err != nil {
		return nil, fmt.Errorf("model part: %w", err)
	}
	if err := m.validate(); err != nil {
		return nil, fmt.Errorf("model part: %w", err)
	}
	again, err := m.Encode()
	if err != nil {
		return nil, err
	}
	if !bytes.Equal(again, data) {
		return nil, fmt.Errorf("model part: its bytes are not the ones that this model has")
	}
	return m, nil
}

// model starts a model part with what every party knows.
func (t *trainer) model() *Model {
	m := &Model{
		Version: modelVersion, Names: t.Names, Params: t.Params, Privacy: t.Privacy, Sigma: t.kernel.Sigma,
		Mean: t.target.Mean, Scale: t.target.Scale, Classes: t.target.Classes,
		Objective: math.NaN(), TrainError: math.NaN(),
	}
	if len(t.Parts) == 1 {
		m.Owner, m.Phase, m.Normaliser = t.Parts[0].Owner, t.Parts[0].Phase, t.Parts[0].Normaliser
	}
	return m
}
