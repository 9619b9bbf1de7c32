package fdskl

import (
	"bytes"
	"cmp"
	"fmt"
	"math"

	"github.com/fxamacker/cbor/v2"

	"github.com/hanse-project/hanse/algorithms/joint"
	"github.com/hanse-project/hanse/algorithms/kernel"
	"github.com/hanse-project/hanse/keys"
)

// modelVersion is the version of a model part's encoding.
const modelVersion = 2

// maxModel is the largest model part that is read, in bytes.
const maxModel = 1 << 30

// Run is a run of consecutive features, or of angles.
type Run struct {
	First int `cbor:"1,keyasint"`
	Count int `cbor:"2,keyasint"`
}

// features returns the run of the features of a run of the fixed schedule's angles.
func (r Run) features() Run { return Run{First: 2 * r.First, Count: 2 * r.Count} }

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
	Alpha      []float64          `cbor:"12,keyasint,omitempty"` // of the features in Held; see Params.Angles
	Intercept  float64            `cbor:"13,keyasint"`           // at the leader, 0 elsewhere
	Mean       float64            `cbor:"14,keyasint"`           // regression: score * Scale + Mean
	Scale      float64            `cbor:"15,keyasint"`
	Classes    []string           `cbor:"16,keyasint"` // their names; two empty ones of a regression
	Objective  float64            `cbor:"17,keyasint"` // at the leader
	TrainError float64            `cbor:"18,keyasint"` // at the leader: share of wrong labels, or RMSE
	Iterations int                `cbor:"19,keyasint"`
	// 20 was what empty cells of the training table were given, which the normaliser knows.
	Shares  *Shares        `cbor:"21,keyasint,omitempty"` // sealed: at the three that hold shares
	Reading *joint.Reading `cbor:"26,keyasint,omitempty"` // how the training table was read; nil: as any is

	// Against holds the functions of three or more classes, in the order of Classes, each of which tells its own from all
	// others: where it is, Alpha and Intercept are not. Nothing at a passive party; of a sealed model intercepts alone.
	Against []Coefficients `cbor:"30,keyasint,omitempty"`
	Points  *Points        `cbor:"31,keyasint,omitempty"` // glm: what opened to the party of the scorecard
	ZScores *ZScores       `cbor:"33,keyasint,omitempty"` // glm: and how sure that is

	Lambda float64 `cbor:"22,keyasint,omitempty"` // what "auto" chose, where that is known

	// Turned is that this party, who has the labels, reads scores the other way round: as those of the first of two
	// Classes, the rarer of its rows. It is nobody else's to know: all parts have the classes in one order.
	Turned bool `cbor:"34,keyasint,omitempty"`

	// ToGo is how many standard errors away the optimum was where the solver of a loss that is not the square ended, of
	// several functions the most: 0 where it was reached, and where nobody looked.
	ToGo float64 `cbor:"35,keyasint,omitempty"`
}

// FarthestToGo is up to how many standard errors a sealed training tells how far its optimum is.
const FarthestToGo = 32

// NotConverged says in words that the solver did not reach the optimum; "" where it did. Of a sealed training ToGo is a
// bound.
func (m *Model) NotConverged() string {
	if m.Privacy == Sealed && m.ToGo > 0 {
		far := fmt.Sprintf("up to %.0f", m.ToGo)
		if m.ToGo > FarthestToGo {
			far = fmt.Sprintf("more than %d", FarthestToGo)
		}
		far = fmt.Sprintf("not converged: %s standard errors to go after %d steps", far,
			m.Iterations/max(1, m.Params.SolverSteps()))
		switch {
		case m.Params.Binned():
			return far + ", so that no points and no z-scores open; a larger lambda, fewer bins or more outer"
		case m.ToGo > FarthestToGo:
			far += ", so that scores say little"
		}
		return far + "; a larger lambda, fewer features or more outer"
	}
	after := fmt.Sprintf(" after %d iterations", m.Iterations)
	if m.Iterations == 1 {
		after = " after 1 iteration"
	}
	return NotConverged(m.ToGo, after, "a larger lambda or more iterations")
}

// Coefficients are a party's part of one function: f = Alpha . phi + Intercept, over the features in Held: phi is
// sqrt(2) cos and sqrt(2) sin of each angle, or sqrt(2) cos alone where features grow.
type Coefficients struct {
	Alpha     []float64 `cbor:"1,keyasint"`
	Intercept float64   `cbor:"2,keyasint"` // at the leader, 0 elsewhere
}

// Functions returns an active party's part of the functions whose values are a row's scores, Params.Scores of them.
func (m *Model) Functions() []Coefficients {
	if len(m.Against) > 0 {
		return m.Against
	}
	return []Coefficients{{m.Alpha, m.Intercept}}
}

// Shares is what one of three parties holds of a sealed model: two of the three components of the coefficients of cos
// and sin, modulo 2^64, function after function, and behind them of the functions' offsets.
type Shares struct {
	X []uint64 `cbor:"1,keyasint"`
	Y []uint64 `cbor:"2,keyasint"`
}

// setFunctions is the reverse of Functions.
func (m *Model) setFunctions(functions []Coefficients) {
	if m.Params.Scores() == 1 {
		m.Alpha, m.Intercept = functions[0].Alpha, functions[0].Intercept
		return
	}
	m.Against = functions
}

// Regulariser returns the lambda that the model was trained with: the job's, or the one that was chosen; 0 where this
// party does not know it.
func (m *Model) Regulariser() float64 { return cmp.Or(m.Lambda, float64(m.Params.Lambda)) }

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
	mode, err := cbor.DecOptions{DupMapKey: cbor.DupMapKeyEnforcedAPF, MaxArrayElements: 1 << 27,
		ExtraReturnErrors: cbor.ExtraDecErrorUnknownField}.DecMode()
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
