package fdskl

import (
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
// Evolution: fields are added with new numbers and a zero value that keeps the old meaning; a
// changed meaning is a new version. Numbers are never used twice.
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
}

// Encode returns the model part's bytes: deterministic CBOR (RFC 8949, section 4.2.1).
func (m *Model) Encode() ([]byte, error) {
	mode, err := cbor.CoreDetEncOptions().EncMode()
	if err != nil {
		return nil, err
	}
	return mode.Marshal(m)
}

// DecodeModel reads a model part and checks that it is whole and finite.
func DecodeModel(data []byte) (*Model, error) {
	if len(data) > maxModel {
		return nil, fmt.Errorf("model part of %d bytes, at most %d are read", len(data), maxModel)
	}
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxArrayElements: 1 << 27, ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
	if err != nil {
		return nil, err
	}
	var m Model
	if err := mode.Unmarshal(data, &m); err != nil {
		return nil, fmt.Errorf("model part: %w", err)
	}
	return &m, m.validate()
}

// validate checks a model part that came from a disk.
func (m *Model) validate() error {
	if m.Version != modelVersion {
		return fmt.Errorf("model part of version %d, this program reads version %d", m.Version, modelVersion)
	}
	if err := m.Params.Validate(m.Names); err != nil {
		return fmt.Errorf("model part: %w", err)
	}
	if m.Normaliser == nil {
		return fmt.Errorf("model part: the normaliser is missing")
	}
	if err := m.Normaliser.Validate(); err != nil {
		return fmt.Errorf("model part: %w", err)
	}
	if !(m.Sigma > 0) || math.IsInf(m.Sigma, 0) {
		return fmt.Errorf("model part: sigma is %v, want a positive number", m.Sigma)
	}
	count := 0
	for _, r := range m.Held {
		if r.First < 0 || r.Count < 1 || r.First+r.Count > m.Params.Features {
			return fmt.Errorf("model part: features %d+%d of %d", r.First, r.Count, m.Params.Features)
		}
		count += r.Count
	}
	if count != len(m.Alpha) {
		return fmt.Errorf("model part: %d coefficients for %d features", len(m.Alpha), count)
	}
	for i, a := range m.Alpha {
		if math.IsNaN(a) || math.IsInf(a, 0) {
			return fmt.Errorf("model part: coefficient %d is %v", i, a)
		}
	}
	return nil
}

// model starts a model part with what every party knows.
func (t *trainer) model() *Model {
	m := &Model{
		Version: modelVersion, Names: t.Names, Params: t.Params, Privacy: t.Privacy, Sigma: t.kernel.Sigma,
		Mean: t.target.mean, Scale: t.target.scale, Objective: math.NaN(), TrainError: math.NaN(),
	}
	if len(t.Parts) == 1 {
		m.Owner, m.Phase, m.Normaliser = t.Parts[0].Owner, t.Parts[0].Phase, t.Parts[0].Normaliser
	}
	if t.Labels != nil {
		m.Classes = t.Labels.Classes
	}
	return m
}
